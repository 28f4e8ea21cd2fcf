import ObjectStorage

/// What happens to one request on its way.
public enum SimulatedFault: Sendable, Hashable {
    /// The request does not arrive: `offline`, without effect.
    case lostRequest
    /// The request takes effect, and its answer does not arrive: `offline`.
    case lostAnswer
    /// The request arrives late: `offline`, and the effect takes place after some more requests of any client.
    case late(requestCount: Int)
    /// The request arrives twice, as when an attempt is repeated after a lost answer. The second answer is the one that counts.
    case duplicate
    /// A request of another thread that is under way at the same time takes effect first.
    case overtaken
    /// Longer than the latency.
    case delay(seconds: Double)
    /// The credentials are refused: `accessDenied`, without effect.
    case denied
    /// The server fails: `inputOutput`, without effect.
    case serverError
    /// One bit of the body is another one. A server refuses what does not fit its checksum (`damagedContent`); what is read is
    /// passed on like that.
    case wrongBytes
    /// The connection ends within the body: `offline`. Nothing is stored; of what is read, a part was passed on.
    case truncated
    /// This request, with or without effect, and all later ones of the client fail with `interrupted`.
    case killed(hasEffect: Bool)
}

/// How a client reaches its server.
public struct SimulatedNetwork: Sendable {
    /// Of each request.
    public var latencySeconds = 0.03
    /// `nil` for no limit.
    public var uploadBytesPerSecond: Double?
    /// `nil` for no limit.
    public var downloadBytesPerSecond: Double?
    /// Whether requests take their time; otherwise it is only counted.
    public var takesTime = false
    /// How often each fault happens by chance, from 0 to 1.
    public var chances: [(fault: SimulatedFault, probability: Double)] = []
    /// Faults of certain requests of the client, by their number; the first request has number 1.
    public var scheduled: [Int: SimulatedFault] = [:]

    public init() {}

    /// A network without faults.
    public static let good = SimulatedNetwork()
}

/// The kinds of requests, as servers bill them.
public enum SimulatedRequestKind: Sendable, CaseIterable { case list, look, read, create, replace, remove }

/// What a client has done.
public struct SimulatedTraffic: Sendable, Equatable {
    /// Of the requests of one kind, or of all.
    public struct Count: Sendable, Equatable {
        public var requestCount = 0
        /// Of bodies, in bytes.
        public var bytesUp: UInt64 = 0
        /// Of bodies, in bytes; 500 for each object of a listing.
        public var bytesDown: UInt64 = 0
        /// As if one request came after the other.
        public var seconds = 0.0

        public init(requestCount: Int = 0, bytesUp: UInt64 = 0, bytesDown: UInt64 = 0, seconds: Double = 0) {
            self.requestCount = requestCount
            self.bytesUp = bytesUp
            self.bytesDown = bytesDown
            self.seconds = seconds
        }

        public static func + (left: Count, right: Count) -> Count {
            Count(
                requestCount: left.requestCount + right.requestCount, bytesUp: left.bytesUp + right.bytesUp,
                bytesDown: left.bytesDown + right.bytesDown, seconds: left.seconds + right.seconds)
        }
    }

    private var counts: [SimulatedRequestKind: Count] = [:]

    public subscript(kind: SimulatedRequestKind) -> Count {
        get { counts[kind] ?? Count() }
        set { counts[kind] = newValue }
    }

    /// Of all requests.
    public var total: Count { counts.values.reduce(Count(), +) }
}
