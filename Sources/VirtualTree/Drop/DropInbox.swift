import BackupCore
import Synchronization

/// The files dropped into one folder, by name, until they are removed or the tree is unmounted.
final class DropInbox: Sendable {
    private let files = Mutex<[FileName: DroppedFile]>([:])

    func file(named name: FileName) -> DroppedFile? { files.withLock { $0[name] } }

    var sortedFiles: [(name: FileName, file: DroppedFile)] {
        files.withLock { files in files.map { ($0.key, $0.value) } }.sorted { $0.name < $1.name }
    }

    /// Puts a file under a name; what had the name before is removed.
    func put(_ file: DroppedFile, as name: FileName) {
        let replaced = files.withLock { files in
            let old = files[name]
            files[name] = file
            return old
        }
        if let replaced, replaced !== file { replaced.discard() }
    }

    /// Takes a file out without removing its content.
    func take(_ name: FileName) -> DroppedFile? { files.withLock { $0.removeValue(forKey: name) } }
}
