import BackupCore
import SystemIO

/// A dropped file while somebody has it open.
final class OpenDrop: OpenFile {
    private let file: DroppedFile
    private let descriptor: OwnedDescriptor
    private let opener: Int32

    let keepsCache = false
    let usesDirectIO = true

    init(_ file: DroppedFile, _ descriptor: consuming OwnedDescriptor, process: Int32) {
        self.file = file
        self.descriptor = descriptor
        opener = ProcessIdentity.process(ofThread: process)
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try descriptor.readFully(at: offset, into: buffer)
    }

    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        try descriptor.writeAll(bytes, at: offset)
        file.noteWrite()
    }

    func flush(process: Int32) throws(BackupError) { try file.flush(process: process, opener: opener) }

    func synchronize() throws(BackupError) { try descriptor.synchronize() }
}
