import Testing

@testable import AppData

/// What keyed files are called in archives, where that is longer than a name can be.
struct ArchiveFileNamesTests {
    private static func names(_ files: [(path: String, key: String)]) -> [String] {
        var names = ArchiveFileNames(.keyed)
        return files.map { String(decoding: names.name(of: Array($0.path.utf8), key: $0.key), as: UTF8.self) }
    }

    private static func many(_ character: String, _ count: Int) -> String { String(repeating: character, count: count) }

    @Test func `what fits is as it was`() {
        #expect(
            Self.names([("a/beach.jpg", "7"), ("7_car.jpg", "7"), (Self.many("x", 253), "1")])
                == ["7_beach.jpg", "7_car.jpg", "1_" + Self.many("x", 253)])
    }

    @Test func `what does not keeps its ending and whole characters`() {
        #expect(
            Self.names([(Self.many("x", 250) + ".jpeg", "1"), (Self.many("é", 125) + ".jpg", "12"), (Self.many("x", 255), "1")])
                == ["1_" + Self.many("x", 248) + ".jpeg", "12_" + Self.many("é", 124) + ".jpg", "1_" + Self.many("x", 253)])
    }

    @Test func `what becomes the same gets a number`() {
        let key = Self.many("k", 254)
        #expect(
            Self.names([("a.jpg", key + "1"), ("b.jpg", key + "2"), ("a.jpg", key + "3"), ("c.png", key + "4")])
                == [
                    Self.many("k", 251) + ".jpg", Self.many("k", 249) + "_2.jpg", Self.many("k", 249) + "_3.jpg",
                    Self.many("k", 251) + ".png",
                ])
    }
}
