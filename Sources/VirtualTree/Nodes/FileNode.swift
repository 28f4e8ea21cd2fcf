import BackupCore
import Glibc

/// A file of the tree.
protocol FileNode: Node {
    /// - Parameters:
    ///   - flags: those of open(2).
    ///   - process: the process (thread group) that opens it; 0 when unknown.
    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile
}

/// A symbolic link of the tree.
protocol LinkNode: Node {
    func target() throws(BackupError) -> [UInt8]
}

extension Int32 {
    /// Whether open(2) flags request writing or truncation.
    var asksToWrite: Bool { self & O_ACCMODE != O_RDONLY || self & O_TRUNC != 0 }
}
