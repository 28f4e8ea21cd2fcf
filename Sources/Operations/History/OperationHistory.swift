import BackupCore
import Export
import SystemIO

/// The operations that have ended, a line of JSON each, the oldest first: `history.jsonl` of a store. What a crash or a power cut leaves that is no
/// line is passed over.
public struct OperationHistory: Sendable {
    /// So many are told at most; some more may be kept.
    public static let limitCount = 1_000
    /// Before it becomes larger the older ones go: well above what so many lines take.
    private static let limitBytes: UInt64 = 1 << 20
    /// So that names of the greatest length do not have it written anew each time.
    private static let keptLimitBytes = 512 << 10

    private let path: String

    init(path: String) { self.path = path }

    /// That of the store at `path`, which is not opened for it.
    /// - Throws: `noRepository` when there is no store.
    public init(storeAt path: String) throws(BackupError) {
        let paths = StorePaths(root: path)
        try paths.requireTrustedStore()
        self.init(path: paths.history)
    }

    func append(_ record: OperationRecord) throws(BackupError) {
        try LineFile(path: path).append(record.historyJSON.compactText, limitBytes: Self.limitBytes) {
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
    ///   - count: so many at most.
    ///   - isAutomatic: only those that the schedule asked for, or only the others.
    /// - Throws: when there is a history that cannot be read.
    public func last(_ count: Int, isAutomatic: Bool? = nil) throws(BackupError) -> [OperationRecord] {
        guard try FileSystem.exists(path) else { return [] }
        var records: [OperationRecord] = []
        var seenCount = 0
        // From the end: most often few are wanted.
        for line in try Self.lines(of: path).reversed() where records.count < count && seenCount < Self.limitCount {
            guard let record = OperationRecord(historyLine: line) else { continue }
            seenCount += 1
            if isAutomatic == nil || record.isAutomatic == isAutomatic { records.append(record) }
        }
        return records.reversed()
    }

    /// Whether such an operation has gone well after one that ended with `error` at `time`.
    func hasSucceeded(_ operation: OperationKind, since time: Timestamp, _ error: String) throws(BackupError) -> Bool {
        guard try FileSystem.exists(path) else { return false }
        let decisive = try Self.lines(of: path).reversed().lazy.compactMap { OperationRecord(historyLine: $0) }
            .prefix { $0.startedAt >= time }
            // Times are whole seconds: of two operations in the same one, their order tells which came last.
            .first { $0.operation == operation && ($0.result == .ok || $0.facts.error?.rawValue == error) }
        return decisive?.result == .ok
    }

    /// What the state tells of it; nothing where it cannot be read.
    static func latest(of store: Store) -> [OperationRecord] { (try? OperationHistory(path: store.paths.history).last(20)) ?? [] }

    private static func lines(of path: String) throws(BackupError) -> [ArraySlice<UInt8>] {
        try FileSystem.readFile(path, limitBytes: Int(limitBytes) * 16).split(separator: UInt8(ascii: "\n"))
    }
}
