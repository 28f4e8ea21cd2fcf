import BackupCore
import BackupRepository
import Formats
import Synchronization
import SystemIO

/// What a backup says in its `changes.json`: what is different from the backup before.
struct StoredChanges: Sendable {
    enum Kind: String, CaseIterable, Sendable { case added, changed, removed }

    /// Of the records of one collection, or of the files.
    struct Changes: Sendable {
        /// Exact.
        fileprivate(set) var counts: [Kind: Int] = [:]
        /// The first ones, in the order of the document.
        fileprivate(set) var first: [(kind: Kind, key: JSONKey)] = []
        /// Of all records that are listed; empty for files.
        fileprivate(set) var keys = RecordKeys()
        fileprivate(set) var listedCount = 0
        fileprivate var isReadable = true

        var count: Int { Kind.allCases.reduce(0) { $0.addingSaturating(counts[$1] ?? 0) } }
        /// Whether all that changed are listed.
        var areAllListed: Bool { isReadable && listedCount == count }
    }

    /// The ID of the backup before; `nil` without one.
    private(set) var earlierID: String?
    /// In the order of the document, by name. Collections whose changes are not known are not there.
    private(set) var collections: [(name: String, changes: Changes)] = []
    private(set) var files = Changes()

    private static let sizeLimitBytes: UInt64 = 64 << 20
    /// How many of what changed in one way are kept of the records of a collection.
    static let firstCount = 10
    /// The same of the files, whose pictures are shown.
    static let firstFileCount = 24

    /// - Returns: `nil` when there is no such document, or it cannot be read.
    init?(of snapshot: Snapshot, in repository: Repository) {
        guard let entry = (try? repository.rootDirectory(of: snapshot))?.entry(named: "changes.json"),
            entry.size <= Self.sizeLimitBytes
        else { return nil }
        let tokenizer = JSONTokenizer(StoredContentSource(entry.content, in: repository), bufferSizeBytes: 64 << 10)
        do throws(BackupError) {
            try read(tokenizer)
        } catch {
            return nil
        }
    }

    private mutating func read(_ tokenizer: JSONTokenizer) throws(BackupError) {
        guard try tokenizer.next() == .beginObject else {
            throw BackupError(.damagedContent, "the changes of a backup are not an object")
        }
        while try tokenizer.next() == .key {
            let name = tokenizer.text()
            let value = try tokenizer.next()
            switch (name, value) {
            case ("since", .beginObject):
                while try tokenizer.next() == .key {
                    let isID = tokenizer.text() == "id"
                    let value = try tokenizer.next()
                    if isID, value == .string { earlierID = tokenizer.text() }
                    try tokenizer.skip(value)
                }
            case ("records", .beginObject):
                while try tokenizer.next() == .key {
                    let name = tokenizer.text()
                    let value = try tokenizer.next()
                    if value == .beginObject {
                        collections.append((name, try Self.changes(tokenizer, keepsKeys: true)))
                    } else {
                        try tokenizer.skip(value)
                    }
                }
            case ("files", .beginObject): files = try Self.changes(tokenizer, keepsKeys: false)
            default: try tokenizer.skip(value)
            }
        }
    }

    /// Reads the members of an object that has begun, and its end.
    private static func changes(_ tokenizer: JSONTokenizer, keepsKeys: Bool) throws(BackupError) -> Changes {
        var changes = Changes()
        while try tokenizer.next() == .key {
            let name = tokenizer.text()
            let value = try tokenizer.next()
            if let kind = Kind(rawValue: name), value == .number {
                if let count = Int(tokenizer.text()), count >= 0 {
                    changes.counts[kind] = count
                } else {
                    changes.isReadable = false
                }
            } else if let kind = Kind.allCases.first(where: { name == "\($0.rawValue)Keys" || name == "\($0.rawValue)Paths" }),
                value == .beginArray
            {
                try readList(tokenizer, kind, keepsKeys, &changes)
            } else {
                try tokenizer.skip(value)
            }
        }
        changes.keys.sort()
        return changes
    }

    private static func readList(
        _ tokenizer: JSONTokenizer, _ kind: Kind, _ keepsKeys: Bool, _ changes: inout Changes
    ) throws(BackupError) {
        var shownCount = 0
        while true {
            let key: JSONKey
            switch try tokenizer.next() {
            case .endArray: return
            case .string: key = .text(Array(tokenizer.text().utf8))
            case .number:
                guard let number = Int64(tokenizer.text()) else {
                    changes.isReadable = false
                    continue
                }
                key = .integer(number)
            case let token:
                changes.isReadable = false
                try tokenizer.skip(token)
                continue
            }
            changes.listedCount += 1
            if keepsKeys { changes.keys.append(key) }
            if shownCount < (keepsKeys ? firstCount : firstFileCount) { changes.first.append((kind, key)) }
            shownCount += 1
        }
    }
}

/// What the newest backups of a store changed, for its page. Each document is read once.
final class NewestChanges: Sendable {
    struct Backup: Sendable {
        let snapshot: Snapshot
        let changes: StoredChanges
    }

    private static let count = 5

    private let known = Mutex<[SnapshotID: StoredChanges]>([:])
    private let isWanted = Atomic(false)

    /// From now on they are read: a page was asked for that shows them. Until then, the storage is left alone.
    func want() { isWanted.store(true, ordering: .relaxed) }

    /// - Parameter snapshots: oldest first.
    /// - Returns: newest first, those with a readable document about the backup before.
    func read(_ snapshots: [Snapshot], in repository: Repository) -> [Backup] {
        guard isWanted.load(ordering: .relaxed) else { return [] }
        let newest = snapshots.suffix(Self.count)
        let before = known.withLock { $0 }
        var after: [SnapshotID: StoredChanges] = [:]
        for snapshot in newest { after[snapshot.id] = before[snapshot.id] ?? StoredChanges(of: snapshot, in: repository) }
        known.withLock { [after] in $0 = after }
        return newest.reversed().compactMap { snapshot in
            guard let changes = after[snapshot.id], changes.earlierID != nil else { return nil }
            return Backup(snapshot: snapshot, changes: changes)
        }
    }
}
