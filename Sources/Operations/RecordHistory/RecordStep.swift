import BackupCore
import BackupRepository
import Formats
import SystemIO

/// Which records differ between two backups that follow one another. Each backup says it of itself in `changes.json`, so nothing
/// has to be compared; where it does not, small collections are compared, and of large ones it stays unknown.
struct RecordStep: Sendable {
    enum Change: Sendable {
        case keys(RecordKeys)
        /// Any record may differ.
        case unknown
    }

    /// By the name of the collection. The others are the same in both.
    private(set) var changes: [String: Change] = [:]
    /// Of the keys, in memory.
    private(set) var sizeBytes = 0

    /// A collection up to this length is compared if it must be.
    private static let comparedLimitBytes: UInt64 = 16 << 20

    /// - Parameter keyName: of a collection, if it is known.
    /// - Throws: errors other than damage, which only makes the changes unknown.
    init(
        from old: RecordLine.Backup, to new: RecordLine.Backup, in repository: Repository, keyName: (String) -> String?
    ) throws(BackupError) {
        let names = Set(old.collections.keys).union(new.collections.keys).filter { old.collections[$0] != new.collections[$0] }
        guard !names.isEmpty else { return }
        let document = Self.document(of: new.snapshot, in: repository, since: old.snapshot)
        for name in names {
            try Cancellation.check()
            let change: Change
            if let keys = document?[name] {
                change = .keys(keys)
            } else {
                change = try Self.compare(old.collections[name], new.collections[name], in: repository, keyName(name))
            }
            changes[name] = change
            if case .keys(let keys) = change { sizeBytes += keys.sizeBytes }
        }
    }

    /// Frees the keys.
    mutating func forgetKeys() {
        for name in changes.keys { changes[name] = .unknown }
        sizeBytes = 0
    }

    /// - Returns: the changed keys of the collections whose lists are complete; `nil` if the document is about another backup.
    private static func document(
        of snapshot: Snapshot, in repository: Repository, since old: Snapshot
    ) -> [String: RecordKeys]? {
        guard let changes = StoredChanges(of: snapshot, in: repository), changes.earlierID == "\(old.id)" else { return nil }
        let complete = changes.collections.filter(\.changes.areAllListed)
        return Dictionary(complete.map { ($0.name, $0.changes.keys) }) { $1 }
    }

    private static func compare(
        _ old: FileContent?, _ new: FileContent?, in repository: Repository, _ keyName: String?
    ) throws(BackupError) -> Change {
        guard max(old?.size ?? 0, new?.size ?? 0) <= comparedLimitBytes else { return .unknown }
        let sources = [old, new].map { $0.map { StoredContentSource($0, in: repository) } }
        let found: CollectionComparison
        do throws(BackupError) {
            found = try CollectionComparison.compare(old: sources[0], new: sources[1], knownKey: keyName)
        } catch {
            // What cannot be read now may be readable later, and then must not be remembered as unknown.
            guard error.code == .damagedContent || error.code == .repositoryDamaged else { throw error }
            return .unknown
        }
        var keys = RecordKeys()
        for changes in [found.added, found.changed, found.removed] {
            guard changes.keys.count == changes.count else { return .unknown }
            for key in changes.keys { keys.append(key) }
        }
        keys.sort()
        return .keys(keys)
    }
}
