import BackupCore
import Export
import SystemIO

/// The last operation of a store that failed.
public struct FailedOperation: Sendable {
    /// The operation's name.
    public let name: String
    public let at: Timestamp
    public let code: String
    public let message: Message
    /// The command that repeats it; `nil` if there is none.
    public let retry: String?
    /// Whether the same operation has succeeded since.
    public let isOver: Bool
    /// The original record.
    let json: OrderedJSON

    /// - Returns: `nil` when none has failed.
    init?(_ paths: StorePaths) {
        let monitor = OperationMonitor(recordPath: paths.operationRecord, errorPath: paths.lastErrorRecord)
        guard let text = monitor.lastFailureText() else { return nil }
        let values = RecordedMembers(text)
        guard let json = OrderedJSON.verbatim(text), let name = values.text("operation"),
            let at = values.text("at").flatMap({ ISO8601.parse($0) }), let code = values.text("code")
        else { return nil }
        self.name = name
        self.at = at
        self.code = code
        message = Message(stringLiteral: values.text("message") ?? "")
        retry = values.text("retry")
        self.json = json
        let kind = name == AutomaticBackup.operationName ? .backup : OperationKind(rawValue: name)
        isOver = kind.map { (try? OperationHistory(path: paths.history).hasSucceeded($0, since: at, code)) ?? false } ?? false
    }

    /// The failure of the store at `path`, without opening the store.
    /// - Throws: `noRepository` when there is no store; `notPermitted` when it must not be trusted: the reported command may be run.
    public static func of(storeAt path: String) throws(BackupError) -> FailedOperation? {
        let paths = StorePaths(root: path)
        try paths.requireTrustedStore()
        return FailedOperation(paths)
    }
}
