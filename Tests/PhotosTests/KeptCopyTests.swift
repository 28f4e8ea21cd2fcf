import BackupCore
import Glibc
import ObjectStorage
import StorageSimulation
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import Photos

/// The bytes of photos that were copied into `photos/starred/`.
@Suite struct KeptCopyTests {
    private static let bytes = Array(String(repeating: "photo", count: 40_000).utf8)

    private static func fill(_ draft: CopyDraft, with bytes: [UInt8]) throws {
        try bytes.withUnsafeBytesThrowing { (buffer) throws(BackupError) in try draft.write(buffer, at: 0) }
        try draft.finish(modificationTime: Timestamp(seconds: 1_700_000_000))
    }

    /// Keeps bytes as the tree does.
    @discardableResult
    private static func keep(_ bytes: [UInt8], in copies: KeptCopies) throws -> SHA256Digest {
        let draft = try copies.makeDraft()
        try fill(draft, with: bytes)
        let content = try draft.sha256()
        try copies.withLock { () throws(BackupError) in _ = try copies.keep(draft, as: content) }
        return content
    }

    @Test func `a copy gets its name when its bytes are on the disk, and is then on the disk itself`() throws {
        let folder = try TemporaryFolder()
        let copies = QueueFolder(root: folder("photos")).copies
        let recorder = KeepRecorder()
        var kept: SHA256Digest?
        try FileObservation.observing(below: folder("photos"), by: recorder) { kept = try Self.keep(Self.bytes, in: copies) }
        let content = try #require(kept)
        let operations = recorder.operations.withLock { $0 }
        let draft = try #require(
            operations.compactMap { operation in
                if case .rename(let from, let to) = operation, to == "\(copies.folder)/\(content.hexadecimal)" {
                    from
                } else {
                    nil
                }
            }.first)
        let last = operations.filter { if case .open = $0 { false } else { true } }.suffix(3)
        #expect(
            Array(last) == [
                .synchronize(path: draft), .rename(from: draft, to: "\(copies.folder)/\(content.hexadecimal)"),
                .synchronize(path: copies.folder),
            ])
    }

    @Test func `a copy has the name of its bytes, and takes the place of a damaged one`() throws {
        let fixture = try PhotoFixture()
        let copies = fixture.queue.copies
        let content = try Self.keep(Self.bytes, in: copies)
        let path = "\(copies.folder)/\(content.hexadecimal)"
        let sum = try Job(["sha256sum", path], scratch: fixture.folder("sum")).wait(limitSeconds: 60).output.prefix(64)
        #expect(String(sum) == content.hexadecimal)
        let status = try FileSystem.status(path)
        #expect(status.mode & 0o777 == 0o600 && status.modificationTime == Timestamp(seconds: 1_700_000_000))
        #expect(try copies.all() == [content] && copies.isIntact(content))
        try writeFile(path, Array("damaged".utf8))
        #expect(try !copies.isIntact(content))
        try Self.keep(Self.bytes, in: copies)
        #expect(try copies.isIntact(content))
        try copies.remove(content)
        #expect(try copies.all() == [] && copies.status(of: content) == nil && !copies.isIntact(content))
    }

    @Test func `drafts of dead processes are swept, and a draft in use is not`() throws {
        let fixture = try PhotoFixture()
        let copies = fixture.queue.copies
        try copies.sweepDrafts()
        let draft = try copies.makeDraft()
        try writeFile("\(copies.folder)/0123.draft", [1])
        try writeFile("\(copies.folder)/other", [1])
        try copies.sweepDrafts()
        try Self.fill(draft, with: Self.bytes)
        #expect(try FileSystem.names(in: copies.folder).count == 2)
        let content = try draft.sha256()
        #expect(try copies.keep(draft, as: content))
        // What is kept does not change any more.
        #expect(errorCode { try draft.truncate(to: 0) } == .badHandle)
        draft.discard()
        #expect(try copies.isIntact(content))
        let other = try copies.makeDraft()
        other.discard()
        #expect(try copies.all() == [content] && FileSystem.names(in: copies.folder).count == 2)
    }

    @Test func `many threads keep the same bytes at once`() throws {
        let fixture = try PhotoFixture()
        let copies = fixture.queue.copies
        let failures = Mutex<[String]>([])
        let threads = try (0..<8).map { _ in
            try SystemThread {
                do { try Self.keep(Self.bytes, in: copies) } catch { failures.withLock { $0.append("\(error)") } }
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == [])
        let content = try #require(try copies.all().first)
        #expect(try FileSystem.names(in: copies.folder).count == 1 && copies.isIntact(content))
    }

    // MARK: Uploads

    private func star(_ fixture: PhotoFixture, _ path: String, _ copy: SHA256Digest) throws {
        try fixture.star(path)
        #expect(try fixture.queue.setCopy(copy, of: QueueItem.id(of: path)) { $0.copy == nil })
    }

    private func uploaded(_ fixture: PhotoFixture) throws -> [String] {
        try fixture.names("photos/").map { try fixture.text($0) }
    }

    @Test func `what was copied is uploaded, whatever is in its place in the media folder`() throws {
        let fixture = try PhotoFixture()
        try star(fixture, "gone.jpg", try Self.keep(Array("moved".utf8), in: fixture.queue.copies))
        try fixture.write("another", to: "replaced.jpg")
        try star(fixture, "replaced.jpg", try Self.keep(Array("replaced".utf8), in: fixture.queue.copies))
        let summary = try fixture.upload()
        #expect(summary.uploadedCount == 2 && summary.failures.isEmpty)
        #expect(try Set(uploaded(fixture)) == ["moved", "replaced"])
        #expect(
            try fixture.text("catalog/catalog.jsonl").split(separator: "\n").allSatisfy { $0.contains("2023-11-14T22:13:20Z") })
    }

    @Test func `a damaged copy is not uploaded, and the photo in the media folder is`() throws {
        let fixture = try PhotoFixture()
        for path in ["here.jpg", "gone.jpg", "replaced.jpg"] {
            let copy = try Self.keep(Array(path.utf8), in: fixture.queue.copies)
            try star(fixture, path, copy)
            try writeFile("\(fixture.queue.copies.folder)/\(copy.hexadecimal)", Array("damaged".utf8))
        }
        try fixture.write("here.jpg", to: "here.jpg")
        // The star stands for the bytes that were copied.
        try fixture.write("another", to: "replaced.jpg")
        let summary = try fixture.upload()
        #expect(summary.uploadedCount == 1 && Set(summary.failures.map(\.path)) == ["gone.jpg", "replaced.jpg"])
        #expect(try uploaded(fixture) == ["here.jpg"])
        #expect(try fixture.queue.items().map(\.stage) == [.failed(.photoNotFound), .uploaded, .failed(.photoNotFound)])
    }

    @Test func `a photo that is moved during its upload is uploaded from its copy`() throws {
        let fixture = try PhotoFixture()
        try fixture.star(fixture.write("one", to: "a.jpg"))
        let copy = try Self.keep(Array("one".utf8), in: fixture.queue.copies)
        let summary = try fixture.upload(nil) { options in
            options.note = { item in
                guard item.stage == .uploading, item.copy == nil else { return }
                _ = try? fixture.queue.setCopy(copy, of: item.id) { $0.copy == nil }
                try? FileSystem.removeFile(fixture.folder("media/a.jpg"))
            }
        }
        #expect(summary.uploadedCount == 1 && summary.failures.isEmpty)
        #expect(try uploaded(fixture) == ["one"])
        let item = try #require(try fixture.queue.item(QueueItem.id(of: "a.jpg")))
        #expect(item.stage == .uploaded && item.copy == copy)
    }

    @Test func `a copy that is noted during its upload stays noted`() throws {
        let fixture = try PhotoFixture()
        try fixture.star(fixture.write("one", to: "a.jpg"))
        let copy = try Self.keep(Array("one".utf8), in: fixture.queue.copies)
        let storage = HookedStorage(fixture.storage) { () throws(BackupError) in
            _ = try fixture.queue.setCopy(copy, of: QueueItem.id(of: "a.jpg")) { $0.stage == .uploading }
        }
        try fixture.upload(storage)
        let item = try #require(try fixture.queue.item(QueueItem.id(of: "a.jpg")))
        #expect(item.stage == .uploaded && item.copy == copy)
        #expect(try fixture.queue.setCopy(nil, of: item.id) { $0.copy == copy })
        #expect(try fixture.queue.item(item.id)?.copy == nil && fixture.queue.uploadedIDs() == [item.id])
    }
}

private final class KeepRecorder: FileObserver {
    let operations = Mutex<[FileOperation]>([])

    func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
        try body()
        operations.withLock { $0.append(operation) }
    }
}
