import BackupCore
import Glibc
import SystemIO

/// Files and folders of a staged media folder, by names as bytes. Each step opens the next folder without following links, so that nothing is created outside.
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
