import BackupCore
import Formats
import SystemIO

/// Writes an export to a file, and records the ranges of its collections.
final class RangeRecordingSink: WireSink {
    private let descriptor: OwnedDescriptor
    private let progress: (UInt64) -> Void
    private var position: UInt64 = 0
    private var start: UInt64 = 0
    /// The ranges are in the export, in bytes.
    private(set) var collections: [(name: String, range: Range<UInt64>)] = []

    /// - Parameter progress: receives the number of bytes as they are written.
    init(_ descriptor: consuming OwnedDescriptor, _ progress: @escaping (UInt64) -> Void = { _ in }) {
        self.descriptor = descriptor
        self.progress = progress
    }

    func write(literal bytes: UnsafeRawBufferPointer) throws(BackupError) { try write(bytes) }
    func write(collection bytes: UnsafeRawBufferPointer) throws(BackupError) { try write(bytes) }
    func beginCollection(_ name: String) { start = position }
    func endCollection(_ name: String) { collections.append((name, start..<position)) }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        try descriptor.writeAll(bytes)
        position += UInt64(bytes.count)
        progress(UInt64(bytes.count))
    }
}

/// Writes an export to another sink, and computes its CRC-32 and those of its collections.
final class ChecksummingSink: WireSink {
    private let sink: any WireSink
    private var partCRC32: UInt32 = 0
    private var partByteCount: UInt64 = 0
    /// Of the export.
    private(set) var crc32: UInt32 = 0
    /// In the order of the collections.
    private(set) var collectionCRC32s: [UInt32] = []

    init(_ sink: any WireSink) { self.sink = sink }

    func write(literal bytes: UnsafeRawBufferPointer) throws(BackupError) {
        crc32 = CRC32.update(crc32, bytes)
        try sink.write(literal: bytes)
    }

    func write(collection bytes: UnsafeRawBufferPointer) throws(BackupError) {
        partCRC32 = CRC32.update(partCRC32, bytes)
        partByteCount += UInt64(bytes.count)
        try sink.write(collection: bytes)
    }

    func beginCollection(_ name: String) throws(BackupError) {
        (partCRC32, partByteCount) = (0, 0)
        try sink.beginCollection(name)
    }

    func endCollection(_ name: String) throws(BackupError) {
        crc32 = CRC32.combine(crc32, partCRC32, secondLength: partByteCount)
        collectionCRC32s.append(partCRC32)
        try sink.endCollection(name)
    }
}
