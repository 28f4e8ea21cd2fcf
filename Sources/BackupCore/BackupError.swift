/// What went wrong, to which file, and what to do next. Every layer throws this one type; only `FUSEBridge` turns
/// a code into an errno, and only `BackupCommands` into an exit code.
public struct BackupError: Error, Sendable, CustomStringConvertible {
    public enum Code: String, Sendable, CaseIterable {
        /// Content that is not valid: malformed JSON, a missing field, a broken reference, the wrong app.
        case invalidContent
        /// Content that was valid once and is damaged now: a CRC or a digest that differs.
        case damagedContent
        /// Written by a version this program cannot read.
        case unsupportedVersion
        case noSpace
        /// The process or the system has no more descriptors or memory to give: nothing is wrong with the file.
        case noResources
        /// Over a limit that guards against bombs.
        case tooLarge
        /// Another operation runs.
        case busy
        /// The app, or another program, holds the app's database locked or changes it: not one of our own operations, so it may last.
        case databaseInUse
        case readOnly
        case notPermitted
        case accessDenied
        /// The repository's own bytes are damaged; the message names chunk and file.
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
        /// What was found a moment ago has become something else.
        case stale
        case noRepository
        case locked
        case wrongPassword
        case usage
        /// A backup was made, but some source could not be read.
        case sourceUnreadable
        /// A command of the user's, which had to succeed first, did not.
        case hookFailed
        case interrupted
    }

    public let code: Code
    /// What happened, as a sentence for a person, without the path unless the sentence needs it.
    public let message: Message
    /// Which file or folder it happened to.
    public let path: String?
    /// What to do next.
    public let remedy: Message?
    /// All findings, when a validation collected several; `message` is then the first of them.
    public let findings: [Message]

    public init(
        _ code: Code, _ message: Message, path: String? = nil, remedy: Message? = nil, findings: [Message] = []
    ) {
        self.code = code
        self.message = message
        self.path = path
        self.remedy = remedy
        self.findings = findings
    }

    /// The same error, said of a file, where a lower layer did not know its name.
    public func at(_ path: String) -> BackupError {
        BackupError(code, message, path: self.path ?? path, remedy: remedy, findings: findings)
    }

    /// Findings that the message does not say already.
    public var details: [Message] {
        let told = message.english
        return findings.filter { !told.hasSuffix($0.english) }
    }

    /// Everything but the path, for a person: the message, the findings and the remedy, a line each.
    public var fullText: Message {
        .joined(
            [message] + details.map { .joined([.verbatim("- "), $0], separator: "") } + (remedy.map { [$0] } ?? []),
            separator: "\n")
    }

    /// One line: `path: message. remedy`.
    public var summary: Message {
        let told: Message = path.map { "\($0): \(message)" } ?? message
        guard let remedy else { return told }
        return message.english.hasSuffix(".") ? "\(told) \(remedy)" : "\(told). \(remedy)"
    }

    /// The summary in English.
    public var description: String { summary.english }
}

extension BackupError.Code {
    /// Whether the same may do better the next time by itself: what is wrong with a file or a name stays wrong.
    public var mayPass: Bool {
        switch self {
        case .busy, .databaseInUse, .locked, .noSpace, .noResources, .inputOutput, .hookFailed, .stale, .readOnly, .accessDenied:
            true
        default: false
        }
    }
}
