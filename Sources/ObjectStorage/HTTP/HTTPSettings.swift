/// How requests reach their server. A proxy is taken from the environment (`http_proxy`, `https_proxy`, `all_proxy`,
/// `no_proxy`), as curl(1) does.
public struct HTTPSettings: Sendable, Equatable {
    /// A PEM file of the authorities whose certificates are trusted instead of the system's; `nil` for the system's.
    public var certificateFile: String?
    /// How long connecting may take, TLS included; above 0.
    public var connectSeconds = 15.0
    /// A request that moves less than 64 bytes a second for so long has stalled, and is ended; above 0.
    public var stallSeconds = 60.0
    /// Further requests wait; at least 1.
    public var parallelRequests = 8
    /// Of all requests of a group together, in bytes per second; `nil` for no limit.
    public var uploadBytesPerSecond: UInt64?
    /// Of all requests of a group together, in bytes per second; `nil` for no limit.
    public var downloadBytesPerSecond: UInt64?
    /// All clients of this process with the same name share their limits; `nil` for a client by itself.
    public var limitGroup: String?

    public init() {}
}
