import BackupCore
import BackupRepository
import Formats
import SnapshotFormats
import Synchronization
import SystemIO

/// The states that the records of a store had in its backups: what `history/` shows. Made when they are asked for, from what the
/// backups say of their changes; only the records themselves are read.
public final class RecordHistories: RecordHistoryView {
    /// A file manager that shows more of them is of no help.
    static let listedRecordLimit = 20_000
    private static let rememberedCount = 64

    private struct Question: Hashable {
        let collection: String
        let key: JSONKey
    }

    private struct Remembered {
        var snapshots: [Snapshot] = []
        var histories: [Question: RecordHistory?] = [:]
        var names: [String: RecordNames] = [:]
    }

    private let store: Store
    private let line: RecordLine
    private let remembered = Mutex(Remembered())

    /// - Parameter keyLimitBytes: how much memory the keys of changed records may take. Beyond it, records are looked for in more
    ///   backups.
    public init(of store: Store, keyLimitBytes: Int = 64 << 20) {
        self.store = store
        line = RecordLine(in: store.repository, keyLimitBytes: keyLimitBytes) { store.definition.keyName(ofCollection: $0) }
    }

    /// - Throws: errors other than damage of single backups.
    public func collections(_ snapshots: [Snapshot]) throws(BackupError) -> [FileName] {
        try line.state(of: snapshots).collections.map { FileName($0) }.sorted()
    }

    // MARK: Names

    /// Those that changed between backups, and those of the newest one.
    public func records(of collection: FileName, _ snapshots: [Snapshot]) throws(BackupError) -> RecordNames? {
        let name = collection.description
        if let known = recall(snapshots, { $0.names[name] }) { return known }
        let state = try line.state(of: snapshots)
        guard state.collections.contains(name) else {
            if let failure = state.failures.first { throw failure.error }
            return nil
        }
        var list = NameList(limit: Self.listedRecordLimit)
        for (step, backup) in zip(state.steps, state.backups.dropFirst()).reversed() {
            // Records that are gone since are not known then.
            if case .unknown? = step.changes[name] { list.areMore = true }
            guard case .keys(let keys)? = step.changes[name] else { continue }
            let time = backup.snapshot.creationTime
            for number in keys.numbers { list.add(.integer(number), time) }
            for text in keys.texts { list.add(.text(text), time) }
        }
        var failures = state.failures
        if let newest = state.backups.last(where: { $0.collections[name] != nil }), let content = newest.collections[name] {
            do throws(BackupError) {
                let (keys, areAll) = try search(content, name).keys(limit: Self.listedRecordLimit)
                let oldest = state.backups.first { $0.collections[name] != nil } ?? newest
                for key in keys { list.add(key, oldest.snapshot.creationTime) }
                if !areAll { list.areMore = true }
            } catch {
                guard error.code == .repositoryDamaged || error.code == .damagedContent else { throw error }
                failures.append((newest.snapshot.name, error))
            }
        }
        let names = RecordNames(names: list.names, areMore: list.areMore, failures: failures)
        if failures.isEmpty { remember(snapshots) { $0.names[name] = names } }
        return names
    }

    // MARK: One record

    public func history(
        of record: FileName, in collection: FileName, _ snapshots: [Snapshot]
    ) throws(BackupError) -> RecordHistory? {
        for key in RecordName.keys(of: record) {
            if let history = try history(of: key, in: collection.description, snapshots) { return history }
        }
        return nil
    }

    private func history(
        of key: JSONKey, in collection: String, _ snapshots: [Snapshot]
    ) throws(BackupError) -> RecordHistory? {
        let question = Question(collection: collection, key: key)
        if let known = recall(snapshots, { $0.histories[question] }) { return known }
        let state = try line.state(of: snapshots)
        var reader = RecordHistoryReader(collection, key, of: store, isComplete: state.failures.isEmpty)
        for (index, backup) in state.backups.enumerated() {
            try Cancellation.check()
            try reader.pass(
                backup, mayDiffer: index == 0 || Self.mayDiffer(key, in: state.steps[index - 1].changes[collection])
            ) {
                (content) throws(BackupError) in try search(content, collection).find(key)
            }
        }
        reader.failures += state.failures
        let history = try reader.history()
        if reader.failures.isEmpty {
            remember(snapshots) { remembered in
                if remembered.histories.count >= Self.rememberedCount { remembered.histories = [:] }
                remembered.histories[question] = .some(history)
            }
        }
        return history
    }

    /// - Parameter change: of the collection; `nil` when it is the same.
    private static func mayDiffer(_ key: JSONKey, in change: RecordStep.Change?) -> Bool {
        switch change {
        case nil: false
        case .unknown: true
        case .keys(let keys): keys.contains(key)
        }
    }

    private func search(_ content: FileContent, _ collection: String) throws(BackupError) -> RecordSearch {
        let source = StoredRangeSource(content, in: store.repository)
        let key = try CollectionComparison.key(of: source, store.definition.keyName(ofCollection: collection))
        return RecordSearch(source, sizeBytes: content.size, key: key ?? "id")
    }

    // MARK: Remembering

    private func recall<Value>(_ snapshots: [Snapshot], _ find: (Remembered) -> Value?) -> Value? {
        remembered.withLock { $0.snapshots.sharesStorage(with: snapshots) ? find($0) : nil }
    }

    private func remember(_ snapshots: [Snapshot], _ change: (inout Remembered) -> Void) {
        remembered.withLock { remembered in
            if !remembered.snapshots.sharesStorage(with: snapshots) { remembered = Remembered(snapshots: snapshots) }
            change(&remembered)
        }
    }
}

/// Collects names of records, each once.
private struct NameList {
    let limit: Int
    private var keys: [JSONKey: Timestamp] = [:]
    var areMore = false

    init(limit: Int) { self.limit = limit }

    /// - Parameter time: of its last change; the first one that is given counts.
    mutating func add(_ key: JSONKey, _ time: Timestamp) {
        if keys[key] != nil { return }
        guard keys.count < limit, RecordName.of(key) != nil else {
            areMore = true
            return
        }
        keys[key] = time
    }

    var names: [(name: FileName, changedAt: Timestamp)] {
        let names: [(name: FileName, changedAt: Timestamp)] = keys.compactMap { key, time in
            if case .text(let bytes) = key, let number = RecordName.number(bytes), keys[.integer(number)] != nil {
                return (RecordName.ofText(likeNumber: bytes), time)
            }
            return RecordName.of(key).map { ($0, time) }
        }
        return names.sorted { $0.name < $1.name }
    }
}
