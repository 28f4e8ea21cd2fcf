import BackupCore
import SystemIO

/// A file of the store, or of another folder of this machine, while it is open.
final class OpenSharedFile: OpenFile {
    private let file: SharedFile
    let keepsCache = false
    /// The file may have become another one since the kernel has asked for its size.
    let usesDirectIO = true
    var size: UInt64? { file.size }

    init(_ file: SharedFile) { self.file = file }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try file.read(at: offset, into: buffer)
    }
}
