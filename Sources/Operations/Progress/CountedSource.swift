import BackupCore
import SystemIO

/// A source that counts its bytes as they are read.
final class CountedSource: ByteSource {
    private let source: any ByteSource
    private let note: @Sendable (UInt64) -> Void

    init(_ source: any ByteSource, note: @escaping @Sendable (UInt64) -> Void) {
        self.source = source
        self.note = note
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let count = try source.read(at: offset, into: buffer)
        note(UInt64(count))
        return count
    }
}
