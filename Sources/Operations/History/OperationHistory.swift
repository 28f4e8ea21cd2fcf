import BackupCore
import Formats
import SystemIO

/// Past operations, one line of JSON each, oldest first: `history.jsonl` of a store. Skips torn lines that a crash or a power cut
/// left.
public struct OperationHistory: Sendable {
    /// The most operations that are listed; the file may hold some more.
    public static let limitCount = 1_000
    /// Older entries are dropped before the file exceeds this size, which is well above that of `limitCount` lines.
    private static let limitBytes: UInt64 = 1 << 20
    /// Leaves slack, so that even names of maximum length do not cause a rewrite each time.
    private static let keptLimitBytes = 512 << 10

    private let path: String

    init(path: String) { self.path = path }

    /// The history of the store at `path`, without opening the store.
    /// - Throws: `noRepository` when there is no store.
    public init(storeAt path: String) throws(BackupError) {
        let paths = StorePaths(root: path)
        try paths.requireTrustedStore()
        self.init(path: paths.history)
    }

    func append(_ record: OperationRecord) throws(BackupError) {
        try RotatingLog(path: path).append(record.historyJSON.compactText, limitBytes: Self.limitBytes) {
            (path) throws(BackupError) in
            var room = Self.keptLimitBytes
            let kept = try Self.lines(of: path).suffix(Self.limitCount).reversed().prefix { line in
                room -= line.count + 1
                return room >= 0
            }.reversed()
            try FileSystem.writeFileAtomically(path, kept.flatMap { $0 + [UInt8(ascii: "\n")] })
        }
    }

    /// The last operations, oldest first.
    /// - Parameters:
    ///   - count: the most to return.
    ///   - isAutomatic: whether to return only scheduled operations, or only the others; `nil` for all.
    /// - Throws: when the history exists but cannot be read.
    public func last(_ count: Int, isAutomatic: Bool? = nil) throws(BackupError) -> [OperationRecord] {
        guard try FileSystem.exists(path) else { return [] }
        var records: [OperationRecord] = []
        var seenCount = 0
        // From the end: usually only a few are wanted.
        for line in try Self.lines(of: path).reversed() where records.count < count && seenCount < Self.limitCount {
            guard let record = OperationRecord(historyLine: line) else { continue }
            seenCount += 1
            if isAutomatic == nil || record.isAutomatic == isAutomatic { records.append(record) }
        }
        return records.reversed()
    }

    /// Whether such an operation has succeeded after one that ended with `error` at `time`.
    func hasSucceeded(_ operation: OperationKind, since time: Timestamp, _ error: String) throws(BackupError) -> Bool {
        guard try FileSystem.exists(path) else { return false }
        let decisive = try Self.lines(of: path).reversed().lazy.compactMap { OperationRecord(historyLine: $0) }
            .prefix { $0.startedAt >= time }
            // Times are in whole seconds: within one second, the order of lines decides which operation came last.
            .first { $0.operation == operation && ($0.result == .ok || $0.facts.error?.rawValue == error) }
        return decisive?.result == .ok
    }

    /// The last operations; empty where the history cannot be read.
    static func latest(_ count: Int, of store: Store) -> [OperationRecord] {
        (try? OperationHistory(path: store.paths.history).last(count)) ?? []
    }

    private static func lines(of path: String) throws(BackupError) -> [ArraySlice<UInt8>] {
        try FileSystem.readFile(path, limitBytes: Int(limitBytes) * 16).split(separator: UInt8(ascii: "\n"))
    }
}
