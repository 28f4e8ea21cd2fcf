/// What went wrong, with which file, and what to do next. Every layer throws only this type; only `FUSEBridge` turns a code into
/// an errno, and only `BackupCommands` into an exit code.
public struct BackupError: Error, Sendable, CustomStringConvertible {
    /// The kind of a failure, on which callers decide; the raw value is its name in JSON.
    public enum Code: String, Sendable, CaseIterable {
        /// Invalid content: malformed JSON, a missing field, a broken reference, the wrong app.
        case invalidContent
        /// Content that was valid once and is damaged now: a CRC or a digest differs.
        case damagedContent
        /// Written by a version that this program cannot read.
        case unsupportedVersion
        case noSpace
        /// The process or the system is out of descriptors or memory: nothing is wrong with the file.
        case noResources
        /// Over a limit that guards against decompression bombs.
        case tooLarge
        /// Another operation runs.
        case busy
        /// The app or another program holds a lock on the app's database or changes it. This is not one of our own operations, so
        /// it may last.
        case databaseInUse
        case readOnly
        case notPermitted
        case accessDenied
        /// The repository's own bytes are damaged; the message names the chunk and the file.
        case repositoryDamaged
        case inputOutput
        case notFound
        case alreadyExists
        case notADirectory
        case isADirectory
        case notEmpty
        case nameTooLong
        case noAttribute
        case invalidArgument
        case notSupported
        case crossDevice
        case badHandle
        /// A file has changed into something else since it was found.
        case stale
        /// The network or a server cannot be reached, or does not answer in time.
        case offline
        /// An object of a storage is not of the expected version: another client has changed it.
        case conflict
        case noRepository
        case locked
        case wrongPassword
        case usage
        /// A backup was created, but some source could not be read.
        case sourceUnreadable
        /// A user command that had to succeed first has failed.
        case hookFailed
        case interrupted
    }

    /// What a lower layer met. The message has its words where a user needs them; this is for the log and for developers.
    public indirect enum Cause: Sendable {
        /// A call of the operating system that failed with an errno.
        case system(action: Message, number: Int32)
        /// An extended result code of SQLite.
        case sqlite(code: Int32)
        /// An error in other words, or about another path.
        case error(BackupError)
    }

    public let code: Code
    /// What happened, as a sentence for a person; without the path unless the sentence needs it.
    public let message: Message
    /// The file or folder in question.
    public let path: String?
    /// What to do next.
    public let remedy: Message?
    /// All findings, when a validation collected several; `message` is then the first of them.
    public let findings: [Message]
    /// `nil` for an error that begins here.
    public let cause: Cause?

    public init(
        _ code: Code, _ message: Message, path: String? = nil, remedy: Message? = nil, findings: [Message] = [],
        cause: Cause? = nil
    ) {
        self.code = code
        self.message = message
        self.path = path
        self.remedy = remedy
        self.findings = findings
        self.cause = cause
    }

    /// Adds the path to an error from a lower layer that did not know it.
    public func at(_ path: String) -> BackupError {
        BackupError(code, message, path: self.path ?? path, remedy: remedy, findings: findings, cause: cause)
    }

    /// The same, with its cause.
    public func caused(by cause: Cause) -> BackupError {
        BackupError(code, message, path: path, remedy: remedy, findings: findings, cause: cause)
    }

    /// An error that has this one as its cause, and differs in what is given.
    public func with(
        _ code: Code? = nil, _ message: Message? = nil, path: String? = nil, remedy: Message? = nil, findings: [Message]? = nil
    ) -> BackupError {
        BackupError(
            code ?? self.code, message ?? self.message, path: path ?? self.path, remedy: remedy ?? self.remedy,
            findings: findings ?? self.findings, cause: .error(self))
    }

    /// Findings that the message does not already contain.
    public var details: [Message] {
        let shown = message.english
        return findings.filter { !shown.hasSuffix($0.english) }
    }

    /// Everything but the path, for a person: the message, the findings and the remedy, one line each.
    public var fullText: Message {
        .joined(
            [message] + details.map { .joined([.verbatim("- "), $0], separator: "") } + (remedy.map { [$0] } ?? []),
            separator: "\n")
    }

    /// One line: `path: message. remedy`.
    public var summary: Message {
        let statement: Message = path.map { "\($0): \(message)" } ?? message
        guard let remedy else { return statement }
        return message.english.hasSuffix(".") ? "\(statement) \(remedy)" : "\(statement). \(remedy)"
    }

    /// The summary in English.
    public var description: String { summary.english }
}

extension BackupError.Code {
    /// Whether a retry of the same operation may succeed: a bad file or name stays bad.
    public var mayPass: Bool {
        switch self {
        case .busy, .databaseInUse, .locked, .noSpace, .noResources, .inputOutput, .hookFailed, .stale, .readOnly, .accessDenied,
            .offline, .conflict:
            true
        default: false
        }
    }
}
