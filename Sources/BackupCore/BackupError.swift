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
        /// Over a limit that guards against bombs.
        case tooLarge
        /// Another operation runs, or the app holds its database locked.
        case busy
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
    public let message: String
    /// Which file or folder it happened to.
    public let path: String?
    /// What to do next.
    public let remedy: String?
    /// All findings, when a validation collected several; `message` is then the first of them.
    public let findings: [String]

    public init(
        _ code: Code, _ message: String, path: String? = nil, remedy: String? = nil, findings: [String] = []
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
    public var details: [String] { findings.filter { !message.hasSuffix($0) } }

    /// Everything but the path, for a person: the message, the findings and the remedy, a line each.
    public var fullText: String {
        ([message] + details.map { "- \($0)" } + (remedy.map { [$0] } ?? [])).joined(separator: "\n") + "\n"
    }

    /// One line: `path: message. remedy`.
    public var description: String {
        var text = path.map { "\($0): \(message)" } ?? message
        if let remedy { text += text.hasSuffix(".") ? " \(remedy)" : ". \(remedy)" }
        return text
    }
}
