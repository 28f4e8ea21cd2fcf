import BackupCore
import BackupRepository
import SnapshotFormats
import Synchronization

/// A folder of `live/` with everything in it, except the files that are made from all others. Archives and the checksum listing
/// have these entries in the states whose sizes were reported: if a file changes meanwhile, reading fails.
struct LiveContents: ContentFolder {
    let entries: [LiveEntry]
    private let folders: [FileName: LiveContents]

    init(_ entries: [LiveEntry], folders: [FileName: LiveContents] = [:]) {
        self.entries = entries.sorted { $0.name < $1.name }
        self.folders = folders
    }

    /// A folder of the app's media, and all below it. This opens no files.
    init(_ path: [FileName], _ media: LiveMediaView, _ openFiles: OpenMediaFiles) throws(BackupError) {
        entries = try media.children(of: path, openFiles) ?? []
        var folders: [FileName: LiveContents] = [:]
        for entry in entries where entry.kind == .directory {
            folders[entry.name] = try LiveContents(path + [entry.name], media, openFiles)
        }
        self.folders = folders
    }

    func folder(_ entry: LiveEntry) -> LiveContents { folders[entry.name] ?? LiveContents([]) }

    func checksums(of file: LiveEntry) throws(BackupError) -> Checksums? {
        file.kind == .file ? try file.content.checksums() : nil
    }

    func forEachContent(_ body: (LiveEntry, [ContentPiece]) throws(BackupError) -> Void) throws(BackupError) {
        for entry in entries { try body(entry, entry.content.pieces) }
    }
}

/// The content of a file that this program makes for `live/`.
final class MadeContent: LiveContent {
    /// Empty for a file that is made from all others.
    let pieces: [ContentPiece]
    private let make: (@Sendable () throws(BackupError) -> ExtentTable)?
    private let repository: Repository
    /// The checksums of `pieces`.
    private let known = Mutex<Checksums?>(nil)

    /// A part of a rendering.
    init(_ pieces: [ContentPiece], in repository: Repository) {
        self.pieces = pieces
        self.repository = repository
        make = nil
    }

    /// - Parameter make: called for each open, and for the checksums.
    init(in repository: Repository, _ make: @escaping @Sendable () throws(BackupError) -> ExtentTable) {
        pieces = []
        self.repository = repository
        self.make = make
    }

    func table() throws(BackupError) -> ExtentTable { try make?() ?? ExtentTable(plainContent: pieces) }

    func checksums() throws(BackupError) -> Checksums {
        if let known = known.withLock({ $0 }) { return known }
        let checksums = try repository.checksums(of: table())
        if make == nil { known.withLock { $0 = checksums } }
        return checksums
    }
}
