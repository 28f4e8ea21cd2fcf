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
    /// Words to find it by, sorted by their bytes, each once: the one it was made with, until somebody changes them.
    public let tags: [String]
    /// Which line of backups it belongs to; `nil` for a snapshot of a program that did not note it.
    public let source: SourceID?
    /// Its place in that line; 0 where it was not noted.
    public let sequence: UInt64
    private let changedTags: [String]?

    public var kind: SnapshotKind { record.kind }
    public var creationTime: Timestamp { record.creationTime }

    init(id: SnapshotID, record: SnapshotRecord, label: SnapshotLabel?) {
        self.init(
            id: id, record: record, name: label?.name ?? record.name, isPinned: label?.isPinned ?? false,
            verifiedAt: label?.verifiedAt, changedTags: label?.tags)
    }

    private init(
        id: SnapshotID, record: SnapshotRecord, name: FileName, isPinned: Bool, verifiedAt: Timestamp?, changedTags: [String]?
    ) {
        self.id = id
        self.record = record
        self.name = name
        self.isPinned = isPinned
        self.verifiedAt = verifiedAt
        self.changedTags = changedTags
        tags = changedTags ?? record.tags
        source = record.attributes[Self.sourceAttribute].flatMap { SourceID(hexadecimal: $0) }
        sequence = record.attributes[Self.sequenceAttribute].flatMap { UInt64($0) } ?? 0
    }

    /// The attribute of the record that holds the time stamp of the snapshot's flat file names.
    public static let stampAttribute = "stamp"
    /// The attribute that says by which version of the archive layout `archiveSizeBytes` was computed, so that a later version can still
    /// lay out the same bytes.
    public static let archiveVersionAttribute = "archive-version"
    /// The attributes that hold the exact size of archive.tar in bytes, and by which version of its layout it was computed. Snapshots that were
    /// made before there was an archive.tar lack them.
    public static let tarSizeAttribute = "tar-size"
    public static let tarVersionAttribute = "tar-version"

    /// The attribute that says which state of the app's database was backed up, so that the same state need not be read again.
    public static let databaseStateAttribute = "database-state"
    /// The attribute that says where in the snapshot it is written what its media are called in its archives; missing where they are called as
    /// they lie.
    public static let archiveNamesAttribute = "archive-names"
    /// The attribute that names the app.
    public static let appAttribute = "app"
    /// The attribute that names the snapshot's source, 32 hexadecimal digits. Snapshots of older programs lack it.
    public static let sourceAttribute = "source"
    /// The attribute that counts the snapshots of a source, from 1 on: clocks go back, this does not.
    public static let sequenceAttribute = "sequence"
    /// The attribute that says on which file system the media folder lay, as statvfs(2) has it.
    public static let mediaFileSystemAttribute = "media-file-system"
    /// The attribute that says when all media files were last read that lie on file systems without change times; missing where there are none.
    public static let mediaReadAttribute = "media-read-at"

    /// The attributes that count the files of the media folder and their bytes. Snapshots of older programs lack them.
    public static let mediaFilesAttribute = "media-files"
    public static let mediaBytesAttribute = "media-bytes"

    /// The attribute that says that all media files were asked for extended attributes, owners, links and holes: "1". Snapshots of older programs lack it.
    public static let mediaMetadataAttribute = "media-metadata"
    /// The attribute that names the owner of media files whose entries name none: user and group, as numbers with a colon between them.
    public static let mediaOwnerAttribute = "media-owner"

    private static let ownAttributes: Set = [
        mediaMetadataAttribute, mediaOwnerAttribute,
        sequenceAttribute, mediaFileSystemAttribute, mediaReadAttribute, mediaFilesAttribute, mediaBytesAttribute,
        archiveNamesAttribute, stampAttribute, archiveVersionAttribute, tarSizeAttribute, tarVersionAttribute,
        databaseStateAttribute,
    ]

    /// The attribute of the record that holds the tag a snapshot was made with.
    public static let tagAttribute = "tag"

    /// The attributes that say something to people; the others of the record are this program's own. `tag` is the tags of now, with commas
    /// between them, and missing when there are none.
    public var publicAttributes: [String: String] {
        var attributes = record.attributes.filter { !Self.ownAttributes.contains($0.key) }
        attributes[Self.tagAttribute] = tags.isEmpty ? nil : tags.joined(separator: ",")
        return attributes
    }

    /// The owner of media files whose entries name none; `nil` where that is not known.
    public var mediaOwner: FileOwner? {
        let numbers = record.attributes[Self.mediaOwnerAttribute]?.split(separator: ":").map { UInt32($0) }
        guard let numbers, numbers.count == 2, let user = numbers[0], let group = numbers[1] else { return nil }
        return FileOwner(user: user, group: group)
    }

    /// Exact size of archive.tar in bytes, if the record has it by this version of the layout.
    public func tarSizeBytes(layoutVersion: UInt32) -> UInt64? {
        guard record.attributes[Self.tarVersionAttribute] == String(layoutVersion) else { return nil }
        return record.attributes[Self.tarSizeAttribute].flatMap { UInt64($0) }
    }

    /// The same snapshot under another name.
    func named(_ name: FileName) -> Snapshot {
        Snapshot(id: id, record: record, name: name, isPinned: isPinned, verifiedAt: verifiedAt, changedTags: changedTags)
    }

    var label: SnapshotLabel { SnapshotLabel(name: name, isPinned: isPinned, verifiedAt: verifiedAt, tags: changedTags) }

    /// In the order in which the snapshots of one source were made, whatever the clock said then.
    public static func wasMadeBefore(_ left: Snapshot, _ right: Snapshot) -> Bool {
        left.sequence == right.sequence ? precedes(left, right) : left.sequence < right.sequence
    }

    /// Oldest first; those of one moment by name.
    static func precedes(_ left: Snapshot, _ right: Snapshot) -> Bool {
        (left.creationTime, left.name, left.id) < (right.creationTime, right.name, right.id)
    }
}

extension SnapshotRecord {
    /// What it was tagged with when it was made.
    var tags: [String] { attributes[Snapshot.tagAttribute].map { [$0] } ?? [] }
}
