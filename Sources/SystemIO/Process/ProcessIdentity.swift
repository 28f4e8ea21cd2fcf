import BackupCore
import Glibc

/// The process of a thread.
public enum ProcessIdentity {
    /// The process (thread group) of a thread, from `/proc/ID/status`. FUSE names the thread that made a request, and a program may open
    /// a file in one thread and close it in another.
    /// - Returns: `thread` itself where it is none, as for a process of another PID namespace; `nil` when unknown: `/proc` hides the threads of
    ///   other users (`hidepid`) or is not mounted, or the thread is gone.
    public static func process(ofThread thread: Int32) -> Int32? {
        guard thread > 0 else { return thread }
        guard let file = fopen("/proc/\(thread)/status", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("Tgid:"), let number = Int32(text.dropFirst(5).filter(\.isNumber)) { return number }
        }
        return nil
    }
}
