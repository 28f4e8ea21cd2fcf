import BackupCore
import ObjectStorage
import StorageSimulation
import Synchronization
import SystemIO
import TestSupport
import Testing

/// The simulated network and server do what a test asks of them, and count it.
@Suite struct SimulatedStorageTests {
    private let server = SimulatedServer()

    /// A client whose request with this number has a fault.
    private func client(_ number: Int, _ fault: SimulatedFault) -> SimulatedStorage {
        var network = SimulatedNetwork.good
        network.scheduled[number] = fault
        return SimulatedStorage(server, network)
    }

    private var observer: SimulatedStorage { SimulatedStorage(server) }

    @Test(arguments: [
        (SimulatedFault.lostRequest, BackupError.Code.offline, nil as String?), (.lostAnswer, .offline, "text"),
        (.late(requestCount: 2), .offline, nil), (.duplicate, .alreadyExists, "text"), (.denied, .accessDenied, nil),
        (.serverError, .inputOutput, nil), (.wrongBytes, .damagedContent, nil), (.truncated, .offline, nil),
        (.killed(hasEffect: false), .interrupted, nil), (.killed(hasEffect: true), .interrupted, "text"),
    ])
    func `a fault of a create`(fault: SimulatedFault, code: BackupError.Code, text: String?) throws {
        let client = client(1, fault)
        #expect(errorCode { _ = try client.create(name("a"), ObjectDraft("text")) } == code)
        #expect(try observer.look(name("a")) == nil ? text == nil : observer.text(name("a")) == text)
    }

    @Test func `an answer is wrong, cut off or missing`() throws {
        _ = try observer.create(name("a"), try GeneratedSource(sizeBytes: 100_000).draft())
        let bytes = try observer.bytes(name("a"))
        let wrong = try client(1, .wrongBytes).bytes(name("a"))
        #expect(zip(bytes, wrong).filter { $0 != $1 }.count == 1 && wrong.count == bytes.count)
        var part: [UInt8] = []
        #expect(errorCode { _ = try client(1, .truncated).read(name("a"), range: nil) { part += $0 } } == .offline)
        #expect(part.count < 100_000 && bytes.starts(with: part))
        #expect(errorCode { _ = try client(1, .lostAnswer).look(name("missing")) } == .offline)
        #expect(errorCode { _ = try client(1, .denied).list(prefix: "", after: nil) } == .accessDenied)
    }

    @Test func `a late request takes effect after others`() throws {
        let late = client(1, .late(requestCount: 2))
        #expect(errorCode { _ = try late.create(name("a"), ObjectDraft("late")) } == .offline)
        let observer = observer
        #expect(try observer.look(name("a")) == nil)
        #expect(try observer.look(name("a")) == nil)
        #expect(try observer.text(name("a")) == "late")
    }

    @Test func `a request can be overtaken by one of another thread`() throws {
        let slow = client(2, .overtaken)
        _ = try slow.create(name("a"), ObjectDraft("0"))
        let version = try #require(try observer.look(name("a"))).version
        // Alone, it is not held up.
        #expect(errorCode { _ = try slow.replace(name("a"), version: version, ObjectDraft("1")) } == nil)
        let (fast, overtaken) = (observer, client(1, .overtaken))
        let isFastUnderWay = Atomic(false)
        let current = try #require(try fast.look(name("a"))).version
        let codes = try concurrently(2) { number -> BackupError.Code? in
            let client = number == 0 ? fast : overtaken
            let source = CallingSource(MemorySource("\(number)"), at: 0) {
                // The fast one is under way while the other one waits.
                if number == 0 { isFastUnderWay.store(true, ordering: .sequentiallyConsistent) }
                while number == 1, !isFastUnderWay.load(ordering: .sequentiallyConsistent) {}
            }
            let draft = ObjectDraft(source: source, sizeBytes: 1, sha256: ObjectDraft("\(number)").sha256)
            return errorCode { _ = try client.replace(name("a"), version: current, draft) }
        }
        #expect(codes == [nil, .conflict])
        #expect(try fast.text(name("a")) == "0")
    }

    @Test func `a killed client makes no further request`() throws {
        let client = client(2, .killed(hasEffect: true))
        let version = try client.create(name("a"), ObjectDraft("1"))
        #expect(errorCode { try client.remove(name("a"), version: version) } == .interrupted)
        #expect(errorCode { _ = try client.look(name("a")) } == .interrupted)
        #expect(errorCode { _ = try client.create(name("b"), ObjectDraft("1")) } == .interrupted)
        #expect(try observer.names().isEmpty)
    }

    @Test func `a capability that is missing is accepted and ignored`() throws {
        var options = SimulatedServer.Options()
        options.capabilities = [.removal]
        let client = SimulatedStorage(SimulatedServer(options))
        let first = try client.create(name("a"), ObjectDraft("1"))
        _ = try client.create(name("a"), ObjectDraft("2"))
        #expect(try client.text(name("a")) == "2")
        _ = try client.replace(name("a"), version: first, ObjectDraft("3"))
        #expect(try client.text(name("a")) == "3")
        _ = try client.bytes(name("a"), 0..<1)
        try client.remove(name("a"), version: first)
        #expect(try client.look(name("a")) == nil)
        // Without ranges, what is before one is transferred, too.
        _ = try client.create(name("b"), ObjectDraft([UInt8](repeating: 0, count: 1_000)))
        let before = client.traffic[.read].bytesDown
        #expect(try client.bytes(name("b"), 900..<910).count == 10)
        #expect(client.traffic[.read].bytesDown - before == 910)
    }

    @Test func `append-only credentials permit new objects alone`() throws {
        var options = SimulatedServer.Options()
        options.capabilities.remove(.removal)
        let client = SimulatedStorage(SimulatedServer(options))
        let version = try client.create(name("a"), ObjectDraft("1"))
        #expect(errorCode { try client.remove(name("a"), version: nil) } == .accessDenied)
        #expect(errorCode { _ = try client.replace(name("a"), version: version, ObjectDraft("2")) } == .accessDenied)
        #expect(errorCode { _ = try client.create(name("a"), ObjectDraft("2")) } == .alreadyExists)
        #expect(try client.text(name("a")) == "1")
    }

    @Test func `a full server keeps no part of an object`() throws {
        var options = SimulatedServer.Options()
        options.capacityBytes = 10
        let server = SimulatedServer(options)
        let client = SimulatedStorage(server)
        _ = try client.create(name("a"), ObjectDraft("123456"))
        #expect(errorCode { _ = try client.create(name("b"), ObjectDraft("12345")) } == .noSpace)
        _ = try client.create(name("b"), ObjectDraft("1234"))
        try client.remove(name("a"), version: nil)
        #expect(try client.names() == ["b"])
        #expect(server.usedBytes == 4 && server.objectCount == 1)
    }

    @Test func `listings can lag`() throws {
        var options = SimulatedServer.Options()
        options.listingLagRequestCount = 3
        let client = SimulatedStorage(SimulatedServer(options))
        _ = try client.create(name("a"), ObjectDraft("1"))
        #expect(try client.look(name("a")) != nil)
        #expect(try client.names() == [])
        #expect(try client.names() == [])
        #expect(try client.names() == ["a"])
        try client.remove(name("a"), version: nil)
        #expect(try client.names() == ["a"])
    }

    @Test func `requests, bytes and seconds are counted by kind`() throws {
        var network = SimulatedNetwork.good
        network.latencySeconds = 0.03
        network.uploadBytesPerSecond = 1_000
        network.downloadBytesPerSecond = 10_000
        network.scheduled[4] = .delay(seconds: 2)
        let client = SimulatedStorage(server, network)
        _ = try client.create(name("a"), ObjectDraft([UInt8](repeating: 1, count: 500)))
        _ = try client.bytes(name("a"), 100..<300)
        _ = try client.look(name("a"))
        _ = try client.look(name("b"))
        _ = try client.list(prefix: "", after: nil)
        let traffic = client.traffic
        #expect(traffic[.create] == SimulatedTraffic.Count(requestCount: 1, bytesUp: 500, bytesDown: 0, seconds: 0.53))
        #expect(traffic[.read] == SimulatedTraffic.Count(requestCount: 1, bytesUp: 0, bytesDown: 200, seconds: 0.05))
        #expect(traffic[.look].requestCount == 2 && abs(traffic[.look].seconds - 2.06) < 1e-9)
        #expect(traffic[.list].bytesDown == 500)
        #expect(traffic.total.requestCount == 5 && client.requestCount == 5)
        #expect(abs(server.clockSeconds - traffic.total.seconds) < 1e-9)
        #expect(try observer.look(name("a"))?.storedAt == Timestamp(seconds: 1_767_225_600))
    }

    @Test func `chance depends on the seed alone`() throws {
        func codes(seed: UInt64) throws -> [BackupError.Code?] {
            var network = SimulatedNetwork.good
            network.chances = [(.lostRequest, 0.2), (.lostAnswer, 0.2), (.denied, 0.1)]
            let client = SimulatedStorage(SimulatedServer(), network, seed: seed)
            return try (0..<200).map { number in
                let name = try name("\(number)")
                return errorCode { _ = try client.create(name, ObjectDraft("text")) }
            }
        }
        let found = try codes(seed: 1)
        #expect(try found == codes(seed: 1))
        #expect(try found != codes(seed: 2))
        #expect((60...100).contains(found.filter { $0 == .offline }.count))
        #expect((8...35).contains(found.filter { $0 == .accessDenied }.count))
    }

    /// 100,000 take some 3 s in a debug build.
    @Test func `many objects, and large ones, need little`() throws {
        let client = SimulatedStorage(server)
        let draft = ObjectDraft("small")
        for number in 0..<20_000 { _ = try client.create(name("packs/\(number &* 40_503 % 20_000)"), draft) }
        let source = GeneratedSource(sizeBytes: 1 << 40)
        for number in 0..<1_000 { server.place(try name("large/\(number)"), sizeBytes: 1 << 40, source: source) }
        #expect(try client.names().count == 21_000)
        #expect(client.traffic[.list].requestCount == 21)
        #expect(try client.bytes(name("large/7"), 1 << 39..<(1 << 39 + 9)) == source.bytes(at: 1 << 39, upTo: 9))
        #expect(server.usedBytes == 100_000 + 1_000 << 40)
        #expect(abs(client.traffic.total.seconds - 20_022 * 0.03) < 0.001)
    }
}
