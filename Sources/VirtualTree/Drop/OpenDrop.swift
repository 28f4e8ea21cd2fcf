import BackupCore
import SystemIO

/// A dropped file while somebody has it open.
final class OpenDrop: OpenFile {
    private let file: DroppedFile
    /// Its spool file.
    private let descriptor: SharedFile
    private let opener: Int32

    let keepsCache = false
    let usesDirectIO = true

    init(_ file: DroppedFile, _ descriptor: SharedFile, process: Int32) {
        self.file = file
        self.descriptor = descriptor
        opener = ProcessIdentity.process(ofThread: process)
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try file.content.read(at: offset, into: buffer, descriptor)
    }

    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        try file.content.spool()
        try descriptor.write(bytes, at: offset)
        file.noteWrite()
    }

    func copy(
        from source: any OpenFile, at sourceOffset: UInt64, to offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64 {
        let copied = try file.content.copy(source, at: sourceOffset, to: offset, count: count)
        if copied > 0 { file.noteWrite() }
        return copied
    }

    func flush(process: Int32) throws(BackupError) { try file.flush(process: process, opener: opener) }

    func synchronize() throws(BackupError) { try descriptor.synchronize() }
}
