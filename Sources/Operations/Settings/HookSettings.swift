/// Commands of the user's that run around a restore, so that a service can be stopped and started, and when there is something to say of automatic
/// backups. From `store.yaml`.
public struct HookSettings: Sendable, Equatable {
    static let defaultTimeoutSeconds = 60
    static let timeoutLimitSeconds = 86_400

    /// Before anything is changed; when it fails, nothing is.
    public var beforeRestore: String?
    /// After it, however it went.
    public var afterRestore: String?
    /// When automatic backups fail, or work again; as `notify-automatic` says, each time as well.
    public var automatic: String?
    /// For each of them.
    public var timeoutSeconds = HookSettings.defaultTimeoutSeconds

    public init() {}

    /// Whether none runs around a restore.
    var isEmpty: Bool { beforeRestore == nil && afterRestore == nil }
}
