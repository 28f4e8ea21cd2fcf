import BackupCore
import ObjectStorage
import Synchronization
import SystemIO

/// The state that the clients of a simulated storage share: objects, a virtual clock, and what is still under way.
public final class SimulatedServer: Sendable {
    /// How a server differs from one that keeps all promises.
    public struct Options: Sendable {
        /// A capability that is missing is accepted and ignored, as by OpenStack Swift. Without `removal`, `replace` and `remove`
        /// are refused with `accessDenied`, as for append-only credentials.
        public var capabilities: StorageCapabilities = [
            .conditionalCreate, .compareAndSwap, .conditionalRemove, .rangedReads, .removal,
        ]
        /// In bytes; beyond it, `noSpace`. `nil` for no limit.
        public var capacityBytes: UInt64?
        /// How many more requests, of any client, it takes until a change is seen in listings: other than 0 breaks the promise.
        public var listingLagRequestCount = 0
        /// Of larger objects, not the bytes but their sources are kept.
        public var keptSizeBytes: UInt64 = 1 << 20

        public init() {}
    }

    enum Content: Sendable {
        case bytes([UInt8])
        case source(any ByteSource)
    }

    struct Object: Sendable {
        let facts: ObjectFacts
        let content: Content
        var metadata: [ObjectMetadata] = []
    }

    struct State {
        let options: Options
        var index = SortedIndex<Object>()
        /// What listings show, while it is not what is there.
        var listed = SortedIndex<ObjectFacts>()
        var laggingChanges: [(due: Int, name: ObjectName, facts: ObjectFacts?)] = []
        var lateEffects: [(due: Int, effect: @Sendable (inout State) -> Void)] = []
        var requestCount = 0
        var inFlightCount = 0
        var waitingCount = 0
        var completedCount = 0
        var usedBytes: UInt64 = 0
        var versionCount = 0
        var clockSeconds = 0.0
    }

    let state: Monitor<State>

    public init(_ options: Options = Options()) { state = Monitor(State(options: options)) }

    /// Stores an object without a request, and without reading its bytes: for large storages.
    public func place(_ name: ObjectName, sizeBytes: UInt64, source: any ByteSource) {
        _ = state.withLock { $0.store(name, sizeBytes, .source(source)) }
    }

    /// How many objects there are.
    public var objectCount: Int { state.withLock { $0.index.count } }
    /// Of all objects.
    public var usedBytes: UInt64 { state.withLock { $0.usedBytes } }
    /// Lets time pass.
    public func advance(seconds: Double) { state.withLock { $0.clockSeconds += seconds } }

    /// Since the server was made: the sum of all requests.
    public var clockSeconds: Double { state.withLock { $0.clockSeconds } }
}

extension SimulatedServer.State {
    /// When the virtual clock starts: 2026-01-01T00:00:00Z.
    private static var epoch: Timestamp { Timestamp(seconds: 1_767_225_600) }

    /// Counts a request, and does what is due by now.
    mutating func beginRequest() {
        requestCount += 1
        let now = requestCount
        for change in laggingChanges where change.due <= now { listed[change.name] = change.facts }
        laggingChanges.removeAll { $0.due <= now }
        let due = lateEffects.filter { $0.due <= now }
        lateEffects.removeAll { $0.due <= now }
        for late in due { late.effect(&self) }
    }

    @discardableResult
    mutating func store(
        _ name: ObjectName, _ sizeBytes: UInt64, _ content: SimulatedServer.Content
    ) -> ObjectVersion {
        versionCount += 1
        let facts = ObjectFacts(
            name: name, sizeBytes: sizeBytes, version: ObjectVersion("\"v\(versionCount)\""),
            storedAt: Self.epoch.adding(seconds: Int64(clockSeconds)))
        usedBytes = usedBytes - (index[name]?.facts.sizeBytes ?? 0) + sizeBytes
        index[name] = SimulatedServer.Object(facts: facts, content: content)
        show(name, facts)
        return facts.version
    }

    private mutating func show(_ name: ObjectName, _ facts: ObjectFacts?) {
        guard options.listingLagRequestCount > 0 else { return }
        laggingChanges.append((requestCount + options.listingLagRequestCount + 1, name, facts))
    }

    mutating func create(
        _ name: ObjectName, _ sizeBytes: UInt64, _ content: SimulatedServer.Content
    ) throws(BackupError) -> ObjectVersion {
        if options.capabilities.contains(.conditionalCreate), index[name] != nil {
            throw BackupError(.alreadyExists, "there is an object of this name already", path: name.text)
        }
        try requireSpace(for: sizeBytes, name)
        return store(name, sizeBytes, content)
    }

    mutating func replace(
        _ name: ObjectName, _ version: ObjectVersion, _ sizeBytes: UInt64, _ content: SimulatedServer.Content
    ) throws(BackupError) -> ObjectVersion {
        try require(version, of: name, .compareAndSwap)
        try requireSpace(for: sizeBytes, name)
        return store(name, sizeBytes, content)
    }

    mutating func remove(_ name: ObjectName, _ version: ObjectVersion?) throws(BackupError) {
        usedBytes -= try require(version, of: name, .conditionalRemove)
        index[name] = nil
        show(name, nil)
    }

    private func requireSpace(for sizeBytes: UInt64, _ name: ObjectName) throws(BackupError) {
        guard let capacity = options.capacityBytes, usedBytes + sizeBytes > capacity else { return }
        throw BackupError(.noSpace, "the server's quota is used up", path: name.text)
    }

    /// - Returns: the size of the object.
    @discardableResult
    private func require(
        _ version: ObjectVersion?, of name: ObjectName, _ capability: StorageCapabilities
    ) throws(BackupError) -> UInt64 {
        guard options.capabilities.contains(.removal) else {
            throw BackupError(.accessDenied, "the credentials permit only new objects", path: name.text)
        }
        guard let object = index[name] else { throw BackupError(.notFound, "there is no such object", path: name.text) }
        guard version == nil || version == object.facts.version || !options.capabilities.contains(capability) else {
            throw BackupError(.conflict, "another program has changed the object", path: name.text)
        }
        return object.facts.sizeBytes
    }

    func list(prefix: String, after previous: ObjectName?, limit: Int) -> ObjectPage {
        var objects: [ObjectFacts] = []
        var hasMore = false
        let startsAtPrefix = previous.map { compareBytes($0.text, prefix) < 0 } ?? true
        let start = startsAtPrefix ? prefix : previous?.text ?? ""
        func add(_ name: ObjectName, _ facts: ObjectFacts) -> Bool {
            guard name.text.utf8.starts(with: prefix.utf8) else { return false }
            hasMore = objects.count == limit
            if !hasMore { objects.append(facts) }
            return !hasMore
        }
        if options.listingLagRequestCount > 0 {
            listed.forEach(from: start, isAfter: !startsAtPrefix, add)
        } else {
            index.forEach(from: start, isAfter: !startsAtPrefix) { add($0, $1.facts) }
        }
        return ObjectPage(objects: objects, hasMore: hasMore)
    }
}
