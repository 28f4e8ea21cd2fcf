import BackupCore
import SystemIO

/// The current state of a snapshot: its record, and the later changes from its label.
public struct Snapshot: Hashable, Sendable {
    public let id: SnapshotID
    public let record: SnapshotRecord
    /// Its current name; unique in its repository.
    public let name: FileName
    /// Retention leaves it alone.
    public let isPinned: Bool
    /// When it was last proved to be restorable.
    public let verifiedAt: Timestamp?
    /// Words to find it by, sorted by their bytes, without duplicates: initially the tag it was created with.
    public let tags: [String]
    /// The line of backups it belongs to; `nil` for a snapshot of a program that did not record it.
    public let source: SourceID?
    /// Its position in that line; 0 where it was not recorded.
    public let sequence: UInt64
    private let changedTags: [String]?

    public var kind: SnapshotKind { record.kind }
    /// By the clock of the host that made it.
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

    /// The attribute of the record with the time stamp of the snapshot's flat file names.
    public static let stampAttribute = "stamp"

    /// `2026-01-11_14-30-00`, as backups are called by default: the local time when it was made. A backup has its own in its
    /// record, which stays the same where it is renamed, or read in another time zone.
    public var stamp: String {
        guard let stamp = record.attributes[Self.stampAttribute], (1...64).contains(stamp.utf8.count),
            stamp.utf8.allSatisfy("0123456789-_".utf8.contains)
        else { return SystemClock.localStamp(creationTime) }
        return stamp
    }

    /// The attribute with the version of the archive layout that `archiveSizeBytes` was computed with, so that later versions can
    /// lay out the same bytes.
    public static let archiveVersionAttribute = "archive-version"
    /// The attributes with the exact size of archive.tar in bytes, and with the version of its layout. Snapshots from before
    /// archive.tar existed lack them.
    public static let tarSizeAttribute = "tar-size"
    /// See `tarSizeAttribute`.
    public static let tarVersionAttribute = "tar-version"

    /// The attribute that identifies the state of the app's database that was backed up, so that the same state need not be read
    /// again.
    public static let databaseStateAttribute = "database-state"
    /// The attribute with the place in the snapshot where the names of its media in its archives are recorded; missing where they
    /// follow from the paths.
    public static let archiveNamesAttribute = "archive-names"
    /// The attribute that names the app.
    public static let appAttribute = "app"
    /// The attribute that names the snapshot's source, 32 hexadecimal digits. Snapshots of older programs lack it.
    public static let sourceAttribute = "source"
    /// The attribute that numbers the snapshots of a source, from 1 on: unlike clocks, it never goes back.
    public static let sequenceAttribute = "sequence"
    /// The attribute with the file system of the media folder, as in statvfs(2).
    public static let mediaFileSystemAttribute = "media-file-system"
    /// The attribute with the time when all media files on file systems without change times were last read; missing where there
    /// are none.
    public static let mediaReadAttribute = "media-read-at"

    /// The attributes that count the files of the media folder and their bytes. Snapshots of older programs lack them.
    public static let mediaFilesAttribute = "media-files"
    /// See `mediaFilesAttribute`.
    public static let mediaBytesAttribute = "media-bytes"

    /// The attribute that records that extended attributes, owners, links and holes were read for all media files: "1". Snapshots
    /// of older programs lack it.
    public static let mediaMetadataAttribute = "media-metadata"
    /// The attribute with the owner of media files whose entries name none: user and group IDs, separated by a colon.
    public static let mediaOwnerAttribute = "media-owner"

    /// The attribute with the version of the reader of photos, in snapshots that have a list of them.
    public static let photosAttribute = "photos"
    /// The attribute with the number of files that the backup derived from its photos: their list, `metadata/` and `thumbnails/`.
    public static let photoFilesAttribute = "photo-files"
    /// The attribute with the SHA-256 of the paths of the starred photos; missing where no photo has a star. Stars can change
    /// while all files stay the same.
    public static let photoStarsAttribute = "photo-stars"

    /// The attribute of a copy of a snapshot: the ID of the snapshot that is not a copy, 64 hexadecimal digits.
    public static let originalAttribute = "original"

    /// The attribute, with the value `1`, of a snapshot whose export lacks no data of its database. To know that takes a read of
    /// the whole database.
    public static let allExportedAttribute = "all-exported"

    /// The attribute with the number of records of each collection, as a JSON object. Snapshots of older programs lack it.
    public static let recordCountsAttribute = "record-counts"

    /// The attribute of a snapshot that does not store the app's export: the setting `export` of the store that made it.
    public static let exportAttribute = "export"
    /// The value of the attribute of a snapshot that is shown with a rendered export.
    private static let renderedExport = "live"

    /// Whether its folder has `export.json` and `data/`. From the record alone.
    public var storesExport: Bool { record.attributes[Self.exportAttribute] == nil }
    /// Whether they are shown although they are not stored.
    public var showsRenderedExport: Bool { record.attributes[Self.exportAttribute] == Self.renderedExport }

    private static let ownAttributes: Set = [
        originalAttribute, mediaMetadataAttribute, mediaOwnerAttribute, photosAttribute, photoFilesAttribute,
        photoStarsAttribute,
        sequenceAttribute, mediaFileSystemAttribute, mediaReadAttribute, mediaFilesAttribute, mediaBytesAttribute,
        archiveNamesAttribute, stampAttribute, archiveVersionAttribute, tarSizeAttribute, tarVersionAttribute,
        databaseStateAttribute, allExportedAttribute, recordCountsAttribute,
    ]

    /// The attribute of the record with the tag that a snapshot was created with.
    public static let tagAttribute = "tag"

    /// The attributes that are meant for users; the others of the record are internal.
    /// `tag` has the current tags, separated by commas, and is missing when there are none.
    public var publicAttributes: [String: String] {
        var attributes = record.attributes.filter { !Self.ownAttributes.contains($0.key) }
        attributes[Self.tagAttribute] = tags.isEmpty ? nil : tags.joined(separator: ",")
        return attributes
    }

    /// The snapshot that this one is a copy of, usually in another repository; its own ID if it is no copy. Equal for all copies
    /// of one snapshot.
    public var originalID: SnapshotID {
        record.attributes[Self.originalAttribute].flatMap { SHA256Digest(hexadecimal: $0) }.map { SnapshotID($0) } ?? id
    }

    /// The owner of media files whose entries name none; `nil` where it is unknown.
    public var mediaOwner: FileOwner? {
        let numbers = record.attributes[Self.mediaOwnerAttribute]?.split(separator: ":").map { UInt32($0) }
        guard let numbers, numbers.count == 2, let user = numbers[0], let group = numbers[1] else { return nil }
        return FileOwner(user: user, group: group)
    }

    /// Exact size of archive.tar in bytes, if the record has it for this version of the layout.
    public func tarSizeBytes(layoutVersion: UInt32) -> UInt64? {
        guard record.attributes[Self.tarVersionAttribute] == String(layoutVersion) else { return nil }
        return record.attributes[Self.tarSizeAttribute].flatMap { UInt64($0) }
    }

    /// The same snapshot under another name.
    func named(_ name: FileName) -> Snapshot {
        Snapshot(id: id, record: record, name: name, isPinned: isPinned, verifiedAt: verifiedAt, changedTags: changedTags)
    }

    /// The same snapshot, pinned.
    public var pinned: Snapshot {
        Snapshot(id: id, record: record, name: name, isPinned: true, verifiedAt: verifiedAt, changedTags: changedTags)
    }

    var label: SnapshotLabel { SnapshotLabel(name: name, isPinned: isPinned, verifiedAt: verifiedAt, tags: changedTags) }

    /// The order in which the snapshots of one source were made, independent of the clock.
    public static func wasMadeBefore(_ left: Snapshot, _ right: Snapshot) -> Bool {
        left.sequence == right.sequence ? precedes(left, right) : left.sequence < right.sequence
    }

    /// Oldest first; those with equal times by name.
    static func precedes(_ left: Snapshot, _ right: Snapshot) -> Bool {
        (left.creationTime, left.name, left.id) < (right.creationTime, right.name, right.id)
    }
}

/// All snapshots that are visible at one moment.
struct SnapshotList: Sendable {
    /// Oldest first.
    let snapshots: [Snapshot]
    /// The errors of unreadable records and labels.
    let damages: [BackupError]
    /// Snapshots that lack the label that the register names. They count as pinned, and have their first name.
    let missingLabels: [SnapshotID]
    /// Why it is unknown which labels are missing: the register cannot be read.
    let registerError: BackupError?
    /// With the names that their records and labels have, in no particular order.
    let recorded: [Snapshot]
    private let byName: [FileName: Int]
    private let byID: [SnapshotID: Int]

    static let empty = SnapshotList([], damages: [])

    /// A name that is already in use gets a part of the snapshot's ID appended, so that no snapshot is hidden.
    init(
        _ unsorted: [Snapshot], damages: [BackupError], missingLabels: [SnapshotID] = [], registerError: BackupError? = nil
    ) {
        self.missingLabels = missingLabels
        self.registerError = registerError
        var sorted = unsorted.sorted(by: Snapshot.precedes)
        var byName: [FileName: Int] = [:]
        var byID: [SnapshotID: Int] = [:]
        for index in sorted.indices {
            if byName[sorted[index].name] != nil {
                let suffix = "~\(sorted[index].id.hexadecimal.prefix(8))"
                let kept = sorted[index].name.bytes.prefix(FileName.byteCountLimit - suffix.utf8.count)
                sorted[index] = sorted[index].named(FileName(bytes: kept + Array(suffix.utf8)))
            }
            byName[sorted[index].name] = index
            byID[sorted[index].id] = index
        }
        snapshots = sorted
        recorded = unsorted
        self.damages = damages
        self.byName = byName
        self.byID = byID
    }

    subscript(name: FileName) -> Snapshot? { byName[name].map { snapshots[$0] } }
    subscript(id: SnapshotID) -> Snapshot? { byID[id].map { snapshots[$0] } }
}

extension [Snapshot] {
    /// Whether it is a copy of the same array, without comparing elements. Neither can have changed while both exist.
    public func sharesStorage(with other: [Snapshot]) -> Bool {
        count == other.count
            && withUnsafeBufferPointer { own in other.withUnsafeBufferPointer { own.baseAddress == $0.baseAddress } }
    }
}
