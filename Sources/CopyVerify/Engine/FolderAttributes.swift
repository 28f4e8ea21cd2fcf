import BackupCore
import Glibc
import SystemIO

/// Gives the folders of the copies the modes and times of their originals, when all that is in them is there.
final class FolderAttributes: SourceVisitor {
    private let context: CopyContext
    private let destinations: [(destination: Destination, folders: TargetFolders)]
    private let isSourceWhole: Bool

    /// To be made when all files have been copied.
    init(_ context: CopyContext, _ destinations: [Destination]) {
        isSourceWhole = context.problems.problems.isEmpty
        self.context = context
        self.destinations = destinations.map { ($0, TargetFolders($0)) }
    }

    func enter(_ folder: SourceFolder, _ handle: DirectoryHandle, names: [FileName]) throws(BackupError) {
        if context.mustStop { throw CopyContext.cancelled }
    }

    func visit(_ name: FileName, _ status: FileStatus, in folder: SourceFolder, _ handle: DirectoryHandle) {}
    func skipHidden(_ count: Int) {}
    func miss(_ path: [UInt8]) {}
    /// The copy has reported it.
    func fail(_ path: [UInt8], _ error: BackupError) {}

    func leave(_ folder: SourceFolder, _ handle: DirectoryHandle) {
        let attributes = (try? handle.descriptor.extendedAttributes()) ?? []
        for (destination, folders) in destinations where destination.error == nil {
            // A folder that was there before keeps its own.
            let isMade = folder.components.isEmpty ? destination.place.isMade : destination.madeFolders.has(folder.components)
            guard isMade else { continue }
            do throws(BackupError) {
                let copy = try folders.open(folder.components)
                // What is missing is copied when the job is resumed: the folder must be writable then.
                let isWhole = isSourceWhole && destination.failedCount.load(ordering: .relaxed) == 0
                let mode: UInt32 = isWhole ? 0 : 0o700
                let kept = CopiedAttributes(destination: destination.place, problems: context.problems)
                try kept.set(copy.descriptor, folder.status, attributes, addingMode: mode)
                kept.warn(ofLossIn: try copy.descriptor.status(), folder.status, addingMode: mode)
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
