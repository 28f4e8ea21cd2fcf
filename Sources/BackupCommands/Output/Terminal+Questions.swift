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
            complain(prompt: question, isRed: isDestructive)
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
                complain(prompt: "\n")
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
