import CFUSE
import Glibc
import Synchronization

/// libfuse's log messages. While a mount is being set up, they become part of the error; at other times they go to standard error.
enum LibraryLog {
    /// Messages of the threads that collect them.
    private static let collected = Mutex<[pthread_t: String]>([:])

    /// Done once for the process: libfuse has one log function for all its sessions.
    private static let isInstalled: Bool = {
        fuse_set_log_func { _, format, arguments in
            guard let format, let arguments else { return }
            var buffer = [CChar](repeating: 0, count: 1024)
            vsnprintf(&buffer, buffer.count, format, arguments)
            LibraryLog.add(String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        return true
    }()

    static func install() { _ = isInstalled }

    /// Runs `body` and collects what libfuse logs on this thread meanwhile.
    /// - Returns: the messages, on one line.
    static func collecting<Result>(_ body: () -> Result) -> (result: Result, messages: String) {
        install()
        let thread = pthread_self()
        collected.withLock { $0[thread] = "" }
        let result = body()
        let messages = collected.withLock { $0.removeValue(forKey: thread) } ?? ""
        return (result, messages.split(separator: "\n").joined(separator: "; "))
    }

    private static func add(_ message: String) {
        let isCollected = collected.withLock { collected in
            guard let earlier = collected[pthread_self()] else { return false }
            collected[pthread_self()] = earlier + message
            return true
        }
        if !isCollected {
            let line = Array("backupfs: \(message)".utf8)
            _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
    }
}
