/// The user's commands that run around a restore, to stop and start a service, and for notices of automatic backups. From `store.yaml`.
public struct HookSettings: Sendable, Equatable {
    static let defaultTimeoutSeconds = 60
    static let timeoutLimitSeconds = 86_400

    /// Runs before anything is changed; if it fails, nothing is.
    public var beforeRestore: String?
    /// Runs after a restore, whatever its outcome.
    public var afterRestore: String?
    /// Runs when automatic backups fail or work again; with some values of `notify-automatic`, after each one.
    public var automatic: String?
    /// The timeout for each command.
    public var timeoutSeconds = HookSettings.defaultTimeoutSeconds

    public init() {}

    /// Whether none runs around a restore.
    var isEmpty: Bool { beforeRestore == nil && afterRestore == nil }
}
