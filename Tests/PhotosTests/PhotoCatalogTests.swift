import BackupCore
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import Photos

struct PhotoCatalogTests {
    private static func md5(_ number: Int) -> String {
        String(repeating: "0", count: 24) + String(String(number, radix: 16).reversed() + "0000000").prefix(8)
    }

    private static func line(_ number: Int, _ month: String = "2024/06", name: String = "a.jpg", further: String = "") -> String {
        """
        {"md5":"\(md5(number))","key":"photos/\(month)/\(md5(number)).jpg","size":5,"date_taken":null,"file_modified":null,\
        "original_filenames":["\(name)"],"source":"directory","live_photo_pair":null,"thumbnail_key":null,\
        "uploaded_at":"2026-01-01T00:00:00Z","sha256":null\(further)}

        """
    }

    private static func catalog(_ text: String) throws -> PhotoCatalog {
        try PhotoCatalog(parsing: Array(text.utf8), path: "catalog")
    }

    private static func text(_ catalog: PhotoCatalog) -> String { String(decoding: catalog.encoded, as: UTF8.self) }

    @Test func `lines that do not change stay as they are, and others get their places`() throws {
        // Another program's spaces, and a member of a later version.
        let first = Self.line(1).replacing(",\"size\":5", with: ", \"size\": 5")
        let third = Self.line(3, further: ",\"faces\":[\"x\"]")
        var catalog = try Self.catalog(first + third + Self.line(5))
        catalog.merge(try Self.catalog(Self.line(2) + Self.line(6) + Self.line(0) + Self.line(1)))
        #expect(
            Self.text(catalog) == Self.line(0) + first + Self.line(2) + third + Self.line(5) + Self.line(6))
        catalog.merge(try Self.catalog(Self.line(3, name: "b.jpg")))
        #expect(catalog.count == 6 && catalog.entries.map(\.md5) == (0...6).filter { $0 != 4 }.map(Self.md5))
        let changed = Self.line(3, further: ",\"faces\":[\"x\"]").replacing("[\"a.jpg\"]", with: "[\"a.jpg\",\"b.jpg\"]")
        #expect(Self.text(catalog) == Self.line(0) + first + Self.line(2) + changed + Self.line(5) + Self.line(6))
        // What was written is read as the same.
        #expect(try Self.catalog(Self.text(catalog)) == catalog)
        #expect(catalog[Self.md5(3)]?.originalFilenames == ["a.jpg", "b.jpg"] && catalog[Self.md5(4)] == nil)
    }

    @Test func `a content has one line, and a damaged line is named`() throws {
        let text = Self.line(1) + Self.line(2) + "\n" + Self.line(1, "2023/01", name: "b.jpg") + Self.line(3).dropLast()
        let catalog = try Self.catalog(text)
        let merged = Self.line(1).replacing("[\"a.jpg\"]", with: "[\"a.jpg\",\"b.jpg\"]")
        #expect(catalog.count == 3 && Self.text(catalog).replacing("\n\n", with: "\n") == merged + Self.line(2) + Self.line(3))
        let error = failure { _ = try Self.catalog(Self.line(1) + Self.line(2).dropLast(9) + "\n" + Self.line(3)) }
        #expect(error?.code == .damagedContent && error?.description.contains("line 2 ") == true)
        #expect(try Self.catalog("").count == 0 && Self.text(try Self.catalog("")).isEmpty)
    }

    @Test func `the place of a content is found by its SHA-256`() throws {
        let (one, two) = (SHA256Hasher.hash([1]), SHA256Hasher.hash([2]))
        let text = [(1, one), (2, two)].map { number, sha256 in
            Self.line(number, further: ",\"thumbnail\":{\"sha256\":\"\(sha256 == one ? two : one)\"}")
                .replacing("\"sha256\":null", with: "\"sha256\":\"\(sha256.hexadecimal)\"")
        }
        let plain = text.map { $0.split(separator: ",\"thumbnail\"")[0] + "}\n" }.joined()
        #expect(CatalogText.keys(of: [two], in: Array(plain.utf8)).mapValues(\.md5) == [two: Self.md5(2)])
        // Another SHA-256 in the line of a later version proves nothing.
        #expect(CatalogText.keys(of: [two], in: Array(text.joined().utf8)).isEmpty)
    }

    @Test func `a catalog that no other machine has written is not read again, and one that another has written is`() throws {
        let fixture = try PhotoFixture()
        let bucket = PhotoBucket(fixture.storage)
        _ = try bucket.publish(try Self.catalog(Self.line(1)))
        var mine = try bucket.catalog()
        let reads = fixture.storage.traffic[.read].requestCount
        mine.merge(try Self.catalog(Self.line(2)))
        mine = try bucket.publish(mine)
        #expect(try bucket.publish(mine) == mine)
        #expect(fixture.storage.traffic[.read].requestCount == reads)
        #expect(try fixture.text("catalog/catalog.jsonl") == Self.line(1) + Self.line(2))
        _ = try PhotoBucket(SimulatedStorage(fixture.server)).publish(try Self.catalog(Self.line(3)))
        mine.merge(try Self.catalog(Self.line(4)))
        mine = try bucket.publish(mine)
        #expect(mine.count == 4)
        #expect(try fixture.text("catalog/catalog.jsonl") == (1...4).map { Self.line($0) }.joined())
        // It was removed.
        try fixture.storage.remove(.checked("catalog/catalog.jsonl"), version: nil)
        #expect(try bucket.publish(mine).count == 4)
        #expect(try fixture.text("catalog/catalog.jsonl") == (1...4).map { Self.line($0) }.joined())
    }
}
