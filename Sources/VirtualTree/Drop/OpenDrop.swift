import BackupCore
import Synchronization
import SystemIO

/// A dropped file while it is open.
final class OpenDrop: OpenFile {
    private let file: DroppedFile
    /// Its spool file.
    private let descriptor: SharedFile
    /// The process; `nil` when it is unknown.
    private let opener: Int32?
    /// The number of the last write through this open file; 0 before the first.
    private let lastWrite = Atomic(0)

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
        note(
            try file.write { () throws(BackupError) in
                try file.content.spool()
                try descriptor.write(bytes, at: offset)
            }.number)
    }

    func copy(
        from source: any OpenFile, at sourceOffset: UInt64, to offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64 {
        let (number, copied) = try file.write { () throws(BackupError) in
            try file.content.copy(source, at: sourceOffset, to: offset, count: count)
        }
        if copied > 0 { note(number) }
        return copied
    }

    private func note(_ number: Int) { lastWrite.max(number, ordering: .relaxed) }

    func flush(process: Int32) throws(BackupError) {
        try file.flush(process: process, opener: opener, lastWrite: lastWrite.load(ordering: .relaxed))
    }

    func synchronize() throws(BackupError) { try descriptor.synchronize() }

    func release() { file.noteRelease() }
}
