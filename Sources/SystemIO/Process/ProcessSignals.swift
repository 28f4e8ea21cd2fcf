import BackupCore
import Glibc

/// Signals that wait for another process.
public enum ProcessSignals {
    private static let ending: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL]

    /// Whether a thread of another process has been sent a signal that asks it to end, and has not taken it yet since it waits in the kernel.
    /// - Returns: false where that cannot be seen: in a namespace of its own, or with `hidepid`.
    public static func endProcess(_ thread: Int32) -> Bool {
        guard thread > 0, let text = try? FileSystem.readVirtualFile("/proc/\(thread)/status") else { return false }
        var pending: UInt64 = 0
        for line in text.split(separator: UInt8(ascii: "\n")) {
            // `SigPnd:	0000000000000100`: bit 0 is signal 1. Those of the thread and those of its process.
            guard line.starts(with: "SigPnd:".utf8) || line.starts(with: "ShdPnd:".utf8) else { continue }
            let digits = String(decoding: line.dropFirst("SigPnd:\t".utf8.count), as: UTF8.self)
            pending |= UInt64(digits, radix: 16) ?? 0
        }
        return ending.contains { pending & (1 << UInt64($0 - 1)) != 0 }
    }
}
