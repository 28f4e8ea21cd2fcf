import BackupCore
import Formats
import SystemIO

/// Writes an export to a file, and records the ranges of its collections and their CRC-32.
final class RangeRecordingSink: WireSink {
    struct Collection: Equatable {
        let name: String
        /// In the export, in bytes.
        let range: Range<UInt64>
        let crc32: UInt32
    }

    private let descriptor: OwnedDescriptor
    private let progress: (UInt64) -> Void
    private var position: UInt64 = 0
    private var start: UInt64 = 0
    private var partCRC32: UInt32 = 0
    private(set) var crc32: UInt32 = 0
    private(set) var collections: [Collection] = []

    /// - Parameter progress: receives the number of bytes as they are written.
    init(_ descriptor: consuming OwnedDescriptor, _ progress: @escaping (UInt64) -> Void = { _ in }) {
        self.descriptor = descriptor
        self.progress = progress
    }

    func write(literal bytes: UnsafeRawBufferPointer) throws(BackupError) { try write(bytes) }

    func write(collection bytes: UnsafeRawBufferPointer) throws(BackupError) {
        partCRC32 = CRC32.update(partCRC32, bytes)
        try write(bytes)
    }

    func beginCollection(_ name: String) {
        start = position
        partCRC32 = 0
    }

    func endCollection(_ name: String) {
        collections.append(Collection(name: name, range: start..<position, crc32: partCRC32))
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        try descriptor.writeAll(bytes)
        position += UInt64(bytes.count)
        crc32 = CRC32.update(crc32, bytes)
        progress(UInt64(bytes.count))
    }
}
