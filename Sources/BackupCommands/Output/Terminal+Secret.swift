import BackupCore
import Glibc
import SystemIO

extension Terminal {
    private enum Key {
        static let interrupt: UInt8 = 3
        static let endOfInput: UInt8 = 4
        static let backspace: UInt8 = 8
        static let lineFeed: UInt8 = 10
        static let carriageReturn: UInt8 = 13
        static let eraseLine: UInt8 = 21
        static let delete: UInt8 = 127
    }

    /// Asks for a line that is not echoed.
    /// - Throws: `interrupted` for Ctrl-C; `usage` for an empty line.
    static func askSecret(_ question: Message) throws(BackupError) -> SecretBytes {
        ProcessSecrecy.begin()
        var before = termios()
        guard tcgetattr(STDIN_FILENO, &before) == 0 else {
            throw SystemCall.error(errno, action: "ask for a password", path: "terminal")
        }
        var silent = before
        // Keys arrive one by one, and signal keys as bytes: whatever is typed, this program restores the terminal before it ends.
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG | IEXTEN)
        // Not TCSAFLUSH: it would discard typed-ahead input.
        tcsetattr(STDIN_FILENO, TCSADRAIN, &silent)
        defer { tcsetattr(STDIN_FILENO, TCSADRAIN, &before) }
        // Not before echo is off: a quick answer would be visible.
        complain(prompt: question)
        defer { complain(prompt: "\n") }
        var count = 0
        let line = try SecretBytes(count: PasswordFile.byteCountLimit) { (buffer) throws(BackupError) in
            count = try readLine(into: buffer)
        }
        guard count > 0 else { throw BackupError(.usage, "no password was typed", remedy: "Try again.") }
        return line.withUnsafeBytes { SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }

    /// - Returns: the length of the line in bytes.
    private static func readLine(into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        var count = 0
        while true {
            var byte: UInt8 = 0
            let result = read(STDIN_FILENO, &byte, 1)
            if result < 0, errno == EINTR { continue }
            guard result == 1 else { return count }
            switch byte {
            case Key.lineFeed, Key.carriageReturn, Key.endOfInput: return count
            case Key.interrupt: throw BackupError(.interrupted, "cancelled; nothing was changed")
            case Key.eraseLine: count = 0
            case Key.backspace, Key.delete:
                // Removes all bytes of a UTF-8 character.
                while count > 0 {
                    count -= 1
                    if buffer[count] & 0xc0 != 0x80 { break }
                }
            default:
                guard count < buffer.count else { throw BackupError(.usage, "the password is too long") }
                buffer[count] = byte
                count += 1
            }
        }
    }
}
