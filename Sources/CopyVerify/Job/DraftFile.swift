import BackupCore
import Glibc
import SystemIO

/// A file of any length that replaces another one when it is complete.
final class DraftFile {
    private let path: String
    private let output: BufferedOutput

    private var draft: String { path + ".new" }

    /// - Parameter permissions: of the file, as far as the umask leaves them.
    init(_ path: String, permissions: mode_t = 0o600) throws(BackupError) {
        self.path = path
        output = try BufferedOutput(making: path + ".new", permissions: permissions)
    }

    func add(_ bytes: some Collection<UInt8>) throws(BackupError) { try output.add(bytes) }
    func add(_ text: String) throws(BackupError) { try output.add(text) }

    /// For a program that writes into it by itself.
    func withDescriptor<Result>(
        _ body: (borrowing OwnedDescriptor) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        try output.withDescriptor(body)
    }

    func finish() throws(BackupError) {
        try output.synchronize()
        try FileSystem.rename(draft, to: path)
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(path))
    }

    /// The same, but replaces nothing.
    /// - Throws: `alreadyExists`; the draft stays then.
    func finishAsNew() throws(BackupError) {
        try output.synchronize()
        let folder = try DirectoryHandle(path: FileSystem.parentPath(path))
        let name = FileName(bytes: Array(FileSystem.lastComponent(path).utf8))
        try folder.move(FileName(bytes: name.bytes + Array(".new".utf8)), to: folder, as: name)
        try folder.synchronize()
    }

    /// Removes what is not finished.
    func discard() { try? FileSystem.removeFile(draft) }
}
