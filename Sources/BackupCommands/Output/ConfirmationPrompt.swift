import BackupCore
import Glibc
import SystemIO

extension Terminal {
    private static let lineLimitBytes = 4_096
    private static let pollIntervalMilliseconds: Int32 = 100

    /// Asks a question and reads one line.
    /// - Parameter isDestructive: whether it is about replacing or removing data: it is then shown in red.
    /// - Returns: `nil` at the end of the input.
    /// - Throws: `interrupted` for Ctrl-C and SIGTERM.
    static func ask(_ question: Message, isDestructive: Bool = false) throws(BackupError) -> String? {
        try CancellingSignals.run { () throws(BackupError) in
            // A signal may come as soon as the user sees the question.
            writeError(prompt: question, isRed: isDestructive)
            return try answer()
        }
    }

    private static func answer() throws(BackupError) -> String? {
        var line: [UInt8] = []
        while true {
            // In steps: a signal may come just before the wait.
            var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            let count = poll(&input, 1, pollIntervalMilliseconds)
            if Cancellation.isProcessEnding {
                writeError(prompt: "\n")
                throw BackupError(.interrupted, "cancelled; nothing was changed")
            }
            guard count > 0 else { continue }
            var byte: UInt8 = 0
            let result = read(STDIN_FILENO, &byte, 1)
            if result < 0, errno == EINTR { continue }
            guard result == 1 else { return line.isEmpty ? nil : String(decoding: line, as: UTF8.self) }
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            // No valid answer is longer.
            if line.count < lineLimitBytes { line.append(byte) }
        }
    }
}

/// Asks before something that cannot be undone, in red like the apps' own buttons for it.
enum ConfirmationPrompt {
    /// - Parameters:
    ///   - question: the question about the planned action.
    ///   - answer: the label of the app's button; `yes` is accepted as well.
    ///   - what: the action in the error message where there is no terminal to ask.
    ///   - remedy: what to do then.
    /// - Throws: `usage` without a terminal; `interrupted` for any other answer.
    static func require(
        _ question: Message, answer: Message? = nil, for what: Message, remedy: Message = "Add --yes."
    ) throws(BackupError) {
        guard Terminal.isInputTerminal else {
            throw BackupError(.usage, "\(what), and there is no terminal to confirm it on", remedy: remedy)
        }
        let word = answer ?? "yes"
        let choice: Message =
            answer.map { "\(question) Type \"\($0)\", or nothing to cancel [Cancel]: " } ?? "\(question) Type \"\(word)\" [no]: "
        guard TypedConfirmation.matches(try Terminal.ask(choice, isDestructive: true), ["yes", word]) else {
            throw BackupError(.interrupted, "cancelled; nothing was changed")
        }
    }
}

/// Compares a typed answer with the expected ones.
enum TypedConfirmation {
    /// Ignores case, also where the language has an i with and one without a dot. The English word is valid in any language:
    /// instructions written for other users contain it.
    static func matches(_ answer: String?, _ words: [Message]) -> Bool {
        guard let answer = answer.map(folded) else { return false }
        return words.contains { folded($0.english) == answer || folded(Terminal.language.text($0)) == answer }
    }

    private static func folded(_ text: String) -> String {
        // The lower case of İ is an i and a dot.
        String(String.UnicodeScalarView(text.lowercased().unicodeScalars.filter { $0 != "\u{307}" }.map { $0 == "ı" ? "i" : $0 }))
    }
}
