import BackupCore
import SystemIO

/// The counts of a mount's requests, in a file of its store, where other processes find them while it is mounted.
extension RequestCounts {
    /// One count a line: `served read 12`, `failed ENOENT 3`.
    var text: String {
        func lines(_ kind: String, _ counts: [String: UInt64]) -> String {
            counts.sorted { $0.key < $1.key }.map { "\(kind) \($0.key) \($0.value)\n" }.joined()
        }
        return lines("served", served) + lines("failed", failed)
    }

    /// Replaces the record in the store.
    public func write(_ paths: StorePaths) throws(BackupError) {
        try FileSystem.writeForReaders(paths.requestRecord, Array(text.utf8))
    }

    /// - Returns: `nil` when the store is not mounted, or its mount has not yet written them.
    public static func read(_ paths: StorePaths) -> RequestCounts? {
        guard (try? AdvisoryLock.isHeld(path: paths.mountLock)) != false,
            let bytes = try? FileSystem.readFile(paths.requestRecord, limitBytes: 1 << 16)
        else { return nil }
        return RequestCounts(parsing: String(decoding: bytes, as: UTF8.self))
    }

    /// Skips lines of another version.
    init(parsing text: String) {
        self.init()
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 3, let count = UInt64(words[2]) else { continue }
            switch words[0] {
            case "served": served[words[1]] = count
            case "failed": failed[words[1]] = count
            default: continue
            }
        }
    }
}
