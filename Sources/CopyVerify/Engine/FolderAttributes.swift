import BackupCore
import Glibc
import SystemIO

/// Gives the folders of the copies the modes and times of their originals, when all that is in them is there.
final class FolderAttributes: SourceVisitor {
    private let context: CopyContext
    private let destinations: [(destination: Destination, folders: TargetFolders)]

    init(_ context: CopyContext, _ destinations: [Destination]) {
        self.context = context
        self.destinations = destinations.map { ($0, TargetFolders($0)) }
    }

    func enter(_ folder: SourceFolder, _ handle: DirectoryHandle, names: [FileName]) throws(BackupError) {
        if context.mustStop { throw CopyContext.cancelled }
    }

    func visit(_ name: FileName, _ status: FileStatus, in folder: SourceFolder, _ handle: DirectoryHandle) {}
    func skipHidden(_ count: Int) {}
    /// The copy has reported it.
    func fail(_ path: [UInt8], _ error: BackupError) {}

    func leave(_ folder: SourceFolder, _ handle: DirectoryHandle) {
        let attributes = (try? handle.descriptor.extendedAttributes()) ?? []
        for (destination, folders) in destinations where destination.error == nil {
            // A folder that was there before, as a mountpoint, keeps its own.
            if folder.components.isEmpty, !destination.place.isMade { continue }
            do throws(BackupError) {
                let copy = try folders.open(folder.components)
                try CopiedAttributes(destination: destination.place, problems: context.problems)
                    .set(copy.descriptor, folder.status, attributes)
            } catch {
                // One that could not be made has been reported.
                if error.code != .notFound { context.problems.add(error) }
            }
        }
    }

    /// Makes the modes and times durable.
    func synchronize() {
        for (destination, _) in destinations where destination.error == nil {
            do throws(BackupError) {
                try FileSystem.synchronizeTree(destination.place.path)
            } catch {
                context.problems.add(error)
            }
        }
    }
}
