import BackupCore
import ObjectStorage
import StorageSimulation
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import Photos

struct QueueSafetyTests {
    private func restore(_ fixture: PhotoFixture, _ storage: any ObjectStorage, to name: String) throws -> PhotoRestore.Report {
        var options = PhotoRestore.Options()
        options.isFlat = true
        return try PhotoRestore(from: PhotoBucket(storage), to: fixture.folder(name), options).run()
    }

    @Test func `the catalog is published during a run, and a restore needs none of it`() throws {
        let fixture = try PhotoFixture()
        for number in 0..<5 { try fixture.star(fixture.write("photo \(number)", to: "\(number).jpg")) }
        let counts = Mutex<[Int]>([])
        let storage = HookedStorage(fixture.storage) { () throws(BackupError) in
            let catalog = try fixture.storage.contents(of: .checked("catalog/catalog.jsonl"), limitBytes: 1 << 20)
            counts.withLock { $0.append(catalog?.bytes.count { $0 == 10 } ?? 0) }
        }
        try fixture.upload(storage) { options in
            options.parallelCount = 1
            options.publishCount = 2
        }
        #expect(counts.withLock { $0 } == [0, 0, 2, 2, 4])
        // Of another machine that has not published yet.
        _ = try fixture.storage.create(
            .checked("photos/2020/01/5ae0c1c8a5260bc7b6648f6fbd115c35.jpg"), ObjectDraft(Array("photo".utf8)))
        let report = try restore(fixture, fixture.storage, to: "out")
        #expect(report.writtenCount == 6 && report.failures.isEmpty && !report.isWithoutCatalog)
        #expect(try readFile(fixture.folder("out/5ae0c1c8a5260bc7b6648f6fbd115c35.jpg")) == Array("photo".utf8))
    }

    @Test func `a catalog that is made again keeps what the old one says`() throws {
        let fixture = try PhotoFixture()
        for path in ["a/one.jpg", "b/two.jpg"] { try fixture.star(fixture.write("same", to: path)) }
        try fixture.star(fixture.write("gone", to: "gone.jpg"))
        try fixture.upload()
        let gone = "photos/2026/01/\(try fixture.md5("gone.jpg")).jpg"
        try fixture.storage.remove(.checked(gone), version: nil)
        let (catalog, unknown) = try PhotoBucket(fixture.storage).rebuildCatalog()
        #expect(catalog.entries.map { Set($0.originalFilenames) } == [["one.jpg", "two.jpg"]] && unknown.isEmpty)
        #expect(try fixture.text("catalog/catalog.jsonl").split(separator: "\n").count == 1)
    }

    @Test func `photos are uploaded again into another bucket, and into one that was emptied`() throws {
        let fixture = try PhotoFixture()
        for name in ["a.jpg", "b.jpg"] { try fixture.star(fixture.write(name, to: name)) }
        try fixture.upload()
        #expect(try fixture.queue.uploadedIDs().count == 2)
        let other = SimulatedStorage(SimulatedServer())
        let key = try #require(PhotoKey(parsing: "photos/2020/01/5ae0c1c8a5260bc7b6648f6fbd115c35.jpg"))
        var foreign = PhotoCatalog()
        foreign.note(
            CatalogEntry(
                key: key, size: 5, dateTaken: nil, fileModificationDate: nil, originalFilenames: ["x.jpg"], source: "directory",
                livePhotoPair: nil, thumbnailKey: nil, uploadedAt: PhotoFixture.now))
        try fixture.queue.keep(try PhotoBucket(fixture.storage).publish(foreign))
        #expect(try QueueWorker.hasWork(fixture.queue, retried: .network, place: "other"))
        #expect(try fixture.upload(other) { ($0.place, $0.retried) = ("other", .network) }.uploadedCount == 2)
        #expect(try !QueueWorker.hasWork(fixture.queue, retried: .network, place: "other"))
        // What only the first bucket has is not in the catalog of the second.
        let there = try PhotoBucket(other).catalog()
        #expect(there.count == 2 && there[key.md5] == nil)
        for name in try PhotoBucketNames.all(other) { try other.remove(.checked(name), version: nil) }
        #expect(try fixture.upload(other) { $0.place = "other" }.uploadedCount == 2)
        #expect(try PhotoBucketNames.all(other).count { $0.hasPrefix("photos/") } == 2)
    }

    @Test func `an empty folder in which photos were is a disk that is not mounted`() throws {
        let fixture = try PhotoFixture()
        try fixture.star(fixture.write("a.jpg", to: "a.jpg"))
        let (place, disk) = (fixture.folder("usb"), fixture.folder("disk"))
        try FileSystem.makeDirectories(place)
        #expect(try fixture.upload(FolderStorage(path: place)).uploadedCount == 1)
        try FileSystem.rename(place, to: disk)
        try FileSystem.makeDirectories(place)
        #expect(failure { _ = try fixture.upload(FolderStorage(path: place)) }?.code == .offline)
        #expect(try FileSystem.names(in: place).allSatisfy { $0 == ".backupfs-storage" })
        // The user says that it is a new folder.
        try fixture.queue.keep(try PhotoBucket(FolderStorage(path: place)).rebuildCatalog().catalog)
        #expect(try fixture.upload(FolderStorage(path: place)).uploadedCount == 1)
    }

    @Test func `folders and names need not be in English`() throws {
        let fixture = try PhotoFixture()
        let photos = PhotoFolder(root: fixture.folder("Фото 写真"))
        let place = fixture.folder("Фото 写真/Größe/日本")
        try FileSystem.makeDirectories(place)
        try writeFile("\(place)/Ünï 1.jpg.remote", Array("https://example.org/x".utf8))
        #expect(try photos.relativePath(of: "\(place)/Ünï 1.jpg") == "Größe/日本/Ünï 1.jpg")
        #expect(try photos.stub(of: "Größe/日本/Ünï 1.jpg") == "Größe/日本/Ünï 1.jpg.remote")
        #expect(photos.withoutStub("Größe/日本/Ünï 1.jpg.remote") == "Größe/日本/Ünï 1.jpg")
        #expect(photos.withoutStub("Größe/日本/.Ünï 2.heic.icloud") == "Größe/日本/Ünï 2.heic")
        // The same letters in other bytes are another folder.
        let composed = PhotoFolder(root: fixture.folder("Gr\u{F6}n"))
        try FileSystem.makeDirectories(composed.root)
        try FileSystem.makeDirectories(fixture.folder("Gro\u{308}n"))
        #expect(throws: BackupError.self) { try composed.relativePath(of: fixture.folder("Gro\u{308}n/a.jpg")) }
    }

    @Test func `an MD5 in the metadata of an object is no proof`() throws {
        let fixture = try PhotoFixture()
        try fixture.star(fixture.write("one", to: "a.jpg"))
        let md5 = try fixture.md5("a.jpg")
        var draft = ObjectDraft(Array("two".utf8))
        draft.metadata = [ObjectMetadata("md5", md5)]
        _ = try fixture.storage.create(.checked("photos/2026/01/\(md5).jpg"), draft)
        #expect(try fixture.upload().failures.map(\.error.code) == [.conflict])
        // sha256sum of "three"
        try fixture.star(fixture.write("three", to: "b.jpg"))
        try fixture.upload()
        let line = try fixture.text("catalog/catalog.jsonl")
        #expect(line.contains("8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f"))
    }

    @Test func `a companion that another machine writes meanwhile does not fail the photo`() throws {
        let fixture = try PhotoFixture()
        try fixture.star(fixture.write("one", to: "a.jpg"))
        let sidecar = "metadata/2026/01/\(try fixture.md5("a.jpg")).json"
        _ = try fixture.storage.create(.checked(sidecar), ObjectDraft(Array("{}".utf8)))
        let count = Atomic<Int>(0)
        let storage = HookedStorage(
            fixture.storage, before: {},
            beforeReplace: { (name) throws(BackupError) in
                guard name.text == sidecar, count.add(1, ordering: .relaxed).newValue == 1 else { return }
                throw BackupError(.conflict, "the object was changed")
            })
        let summary = try fixture.upload(storage)
        #expect(summary.uploadedCount == 1 && summary.failures.isEmpty)
        #expect(count.load(ordering: .relaxed) == 2)
        #expect(try fixture.text(sidecar).contains("\"original_filename\": \"a.jpg\""))
    }

    @Test func `one part of a Live Photo that is gone does not keep the other one back`() throws {
        let fixture = try PhotoFixture()
        try fixture.write("still", to: "IMG_1.HEIC")
        try fixture.write("video", to: "IMG_1.MOV")
        try fixture.star("IMG_1.MOV", pair: "IMG_1.HEIC")
        try fixture.star("IMG_1.HEIC", pair: "IMG_1.MOV")
        try FileSystem.removeFile(fixture.folder("media/IMG_1.HEIC"))
        let summary = try fixture.upload()
        #expect(summary.uploadedCount == 1 && summary.failures.map(\.path) == ["IMG_1.HEIC"])
        #expect(try fixture.queue.items().map(\.stage) == [.failed(.photoNotFound), .uploaded])
    }

    @Test func `a star that is taken away or given again during its upload`() throws {
        let fixture = try PhotoFixture()
        try fixture.star(fixture.write("one", to: "a.jpg"))
        let unstarring = HookedStorage(
            fixture.storage, after: { _ = try? fixture.queue.remove(QueueItem.id(of: "a.jpg")) }, before: {})
        try fixture.upload(unstarring)
        #expect(try fixture.text("catalog/catalog.jsonl").contains("a.jpg"))
        try fixture.star(fixture.write("two", to: "b.jpg"))
        let isFirst = Atomic<Bool>(true)
        let failing = HookedStorage(fixture.storage) { () throws(BackupError) in
            guard isFirst.exchange(false, ordering: .relaxed) else { return }
            try? fixture.star("b.jpg")
            throw BackupError(.accessDenied, "the server refuses the credentials")
        }
        let summary = try fixture.upload(failing)
        #expect(summary.uploadedCount == 1)
        #expect(try fixture.queue.item(QueueItem.id(of: "b.jpg"))?.stage == .uploaded)
    }

    @Test func `names that a folder cannot have twice, or would hide`() throws {
        let fixture = try PhotoFixture()
        let long = String(repeating: "é", count: 125) + "x.jpg"
        for (text, path) in [("1", "a/\(long)"), ("2", "b/\(long)"), ("3", ".hidden.jpg"), ("4", "a\u{7}.jpg")] {
            try fixture.star(fixture.write(text, to: path))
        }
        #expect(try fixture.upload().failures.isEmpty)
        #expect(try restore(fixture, fixture.storage, to: "out").failures.isEmpty)
        let names = Set(try FileSystem.names(in: fixture.folder("out")).map(\.description))
        #expect(
            names == [
                long, String(repeating: "é", count: 123) + " (2).jpg", "\(try fixture.md5(".hidden.jpg")).jpg",
                "\(try fixture.md5("a\u{7}.jpg")).jpg",
            ])
    }
}
