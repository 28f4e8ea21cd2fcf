import BackupCore
import Formats
import Glibc
import ObjectStorage
import StorageSimulation
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import Photos

/// What happens while photos are uploaded: others with the same bytes, stars that are taken away, parts that come later.
struct QueueRaceTests {
    @Test func `STR-06: the same bytes under two endings at once are one object`() throws {
        let fixture = try PhotoFixture()
        for path in ["a.jpg", "b.jpeg"] { try fixture.star(fixture.write("same", to: path)) }
        let gate = Gate()
        let summary = try fixture.upload { options in
            // Both have their keys before one of them is sent.
            options.note = { if $0.stage == .uploading { gate.enter(wanted: 2) } }
        }
        #expect(gate.mostCount == 2)
        #expect(summary.uploadedCount == 1 && summary.presentCount == 1)
        let names = try fixture.names("photos/")
        #expect(names.count == 1)
        #expect(try fixture.queue.items().map { $0.content?.key.text } == [names.first, names.first])
        let catalog = try fixture.text("catalog/catalog.jsonl")
        #expect(catalog.split(separator: "\n").count == 1)
        #expect(catalog.contains("\"a.jpg\"") && catalog.contains("\"b.jpeg\""))
    }

    @Test func `STR-06: a photo without a date has one object, in whatever months two machines read it`() throws {
        let fixture = try PhotoFixture()
        try fixture.star(fixture.write("same", to: "a.jpg"))
        let failing = HookedStorage(fixture.storage) { () throws(BackupError) in
            throw BackupError(.inputOutput, "the server has an internal error")
        }
        #expect(try fixture.upload(failing).failures.count == 1)
        // The other machine, in February.
        let queue = QueueFolder(root: fixture.folder("other"))
        try queue.make()
        try queue.add(QueueItem(path: "a.jpg", source: .directory(path: "a.jpg"), queuedAt: SystemClock.now()))
        var options = try fixture.options()
        options.now = { PhotoFixture.now.adding(seconds: 40 * 86_400) }
        let other = QueueWorker(queue, of: fixture.photos, to: PhotoBucket(fixture.storage), options: options)
        #expect(try other.run().uploadedCount == 1)
        #expect(try fixture.upload().presentCount == 1)
        let md5 = try fixture.md5("a.jpg")
        #expect(try fixture.names("photos/") == ["photos/2026/02/\(md5).jpg"])
        #expect(try fixture.queue.items().map { $0.content?.key.month } == ["2026/02"])
    }

    // MARK: Live Photos

    private func pairs(_ fixture: PhotoFixture) throws -> [String: String] {
        var pairs: [String: String] = [:]
        for line in try fixture.bytes("catalog/catalog.jsonl").split(separator: 10) {
            let json = try #require(OrderedJSON(parsing: line))
            pairs[try #require(json["md5"]?.textValue)] = json["live_photo_pair"]?.textValue ?? "none"
        }
        return pairs
    }

    @Test func `STR-11: the parts of a Live Photo name each other, also when the still comes later`() throws {
        let fixture = try PhotoFixture()
        try fixture.write("video", to: "IMG_1.MOV")
        try fixture.star("IMG_1.MOV", pair: "IMG_1.HEIC")
        try fixture.star("IMG_1.HEIC", pair: "IMG_1.MOV")
        #expect(try fixture.upload().failures.map(\.path) == ["IMG_1.HEIC"])
        try fixture.write("still", to: "IMG_1.HEIC")
        #expect(try fixture.upload().uploadedCount == 1)
        let (still, video) = (try fixture.md5("IMG_1.HEIC"), try fixture.md5("IMG_1.MOV"))
        #expect(try pairs(fixture) == [still: video, video: still])
        // The object of the video does not name the still, and that of the still names the video.
        try fixture.storage.remove(.checked("catalog/catalog.jsonl"), version: nil)
        #expect(try PhotoBucket(fixture.storage).rebuildCatalog().catalog.count == 2)
        #expect(try pairs(fixture) == [still: video, video: still])
    }

    // MARK: Stars that are taken away

    @Test func `PRG-10, PRG-11: a star that is taken away ends its upload, and the others go on`() throws {
        let fixture = try PhotoFixture()
        try fixture.write("s3:incoming/x", to: "IMG_1.HEIC.remote")
        try fixture.photo("here.jpg", ["-DateTimeOriginal=2024:06:30 23:59:00"])
        _ = try fixture.storage.create(.checked("incoming/x"), ObjectDraft(readFile(fixture.folder("media/here.jpg"))))
        try fixture.star("IMG_1.HEIC", pair: "IMG_1.MOV")
        try fixture.star(fixture.write("video", to: "IMG_1.MOV"), pair: "IMG_1.HEIC")
        try fixture.star(fixture.write("last", to: "last.jpg"))
        let isFirst = Atomic<Bool>(true)
        let ended = Mutex<BackupError?>(nil)
        let slow = HookedStorage(fixture.storage) { () throws(BackupError) in
            guard isFirst.exchange(false, ordering: .relaxed) else { return }
            _ = try fixture.queue.remove(QueueItem.id(of: "IMG_1.HEIC"))
            try Self.waitForCancellation(ended)
        }
        let summary = try fixture.upload(slow) { $0.parallelCount = 1 }
        #expect(ended.withLock { $0?.code } == .interrupted)
        #expect(summary.uploadedCount == 2 && summary.failures.isEmpty && summary.stop == nil)
        let (video, last) = (try fixture.md5("IMG_1.MOV"), try fixture.md5("last.jpg"))
        #expect(try Set(fixture.names("photos/").map { String($0.split(separator: "/")[3]) }) == ["\(video).mov", "\(last).jpg"])
        #expect(try fixture.names("metadata/").count == 2 && fixture.names("thumbnails/").isEmpty)
        #expect(try Set(pairs(fixture).keys) == [video, last])
        #expect(try FileSystem.names(in: fixture.queue.downloads).isEmpty)
        let status = String(decoding: try readFile(fixture.queue.status), as: UTF8.self)
        #expect(!status.contains("IMG_1.HEIC") && status.contains("\"done\": 2,\n    \"total\": 2"))
        #expect(try fixture.queue.items().map(\.path) == ["IMG_1.MOV", "last.jpg"])
    }

    @Test func `PRG-10: a star that is given again ends its upload, and is uploaded then`() throws {
        let fixture = try PhotoFixture()
        try fixture.star(fixture.write("one", to: "a.jpg"))
        let isFirst = Atomic<Bool>(true)
        let ended = Mutex<BackupError?>(nil)
        let slow = HookedStorage(fixture.storage) { () throws(BackupError) in
            guard isFirst.exchange(false, ordering: .relaxed) else { return }
            try? fixture.star("a.jpg")
            try Self.waitForCancellation(ended)
        }
        let summary = try fixture.upload(slow)
        #expect(ended.withLock { $0?.code } == .interrupted)
        #expect(summary.uploadedCount == 1 && summary.failures.isEmpty && summary.stop == nil)
        #expect(try fixture.queue.items().map(\.stage) == [.uploaded])
    }

    /// As a storage that takes long.
    private static func waitForCancellation(_ ended: borrowing Mutex<BackupError?>) throws(BackupError) {
        let end = SystemClock.monotonicSeconds() + 20
        do throws(BackupError) {
            while SystemClock.monotonicSeconds() < end {
                try Cancellation.check()
                usleep(1_000)
            }
        } catch {
            ended.withLock { $0 = error }
            throw error
        }
    }
}
