/// A command of the user's that tells him how what he has asked for has ended. From `store.yaml`.
public struct NoticeSettings: Sendable, Equatable {
    public var command: String?
    /// Whether it is run; `nil` for what the app's definition says.
    public var isOn: Bool?

    public init() {}
}
