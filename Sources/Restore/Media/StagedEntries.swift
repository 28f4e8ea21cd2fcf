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

/// Files and folders of a staged media folder, by names as bytes. Each step opens the next folder without following links, so
/// that nothing is created outside.
enum StagedPath {
    /// Creates the folder at `path` (components joined by `/`) and its missing parents.
    static func makeDirectories(_ path: [UInt8], in root: String) throws(BackupError) {
        try descend(path.split(separator: UInt8(ascii: "/"))[...], from: DirectoryReader(path: root)) {
            (_: borrowing DirectoryReader) throws(BackupError) in
        }
    }

    /// Creates a new file; its folder exists.
    static func create(_ path: [UInt8], in root: String) throws(BackupError) -> OwnedDescriptor {
        let components = path.split(separator: UInt8(ascii: "/"))
        guard let name = components.last else { throw BackupError(.invalidArgument, "a name is empty", path: root) }
        return try descend(components.dropLast(), from: DirectoryReader(path: root)) {
            (folder: borrowing DirectoryReader) throws(BackupError) in
            try folder.open(FileName(bytes: Array(name)), O_WRONLY | O_CREAT | O_EXCL)
        }
    }

    /// Creates a symbolic link; its folder exists.
    static func createLink(
        _ path: [UInt8], to target: [UInt8], in root: String, _ time: Timestamp
    ) throws(BackupError) {
        let components = path.split(separator: UInt8(ascii: "/"))
        guard let name = components.last else { throw BackupError(.invalidArgument, "a name is empty", path: root) }
        try descend(components.dropLast(), from: DirectoryReader(path: root)) {
            (folder: borrowing DirectoryReader) throws(BackupError) in
            try folder.createLink(FileName(bytes: Array(name)), to: target, modificationTime: time)
        }
    }

    /// Removes a file or link; a no-op when it does not exist.
    static func remove(_ path: [UInt8], in root: String) throws(BackupError) {
        let components = path.split(separator: UInt8(ascii: "/"))
        guard let name = components.last else { return }
        var folder = try FolderHandle(path: root)
        for component in components.dropLast() {
            guard let next = try folder.openFolder(FileName(bytes: Array(component))) else { return }
            folder = next
        }
        try folder.removeFile(FileName(bytes: Array(name)))
    }

    /// - Parameter permissions: `nil` keeps those of a new folder.
    static func setDirectoryAttributes(
        _ path: [UInt8], in root: String, _ permissions: UInt32?, _ time: Timestamp
    ) throws(BackupError) {
        try descend(path.split(separator: UInt8(ascii: "/"))[...], from: DirectoryReader(path: root)) {
            (folder: borrowing DirectoryReader) throws(BackupError) in
            if let permissions { try folder.descriptor.setPermissions(mode_t(permissions & 0o1777 | 0o700)) }
            try folder.descriptor.setModificationTime(time)
        }
    }

    private static func descend<Result: ~Copyable>(
        _ components: ArraySlice<ArraySlice<UInt8>>, from folder: borrowing DirectoryReader,
        _ body: (borrowing DirectoryReader) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        guard let first = components.first else { return try body(folder) }
        let name = FileName(bytes: Array(first))
        guard name.isSafeComponent else { throw BackupError(.invalidContent, "a name in the archive is not safe: \(name)") }
        try folder.makeDirectoryIfMissing(name)
        let next = try folder.openDirectory(name)
        return try descend(components.dropFirst(), from: next, body)
    }
}
