/// What a power cut could take away: replays recorded calls and keeps which files and folders have changes that were not made
/// durable. Names that go are no loss, but for SQLite's rollback journals: one that comes back undoes its transaction.
struct UnsyncedFiles {
    private(set) var paths: Set<String> = []

    mutating func apply(_ call: RecordedCall) {
        switch call.name {
        case "write", "pwrite", "ftruncate", "chmod", "chown", "utimens": paths.insert(call.path)
        case "fsync", "fdatasync": paths.remove(call.path)
        case "syncfs": paths = []
        case "open" where call.kind == .change: break
        case "unlink" where call.path.hasSuffix("-journal"): paths.insert(Self.folder(of: call.path))
        case "open", "mkdir", "symlink", "link", "rename": paths.insert(Self.folder(of: call.path))
        default: break
        }
    }

    /// Those that are one of these, a draft of one, or something in one. What SQLite shares in memory never counts.
    func among(_ names: [String]) -> [String] {
        paths.filter { path in
            !path.hasSuffix("-shm") && names.contains { path == $0 || path.hasPrefix("\($0).tmp-") || path.hasPrefix("\($0)/") }
        }.sorted()
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}
