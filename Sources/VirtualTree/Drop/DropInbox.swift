import BackupCore
import Synchronization

/// The files dropped into one folder, by name, until they are removed or the tree is unmounted.
final class DropInbox: Sendable {
    private let files = Mutex<[FileName: DroppedFile]>([:])

    func file(named name: FileName) -> DroppedFile? { files.withLock { $0[name] } }

    var sortedFiles: [(name: FileName, file: DroppedFile)] {
        files.withLock { files in files.map { ($0.key, $0.value) } }.sorted { $0.name < $1.name }
    }

    /// Adds a file under a name; a file that had the name before is discarded.
    func put(_ file: DroppedFile, as name: FileName) {
        let replaced = files.withLock { files in
            let old = files[name]
            files[name] = file
            return old
        }
        if let replaced, replaced !== file { replaced.discard() }
    }

    /// Removes a file from the folder without discarding its content.
    func take(_ name: FileName) -> DroppedFile? { files.withLock { $0.removeValue(forKey: name) } }
}
