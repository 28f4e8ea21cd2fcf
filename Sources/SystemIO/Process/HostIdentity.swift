import BackupCore
import Glibc

/// Which machine this is, since when it runs, and which process: what tells whether whoever left a note is still there.
public enum HostIdentity {
    /// The machine's name; empty when it has none.
    public static let hostName: String = {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()

    /// A number that is new whenever a kernel starts; all containers of a machine share it. Empty where there is none.
    public static let bootID = firstLine("/proc/sys/kernel/random/boot_id")

    /// A number that stays with an installation; empty where there is none.
    public static let machineID = firstLine("/etc/machine-id")

    public static var processID: Int32 { getpid() }

    /// When a process started, in ticks since the kernel did; with the process's number it names a process for as long as the kernel runs.
    /// - Returns: `nil` when there is no such process.
    public static func startTicks(of process: Int32) -> UInt64? {
        guard let bytes = try? FileSystem.readProcFile("/proc/\(process)/stat") else { return nil }
        // The name in parentheses may hold anything, so fields are counted from the last parenthesis on: the 20th is the start.
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        return fields.count > 19 ? UInt64(fields[19]) : nil
    }

    /// Which PID namespace (container) this process's number is from; empty where it cannot be told.
    public static let processNamespace: String = {
        var value = stat()
        return stat("/proc/self/ns/pid", &value) == 0 ? "\(value.st_ino)" : ""
    }()

    /// Whether a process of this PID namespace has ended. What cannot be told is taken for running.
    public static func hasEnded(_ process: Int32, startTicks: UInt64) -> Bool {
        guard process > 0 else { return true }
        if kill(process, 0) == -1, errno == ESRCH { return true }
        // Its number may be another's now.
        guard let ticks = self.startTicks(of: process) else { return false }
        return ticks != startTicks
    }

    /// When the kernel started, by the clock of now.
    public static var bootTime: Timestamp {
        var now = timespec()
        var uptime = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        clock_gettime(CLOCK_BOOTTIME, &uptime)
        return Timestamp(seconds: Int64(now.tv_sec - uptime.tv_sec))
    }

    private static func firstLine(_ path: String) -> String {
        guard let bytes = try? FileSystem.readProcFile(path) else { return "" }
        return String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self)
    }
}

extension FileSystem {
    /// A small file that says it has no size, as those in `/proc` do.
    static func readProcFile(_ path: String) throws(BackupError) -> [UInt8] {
        let descriptor = try OwnedDescriptor.open(path, O_RDONLY)
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try descriptor.readFully(at: 0, into: buffer)
        }
        return Array(bytes[..<count])
    }

    /// Replaces what is in a file that is there, in place and without waiting for the disk: for notes in files that are locked.
    public static func overwrite(_ path: String, _ bytes: [UInt8]) throws(BackupError) {
        let descriptor = try OwnedDescriptor.open(path, O_WRONLY)
        try descriptor.truncate(to: 0)
        try descriptor.writeAll(bytes)
    }

    /// utimensat(2) with the time of now.
    /// - Throws: `notFound` when the file is gone.
    public static func touch(_ path: String) throws(BackupError) {
        try SystemCall.check("set the time of", path) { utimensat(AT_FDCWD, path, nil, 0) }
    }

    /// Writes bytes over those at the start of a file that is there, without waiting for the disk.
    /// - Throws: `notFound` when the file is gone.
    public static func writeOver(_ path: String, _ bytes: [UInt8]) throws(BackupError) {
        try OwnedDescriptor.open(path, O_WRONLY | O_NOFOLLOW).writeAll(bytes)
    }
}
