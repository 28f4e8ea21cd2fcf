import BackupCore
import Formats
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import Photos

/// What happens while photos are uploaded: others with the same bytes, stars that are taken away, parts that come later.
struct QueueRaceTests {
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
}
