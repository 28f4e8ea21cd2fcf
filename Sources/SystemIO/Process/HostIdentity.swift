import BackupCore
import Glibc

/// The machine, its boot and this process: used to decide whether the author of a note still runs.
public enum HostIdentity {
    /// The machine's name; empty when it has none.
    public static let hostName: String = {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()

    /// A number that changes with each boot; all containers of a machine share it. Empty where there is none.
    public static let bootID = firstLine("/proc/sys/kernel/random/boot_id")

    /// The permanent number of an installation; empty where there is none.
    public static let machineID = firstLine("/etc/machine-id")

    public static var processID: Int32 { getpid() }

    /// The start time of a process, in ticks since boot. Together with the PID it identifies a process until the next boot.
    /// - Returns: `nil` when there is no such process.
    public static func startTicks(of process: Int32) -> UInt64? {
        guard let bytes = try? FileSystem.readProcFile("/proc/\(process)/stat") else { return nil }
        // The name in parentheses may contain anything, so fields are counted from the last parenthesis: the 20th is the start time.
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        return fields.count > 19 ? UInt64(fields[19]) : nil
    }

    /// The PID namespace (container) of this process's PID; empty where it is unknown.
    public static let processNamespace: String = {
        var value = stat()
        return stat("/proc/self/ns/pid", &value) == 0 ? "\(value.st_ino)" : ""
    }()

    /// Whether a process of this PID namespace has ended. If unknown, it is treated as running.
    public static func hasEnded(_ process: Int32, startTicks: UInt64) -> Bool {
        guard process > 0 else { return true }
        if kill(process, 0) == -1, errno == ESRCH { return true }
        // The PID may have been reused.
        guard let ticks = self.startTicks(of: process) else { return false }
        return ticks != startTicks
    }

    /// When the kernel booted, by the current clock.
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
    /// Reads a small file that reports size zero, as those in `/proc` do.
    static func readProcFile(_ path: String) throws(BackupError) -> [UInt8] {
        let descriptor = try OwnedDescriptor.open(path, O_RDONLY)
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try descriptor.readFully(at: 0, into: buffer)
        }
        return Array(bytes[..<count])
    }

    /// Replaces the contents of an existing file in place, without waiting for the disk: for notes in locked files.
    public static func overwrite(_ path: String, _ bytes: [UInt8]) throws(BackupError) {
        let descriptor = try OwnedDescriptor.open(path, O_WRONLY)
        try descriptor.truncate(to: 0)
        try descriptor.writeAll(bytes)
    }

    /// utimensat(2) with the current time.
    /// - Throws: `notFound` when the file does not exist.
    public static func touch(_ path: String) throws(BackupError) {
        try SystemCall.check("set the time of", path) { utimensat(AT_FDCWD, path, nil, 0) }
    }

    /// Overwrites the start of an existing file, without waiting for the disk.
    /// - Throws: `notFound` when the file does not exist.
    public static func writeOver(_ path: String, _ bytes: [UInt8]) throws(BackupError) {
        try OwnedDescriptor.open(path, O_WRONLY | O_NOFOLLOW).writeAll(bytes)
    }
}
