import BackupCore
import BackupRepository
import Restore
import SystemIO

/// Finds what a backup lacks because it was moved while the media folder was gone through for the last time: what is older than the backup and lies
/// where that has nothing of it. What an app makes and deletes meanwhile is younger, and no loss.
struct MediaMoves {
    let repository: Repository
    /// When the backup began to go through the media folder.
    let begin: Timestamp

    /// - Parameters:
    ///   - trace: of the folder, asked for moves.
    ///   - stored: the folder as it was stored; it can be read.
    /// - Returns: paths in the folder.
    func find(
        in folder: borrowing DirectoryReader, _ amongMedia: DatabaseAmongMedia, _ trace: FolderTrace, _ stored: StoredDirectory
    ) throws(BackupError) -> [Message] {
        var found: [[UInt8]] = []
        try find(in: folder, [], amongMedia, trace, stored, &found)
        return found.sorted { $0.lexicographicallyPrecedes($1) }.map { .verbatim(FileName(bytes: $0).description) }
    }

    /// What the user is told.
    static func warning(_ paths: [Message]) -> BackupWarning {
        let more: [Message] = paths.count > shownCount ? ["…"] : []
        let list = Message.joined(paths.prefix(shownCount) + more)
        return BackupWarning(
            .moved,
            "files were moved in the media folder while the backup was made, and it lacks them where they are now: \(list). Back up again when nothing is being moved."
        )
    }

    private static let shownCount = 5

    private func find(
        in folder: borrowing DirectoryReader, _ path: [UInt8], _ amongMedia: DatabaseAmongMedia, _ trace: FolderTrace,
        _ stored: StoredDirectory, _ found: inout [[UInt8]]
    ) throws(BackupError) {
        guard trace.hasMoves else { return }
        let directory = try repository.directory(stored)
        if trace.hasOwnMoves {
            for name in (try? folder.names()) ?? [] where !amongMedia.hides(name) && !trace.hasNote(of: name) {
                guard let status = try? folder.status(name), !has(directory.entry(named: name), status),
                    isOlder(name, status, in: folder)
                else { continue }
                found.append(BytePath.join(path, name.bytes))
            }
        }
        for (name, child) in trace.children {
            guard let inner = directory.entry(named: name)?.storedDirectory, let reader = try? folder.openDirectory(name) else {
                continue
            }
            try find(in: reader, BytePath.join(path, name.bytes), amongMedia.entering(name), child, inner, &found)
        }
    }

    private func has(_ entry: TreeEntry?, _ status: FileStatus) -> Bool {
        switch status.kind {
        case .directory: entry?.kind == .directory
        // A link's own time is hardly ever of use: one that has changed is as good as another.
        case .symbolicLink: entry?.kind == .symbolicLink
        case .regular: entry?.kind == .file && entry?.size == status.size && entry?.modificationTime == status.modificationTime
        case .other: true
        }
    }

    /// Moving changes no modification time; the time of a folder changes with what it gets.
    private func isOlder(_ name: FileName, _ status: FileStatus, in folder: borrowing DirectoryReader) -> Bool {
        if status.modificationTime < begin { return true }
        guard status.kind == .directory, let inner = try? folder.openDirectory(name) else { return false }
        return ((try? inner.names()) ?? []).contains { ((try? inner.status($0))?.modificationTime).map { $0 < begin } ?? false }
    }
}
