import BackupCore

/// A snapshot as it stands now: its record, and what has been said about it since.
public struct Snapshot: Hashable, Sendable {
    public let id: SnapshotID
    public let record: SnapshotRecord
    /// What it is called now; unique in its repository.
    public let name: FileName
    /// Retention leaves it alone.
    public let isPinned: Bool
    /// When somebody last proved that it can be restored.
    public let verifiedAt: Timestamp?

    public var kind: SnapshotKind { record.kind }
    public var creationTime: Timestamp { record.creationTime }

    init(id: SnapshotID, record: SnapshotRecord, label: SnapshotLabel?) {
        self.init(
            id: id, record: record, name: label?.name ?? record.name, isPinned: label?.isPinned ?? false,
            verifiedAt: label?.verifiedAt)
    }

    private init(id: SnapshotID, record: SnapshotRecord, name: FileName, isPinned: Bool, verifiedAt: Timestamp?) {
        self.id = id
        self.record = record
        self.name = name
        self.isPinned = isPinned
        self.verifiedAt = verifiedAt
    }

    /// The attribute of the record that holds the time stamp of the snapshot's flat file names.
    public static let stampAttribute = "stamp"
    /// The attribute that says by which version of the archive layout `archiveSizeBytes` was computed, so that a later version can still
    /// lay out the same bytes.
    public static let archiveVersionAttribute = "archive-version"

    /// The record's attributes that say something to people; the others are this program's own.
    public var publicAttributes: [String: String] {
        record.attributes.filter { $0.key != Self.stampAttribute && $0.key != Self.archiveVersionAttribute }
    }

    /// The same snapshot under another name.
    func named(_ name: FileName) -> Snapshot {
        Snapshot(id: id, record: record, name: name, isPinned: isPinned, verifiedAt: verifiedAt)
    }

    var label: SnapshotLabel { SnapshotLabel(name: name, isPinned: isPinned, verifiedAt: verifiedAt) }

    /// Oldest first; those of one moment by name.
    static func precedes(_ left: Snapshot, _ right: Snapshot) -> Bool {
        (left.creationTime, left.name, left.id) < (right.creationTime, right.name, right.id)
    }
}
