import BackupCore
import BackupRepository
import Restore
import Synchronization
import SystemIO

/// One folder of the media folder during a backup. Collects its entries from several threads and is stored when the last one has
/// arrived.
final class MediaFolderTask: Sendable {
    typealias Completion = @Sendable (MediaFolderTask) throws(BackupError) -> Void

    private struct State {
        var entries: [TreeEntry] = []
        /// The walk of the folder itself counts as one.
        var unfinishedCount = 1
        /// Listed names without an entry and without a reason to have none.
        var owedCount = 0
    }

    let reader: DirectoryHandle
    let whenComplete: Completion
    /// Entries of the folder that are not media.
    let amongMedia: DatabaseAmongMedia
    /// What the backup remembers about the folder after storing it.
    let trace: FolderTrace
    /// The folder's trace from an earlier pass of this backup; `earlier` is what that pass stored.
    let earlierTrace: FolderTrace?
    /// Whether the folder's file system keeps change times.
    let keepsChangeTime: Bool
    private let believesTimes: Bool
    private let relativePath: String
    private let earlierStored: StoredDirectory?
    private let earlier: Directory?
    /// Files of the earlier snapshot that are no longer complete in the repository and must be read again.
    private let lost: Set<FileName>
    private let state = Mutex(State())

    /// - Parameters:
    ///   - relativePath: within the media folder.
    ///   - reading: selects files to read although they look unchanged.
    ///   - trace: the folder's trace, created before it is listed.
    ///   - earlierTrace: from an earlier pass of this backup.
    ///   - earlier: the same folder in an earlier snapshot, or as the earlier pass stored it. If it is unreadable, all files are
    ///     read again.
    ///   - whenComplete: called once, when all entries have arrived.
    init(
        _ reader: DirectoryHandle, relativePath: String, amongMedia: DatabaseAmongMedia, reading: MediaReading,
        trace: FolderTrace, earlierTrace: FolderTrace?, earlier: StoredDirectory?, in repository: Repository,
        _ writer: BackupWriter, whenComplete: @escaping Completion
    ) throws(BackupError) {
        let directory = earlier.flatMap { try? repository.directory($0) }
        let files = directory?.entries.filter { $0.kind == .file } ?? []
        let held = try writer.takeOver(files.map(\.content))
        keepsChangeTime = FileSystem.keepsChangeTime(reader.descriptor)
        believesTimes = reading.believesTimes(keepsChangeTime: keepsChangeTime)
        self.reader = reader
        self.relativePath = relativePath
        self.amongMedia = amongMedia
        self.trace = trace
        self.earlierTrace = earlierTrace
        self.whenComplete = whenComplete
        earlierStored = earlier
        self.earlier = directory
        lost = Set(zip(files, held).lazy.filter { !$0.1 }.map(\.0.name))
    }

    func path(of name: FileName) -> String { relativePath.isEmpty ? name.description : "\(relativePath)/\(name)" }

    /// The folder `name` in the earlier snapshot.
    func earlierFolder(_ name: FileName) -> StoredDirectory? { earlier?.entry(named: name)?.storedDirectory }

    /// The folder `name` as an earlier pass of this backup stored it, if nothing in it was moved since.
    func stillFolder(_ name: FileName) -> (entry: TreeEntry, trace: FolderTrace)? {
        guard let trace = earlierTrace?.child(name), !trace.hasMoves, let entry = earlier?.entry(named: name),
            entry.kind == .directory
        else { return nil }
        return (entry, trace)
    }

    /// The file `name` in the earlier snapshot.
    func earlierContent(_ name: FileName) -> FileContent? {
        guard let entry = earlier?.entry(named: name), entry.kind == .file, !lost.contains(name) else { return nil }
        return entry.content
    }

    /// The entry of a file that is unchanged since the earlier snapshot; `nil` also for one that is to be read anyway.
    func unchanged(_ name: FileName, _ status: FileStatus) -> TreeEntry? {
        guard believesTimes, let entry = earlier?.entry(named: name), entry.kind == .file, entry.isUnchanged(status),
            !lost.contains(name)
        else { return nil }
        return entry
    }

    /// Counts names that were listed.
    func expect(_ count: Int) { state.withLock { $0.owedCount += count } }

    /// - Parameter isListed: whether the folder's listing has it.
    func add(_ entry: TreeEntry, isListed: Bool = true) {
        state.withLock { state in
            state.entries.append(entry)
            if isListed { state.owedCount -= 1 }
        }
    }

    /// Counts listed names that get no entry of their own: they are noted as unreadable, are gone, or are in the copy of a
    /// database.
    func leaveOut(_ count: Int = 1) { state.withLock { $0.owedCount -= count } }

    /// Registers one more unit of work that will bring entries.
    func begin() { state.withLock { $0.unfinishedCount += 1 } }

    /// Marks a unit of work as done.
    /// - Returns: whether it was the last one.
    func end() -> Bool {
        state.withLock { state in
            state.unfinishedCount -= 1
            return state.unfinishedCount == 0
        }
    }

    /// Stores the folder, or takes it from the earlier snapshot if nothing differs.
    func store(with writer: BackupWriter) throws(BackupError) -> StoredDirectory {
        let (entries, owedCount) = state.withLock { state in
            defer { state.entries = [] }
            return (state.entries, state.owedCount)
        }
        // A backup with unreported gaps is worse than none.
        guard owedCount == 0 else {
            throw BackupError(
                .inputOutput, "not every file of the media folder was stored", path: relativePath,
                remedy: "This is a mistake in backupfs. Please report it, with the names in this folder.")
        }
        if let earlierStored, let earlier, earlier.entries.count == entries.count,
            entries.allSatisfy({ earlier.entry(named: $0.name) == $0 }),
            try writer.takeOver(earlierStored, with: entries)
        {
            return earlierStored
        }
        return try writer.store(entries)
    }
}

/// Selects files of the media folder that a backup reads although they look unchanged.
///
/// A file counts as unchanged if its size, times and inode are the same: where the file system keeps change times, no program can
/// hide a change from that. Elsewhere, a file rewritten with the same size and its old modification time looks unchanged. There,
/// every file is read again at intervals, and before a restore replaces it.
struct MediaReading: Sendable, Equatable {
    /// Reads every file.
    let readsAll: Bool
    /// Reads every file on file systems without change times.
    let readsUntraced: Bool

    /// - Parameters:
    ///   - isLastChance: whether the files will be replaced after this backup.
    ///   - lastReadAt: when all of them were last read; `nil` for never.
    ///   - intervalHours: how long that read stays sufficient; 0 for not at all.
    init(readsAll: Bool, isLastChance: Bool, lastReadAt: Timestamp?, now: Timestamp, intervalHours: Int) {
        self.readsAll = readsAll
        let isRecent = lastReadAt.map { $0 <= now && now.secondsSince($0) < Int64(intervalHours) * 3600 } ?? false
        readsUntraced = readsAll || isLastChance || !isRecent
    }

    private init() { (readsAll, readsUntraced) = (false, false) }

    /// For files that this same backup has just read and stored.
    static let again = MediaReading()

    /// Whether a file that looks unchanged is taken from the previous backup.
    func believesTimes(keepsChangeTime: Bool) -> Bool { !readsAll && (keepsChangeTime || !readsUntraced) }
}
