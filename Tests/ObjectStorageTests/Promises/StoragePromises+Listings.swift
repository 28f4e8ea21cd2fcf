import BackupCore
import ObjectStorage
import Synchronization
import SystemIO
import TestSupport
import Testing

extension StoragePromises {
    static let listings = [
        Promise("a listing is in the order of bytes") { try $0.listingIsInOrder() },
        Promise("a listing has what a prefix and a start say") { try $0.prefixesAndStarts() },
        Promise("pages have each object once, while others come and go") { try $0.pagesHaveEachObjectOnce() },
        Promise("what was changed shows in the next listing") { try $0.changesShowAtOnce() },
    ]

    /// Sorted by Python: `sorted(names, key=str.encode)`.
    private static let sortedNames = [
        "A", "Z/z", "a", "a!/x", "a-b", "a.", "a/b", "a0", "ab", "ab/c", "b/-", "b/c-d", "b/c/d", "b/c/e/f", "b/c0",
        "cafe\u{301}", "caf\u{E9}",
        "z", "\u{E9}", "\u{FF5E}", "\u{1D11E}",
    ]

    func listingIsInOrder() throws {
        let client = try makeClient()
        // `a` is no folder where names are paths.
        let names = Self.sortedNames.filter { $0 != "a" && $0 != "ab" && hasOwnName($0) }
        var generator = SeededGenerator(seed: 5)
        for text in names.shuffled(using: &generator) { _ = try client.create(name(text), ObjectDraft(text)) }
        let page = try client.list(prefix: "", after: nil)
        #expect(page.objects.map { Array($0.name.text.utf8) } == names.map { Array($0.utf8) })
        #expect(!page.hasMore)
        for object in page.objects {
            let found = try #require(try client.look(object.name))
            #expect(abs(found.storedAt.secondsSince(object.storedAt)) <= timeToleranceSeconds)
            let expected = ObjectFacts(
                name: object.name, sizeBytes: object.sizeBytes, version: object.version,
                storedAt: timeToleranceSeconds > 0 ? found.storedAt : object.storedAt)
            #expect(found == expected)
            #expect(object.sizeBytes == UInt64(object.name.text.utf8.count))
        }
    }

    private func hasOwnName(_ text: String) -> Bool {
        tellsNormalFormsApart || !text.unicodeScalars.contains("\u{301}")
    }

    func prefixesAndStarts() throws {
        let client = try makeClient()
        let names = ["a-b", "a/b", "a/bc", "a/bc0/d", "a/c/1", "a/c/2", "a0", "ab/1", "b", "cafe\u{301}/1", "caf\u{E9}/1"]
            .filter(hasOwnName)
        for text in names { _ = try client.create(name(text), ObjectDraft(text)) }
        let prefixes = [
            "", "a", "a/", "a/b", "a/bc", "a/bc0/", "a/c", "a/c/", "a/c/1", "a/c/1/", "a//", "/", "..", "../", "a/../", "./", "b",
            "b/", "caf",
            "cafe", "caf\u{E9}", "x", "x/y", "a\u{0}",
        ]
        for prefix in prefixes where !refusedPrefixes.contains(prefix) {
            let expected = names.filter { $0.utf8.starts(with: prefix.utf8) }
            #expect(try client.names(prefix: prefix) == expected, "\(prefix)")
            for start in names + ["0", "a", "a/b0", "a/c/0", "a/zz", "zz"] {
                let rest = expected.filter { start.utf8.lexicographicallyPrecedes($0.utf8) }
                let page = try client.list(prefix: prefix, after: name(start))
                #expect(page.objects.map(\.name.text) == rest, "\(prefix) after \(start)")
                let part = try client.list(prefix: prefix, after: name(start), limit: 2)
                #expect(part.objects.map(\.name.text) == Array(rest.prefix(2)), "2 of \(prefix) after \(start)")
                #expect(part.hasMore || rest.count <= 2, "2 of \(prefix) after \(start)")
            }
        }
    }

    func pagesHaveEachObjectOnce() throws {
        let clients = try makeClients(2)
        // In one folder, and in several.
        let lasting = (0..<2_500).map { $0 < 1_700 ? "packs/\($0 * 2)" : "packs/d\($0 % 7)/\($0)" }
        // A server takes some time for each.
        _ = try concurrently(8) { part in
            for index in stride(from: part, to: lasting.count, by: 8) {
                _ = try clients[0].create(name(lasting[index]), ObjectDraft([]))
            }
        }
        let isListing = Atomic(true)
        let lists = try concurrently(2) { number -> [String] in
            if number == 0 {
                defer { isListing.store(false, ordering: .sequentiallyConsistent) }
                return try clients[0].names(prefix: "packs/")
            }
            var round = 0
            while isListing.load(ordering: .sequentiallyConsistent) {
                let name = try name("packs/\(round * 37 % 4_000 | 1)")
                round += 1
                if errorCode({ _ = try clients[1].create(name, ObjectDraft([])) }) == .alreadyExists { continue }
                if clients[1].capabilities.contains(.removal), round % 3 > 0 { try clients[1].remove(name, version: nil) }
            }
            return []
        }
        let found = lists[0]
        let known = Set(lasting)
        #expect(found.filter { known.contains($0) } == lasting.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        #expect(Set(found).count == found.count)
        // Within the name of a folder, and from the middle of it.
        let part = found.filter { $0.hasPrefix("packs/d1") && known.contains($0) }
        #expect(part.count > 100)
        #expect(try clients[0].names(prefix: "packs/d1") == part)
        let rest = try clients[0].list(prefix: "packs/d1", after: name(part[50]))
        #expect(rest.objects.map(\.name.text) == Array(part[51...]) && !rest.hasMore)
        #expect(
            try clients[0].list(prefix: "packs/d2", after: name(part[50])).objects.first?.name.text.hasPrefix("packs/d2/") == true
        )
        let first = try clients[0].list(prefix: "packs/", after: nil)
        #expect(first.objects.count == 1_000 && first.hasMore)
    }

    func changesShowAtOnce() throws {
        let clients = try makeClients(2)
        for number in 0..<20 {
            let text = "objects/\(number)"
            _ = try clients[0].create(name(text), ObjectDraft(text))
            #expect(try clients[1].names(prefix: "objects/").contains(text))
            guard clients[0].capabilities.contains(.removal), number.isMultiple(of: 3) else { continue }
            try clients[0].remove(name(text), version: nil)
            #expect(try !clients[1].names(prefix: "objects/").contains(text))
        }
    }
}
