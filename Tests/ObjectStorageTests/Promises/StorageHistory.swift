import BackupCore
import ObjectStorage
import SystemIO
import TestSupport
import Testing

extension StoragePromises {
    /// Each operation has the result that a dictionary gives.
    func historiesAreThoseOfADictionary() throws {
        for seed in historySeeds {
            let clients = try makeClients(2)
            guard clients[0].capabilities.isSuperset(of: [.conditionalCreate, .compareAndSwap, .conditionalRemove, .removal])
            else {
                return
            }
            var history = StorageHistory(seed: seed, repeatsBytes: tellsEqualStatesApart)
            for _ in 0..<40 { try history.step(clients) }
            try history.compareListings(clients[0])
        }
    }
}

/// A storage and a dictionary with the same objects.
private struct StorageHistory {
    private static let names = ["a-b", "a/b", "a/c/d", "a0", "b", "b0/x", "b0/x\u{301}", "c/1", "c/10", "c/2"]

    private let seed: UInt64
    /// Whether two states can have the same bytes.
    private let repeatsBytes: Bool
    private var stepCount: UInt8 = 0
    private var generator: SeededGenerator
    private var model: [String: (bytes: [UInt8], version: ObjectVersion)] = [:]
    private var oldVersions: [ObjectVersion] = [ObjectVersion("unknown")]

    init(seed: UInt64, repeatsBytes: Bool) {
        self.seed = seed
        self.repeatsBytes = repeatsBytes
        generator = SeededGenerator(seed: seed)
    }

    private var place: Comment { "seed \(seed)" }

    mutating func step(_ clients: [any ObjectStorage]) throws {
        let client = clients[Int.random(in: 0..<clients.count, using: &generator)]
        let text = Self.names[Int.random(in: 0..<Self.names.count, using: &generator)]
        let name = try name(text)
        let known = model[text]
        let bytes = generator.noise(Int.random(in: 0..<40, using: &generator)) + (repeatsBytes ? [] : [stepCount])
        stepCount += 1
        // Mostly the right one.
        let isRight = Int.random(in: 0..<4, using: &generator) > 0
        let version =
            isRight ? known?.version ?? oldVersions[0] : oldVersions[Int.random(in: 0..<oldVersions.count, using: &generator)]
        switch Int.random(in: 0..<10, using: &generator) {
        case 0...2:
            let result = Result { try client.create(name, ObjectDraft(bytes)) }
            #expect(code(of: result) == (known == nil ? nil : .alreadyExists), place)
            if let version = try? result.get() { model[text] = (bytes, version) }
        case 3...4:
            let result = Result { try client.replace(name, version: version, ObjectDraft(bytes)) }
            #expect(code(of: result) == expectedCode(known?.version, version), place)
            if let new = try? result.get() {
                oldVersions.append(version)
                #expect(!oldVersions.contains(new), place)
                model[text] = (bytes, new)
            }
        case 5...6:
            let given = Bool.random(using: &generator) ? version : nil
            let result = Result { try client.remove(name, version: given) }
            #expect(code(of: result) == expectedCode(known?.version, given ?? known?.version), place)
            if code(of: result) == nil, let known = model.removeValue(forKey: text) { oldVersions.append(known.version) }
        case 7:
            let facts = try client.look(name)
            #expect(facts?.version == known?.version && facts?.sizeBytes == known.map { UInt64($0.bytes.count) }, place)
        case 8:
            let start = UInt64.random(in: 0..<50, using: &generator)
            let range = start..<start + UInt64.random(in: 0..<50, using: &generator)
            let result = Result { try client.bytes(name, range) }
            #expect(code(of: result) == (known == nil ? .notFound : nil), place)
            #expect(
                (try? result.get()) == known.map { Array($0.bytes.prefix(Int(range.upperBound)).dropFirst(Int(start))) }, place)
        default:
            try compareListings(client)
        }
    }

    private func expectedCode(_ current: ObjectVersion?, _ given: ObjectVersion?) -> BackupError.Code? {
        current == nil ? .notFound : current == given ? nil : .conflict
    }

    private func code<Value>(of result: Result<Value, any Error>) -> BackupError.Code? { errorCode { _ = try result.get() } }

    mutating func compareListings(_ client: any ObjectStorage) throws {
        let text = Self.names[Int.random(in: 0..<Self.names.count, using: &generator)]
        let prefix = String(text.unicodeScalars.prefix(Int.random(in: 0...text.unicodeScalars.count, using: &generator)))
        let expected = model.keys.filter { $0.utf8.starts(with: prefix.utf8) }.sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
        let page = try client.list(prefix: prefix, after: nil)
        #expect(page.objects.map { Array($0.name.text.utf8) } == expected.map { Array($0.utf8) }, place)
        #expect(page.objects.map(\.version) == expected.map { model[$0]?.version }, place)
    }
}
