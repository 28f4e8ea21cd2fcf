import AppData
import BackupCore
import BackupRepository
import PhotoData
import Photos
import Restore
import SnapshotFormats
import SystemIO

/// Stores what the photos among the media say of themselves, and a small picture of each: `metadata/`, `thumbnails/` and the list
/// `photos.jsonl` (decision 54). Only photos whose bytes are new are read.
struct PhotoBackup {
    /// What the media folder's photos add to a backup.
    struct Stored {
        private(set) var entries: [TreeEntry]
        /// For users whose photos were not read, or whose stars were not.
        var warning: BackupWarning?
        /// For the snapshot's record.
        private(set) var attributes: [String: String]
        /// The photos that were read for this backup.
        let newCount: UInt64

        init(entries: [TreeEntry], warning: BackupWarning?, attributes: [String: String], newCount: UInt64) {
            self.warning = warning
            self.attributes = attributes
            self.newCount = newCount
            self.entries = []
            add(entries)
        }

        /// Files and folders that are derived from the photos.
        mutating func add(_ more: [TreeEntry]) {
            entries += more
            attributes[Snapshot.photoFilesAttribute] = String(DirectoryTotals(of: entries).fileCount)
        }
    }

    /// Which photos are read.
    enum Reading {
        /// None: a restore waits for this backup.
        case nothing
        /// Those that no earlier backup has read or tried.
        case new
        /// Also those that could not be read.
        case all
    }

    /// How many files the walk may be ahead of the photos that are being read. What a photo says can take half a megabyte.
    private static let windowCount = 64
    /// How long a backup reads photos: it must not be late because of its thumbnails. The next ones read the others.
    private static let budgetSeconds = 600.0

    let writer: BackupWriter
    let repository: Repository
    let earlier: PreviousBackup
    let media: LiveMedia
    let createdAt: Timestamp
    let progress: BackupProgress
    let workPath: String
    let reads: Reading
    /// The paths of the starred photos, below the media folder.
    let stars: Set<[UInt8]>
    /// Whether the operation's progress may have messages of its own.
    let showsProgress: Bool

    /// - Parameter stored: the media folder of this backup, whose chunks are all in the catalog.
    /// - Throws: the repository's errors. A photo that cannot be read costs its own fields.
    func run(_ stored: StoredDirectory) throws(BackupError) -> Stored {
        let known = KnownPhotos(earlier, in: repository, retriesUnreadable: reads == .all)
        let files = PhotoFiles(media: media, repository: repository, workPath: workPath)
        let readers = PhotoReaders(makesThumbnails: true)
        defer { readers.end() }
        let end = SystemClock.monotonicSeconds() + Self.budgetSeconds
        var tree = PhotoTree(writer: writer, list: writer.makeContentWriter(.structuredText))
        var walk = TreeCursor(stored, in: repository)
        var window: [Step] = []
        var next = 0
        var state = Counts()
        var isAtEnd = false
        while true {
            while !isAtEnd, window.count - next < Self.windowCount {
                guard let step = try walk.next() else {
                    isAtEnd = true
                    break
                }
                let isLate = reads == .nothing || SystemClock.monotonicSeconds() >= end
                window.append(try prepare(step, walk.path, known, files, isLate ? nil : readers))
            }
            guard next < window.count else { break }
            try take(window[next], into: &tree, &state)
            next += 1
            if next == Self.windowCount {
                window.removeFirst(next)
                next = 0
            }
        }
        let entries = try tree.finish(at: createdAt)
        if showsProgress { progress.update(always: true) { $0.phase = nil } }
        var attributes = [
            Snapshot.photosAttribute: state.untried == 0 ? KnownPhotos.version : KnownPhotos.partialVersion
        ]
        if !state.stars.isEmpty { attributes[Snapshot.photoStarsAttribute] = SHA256Hasher.hash(state.stars).hexadecimal }
        return Stored(entries: entries, warning: state.warning, attributes: attributes, newCount: state.new)
    }

    // MARK: The walk

    /// One step of the walk through the media, with what is known of a file.
    private enum Step {
        case enter(TreeEntry)
        case leave
        case known(PhotoRecord, TreeEntry, sidecar: StoredFile?, thumbnail: StoredFile?)
        /// Without a reading: there was no time for it.
        case reading(TreeEntry, path: [UInt8], PhotoReaders.Pending?)
        case none
    }

    private struct Counts {
        /// Files that were read, photos or not.
        var read: UInt64 = 0
        /// Photos among them.
        var new: UInt64 = 0
        /// Files that may be photos.
        var untried: UInt64 = 0
        /// Whether there was no time for some.
        var isLate = false
        /// Why photos could not be read at all.
        var missing: BackupError?
        /// The paths of the starred photos, each with a zero byte after it.
        var stars: [UInt8] = []

        var warning: BackupWarning? {
            if let missing { return BackupWarning(.photos, "the backup has no thumbnails of new photos: \(missing.message)") }
            return isLate ? BackupWarning(.photos, "reading the photos takes long: the next backups read the others") : nil
        }
    }

    private func prepare(
        _ step: TreeCursor.Step, _ path: [UInt8], _ known: KnownPhotos, _ files: PhotoFiles, _ readers: PhotoReaders?
    ) throws(BackupError) -> Step {
        guard case .entry(let entry) = step else { return .leave }
        switch entry.kind {
        case .directory: return .enter(entry)
        case .symbolicLink: return .none
        case .file: break
        }
        switch try known.find(entry, path, writer) {
        case .photo(let record, let sidecar, let thumbnail):
            return .known(record, entry, sidecar: sidecar, thumbnail: thumbnail)
        case .other: return .none
        case nil: break
        }
        let pending = readers?.read { () throws(BackupError) in try files.open(entry, path) }
        return .reading(entry, path: path, pending)
    }

    private func take(_ step: Step, into tree: inout PhotoTree, _ counts: inout Counts) throws(BackupError) {
        switch step {
        case .none: return
        case .enter(let folder): tree.enter(folder)
        case .leave: try tree.leave()
        case .known(let record, let entry, let sidecar, let thumbnail):
            try append(record, entry, sidecar, thumbnail, to: &tree, &counts)
        case .reading(let entry, let path, let pending):
            var reading: PhotoReading?
            if let pending { reading = try self.reading(pending, &counts) }
            if reading == nil { counts.untried += 1 } else { counts.read += 1 }
            if pending == nil, reads != .nothing { counts.isLate = true }
            try store(entry, path, reading, into: &tree, &counts)
            note(counts)
        }
    }

    /// - Returns: `nil` for a file that was not read: it cannot be opened, or has changed since it was stored.
    private func reading(_ pending: PhotoReaders.Pending, _ counts: inout Counts) throws(BackupError) -> PhotoReading? {
        let reading: PhotoReading
        do {
            reading = try pending.value()
        } catch {
            guard error.code != .interrupted, error.code != .noResources else { throw error }
            return nil
        }
        switch reading.metadata {
        case .helperMissing(let error):
            counts.missing = error
            return nil
        case .nothing: break
        case .found, .unreadable: counts.new += 1
        }
        return reading
    }

    private func store(
        _ entry: TreeEntry, _ path: [UInt8], _ reading: PhotoReading?, into tree: inout PhotoTree, _ counts: inout Counts
    ) throws(BackupError) {
        guard let checksums = entry.checksums else { return }
        var record = PhotoRecord(
            path: path, sizeBytes: entry.size, modificationTime: entry.modificationTime, md5: checksums.md5,
            sha256: checksums.sha256, status: .unread)
        guard let reading else {
            if PhotoPlaces.isNamedLikePhoto(entry.name) { try append(record, entry, nil, nil, to: &tree, &counts) }
            return
        }
        guard record.take(reading.metadata) else { return }
        let sidecar = try PhotoSidecar.text(of: checksums, sizeBytes: entry.size, reading.metadata).map {
            (text) throws(BackupError) in try writer.store(text, policy: .structuredText)
        }
        let thumbnail = try reading.thumbnail.map { (bytes) throws(BackupError) in try writer.store(bytes, policy: .media) }
        record.hasThumbnail = thumbnail != nil
        try append(record, entry, sidecar, thumbnail, to: &tree, &counts)
    }

    /// Adds a photo to the list, with the star that it has now.
    private func append(
        _ record: PhotoRecord, _ entry: TreeEntry, _ sidecar: StoredFile?, _ thumbnail: StoredFile?, to tree: inout PhotoTree,
        _ counts: inout Counts
    ) throws(BackupError) {
        var record = record
        record.isStarred = stars.contains(record.path)
        if record.isStarred { counts.stars += record.path + [0] }
        try tree.append(record, entry, sidecar: sidecar, thumbnail: thumbnail)
    }

    private func note(_ counts: Counts) {
        guard showsProgress else { return }
        progress.update { $0.phase = "Reading photos: \(counts.read)" }
    }
}
