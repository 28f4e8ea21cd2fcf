import BackupCore

/// What must be true of every answer that a person gets, whatever the input is.
enum MessageRules {
    static let findingCountLimit = 100
    private static let messageLimitBytes = 4_096
    /// Some list names, a hundred at most.
    private static let warningLimitBytes = 64 << 10

    /// - Parameter codes: those that an input of this kind can be refused with.
    static func outcome(_ error: BackupError, _ codes: Set<BackupError.Code>, findingCountLimit: Int = findingCountLimit) throws
        -> FuzzOutcome
    {
        try FuzzViolation.require(codes.contains(error.code), "the code is \(error.code): \(error) \(error.findings)")
        for text in [error.message, error.remedy ?? ""] + error.findings { try requirePlain(text.english, messageLimitBytes) }
        try FuzzViolation.require(!error.message.english.isEmpty, "there is no message")
        try FuzzViolation.require(error.findings.count <= findingCountLimit, "there are \(error.findings.count) findings")
        return .refused(error.code)
    }

    static func require(warnings: [Message]) throws {
        for text in warnings { try requirePlain(text.english, warningLimitBytes) }
    }

    private static func requirePlain(_ text: String, _ limitBytes: Int) throws {
        try FuzzViolation.require(
            text.utf8.count <= limitBytes, "a message has \(text.utf8.count) bytes: \(text.unicodeScalars.prefix(200))")
        try FuzzViolation.require(
            !text.unicodeScalars.contains { $0.properties.generalCategory == .control }, "a control character is in: \(text)")
    }
}
