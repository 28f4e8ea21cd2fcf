/// How an app's own documents call a stage of a backup, and from which percentage on it is.
public struct BackupPhase: Sendable, Equatable {
    public let stage: BackupStage
    public let percent: Int
    public let message: String
    /// The message with `{current}` and `{total}` in it, for stages that go from file to file.
    public let each: String?

    public init(stage: BackupStage, percent: Int, message: String, each: String? = nil) {
        self.stage = stage
        self.percent = percent
        self.message = message
        self.each = each
    }

    /// What is said of one of the files.
    public func message(current: UInt64, total: UInt64) -> String {
        guard let each else { return message }
        return each.replacing("{current}", with: "\(current)").replacing("{total}", with: "\(total)")
    }
}
