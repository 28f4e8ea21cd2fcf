import BackupCore
import Glibc
import SystemIO

/// The entries that a restore brings into the media folder, each with its inode: what tells them from the app's own if they have to be taken out
/// again. A file beside the staged entries.
struct StagedEntries {
    struct Entry: Equatable {
        let path: [FileName]
        let inode: UInt64
    }

    private static let limitBytes = 1 << 30

    private(set) var entries: [Entry] = []

    /// Of what is staged: each entry at the top, and in the folders above a database among the media, which stay.
    init(of stagedPath: String, _ amongMedia: DatabaseAmongMedia) throws(BackupError) {
        try collect(FolderHandle(path: stagedPath), [], amongMedia)
    }

    private mutating func collect(
        _ folder: FolderHandle, _ path: [FileName], _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) {
        for name in try folder.reader().names() {
            if amongMedia.isBelow(name), let inner = try folder.openFolder(name) {
                try collect(inner, path + [name], amongMedia.entering(name))
            } else if let status = try folder.status(name) {
                entries.append(Entry(path: path + [name], inode: status.inode))
            }
        }
    }

    /// - Returns: nothing for a file that is empty, as older versions made it.
    init(at path: String) throws(BackupError) {
        for record in try FileSystem.readFile(path, limitBytes: Self.limitBytes).split(separator: 0) {
            guard let space = record.firstIndex(of: UInt8(ascii: " ")),
                let inode = UInt64(String(decoding: record[..<space], as: UTF8.self))
            else { throw BackupError(.damagedContent, "the list of a restore's media files is damaged", path: path) }
            entries.append(Entry(path: BytePath.components(of: Array(record[(space + 1)...])), inode: inode))
        }
    }

    func write(to path: String) throws(BackupError) {
        var bytes: [UInt8] = []
        for entry in entries {
            bytes += Array("\(entry.inode) ".utf8) + entry.path.reduce([]) { BytePath.join($0, $1.bytes) } + [0]
        }
        let file = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC)
        try file.writeAll(bytes)
        try file.synchronize()
    }
}
