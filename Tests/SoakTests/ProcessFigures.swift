import Glibc
import SystemIO
import TestSupport

/// Memory and descriptors of a process, over time.
struct ProcessFigures: Sendable {
    struct Descriptors: Sendable {
        var total = 0
        /// Those of packs and photos, of which the program keeps some open for the next reader: up to `keptLimit`.
        var kept = 0

        var others: Int { total - kept }
    }

    /// 64 packs and 16 photos, and as many again as are being read just now: one by each of 16 threads.
    static let keptLimit = 96

    private(set) var memoryMiB: [Trend.Sample] = []
    /// Without those that are kept.
    private(set) var descriptors: [Trend.Sample] = []
    private(set) var mostKept = 0

    mutating func take(of process: pid_t, seconds: Double) {
        guard let kibibytes = Self.residentKiB(of: process) else { return }
        memoryMiB.append(Trend.Sample(seconds: seconds, value: Double(kibibytes) / 1024))
        let found = Self.descriptors(of: process)
        descriptors.append(Trend.Sample(seconds: seconds, value: Double(found.others)))
        mostKept = max(mostKept, found.kept)
    }

    static func descriptors(of process: pid_t) -> Descriptors {
        var found = Descriptors()
        for name in (try? DirectoryHandle(path: "/proc/\(process)/fd").names()) ?? [] {
            guard let target = Machine.linkTarget("/proc/\(process)/fd/\(name)") else { continue }
            found.total += 1
            if target.contains("/repository/packs/") || target.contains("/app/photos/") { found.kept += 1 }
        }
        return found
    }

    /// `VmRSS` of `/proc/PID/status`.
    private static func residentKiB(of process: pid_t) -> Int? {
        let line = Job.read("/proc/\(process)/status").split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line.flatMap { Int($0.filter(\.isNumber)) }
    }
}
