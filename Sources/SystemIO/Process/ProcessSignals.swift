import BackupCore
import Glibc

/// Pending signals of another process.
public enum ProcessSignals {
    private static let ending: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL]

    /// Whether a thread of another process has a pending signal that asks it to end, which it cannot handle while it is blocked in the kernel.
    /// - Returns: false where that is not visible: in a separate namespace, or with `hidepid`.
    public static func endProcess(_ thread: Int32) -> Bool {
        guard thread > 0, let text = try? FileSystem.readVirtualFile("/proc/\(thread)/status") else { return false }
        var pending: UInt64 = 0
        for line in text.split(separator: UInt8(ascii: "\n")) {
            // `SigPnd:	0000000000000100`: bit 0 is signal 1. Signals of the thread and of its process.
            guard line.starts(with: "SigPnd:".utf8) || line.starts(with: "ShdPnd:".utf8) else { continue }
            let digits = String(decoding: line.dropFirst("SigPnd:\t".utf8.count), as: UTF8.self)
            pending |= UInt64(digits, radix: 16) ?? 0
        }
        return ending.contains { pending & (1 << UInt64($0 - 1)) != 0 }
    }
}
