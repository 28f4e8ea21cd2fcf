import BackupCore
import Glibc

/// The contents of small files: read, replaced and overwritten as a whole.
extension FileSystem {
    /// Reads a small file whole.
    /// - Parameter limitBytes: a larger file is refused with `tooLarge` before it is read.
    /// - Throws: `notSupported` for anything but a file: reading a pipe would block until another program writes to it.
    public static func readFile(_ path: String, limitBytes: Int = 16 << 20) throws(BackupError) -> [UInt8] {
        let descriptor = try OwnedDescriptor.openFile(path)
        let size = try descriptor.status().size
        guard size <= UInt64(limitBytes) else {
            throw BackupError(.tooLarge, "the file has \(size) bytes, more than \(limitBytes)", path: path)
        }
        return try descriptor.readExactly(at: 0, count: Int(size))
    }

    /// - Returns: `nil` when the file does not exist.
    public static func readFileIfPresent(_ path: String, limitBytes: Int) throws(BackupError) -> [UInt8]? {
        try ifPresent { () throws(BackupError) in try readFile(path, limitBytes: limitBytes) }
    }

    /// The names in a folder, sorted by their bytes; none when the folder does not exist.
    public static func names(in folder: String) throws(BackupError) -> [FileName] {
        try ifPresent { () throws(BackupError) in try DirectoryHandle(path: folder).names() } ?? []
    }

    /// - Returns: `nil` for `notFound`. What cannot be read is not treated as missing.
    public static func ifPresent<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result? {
        do {
            return try body()
        } catch let error where error.code == .notFound {
            return nil
        }
    }

    /// Separates a file's name from the suffix of its draft: an atomic replacement is first written beside the old file.
    public static let draftMark = ".tmp-"

    /// Replaces a small file durably: temporary file beside it, write, fsync, rename, fsync of the folder. A crash at any point
    /// leaves the old content or the new.
    public static func writeFileAtomically(_ path: String, _ bytes: [UInt8], permissions: mode_t = 0o600) throws(BackupError) {
        let temporary = path + draftMark + "\(getpid())"
        do {
            let descriptor = try makeDraft(temporary, permissions)
            // Other users can read the file if `permissions` say so, regardless of the umask.
            if permissions != 0o600 { try descriptor.setPermissions(permissions) }
            try descriptor.writeAll(bytes)
            try descriptor.synchronize()
            try rename(temporary, to: path)
        } catch {
            try? removeFile(temporary)
            throw error
        }
        try synchronizeDirectory(parentPath(path))
    }

    /// Always creates a new file: an existing one (left by a crash, or a link that an attacker planted) is removed, not written
    /// to.
    private static func makeDraft(_ path: String, _ permissions: mode_t) throws(BackupError) -> OwnedDescriptor {
        let flags = O_WRONLY | O_CREAT | O_EXCL
        do {
            return try OwnedDescriptor.open(path, flags, permissions: permissions)
        } catch let error where error.code == .alreadyExists {
            try removeFile(path)
            return try OwnedDescriptor.open(path, flags, permissions: permissions)
        }
    }

    /// Replaces a small file atomically for its readers, without waiting for the disk: for data that is worthless after a crash.
    public static func writeForReaders(_ path: String, _ bytes: [UInt8]) throws(BackupError) {
        let temporary = path + draftMark + "\(getpid())-\(RandomToken.make())"
        do {
            try OwnedDescriptor.open(temporary, O_WRONLY | O_CREAT | O_EXCL).writeAll(bytes)
            try rename(temporary, to: path)
        } catch {
            try? removeFile(temporary)
            throw error
        }
    }

    /// Drafts that exist now in one folder, of active writers and of writers that died.
    /// - Parameter names: the files that the drafts were to replace.
    /// - Returns: their paths; none when the folder does not exist.
    public static func drafts(of names: [String], in folder: String) throws(BackupError) -> [String] {
        guard try exists(folder) else { return [] }
        let prefixes = names.map { $0 + draftMark }
        return try DirectoryHandle(path: folder).names().map(\.description).filter { name in
            prefixes.contains { name.hasPrefix($0) }
        }.map { "\(folder)/\($0)" }
    }

    /// Replaces the contents of an existing file in place, without waiting for the disk: for notes in locked files.
    public static func overwrite(_ path: String, _ bytes: [UInt8]) throws(BackupError) {
        let descriptor = try OwnedDescriptor.open(path, O_WRONLY)
        try descriptor.truncate(to: 0)
        try descriptor.writeAll(bytes)
    }

    /// Overwrites the start of an existing file, without waiting for the disk.
    /// - Throws: `notFound` when the file does not exist.
    public static func overwriteStart(_ path: String, _ bytes: [UInt8]) throws(BackupError) {
        try OwnedDescriptor.open(path, O_WRONLY | O_NOFOLLOW).writeAll(bytes)
    }
}

/// Names for temporary files and operations.
public enum RandomToken {
    /// 32 lower-case hexadecimal digits from the system's generator.
    public static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        for _ in 0..<2 { withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) } }
        return Hexadecimal.encode(bytes)
    }

    /// Whether a text from an untrusted source could be a token.
    public static func isToken(_ text: some Collection<UInt8>) -> Bool {
        text.count == 32 && Hexadecimal.decode(text).map { Hexadecimal.encode($0).utf8.elementsEqual(text) } == true
    }
}

/// The input of this program from a pipe or a redirection.
public enum StandardInput {
    private static let bufferSizeBytes = 1 << 20

    /// Copies all of it to a file; returns at its end.
    public static func copy(to file: borrowing OwnedDescriptor) throws(BackupError) {
        var buffer = [UInt8](repeating: 0, count: bufferSizeBytes)
        while true {
            let count = try SystemCall.check("read", "standard input") { read(STDIN_FILENO, &buffer, buffer.count) }
            if count == 0 { return }
            try buffer.withUnsafeBytesThrowing { (bytes) throws(BackupError) in
                try file.writeAll(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            }
        }
    }
}
