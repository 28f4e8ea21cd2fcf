import BackupCore
import ObjectStorage
import SystemIO
import TestSupport
import Testing

/// What `ObjectStorage` promises, as tests that each implementation passes. Where a promise depends on a capability, its test
/// asks for that.
struct StoragePromises: Sendable {
    /// Makes clients of one new, empty storage, as many as asked for.
    let makeClients: @Sendable (Int) throws -> [any ObjectStorage]

    /// One promise, as the argument of a test.
    struct Promise: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let check: @Sendable (StoragePromises) throws -> Void

        init(_ description: String, _ check: @escaping @Sendable (StoragePromises) throws -> Void) {
            testDescription = description
            self.check = check
        }
    }

    static let all: [Promise] =
        [
            Promise("an object is there with its bytes") { try $0.objectIsThere() },
            Promise("what is not there is not found") { try $0.missingIsNotFound() },
            Promise("create never replaces") { try $0.createNeverReplaces() },
            Promise("of concurrent creates of one name, one succeeds") { try $0.oneCreateSucceeds() },
            Promise("replace needs the version") { try $0.replaceNeedsTheVersion() },
            Promise("each state has another version") { try $0.eachStateHasItsVersion() },
            Promise("concurrent replaces lose nothing") { try $0.concurrentReplacesLoseNothing() },
            Promise("remove needs the version") { try $0.removeNeedsTheVersion() },
            Promise("a reader sees the old or the new object") { try $0.readerSeesOldOrNew() },
            Promise("bytes that do not fit their SHA-256 are refused") { try $0.wrongDraftsAreRefused() },
            Promise("a failing source leaves nothing") { try $0.failingSourceLeavesNothing() },
            Promise("a cancelled create leaves nothing") { try $0.cancelledCreateLeavesNothing() },
            Promise("ranges are cut") { try $0.rangesAreCut() },
            Promise("a consumer can stop a read") { try $0.consumerCanStop() },
            Promise("a large object passes") { try $0.largeObjectPasses() },
        ] + listings + [Promise("random histories are those of a dictionary") { try $0.historiesAreThoseOfADictionary() }]

    /// How many histories; few of a storage whose requests take long.
    var historySeeds: [UInt64] = [0]
    /// How many threads change one object at the same time.
    var threadCount = 4
    /// Whether two states of an object with the same bytes have two versions. An ETag is often a checksum of the bytes.
    var tellsEqualStatesApart = true
    /// Whether names that only differ in their Unicode normalization are two names.
    var tellsNormalFormsApart = true
    /// By how many seconds the time of an object may differ from one answer to another.
    var timeToleranceSeconds: Int64 = 0
    /// A server may refuse to list what begins with `..`.
    var refusedPrefixes: Set<String> = []
    /// Of the large object.
    var largeSizeBytes: UInt64 = 16 << 20

    init(_ makeClients: @escaping @Sendable (Int) throws -> [any ObjectStorage]) { self.makeClients = makeClients }

    func makeClient() throws -> any ObjectStorage { try #require(try makeClients(1).first) }

    // MARK: One object

    func objectIsThere() throws {
        let clients = try makeClients(2)
        let (writer, reader) = (clients[0], clients[1])
        for (text, bytes) in [("config", [UInt8]()), ("packs/ab/1.pack", [1, 2, 3]), ("a b/ü 𝄞 %41+&?#'\"<", Array(0...255))] {
            let name = try name(text)
            let version = try writer.create(name, ObjectDraft(bytes))
            let facts = try #require(try reader.look(name))
            #expect(facts.name == name && facts.version == version && facts.sizeBytes == UInt64(bytes.count))
            let seconds = facts.storedAt.secondsSince(SystemClock.systemTime())
            #expect(reader.location.hasPrefix("simulated") || abs(seconds) < 60)
            #expect(try reader.bytes(name) == bytes)
            #expect(try reader.read(name, range: nil) { _ in } == facts)
            #expect(try reader.names(prefix: text) == [text])
        }
    }

    func missingIsNotFound() throws {
        let client = try makeClient()
        _ = try client.create(name("a/b"), ObjectDraft("there"))
        for text in ["b", "a/c", "a/b2", "x/y/z", "A/b"] {
            let name = try name(text)
            #expect(try client.look(name) == nil)
            #expect(errorCode { _ = try client.bytes(name) } == .notFound)
            guard client.capabilities.contains(.removal) else { continue }
            #expect(errorCode { try client.remove(name, version: nil) } == .notFound)
            #expect(errorCode { try client.remove(name, version: ObjectVersion("1")) } == .notFound)
            try client.removeIfPresent(name)
            #expect(errorCode { _ = try client.replace(name, version: ObjectVersion("1"), ObjectDraft("new")) } == .notFound)
        }
        #expect(try client.names() == ["a/b"])
    }

    func createNeverReplaces() throws {
        let client = try makeClient()
        guard client.capabilities.contains(.conditionalCreate) else { return }
        let name = try name("a/b")
        let version = try client.create(name, ObjectDraft("first"))
        #expect(errorCode { _ = try client.create(name, ObjectDraft("second")) } == .alreadyExists)
        #expect(try client.text(name) == "first")
        #expect(try client.look(name)?.version == version)
    }

    func oneCreateSucceeds() throws {
        let clients = try makeClients(threadCount)
        guard clients[0].capabilities.contains(.conditionalCreate) else { return }
        for round in 0..<5 {
            let name = try name("race/\(round)")
            // Each has seen that there is no such object before the first one has written its own.
            let barrier = Barrier(threadCount)
            let codes = try concurrently(threadCount) { number in
                let bytes = Array("thread \(number)".utf8)
                let source = CallingSource(MemorySource(bytes), at: 0) { barrier.wait() }
                let draft = ObjectDraft(source: source, sizeBytes: UInt64(bytes.count), sha256: SHA256Hasher.hash(bytes))
                return errorCode { _ = try clients[number].create(name, draft) }
            }
            let winners = codes.indices.filter { codes[$0] == nil }
            #expect(winners.count == 1)
            #expect(codes.filter { $0 == .alreadyExists }.count == threadCount - 1)
            #expect(try clients[0].text(name) == "thread \(winners.first ?? -1)")
        }
    }

    func replaceNeedsTheVersion() throws {
        let client = try makeClient()
        guard client.capabilities.isSuperset(of: [.compareAndSwap, .removal]) else { return }
        let name = try name("label")
        let first = try client.create(name, ObjectDraft("first"))
        let second = try client.replace(name, version: first, ObjectDraft("second"))
        #expect(errorCode { _ = try client.replace(name, version: first, ObjectDraft("third")) } == .conflict)
        #expect(try client.text(name) == "second")
        #expect(try client.look(name)?.version == second)
    }

    /// However fast they follow each other, and with the same size.
    func eachStateHasItsVersion() throws {
        let client = try makeClient()
        guard client.capabilities.isSuperset(of: [.compareAndSwap, .removal]) else { return }
        let name = try name("label")
        var versions = [try client.create(name, ObjectDraft("00"))]
        for number in 1..<20 {
            let last = versions[versions.count - 1]
            let draft = ObjectDraft("\(tellsEqualStatesApart ? number % 10 : number / 10)\(number % 10)")
            if number.isMultiple(of: 4) {
                try client.remove(name, version: last)
                versions.append(try client.create(name, draft))
            } else {
                versions.append(try client.replace(name, version: last, draft))
            }
        }
        #expect(Set(versions).count == versions.count)
    }

    func concurrentReplacesLoseNothing() throws {
        let clients = try makeClients(threadCount)
        guard clients[0].capabilities.isSuperset(of: [.compareAndSwap, .removal]) else { return }
        let (name, increments) = (try name("counter"), 10)
        _ = try clients[0].create(name, ObjectDraft("0"))
        _ = try concurrently(threadCount) { number in
            for _ in 0..<increments {
                var isDone = false
                while !isDone {
                    var bytes: [UInt8] = []
                    let facts = try clients[number].read(name, range: nil) { bytes += $0 }
                    let count = try #require(Int(String(decoding: bytes, as: UTF8.self)))
                    let code = errorCode {
                        _ = try clients[number].replace(name, version: facts.version, ObjectDraft("\(count + 1)"))
                    }
                    #expect(code == nil || code == .conflict)
                    isDone = code == nil
                }
            }
        }
        #expect(try clients[0].text(name) == "\(threadCount * increments)")
    }

    func removeNeedsTheVersion() throws {
        let client = try makeClient()
        guard client.capabilities.isSuperset(of: [.conditionalRemove, .removal]) else { return }
        let name = try name("locks/1")
        let first = try client.create(name, ObjectDraft("first"))
        let second = try client.replace(name, version: first, ObjectDraft("second"))
        #expect(errorCode { try client.remove(name, version: first) } == .conflict)
        #expect(try client.text(name) == "second")
        try client.remove(name, version: second)
        #expect(try client.look(name) == nil)
        #expect(try client.names().isEmpty)
        for (text, remove) in [
            ("third", { try client.remove(name, version: nil) }), ("fourth", { try client.removeIfPresent(name) }),
        ] as [(String, () throws -> Void)] {
            _ = try client.create(name, ObjectDraft(text))
            try remove()
            #expect(try client.look(name) == nil)
        }
    }

    func readerSeesOldOrNew() throws {
        let clients = try makeClients(2)
        guard clients[0].capabilities.isSuperset(of: [.compareAndSwap, .removal]) else { return }
        let name = try name("state")
        let sizeBytes = 600_000
        var version = try clients[0].create(name, ObjectDraft([UInt8](repeating: 0, count: sizeBytes)))
        _ = try concurrently(2) { [version] number in
            if number == 0 {
                var version = version
                for value in 1...20 {
                    let bytes = [UInt8](repeating: UInt8(value), count: sizeBytes)
                    version = try clients[0].replace(name, version: version, ObjectDraft(bytes))
                }
            } else {
                var value: UInt8 = 0
                while value < 20 {
                    var bytes: [UInt8] = []
                    // A storage that reads in parts may notice that they are of two objects.
                    guard errorCode({ _ = try clients[1].read(name, range: nil) { bytes += $0 } }) != .conflict else { continue }
                    #expect(bytes.count == sizeBytes && bytes[0] >= value)
                    #expect(bytes == [UInt8](repeating: bytes[0], count: sizeBytes))
                    value = max(value, bytes[0])
                }
            }
        }
        version = try #require(try clients[1].look(name)).version
        #expect(errorCode { try clients[1].remove(name, version: version) } == nil)
    }
}
