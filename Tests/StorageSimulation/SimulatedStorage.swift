import BackupCore
import Glibc
import ObjectStorage
import SystemIO
import TestSupport

/// An object storage in memory, behind a network that fails, delays, repeats and reorders as a test asks for. One value is one
/// client of a `SimulatedServer`; several clients share one.
///
/// What happens by chance depends on the seed alone, as long as one thread uses the client. Time is counted, not spent. Requests
/// are not repeated: an error of the network is the caller's.
public final class SimulatedStorage: ObjectStorage {
    private struct Client {
        var network: SimulatedNetwork
        var generator: SeededGenerator
        var requestCount = 0
        var isKilled = false
        var traffic = SimulatedTraffic()
    }

    /// A request on its way.
    private struct Request {
        let kind: SimulatedRequestKind
        let fault: SimulatedFault?
        /// What the fault does is decided by it.
        let chance: UInt64
        let network: SimulatedNetwork
        var bytesUp: UInt64 = 0
        var bytesDown: UInt64 = 0
    }

    private static let pageSize = 1_000
    private static let listedObjectSizeBytes: UInt64 = 500
    private static let blockSizeBytes = 1 << 20

    public let location: String
    public let capabilities: StorageCapabilities
    private let server: SimulatedServer
    private let client: Monitor<Client>

    /// - Parameter seed: of the network's faults.
    public init(_ server: SimulatedServer, _ network: SimulatedNetwork = .good, seed: UInt64 = 0) {
        self.server = server
        location = "simulated:\(seed)"
        capabilities = server.state.withLock { $0.options.capabilities }
        client = Monitor(Client(network: network, generator: SeededGenerator(seed: seed)))
    }

    /// Can be changed at any time.
    public var network: SimulatedNetwork {
        get { client.withLock { $0.network } }
        set { client.withLock { $0.network = newValue } }
    }

    /// What this client has done so far.
    public var traffic: SimulatedTraffic { client.withLock { $0.traffic } }

    /// How many requests this client has made.
    public var requestCount: Int { client.withLock { $0.requestCount } }

    public func list(prefix: String, after previous: ObjectName?, limit: Int) throws(BackupError) -> ObjectPage {
        var request = try begin(.list)
        defer { end(request) }
        let page = try perform(request) { $0.list(prefix: prefix, after: previous, limit: min(limit, Self.pageSize)) }
        request.bytesDown = UInt64(page.objects.count) * Self.listedObjectSizeBytes
        return page
    }

    public func look(_ name: ObjectName) throws(BackupError) -> ObjectFacts? {
        let request = try begin(.look)
        defer { end(request) }
        return try perform(request) { $0.index[name]?.facts }
    }

    public var keepsMetadata: Bool { true }

    public func lookWithMetadata(
        _ name: ObjectName
    ) throws(BackupError) -> (facts: ObjectFacts, metadata: [ObjectMetadata])? {
        let request = try begin(.look)
        defer { end(request) }
        return try perform(request) { state in state.index[name].map { ($0.facts, $0.metadata) } }
    }

    public func read(
        _ name: ObjectName, range: Range<UInt64>?, _ consume: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) -> ObjectFacts {
        var request = try begin(.read)
        defer { end(request) }
        let object = try perform(request) { (state) throws(BackupError) in
            guard let object = state.index[name] else {
                throw BackupError(.notFound, "there is no such object", path: name.text)
            }
            return object
        }
        let end = min(range?.upperBound ?? .max, object.facts.sizeBytes)
        let start = min(range?.lowerBound ?? 0, end)
        let passed = request.fault == .truncated ? request.chance % max(1, end - start) : end - start
        let damaged = request.fault == .wrongBytes ? start + request.chance % max(1, end - start) : nil
        request.bytesDown = capabilities.contains(.rangedReads) ? passed : start + passed
        var offset = start
        while offset < start + passed {
            try Cancellation.check()
            let count = Int(min(UInt64(Self.blockSizeBytes), start + passed - offset))
            var block = try object.bytes(at: offset, count: count)
            if let damaged, damaged >= offset, damaged < offset + UInt64(count) { block[Int(damaged - offset)] ^= 1 }
            try block.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try consume(bytes) }
            offset += UInt64(count)
        }
        if request.fault == .truncated { throw Self.offline("the connection ended within the object", name) }
        return object.facts
    }

    public func create(_ name: ObjectName, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion {
        try store(.create, name, draft) { (state, content) throws(BackupError) in
            let version = try state.create(name, draft.sizeBytes, content)
            state.index[name]?.metadata = draft.metadata
            return version
        }
    }

    public func replace(
        _ name: ObjectName, version: ObjectVersion, _ draft: ObjectDraft
    ) throws(BackupError) -> ObjectVersion {
        try store(.replace, name, draft) { (state, content) throws(BackupError) in
            let version = try state.replace(name, version, draft.sizeBytes, content)
            state.index[name]?.metadata = draft.metadata
            return version
        }
    }

    public func remove(_ name: ObjectName, version: ObjectVersion?) throws(BackupError) {
        let request = try begin(.remove)
        defer { end(request) }
        try perform(request) { (state) throws(BackupError) in try state.remove(name, version) }
    }

    // MARK: A request

    private func store(
        _ kind: SimulatedRequestKind, _ name: ObjectName, _ draft: ObjectDraft,
        _ effect: @escaping @Sendable (inout SimulatedServer.State, SimulatedServer.Content) throws(BackupError) -> ObjectVersion
    ) throws(BackupError) -> ObjectVersion {
        var request = try begin(kind)
        defer { end(request) }
        let content = try receive(draft, name)
        request.bytesUp = request.fault == .truncated ? request.chance % max(1, draft.sizeBytes) : draft.sizeBytes
        if request.fault == .truncated { throw Self.offline("the connection ended within the object", name) }
        if request.fault == .wrongBytes { throw Self.differs(name) }
        return try perform(request) { (state) throws(BackupError) in try effect(&state, content) }
    }

    /// Reads the bytes once, outside the server's lock.
    private func receive(_ draft: ObjectDraft, _ name: ObjectName) throws(BackupError) -> SimulatedServer.Content {
        let isKept = draft.sizeBytes <= server.state.withLock { $0.options.keptSizeBytes }
        var hasher = SHA256Hasher()
        var kept: [UInt8] = []
        var offset: UInt64 = 0
        while offset < draft.sizeBytes {
            try Cancellation.check()
            let count = Int(min(UInt64(Self.blockSizeBytes), draft.sizeBytes - offset))
            let block = try Self.read(draft.source, at: offset, count: count)
            guard block.count == count else { throw Self.differs(name) }
            block.withUnsafeBytes { hasher.update($0) }
            if isKept { kept += block }
            offset += UInt64(count)
        }
        guard hasher.finish() == draft.sha256 else { throw Self.differs(name) }
        try Cancellation.check()
        return isKept ? .bytes(kept) : .source(draft.source)
    }

    /// An error of the source says nothing of the server's objects.
    private static func read(_ source: any ByteSource, at offset: UInt64, count: Int) throws(BackupError) -> [UInt8] {
        do throws(BackupError) {
            return try source.bytes(at: offset, upTo: count)
        } catch {
            throw [.notFound, .alreadyExists, .conflict].contains(error.code) ? error.with(.inputOutput) : error
        }
    }

    private func begin(_ kind: SimulatedRequestKind) throws(BackupError) -> Request {
        try Cancellation.check()
        let request: Request? = client.withLock { client in
            client.requestCount += 1
            guard !client.isKilled else { return nil }
            let fault = client.network.scheduled[client.requestCount] ?? Self.pick(client.network.chances, &client.generator)
            if case .killed? = fault { client.isKilled = true }
            let chance = fault == nil ? 0 : client.generator.next()
            return Request(kind: kind, fault: fault, chance: chance, network: client.network)
        }
        guard let request else { throw Self.killed }
        server.state.withLock { state in
            state.inFlightCount += 1
            state.beginRequest()
        }
        return request
    }

    private static func pick(
        _ chances: [(fault: SimulatedFault, probability: Double)], _ generator: inout SeededGenerator
    ) -> SimulatedFault? {
        guard !chances.isEmpty else { return nil }
        var rest = Double.random(in: 0..<1, using: &generator)
        for (fault, probability) in chances {
            rest -= probability
            if rest < 0 { return fault }
        }
        return nil
    }

    /// Has the effect as often as the fault says.
    private func perform<Result>(
        _ request: Request, _ effect: @escaping @Sendable (inout SimulatedServer.State) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        switch request.fault {
        case nil, .delay, .wrongBytes, .truncated:
            return try once(effect)
        case .overtaken:
            waitForAnotherRequest()
            return try once(effect)
        case .duplicate:
            _ = try once(effect)
            return try once(effect)
        case .lostRequest:
            throw Self.offline("the server does not answer")
        case .lostAnswer:
            _ = try? once(effect)
            throw Self.offline("the server does not answer")
        case .late(let requestCount):
            server.state.withLock { state in
                state.lateEffects.append((state.requestCount + requestCount + 1, { _ = try? effect(&$0) }))
            }
            throw Self.offline("the server does not answer")
        case .denied:
            throw BackupError(.accessDenied, "the server refuses the credentials", path: location)
        case .serverError:
            throw BackupError(.inputOutput, "the server has an internal error", path: location)
        case .killed(let hasEffect):
            if hasEffect { _ = try? once(effect) }
            throw Self.killed
        }
    }

    private func once<Result>(
        _ effect: (inout SimulatedServer.State) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        try server.state.withLock { state in Swift.Result { () throws(BackupError) in try effect(&state) } }.get()
    }

    /// Lets another thread's request go first, if there is one.
    private func waitForAnotherRequest() {
        let completedCount = server.state.changeWakingAll { state in
            state.waitingCount += 1
            return state.completedCount
        }
        _ = server.state.wait(
            until: { $0.completedCount > completedCount || $0.inFlightCount == $0.waitingCount }, forNanoseconds: 1_000_000_000)
        server.state.withLock { $0.waitingCount -= 1 }
    }

    private func end(_ request: Request) {
        let network = request.network
        var seconds = network.latencySeconds
        if case .delay(let delay)? = request.fault { seconds += delay }
        if let speed = network.uploadBytesPerSecond { seconds += Double(request.bytesUp) / speed }
        if let speed = network.downloadBytesPerSecond { seconds += Double(request.bytesDown) / speed }
        let count = SimulatedTraffic.Count(
            requestCount: 1, bytesUp: request.bytesUp, bytesDown: request.bytesDown, seconds: seconds)
        client.withLock { $0.traffic[request.kind] = $0.traffic[request.kind] + count }
        server.state.changeWakingAll { state in
            state.inFlightCount -= 1
            state.completedCount += 1
            state.clockSeconds += seconds
        }
        if network.takesTime { usleep(UInt32(seconds * 1_000_000)) }
    }

    // MARK: Errors

    private static func offline(_ message: Message, _ name: ObjectName? = nil) -> BackupError {
        BackupError(.offline, message, path: name?.text, remedy: "Try again later.")
    }

    private static func differs(_ name: ObjectName) -> BackupError {
        BackupError(.damagedContent, "the bytes that arrived differ from their SHA-256", path: name.text, remedy: "Try again.")
    }

    private static var killed: BackupError { BackupError(.interrupted, "the simulated client was killed") }
}

extension SimulatedServer.Object {
    fileprivate func bytes(at offset: UInt64, count: Int) throws(BackupError) -> [UInt8] {
        switch content {
        case .bytes(let bytes): Array(bytes[Int(offset)..<Int(offset) + count])
        case .source(let source): try source.bytes(at: offset, upTo: count)
        }
    }
}
