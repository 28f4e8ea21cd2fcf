import BackupCore
import SystemIO

/// A small file of the source that was opened before its turn, or any file in its turn. For one thread.
final class AnnouncedFile {
    let name: FileName
    let folder: SourceFolder
    let descriptor: OwnedDescriptor
    /// Before anything was read.
    let status: FileStatus

    init(_ name: FileName, in folder: SourceFolder, _ descriptor: consuming OwnedDescriptor, _ status: FileStatus) {
        self.name = name
        self.folder = folder
        self.descriptor = descriptor
        self.status = status
    }

    convenience init(opening name: FileName, in folder: SourceFolder, _ handle: DirectoryHandle) throws(BackupError) {
        var status: FileStatus?
        let file = try handle.openFile(name, noting: &status)
        let found = if let status { status } else { try file.status() }
        self.init(name, in: folder, file, found)
    }
}
