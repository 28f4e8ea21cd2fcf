import BackupCore
import Glibc
import SystemIO

/// The entries that a restore brings into the media folder, each with its inode, which distinguishes them from the app's own if
/// they must be taken out again. Size and modification time show whether the app has written to one since. Stored as a file
/// beside the staged entries.
struct StagedEntries {
    struct Entry: Equatable {
        let path: [FileName]
        let inode: UInt64
        /// `nil` in the list of an older version.
        let size: UInt64?
        let modificationTime: Timestamp?

        init(path: [FileName], _ status: FileStatus) {
            self.path = path
            (inode, size, modificationTime) = (status.inode, status.size, status.modificationTime)
        }

        /// - Parameter text: in the form of `text`, or the inode alone.
        fileprivate init?(path: [FileName], text: String) {
            let fields = text.split(separator: ",", omittingEmptySubsequences: false)
            guard let inode = fields.first.flatMap({ UInt64($0) }) else { return nil }
            (self.path, self.inode) = (path, inode)
            if fields.count == 1 {
                (size, modificationTime) = (nil, nil)
                return
            }
            guard fields.count == 4, let size = UInt64(fields[1]), let seconds = Int64(fields[2]),
                let nanoseconds = UInt32(fields[3])
            else { return nil }
            (self.size, modificationTime) = (size, Timestamp(seconds: seconds, nanoseconds: nanoseconds))
        }

        fileprivate var text: String {
            guard let size, let modificationTime else { return "\(inode)" }
            return "\(inode),\(size),\(modificationTime.seconds),\(modificationTime.nanoseconds)"
        }

        /// Whether a file is the staged one, without later writes.
        func isUnchanged(_ status: FileStatus) -> Bool {
            status.kind == .regular && status.inode == inode && status.size == size && status.modificationTime == modificationTime
        }
    }

    private static let limitBytes = 1 << 30

    private(set) var entries: [Entry] = []

    /// Lists the staged entries: each entry at the top, and in the folders above a database among the media, which stay.
    /// - Parameter inodes: of files that stay in their places (`UnchangedMedia`): a rollback must not take them out.
    init(
        of stagedPath: String, _ amongMedia: DatabaseAmongMedia, without inodes: Set<UInt64> = []
    ) throws(BackupError) {
        try collect(DirectoryHandle(path: stagedPath, followsLink: false), [], amongMedia, inodes)
    }

    private mutating func collect(
        _ folder: DirectoryHandle, _ path: [FileName], _ amongMedia: DatabaseAmongMedia, _ inodes: Set<UInt64>
    ) throws(BackupError) {
        for name in try folder.names() {
            if amongMedia.isBelow(name), let inner = try folder.openFolder(name) {
                try collect(inner, path + [name], amongMedia.entering(name), inodes)
            } else if let status = try folder.statusIfPresent(name), !inodes.contains(status.inode) {
                entries.append(Entry(path: path + [name], status))
            }
        }
    }

    /// - Returns: nothing for an empty file, as older versions created it.
    init(at path: String) throws(BackupError) {
        for record in try FileSystem.readFile(path, limitBytes: Self.limitBytes).split(separator: 0) {
            guard let space = record.firstIndex(of: UInt8(ascii: " ")),
                let entry = Entry(
                    path: BytePath.components(of: Array(record[(space + 1)...])),
                    text: String(decoding: record[..<space], as: UTF8.self))
            else { throw BackupError(.damagedContent, "the list of a restore's media files is damaged", path: path) }
            entries.append(entry)
        }
    }

    func write(to path: String) throws(BackupError) {
        var bytes: [UInt8] = []
        for entry in entries {
            bytes += Array("\(entry.text) ".utf8) + entry.path.reduce([]) { BytePath.join($0, $1.bytes) } + [0]
        }
        let file = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC)
        try file.writeAll(bytes)
        try file.synchronize()
    }
}

/// Files and folders of a staged media folder, by paths as bytes. Follows no link, so that nothing is created outside.
struct StagedPath {
    private let root: DirectoryHandle

    init(in root: String) throws(BackupError) { self.root = try DirectoryHandle(path: root) }

    /// Creates the folder at `path` (components joined by `/`) and its missing parents.
    func makeDirectories(_ path: [UInt8]) throws(BackupError) {
        var folder = root
        for name in try names(of: path) {
            try folder.makeDirectoryIfMissing(name)
            folder = try folder.openDirectory(name)
        }
    }

    /// Creates a new file; its folder exists.
    func create(_ path: [UInt8]) throws(BackupError) -> OwnedDescriptor {
        let (folder, name) = try entry(path)
        return try folder.open(name, O_WRONLY | O_CREAT | O_EXCL)
    }

    /// Creates a symbolic link; its folder exists.
    func createLink(_ path: [UInt8], to target: [UInt8], _ time: Timestamp) throws(BackupError) {
        let (folder, name) = try entry(path)
        try folder.createLink(name, to: target, modificationTime: time)
    }

    private func entry(_ path: [UInt8]) throws(BackupError) -> (folder: DirectoryHandle, name: FileName) {
        let names = try names(of: path)
        guard let name = names.last else { throw BackupError(.invalidArgument, "a name is empty", path: root.path) }
        return (try root.openDirectory(at: names.dropLast()), name)
    }

    /// Paths come from archives.
    private func names(of path: [UInt8]) throws(BackupError) -> [FileName] {
        let names = BytePath.components(of: path)
        if let name = names.first(where: { !$0.isSafeComponent }) {
            throw BackupError(.invalidContent, "a name in the archive is not safe: \(name)")
        }
        return names
    }

    /// Removes a file or link; a no-op when it does not exist.
    func remove(_ path: [UInt8]) throws(BackupError) {
        let names = try names(of: path)
        guard let name = names.last, let folder = try root.openFolder(at: names.dropLast()) else { return }
        try folder.removeFile(name)
    }

    /// - Parameter permissions: `nil` keeps those of a new folder.
    func setDirectoryAttributes(_ path: [UInt8], _ permissions: UInt32?, _ time: Timestamp) throws(BackupError) {
        let folder = try root.openDirectory(at: names(of: path)[...])
        if let permissions { try folder.descriptor.setPermissions(mode_t(permissions & 0o1777 | 0o700)) }
        try folder.descriptor.setModificationTime(time)
    }
}
