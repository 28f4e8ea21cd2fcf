import BackupCore

/// Reads small structures of an archive through a buffer, mostly forward.
struct ArchiveWindow {
    private let source: any ByteSource
    let size: UInt64
    private let lengthBytes: Int
    private var start: UInt64 = 0
    private var buffer: [UInt8] = []

    /// - Parameter lengthBytes: the size of one read.
    init(_ source: any ByteSource, size: UInt64, lengthBytes: Int) {
        self.source = source
        self.size = size
        self.lengthBytes = lengthBytes
    }

    /// The bytes at `offset`; the slice's indices need not start at 0.
    /// - Throws: `damagedContent` when the archive ends earlier.
    mutating func bytes(at offset: UInt64, count: Int) throws(BackupError) -> ArraySlice<UInt8> {
        guard offset <= size, UInt64(count) <= size - offset else {
            throw ArchiveFailure.damaged("The archive ends inside a structure that starts at byte \(offset).")
        }
        if offset < start || offset + UInt64(count) > start + UInt64(buffer.count) {
            let length = Int(min(UInt64(max(count, lengthBytes)), size - offset))
            buffer = try Self.read(source, at: offset, count: length)
            start = offset
        }
        let index = Int(offset - start)
        return buffer[index..<index + count]
    }

    /// Reads exactly `count` bytes.
    static func read(_ source: any ByteSource, at offset: UInt64, count: Int) throws(BackupError) -> [UInt8] {
        var failure: BackupError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            do throws(BackupError) {
                let target = UnsafeMutableRawBufferPointer(buffer)
                try fill(UnsafeMutableRawBufferPointer(rebasing: target[..<count]), from: source, at: offset)
                initializedCount = count
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Fills the whole buffer.
    /// - Throws: `inputOutput` when the file has become shorter.
    static func fill(
        _ buffer: UnsafeMutableRawBufferPointer, from source: any ByteSource, at offset: UInt64
    ) throws(BackupError) {
        guard try source.readFully(at: offset, into: buffer) == buffer.count else {
            throw BackupError(.inputOutput, "the archive became shorter while it was read")
        }
    }
}

extension ArraySlice<UInt8> {
    /// The little-endian integer `offset` bytes after the slice's start; the caller has checked the length.
    func littleEndian<Value: FixedWidthInteger & UnsignedInteger>(_ offset: Int, _: Value.Type = Value.self) -> Value {
        withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Value.self)) }
    }
}
