import AppData
import BackupCore
import BackupRepository
import PhotoData
import Photos
import Restore
import Synchronization
import SystemIO

/// The photos of the app's media folder as it is now. What the newest backup knows of them is not read again. A new photo is read
/// once, and what it says is held as long as it stays the same.
public final class LivePhotos: Sendable {
    /// How many files the walk may be ahead of the photos that are being read.
    private static let windowCount = 64
    /// How long one look reads new photos. The others are shown by their modification times until a later look reads them.
    public static let budgetSeconds = 5.0

    /// A photo that is not in the newest backup, or a file that is none, in one state.
    private struct Read {
        let status: FileStatus
        let record: PhotoRecord?
    }

    private struct State {
        var index: PhotoIndex?
        /// Of the media folder.
        var mediaState: String?
        var read: [[UInt8]: Read] = [:]
        /// Of the monotonic clock: until then the folder is not walked again.
        var restsUntil = 0.0
    }

    /// Walks take an eleventh of the time: one through 100,000 files takes a second, and each link is a question.
    private static let restFactor = 10.0

    private let store: Store
    let media: LiveMedia
    private let catalog: LiveMediaCatalog
    private let newest: NewestMediaCatalog
    private let budgetSeconds: Double
    private let newestIndex = Mutex<(id: SnapshotID, index: PhotoIndex?)?>(nil)
    /// Held while the folder is walked, so that concurrent readers share one walk.
    private let state = Mutex(State())

    /// - Parameter budgetSeconds: how long one look reads new photos.
    /// - Returns: `nil` for an app whose media are no photos.
    /// - Throws: when the places of database and media folder cannot be examined.
    public init?(store: Store, budgetSeconds: Double = budgetSeconds) throws(BackupError) {
        guard store.definition.media?.hasPhotos == true, let path = store.mediaPath else { return nil }
        self.store = store
        self.budgetSeconds = budgetSeconds
        let newest = NewestMediaCatalog(repository: store.repository, ownership: store.ownership)
        self.newest = newest
        let amongMedia = try store.databaseAmongMedia()
        media = LiveMedia(path: path, amongMedia: amongMedia)
        catalog = LiveMediaCatalog(path: path, amongMedia: amongMedia, earlier: newest.catalog)
    }

    /// All photos; the same object until the media folder or the newest backup changes. Of a large folder it may be some seconds
    /// old.
    /// - Parameter looksAgain: whether the state of a moment ago does not count.
    /// - Throws: when the media folder cannot be read. A photo that cannot be read costs its own fields.
    public func index(looksAgain: Bool = false) throws(BackupError) -> PhotoIndex {
        try state.withLock { (state) throws(BackupError) in
            let began = SystemClock.monotonicSeconds()
            if !looksAgain, let index = state.index, state.mediaState != nil, began < state.restsUntil { return index }
            let now = try catalog.state(looksAgain: looksAgain)
            let end = SystemClock.monotonicSeconds()
            state.restsUntil = end + (end - began) * Self.restFactor
            if let index = state.index, state.mediaState == now { return index }
            let (index, isWhole) = try makeIndex(&state.read)
            (state.index, state.mediaState) = (index, isWhole ? now : nil)
            return index
        }
    }

    /// The last list, which may be out of date; `nil` before the first.
    var heldIndex: PhotoIndex? { state.withLock { $0.index } }

    /// What the newest backup knows of a file, if it looks unchanged. It reads no photo.
    public func known(path: [UInt8], sizeBytes: UInt64, modificationTime: Timestamp) -> PhotoRecord? {
        guard let record = (try? newestKnown()?.record(path: path)).flatMap({ $0 }), record.sizeBytes == sizeBytes,
            record.modificationTime == modificationTime
        else { return nil }
        return record
    }

    private func newestKnown() -> PhotoIndex? {
        guard let snapshot = store.ownership.newest(of: store.repository.snapshots()) else { return nil }
        return newestIndex.withLock { newest in
            if let newest, newest.id == snapshot.id { return newest.index }
            let isKnown = KnownPhotos.isKnown(snapshot)
            let list = isKnown ? PreviousBackup(snapshot, in: store.repository).content([PhotoPlaces.listName]) : nil
            let index = list.flatMap { try? PhotoIndex(reading: StoredContentSource($0, in: store.repository)) }
            newest = (snapshot.id, index)
            return index
        }
    }

    // MARK: The walk

    /// A file on its way into the list.
    private enum Step {
        case known(PhotoRecord?)
        /// Without a reading: there was no time for it, or the file cannot be looked at.
        case reading(MediaFileFacts, FileStatus?, PhotoReaders.Pending?)
    }

    /// - Returns: the list, and whether all photos in it were read.
    private func makeIndex(_ read: inout [[UInt8]: Read]) throws(BackupError) -> (PhotoIndex, isWhole: Bool) {
        let known = newestKnown()
        let readers = PhotoReaders(makesThumbnails: false)
        defer { readers.end() }
        let end = SystemClock.monotonicSeconds() + budgetSeconds
        var isWhole = true
        let list = try AppendedFile(in: store.paths.spool)
        var window: [Step] = []
        var now: [[UInt8]: Read] = [:]
        try catalog.forEachFile { (file) throws(BackupError) in
            if window.count >= Self.windowCount {
                for step in window { try take(step, list, until: end, &now, &isWhole) }
                window = []
            }
            let isLate = SystemClock.monotonicSeconds() >= end
            window.append(prepare(file, known, read, isLate ? nil : readers, &now))
        }
        for step in window { try take(step, list, until: end, &now, &isWhole) }
        read = now
        return (try PhotoIndex(reading: list.whole()), isWhole)
    }

    private func prepare(
        _ file: MediaFileFacts, _ known: PhotoIndex?, _ read: [[UInt8]: Read], _ readers: PhotoReaders?,
        _ now: inout [[UInt8]: Read]
    ) -> Step {
        if let known, let checksums = file.checksums, let record = (try? known.record(path: file.path)).flatMap({ $0 }),
            record.sha256 == checksums.sha256, record.status != .unread
        {
            return .known(record)
        }
        let names = BytePath.components(of: file.path)
        guard let item = (try? media.item(at: names[...])).flatMap({ $0 }), item.status.kind == .regular else {
            return .reading(file, nil, nil)
        }
        if let before = read[file.path], before.status == item.status {
            now[file.path] = before
            return .known(before.record)
        }
        let media = media
        let pending = readers?.read { () throws(BackupError) in try media.open(names[...], expected: item.status) }
        return .reading(file, item.status, pending)
    }

    /// - Parameter end: from then on, what is not read yet is left for another look.
    private func take(
        _ step: Step, _ list: AppendedFile, until end: Double, _ now: inout [[UInt8]: Read], _ isWhole: inout Bool
    ) throws(BackupError) {
        let photo: PhotoRecord?
        switch step {
        case .known(let record): photo = record
        case .reading(let file, let status, var pending):
            if let waiting = pending, !waiting.isDone, SystemClock.monotonicSeconds() >= end { pending = nil }
            if pending == nil { isWhole = false }
            let (record, isSure) = try record(of: file, pending)
            if isSure, let status { now[file.path] = Read(status: status, record: record) }
            photo = record
        }
        if let photo { try list.append(photo.line) }
    }

    /// - Returns: `nil` for a file that is no photo, and whether that stays so while the file does.
    private func record(
        of file: MediaFileFacts, _ pending: PhotoReaders.Pending?
    ) throws(BackupError) -> (PhotoRecord?, isSure: Bool) {
        var record = PhotoRecord(
            path: file.path, sizeBytes: file.size, modificationTime: file.modificationTime, md5: file.checksums?.md5,
            sha256: file.checksums?.sha256, status: .unread)
        let unread = PhotoPlaces.isNamedLikePhoto(FileName(bytes: BytePath.lastComponent(of: file.path))) ? record : nil
        guard let pending else { return (unread, false) }
        let reading: PhotoReading
        do {
            reading = try pending.value()
        } catch {
            guard error.code != .interrupted, error.code != .noResources else { throw error }
            return (unread, false)
        }
        if case .helperMissing = reading.metadata { return (unread, false) }
        return (record.take(reading.metadata) ? record : nil, true)
    }
}
