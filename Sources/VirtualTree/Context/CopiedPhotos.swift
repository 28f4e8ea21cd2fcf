import BackupCore
import SystemIO

/// The files that are being copied into `photos/starred/`, by name. The folder itself is made at each look.
final class CopiedPhotos: Sendable {
    private let files = Monitor<[FileName: any FileNode]>([:])

    func file(named name: FileName) -> (any FileNode)? { files.withLock { $0[name] } }

    var sortedFiles: [(name: FileName, file: any FileNode)] {
        files.withLock { files in files.map { ($0.key, $0.value) } }.sorted { $0.name < $1.name }
    }

    /// Adds a file, unless the name has one.
    /// - Returns: the one that has the name.
    func add(_ file: any FileNode, as name: FileName) -> any FileNode {
        files.withLock { files in
            if let there = files[name] { return there }
            files[name] = file
            return file
        }
    }

    /// Gives a file another name.
    /// - Returns: the file that has lost this name.
    func rename(_ file: any FileNode, to name: FileName) -> (any FileNode)? {
        files.withLock { files in
            files = files.filter { $0.value !== file }
            let replaced = files[name]
            files[name] = file
            return replaced
        }
    }

    /// Takes a file out, whatever its name.
    func take(_ file: any FileNode) { files.withLock { files in files = files.filter { $0.value !== file } } }
}
