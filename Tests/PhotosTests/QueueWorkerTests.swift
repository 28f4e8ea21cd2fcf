import BackupCore
import Formats
import ObjectStorage
import PhotoData
import StorageSimulation
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import Photos

struct QueueWorkerTests {
    @Test func `FPH-03, FPH-04, FPH-05: a photo has its metadata, its thumbnail beside it, and its place`() throws {
        let fixture = try PhotoFixture()
        try fixture.photo(
            "Größe 1.JPG",
            [
                "-DateTimeOriginal=2024:06:30 23:59:00", "-Make=Canon", "-Model=EOS 5D", "-GPSLatitude=33.5",
                "-GPSLatitudeRef=S", "-GPSLongitude=70.25", "-GPSLongitudeRef=W",
            ])
        try fixture.star("Größe 1.JPG")
        let summary = try fixture.upload()
        #expect(summary.uploadedCount == 1)
        let md5 = try fixture.md5("Größe 1.JPG")
        let key = "photos/2024/06/\(md5).jpg"
        #expect(
            try fixture.names() == [
                "catalog/catalog.jsonl", "metadata/2024/06/\(md5).json", key, "thumbnails/2024/06/\(md5).jpg",
            ])
        let original = try readFile(fixture.folder("media/Größe 1.JPG"))
        #expect(try fixture.bytes(key) == original)
        let thumbnail = try fixture.bytes("thumbnails/2024/06/\(md5).jpg")
        #expect(thumbnail.starts(with: [0xFF, 0xD8, 0xFF]) && thumbnail.count != original.count)
        let metadata = try #require(try fixture.storage.lookWithMetadata(.checked(key))).metadata
        for (name, value) in [
            ("original-filename", "Größe 1.JPG"), ("source", "directory"), ("md5", md5), ("date-taken", "2024-06-30T23:59:00"),
            ("camera-make", "Canon"), ("camera-model", "EOS 5D"),
        ] { #expect(metadata.contains(ObjectMetadata(name, value))) }
        let source = try #require(try fixture.storage.lookWithMetadata(.checked("thumbnails/2024/06/\(md5).jpg"))).metadata
        #expect(source == [ObjectMetadata("source", "directory-thumbnail")])
        let item = try #require(try fixture.queue.items().first?.content?.metadata)
        #expect(item.gpsLatitude == -33.5 && item.gpsLongitude == -70.25)
        #expect(item.pixelWidth == 64 && item.pixelHeight == 48)
        #expect(try fixture.text("metadata/2024/06/\(md5).json").contains("\"key\": \"Exif.Image.Make\""))
    }

    @Test func `STR-03, STR-12: a photo that says nothing is backed up, under the present month and without a thumbnail`() throws
    {
        let fixture = try PhotoFixture()
        try fixture.write("no photo at all", to: "a/broken.heic")
        try fixture.star("a/broken.heic")
        try fixture.upload()
        // md5sum of "no photo at all"
        let md5 = try fixture.md5("a/broken.heic")
        #expect(
            try fixture.names() == [
                "catalog/catalog.jsonl", "metadata/2026/01/\(md5).json", "photos/2026/01/\(md5).heic",
            ])
        let items = try fixture.queue.items()
        #expect(items.map(\.stage) == [.uploaded])
        #expect(items[0].content?.metadata.dateTaken == nil)
    }

    @Test func `STR-04: a photo gets a thumbnail that is a JPEG, and one without a picture gets none and does not fail`() throws {
        let fixture = try PhotoFixture()
        try fixture.photo("a.jpg", ["-DateTimeOriginal=2024:06:30 23:59:00"])
        try fixture.write("nothing to see", to: "b.jpg")
        for path in ["a.jpg", "b.jpg"] { try fixture.star(path) }
        let summary = try fixture.upload()
        #expect(summary.failures.isEmpty)
        let thumbnails = try fixture.names("thumbnails/")
        #expect(thumbnails == ["thumbnails/2024/06/\(try fixture.md5("a.jpg")).jpg"])
        #expect(try fixture.bytes(thumbnails[0]).starts(with: [0xFF, 0xD8, 0xFF]))
    }

    /// As a backup has it: to make one takes longer than to send the photo.
    @Test func `a thumbnail that was made before is taken over`() throws {
        let fixture = try PhotoFixture()
        try fixture.star(fixture.write("one", to: "one.jpg"))
        try fixture.star(fixture.write("two", to: "two.jpg"))
        let known = SHA256Hasher.hash(Array("one".utf8))
        try fixture.upload { options in options.thumbnail = { $0 == known ? Array("a picture".utf8) : nil } }
        let thumbnails = try fixture.names("thumbnails/")
        #expect(thumbnails.count == 1)
        #expect(try fixture.text(#require(thumbnails.first)) == "a picture")
    }

    @Test func `REM-16, CHK-05: starring twice sends and hashes once`() throws {
        let fixture = try PhotoFixture()
        try fixture.write("one", to: "a.jpg")
        try fixture.star("a.jpg")
        #expect(try fixture.upload().uploadedCount == 1)
        let count = fixture.createCount()
        try fixture.star("a.jpg")
        let known = try #require(try fixture.queue.item(QueueItem.id(of: "a.jpg"))?.content)
        let summary = try fixture.upload()
        #expect(summary.uploadedCount == 0 && summary.presentCount == 1)
        #expect(fixture.createCount() == count)
        #expect(try fixture.queue.items().first?.content == known)
        // Without the catalog and without what is known of the file, the server is asked.
        try FileSystem.removeFile(fixture.queue.catalog)
        try fixture.storage.remove(.checked("catalog/catalog.jsonl"), version: nil)
        _ = try fixture.queue.remove(QueueItem.id(of: "a.jpg"))
        try fixture.star("a.jpg")
        #expect(try fixture.upload().presentCount == 1)
        #expect(try fixture.names("photos/").count == 1)
    }

    @Test func `STR-06: the same bytes from two places are one object`() throws {
        let fixture = try PhotoFixture()
        try fixture.write("same", to: "a/one.jpg")
        try fixture.write("same", to: "b/two.jpg")
        try fixture.star("a/one.jpg")
        try fixture.star("b/two.jpg")
        let summary = try fixture.upload()
        #expect(summary.uploadedCount == 1 && summary.presentCount == 1)
        #expect(try fixture.names("photos/").count == 1)
        #expect(try fixture.queue.items().map(\.stage) == [.uploaded, .uploaded])
        let catalog = try fixture.text("catalog/catalog.jsonl")
        #expect(catalog.split(separator: "\n").count == 1)
        #expect(catalog.contains("one.jpg") && catalog.contains("two.jpg"))
    }

    @Test func `STR-01, FPH-07, FPH-08: the stages of a photo, and its file in the queue`() throws {
        let fixture = try PhotoFixture()
        try fixture.write("one", to: "a.jpg")
        try fixture.star("a.jpg")
        let file = "\(fixture.queue.queue)/\(QueueItem.id(of: "a.jpg")).json"
        let queued = String(decoding: try readFile(file), as: UTF8.self)
        #expect(queued.contains("\"stage\": \"queued\""))
        #expect(queued.contains("\"source\": {\n    \"directory\": {\n      \"path\": \"a.jpg\""))
        try fixture.upload()
        #expect(fixture.steps.withLock { $0 } == ["a.jpg processing", "a.jpg uploading", "a.jpg uploaded"])
        #expect(try fixture.queue.queuedIDs().isEmpty)
        let status = String(decoding: try readFile(fixture.queue.status), as: UTF8.self)
        #expect(status.contains("\"status\": \"uploaded\"") && status.contains("\"done\": 1,\n    \"total\": 1"))
    }

    @Test func `FPH-08: a server that fails is tried three times, and the photo fails`() throws {
        let fixture = try PhotoFixture()
        try fixture.write("one", to: "a.jpg")
        try fixture.star("a.jpg")
        let count = Atomic<Int>(0)
        let failing = HookedStorage(fixture.storage) { () throws(BackupError) in
            count.add(1, ordering: .relaxed)
            throw BackupError(.inputOutput, "the server has an internal error")
        }
        let summary = try fixture.upload(failing)
        #expect(summary.failures.map(\.path) == ["a.jpg"])
        #expect(count.load(ordering: .relaxed) == 3)
        let item = try #require(try fixture.queue.items().first)
        #expect(item.stage == .failed(.s3UploadFailed) && item.attempts == 3)
        // Only a user has it tried again.
        #expect(try fixture.upload { $0.retried = .network }.uploadedCount == 0)
        #expect(try fixture.upload().uploadedCount == 1)
    }

    @Test func `without a network, a photo waits for the next run`() throws {
        let fixture = try PhotoFixture()
        for name in ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"] { try fixture.star(fixture.write(name, to: name)) }
        let failing = HookedStorage(fixture.storage) { () throws(BackupError) in
            throw BackupError(.offline, "the server does not answer")
        }
        let summary = try fixture.upload(failing) { $0.parallelCount = 1 }
        #expect(summary.stop?.code == .offline)
        #expect(try fixture.queue.items().map(\.stage).prefix(2) == [.failed(.networkError), .queued])
        #expect(try fixture.upload { $0.retried = .network }.uploadedCount == 5)
    }

    @Test func `a photo that is gone fails by itself`() throws {
        let fixture = try PhotoFixture()
        for name in ["a.jpg", "b.jpg"] { try fixture.star(fixture.write(name, to: name)) }
        try FileSystem.removeFile(fixture.folder("media/a.jpg"))
        let summary = try fixture.upload()
        #expect(summary.uploadedCount == 1 && summary.failures.map(\.path) == ["a.jpg"])
        #expect(try fixture.queue.item(QueueItem.id(of: "a.jpg"))?.stage == .failed(.photoNotFound))
    }

    @Test func `STR-05: ten stars have one worker and ten uploads`() throws {
        let fixture = try PhotoFixture()
        for number in 0..<10 { try fixture.star(fixture.write("photo \(number)", to: "\(number).jpg")) }
        let gate = Gate()
        let seconds = Mutex<[BackupError?]>([])
        let storage = HookedStorage(fixture.storage, after: { gate.leave() }) { () throws(BackupError) in
            gate.enter(wanted: 3)
            // Another one, at any time of the upload.
            let worker = QueueWorker(fixture.queue, of: fixture.photos, to: PhotoBucket(fixture.storage))
            let error = failure { _ = try worker.run() }
            seconds.withLock { $0.append(error) }
        }
        let summary = try fixture.upload(storage)
        #expect(summary.uploadedCount == 10 && summary.failures.isEmpty)
        #expect(gate.mostCount == 3)
        #expect(seconds.withLock { $0.map { $0?.code } } == Array(repeating: .busy, count: 10))
        #expect(try fixture.names("photos/").count == 10)
        #expect(try fixture.queue.items().map(\.stage) == Array(repeating: .uploaded, count: 10))
    }

    @Test func `STR-08, STR-13: three photos at a time, no more and no fewer`() throws {
        let fixture = try PhotoFixture()
        for number in 0..<20 { try fixture.star(fixture.write("photo \(number)", to: "\(number).jpg")) }
        let gate = Gate()
        let storage = HookedStorage(fixture.storage, after: { gate.leave() }, before: { gate.enter(wanted: 3) })
        let summary = try fixture.upload(storage)
        #expect(summary.uploadedCount == 20)
        #expect(gate.mostCount == 3)
        #expect(try fixture.names("photos/").count == 20)
    }

    @Test func `FPH-09: the catalog has a line for each content, and machines keep each other's lines`() throws {
        let fixture = try PhotoFixture()
        for number in 0..<3 { try fixture.star(fixture.write("photo \(number)", to: "\(number).jpg")) }
        try fixture.upload()
        let other = PhotoBucket(SimulatedStorage(fixture.server))
        var catalog = PhotoCatalog()
        let md5 = "0123456789abcdef0123456789abcdef"
        let key = try #require(PhotoKey(parsing: "photos/2020/01/\(md5).jpg"))
        catalog.note(
            CatalogEntry(
                key: key, size: 1, dateTaken: nil, fileModificationDate: nil, originalFilenames: ["other.jpg"],
                source: "directory", livePhotoPair: nil, thumbnailKey: nil, uploadedAt: PhotoFixture.now))
        #expect(try other.publish(catalog).count == 4)
        try fixture.star(fixture.write("photo 3", to: "3.jpg"))
        try fixture.upload()
        let lines = try fixture.text("catalog/catalog.jsonl").split(separator: "\n")
        #expect(lines.count == 5)
        #expect(lines.contains { $0.contains(md5) })
        let local = try readFile(fixture.queue.catalog)
        #expect(try fixture.bytes("catalog/catalog.jsonl") == local)
        // A damaged one is not written over, and can be made again.
        let name = try ObjectName.checked("catalog/catalog.jsonl")
        let facts = try #require(try fixture.storage.look(name))
        _ = try fixture.storage.replace(name, version: facts.version, ObjectDraft(Array("{\"md5\": \"torn".utf8)))
        try fixture.star(fixture.write("photo 4", to: "4.jpg"))
        do {
            _ = try fixture.upload()
            Issue.record("a damaged catalog was accepted")
        } catch let error as BackupError {
            #expect(error.code == .damagedContent)
        }
        let (rebuilt, unknown) = try other.rebuildCatalog()
        #expect(rebuilt.count == 4 && unknown.isEmpty)
        #expect(Set(rebuilt.entries.flatMap(\.originalFilenames)) == ["0.jpg", "1.jpg", "2.jpg", "3.jpg"])
    }

    @Test func `an object with another content is left as it is`() throws {
        let fixture = try PhotoFixture()
        try fixture.star(fixture.write("one", to: "a.jpg"))
        let key = "photos/2026/01/\(try fixture.md5("a.jpg")).jpg"
        _ = try fixture.storage.create(.checked(key), ObjectDraft(Array("two".utf8)))
        let summary = try fixture.upload()
        #expect(summary.failures.map(\.error.code) == [.conflict])
        #expect(try fixture.text(key) == "two")
        // The same bytes of another program are the photo.
        try fixture.star(fixture.write("three", to: "b.jpg"))
        let other = "photos/2026/01/\(try fixture.md5("b.jpg")).jpg"
        _ = try fixture.storage.create(.checked(other), ObjectDraft(Array("three".utf8)))
        #expect(try fixture.upload().presentCount == 1)
    }

    @Test func `what is starred, starred again and unstarred during a run`() throws {
        let fixture = try PhotoFixture()
        for name in ["a.jpg", "b.jpg", "c.jpg"] { try fixture.star(fixture.write(name, to: name)) }
        let isFirst = Atomic<Bool>(true)
        let storage = HookedStorage(
            fixture.storage,
            after: {
                guard isFirst.exchange(false, ordering: .relaxed) else { return }
                _ = try? fixture.write("new", to: "a.jpg")
                try? fixture.star("a.jpg")
                _ = try? fixture.queue.remove(QueueItem.id(of: "b.jpg"))
                _ = try? fixture.star(fixture.write("d", to: "d.jpg"))
            }, before: {})
        let summary = try fixture.upload(storage) { $0.parallelCount = 1 }
        #expect(summary.failures.isEmpty && summary.stop == nil)
        let items = try fixture.queue.items()
        #expect(items.map(\.path) == ["a.jpg", "c.jpg", "d.jpg"])
        #expect(items.allSatisfy { $0.stage == .uploaded })
        let md5 = try fixture.md5("a.jpg")
        #expect(items[0].content?.key.md5 == md5)
        #expect(try fixture.names("photos/").count == 4)
    }

    @Test func `a photo that changes after it was hashed is stored under its new name alone`() throws {
        let fixture = try PhotoFixture()
        try fixture.star(fixture.write("before", to: "a.jpg"))
        let isFirst = Atomic<Bool>(true)
        let changing = HookedStorage(fixture.storage) {
            if isFirst.exchange(false, ordering: .relaxed) { _ = try? fixture.write("after!", to: "a.jpg") }
        }
        #expect(try fixture.upload(changing).uploadedCount == 1)
        let names = try fixture.names("photos/")
        #expect(names == ["photos/2026/01/\(try fixture.md5("a.jpg")).jpg"])
        #expect(try fixture.text(names[0]) == "after!")
    }

    @Test func `STR-11: both parts of a Live Photo are stored in one month and name each other`() throws {
        let fixture = try PhotoFixture()
        try fixture.photo("IMG_1.JPG", ["-DateTimeOriginal=2023:05:06 07:08:09"])
        try fixture.write("video", to: "IMG_1.MOV")
        try fixture.write("else", to: "IMG_2.MOV")
        #expect(try fixture.photos.pair(of: "IMG_1.JPG") == "IMG_1.MOV")
        #expect(try fixture.photos.pair(of: "IMG_1.MOV") == "IMG_1.JPG")
        #expect(try fixture.photos.pair(of: "IMG_2.MOV") == nil)
        try fixture.star("IMG_1.MOV", pair: "IMG_1.JPG")
        try fixture.star("IMG_1.JPG", pair: "IMG_1.MOV")
        try fixture.upload()
        let (still, video) = (try fixture.md5("IMG_1.JPG"), try fixture.md5("IMG_1.MOV"))
        let keys = ["photos/2023/05/\(still).jpg", "photos/2023/05/\(video).mov"]
        #expect(Set(try fixture.names("photos/")) == Set(keys))
        for (key, other) in zip(keys, [video, still]) {
            let metadata = try #require(try fixture.storage.lookWithMetadata(.checked(key))).metadata
            #expect(metadata.contains(ObjectMetadata("live-photo-pair", other)))
        }
    }

    @Test
    func `FPH-04, FPH-07, STR-02, STR-12: of an edited photo in a library, the original is uploaded, the versions are listed`()
        throws
    {
        let fixture = try PhotoFixture()
        let identifier = "A1B2C3D4-0000-1111-2222-333344445555"
        let original = "My.photoslibrary/originals/A/\(identifier).jpeg"
        let render = "My.photoslibrary/resources/renders/A/\(identifier)_1_201_a.jpeg"
        try fixture.photo(original, ["-DateTimeOriginal=2024:06:30 23:59:00"])
        try fixture.write("edited", to: render)
        #expect(try fixture.photos.original(of: render) == original)
        try fixture.star(original)
        let file = String(decoding: try readFile("\(fixture.queue.queue)/\(QueueItem.id(of: original)).json"), as: UTF8.self)
        #expect(file.contains("\"source\": {\n    \"applePhotos\": {\n      \"assetId\": \"\(identifier)\""))
        try fixture.upload()
        let md5 = try fixture.md5(original)
        #expect(try fixture.names("photos/") == ["photos/2024/06/\(md5).jpeg"])
        #expect(try fixture.text("metadata/2024/06/\(md5).json").contains("\"path\": \"\(render)\""))
        let metadata = try #require(try fixture.storage.lookWithMetadata(.checked("photos/2024/06/\(md5).jpeg"))).metadata
        #expect(metadata.contains(ObjectMetadata("source", "apple-photos")))
        let thumbnail = try #require(try fixture.storage.lookWithMetadata(.checked("thumbnails/2024/06/\(md5).jpg"))).metadata
        #expect(thumbnail == [ObjectMetadata("source", "apple-photos-thumbnail")])
        #expect(try fixture.queue.items().first?.source == .applePhotos(assetId: identifier))
    }

    @Test func `STR-09: what a killed program has left goes on, and is not sent again`() throws {
        let fixture = try PhotoFixture()
        for number in 0..<5 { try fixture.star(fixture.write("photo \(number)", to: "\(number).jpg")) }
        fixture.storage.network.scheduled = [12: .killed(hasEffect: true)]
        #expect(throws: BackupError.self) { try fixture.upload { $0.parallelCount = 1 } }
        let before = try PhotoBucketNames.all(SimulatedStorage(fixture.server))
        let next = SimulatedStorage(fixture.server)
        let summary = try fixture.upload(next)
        #expect(summary.failures.isEmpty)
        let after = try PhotoBucketNames.all(next)
        #expect(after.filter { $0.hasPrefix("photos/") }.count == 5)
        #expect(Set(before).isSubset(of: after))
        #expect(try fixture.queue.items().allSatisfy { $0.stage == .uploaded })
    }
}

enum PhotoBucketNames {
    static func all(_ storage: SimulatedStorage) throws -> [String] {
        var names: [String] = []
        try storage.forEachObject { names.append($0.name.text) }
        return names
    }
}
