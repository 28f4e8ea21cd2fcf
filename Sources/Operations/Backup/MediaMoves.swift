import BackupCore
import BackupRepository
import Restore
import SystemIO

/// Finds what a backup lacks because it was moved during the last walk of the media folder: entries that are older than the
/// backup, in places where the backup has none. What an app creates and deletes meanwhile is younger, and not a loss.
struct MediaMoves {
    let repository: Repository
    /// When the backup began to walk the media folder.
    let begin: Timestamp

    /// - Parameters:
    ///   - trace: the folder's trace, after `lookForMoves`.
    ///   - stored: the stored folder; it must be readable.
    /// - Returns: paths relative to the folder.
    func find(
        in folder: DirectoryHandle, _ amongMedia: DatabaseAmongMedia, _ trace: FolderTrace, _ stored: StoredDirectory
    ) throws(BackupError) -> [Message] {
        var found: [[UInt8]] = []
        try find(in: folder, [], amongMedia, trace, stored, &found)
        return found.sorted { $0.lexicographicallyPrecedes($1) }.map { .verbatim(FileName(bytes: $0).description) }
    }

    /// The warning for the user.
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
        in folder: DirectoryHandle, _ path: [UInt8], _ amongMedia: DatabaseAmongMedia, _ trace: FolderTrace,
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
        // A link's own time is rarely of use, so any two links count as the same.
        case .symbolicLink: entry?.kind == .symbolicLink
        case .regular: entry?.kind == .file && entry?.size == status.size && entry?.modificationTime == status.modificationTime
        case .other: true
        }
    }

    /// A move changes no modification time of the moved entry; a folder's time changes when it receives one.
    private func isOlder(_ name: FileName, _ status: FileStatus, in folder: DirectoryHandle) -> Bool {
        if status.modificationTime < begin { return true }
        guard status.kind == .directory, let inner = try? folder.openDirectory(name) else { return false }
        return ((try? inner.names()) ?? []).contains { ((try? inner.status($0))?.modificationTime).map { $0 < begin } ?? false }
    }
}

/// When all media files on file systems without change times were last read. A backup records this itself. If a backup was
/// skipped because it would equal the newest, a line in the store records it: the newest one's ID, and when it was found to be
/// equal.
struct MediaReadState {
    /// `media.read` in the store.
    let path: String

    /// The time up to which `snapshot` is known to match these files.
    func lastReadAt(_ snapshot: Snapshot) -> Timestamp? {
        let own = snapshot.record.attributes[Snapshot.mediaReadAttribute].flatMap { ISO8601.parse($0) }
        guard let bytes = try? FileSystem.readFile(path, limitBytes: 1 << 10) else { return own }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 2, words[0] == snapshot.id.hexadecimal, let found = ISO8601.parse(String(words[1])) else {
            return own
        }
        return own.map { max($0, found) } ?? found
    }

    /// Without the line all files are read again, which is harmless.
    func note(_ snapshot: Snapshot, readAt time: Timestamp) {
        let line = "\(snapshot.id.hexadecimal) \(ISO8601.format(time))\n"
        try? FileSystem.writeFileAtomically(path, Array(line.utf8))
    }
}
