/// Commands of the user's that run around a restore, so that a service can be stopped and started. From `store.yaml`.
public struct HookSettings: Sendable, Equatable {
    static let defaultTimeoutSeconds = 60
    static let timeoutLimitSeconds = 86_400

    /// Before anything is changed; when it fails, nothing is.
    public var beforeRestore: String?
    /// After it, however it went.
    public var afterRestore: String?
    /// For each of them.
    public var timeoutSeconds = HookSettings.defaultTimeoutSeconds

    public init() {}

    var isEmpty: Bool { beforeRestore == nil && afterRestore == nil }
}
