import BackupCore
import SystemIO

/// A file of the source that was opened before its turn, or in its turn. For one thread.
final class AnnouncedFile {
    let name: FileName
    let folder: SourceFolder
    let descriptor: OwnedDescriptor
    /// Before anything was read.
    let status: FileStatus
    /// Of its content, which is read before its turn.
    var early = EarlyContent.none
    /// What was read of it, until that is certain.
    var secondLook: SecondLook

    /// What has been read before the turn of a file.
    enum EarlyContent {
        /// It is to be read in its turn.
        case none
        case whole(BlockPool.Block)
        /// It is read beside others.
        case running(ReadQueue.Read, BlockPool.Block)
    }

    init(_ name: FileName, in folder: SourceFolder, _ descriptor: consuming OwnedDescriptor, _ status: FileStatus) {
        self.name = name
        self.folder = folder
        self.descriptor = descriptor
        self.status = status
        secondLook = SecondLook(status)
    }

    convenience init(opening name: FileName, in folder: SourceFolder, _ handle: DirectoryHandle) throws(BackupError) {
        var status: FileStatus?
        let file = try Self.open(name, in: handle, &status)
        let found = if let status { status } else { try file.status() }
        self.init(name, in: folder, file, found)
    }

    /// A folder that was opened long ago can refuse what its path allows: the rights have changed, or a file server has forgotten
    /// who opened it. So a file that is refused is opened by its path once, if that still leads to the same folder.
    private static func open(
        _ name: FileName, in handle: DirectoryHandle, _ status: inout FileStatus?
    ) throws(BackupError) -> OwnedDescriptor {
        do throws(BackupError) {
            return try handle.openFile(name, noting: &status)
        } catch {
            guard error.code == .accessDenied || error.code == .notPermitted else { throw error }
            try FaultInjection.reached("copy.source-denied")
            guard let again = try? DirectoryHandle(path: handle.path), let now = try? again.descriptor.status(),
                let before = try? handle.descriptor.status(), FileIdentity(now) == FileIdentity(before),
                let file = try? again.openFile(name, noting: &status)
            else { throw error }
            return file
        }
    }
}
