import BackupCore
import BackupRepository
import Glibc
import SystemIO

/// Opens the bytes of stored media files for the helper that reads photos: the app's own file where it certainly is the stored
/// one, otherwise a copy of what was stored.
struct PhotoFiles: Sendable {
    /// A longer file is read only from the app's folder, at the next backup perhaps. Longer ones are videos.
    private static let copyLimitBytes: UInt64 = 256 << 20

    let media: LiveMedia
    let repository: Repository
    /// A folder for the copies, which have no names.
    let workPath: String

    /// - Parameters:
    ///   - entry: the file as it was stored.
    ///   - path: below the media folder.
    /// - Throws: `sourceUnreadable` for a long file that has changed since; the errors of the repository.
    func open(_ entry: TreeEntry, _ path: [UInt8]) throws(BackupError) -> SharedFile {
        let names = BytePath.components(of: path)
        if let item = (try? media.item(at: names[...])).flatMap({ $0 }), entry.isUnchanged(item),
            let file = try? media.open(names[...], expected: item.status), (try? file.status()) == item.status
        {
            return file
        }
        guard entry.size <= Self.copyLimitBytes else {
            throw BackupError(.sourceUnreadable, "changed again and again while it was read", path: MessageText.name(path))
        }
        let copy = "\(workPath)/photo-\(RandomToken.make())"
        defer { try? FileSystem.removeFile(copy) }
        let file = try SharedFile(try OwnedDescriptor.open(copy, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600))
        var offset: UInt64 = 0
        try repository.copy(repository.extents(of: entry.content)) { (bytes) throws(BackupError) in
            try file.write(bytes, at: offset)
            offset += UInt64(bytes.count)
        }
        return try SharedFile(path: copy)
    }
}
