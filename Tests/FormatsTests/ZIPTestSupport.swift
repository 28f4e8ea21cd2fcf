import BackupCore
import Formats
import Foundation
import SystemIO
import TestSupport
import Testing

/// Chunks with their stored and plain bytes in memory: a repository as small as a test needs it.
final class ChunkShelf {
    private var plainBytes: [ChunkID: [UInt8]] = [:]
    private var storedBytes: [StoredChunk: [UInt8]] = [:]
    private var deflater = Deflater(level: 6)
    private static let pack = PackID(SHA256Hasher.hash([]))

    /// - Parameter codec: a delta chunk gets stored bytes that must not be served unchanged.
    func store(_ plain: [UInt8], _ codec: ChunkCodec) -> StoredChunk {
        var stored = plain
        switch codec {
        case .raw: break
        case .deflate: plain.withUnsafeBytes { deflater.compress($0, into: &stored) }
        case .deflateAgainstBase, .middleAgainstBase: stored = [0xFF, 0xFF, 0xFF]
        }
        return store(plain, codec, stored: stored)
    }

    func store(_ plain: [UInt8], _ codec: ChunkCodec, stored: [UInt8]) -> StoredChunk {
        let id = ChunkID(SHA256Hasher.hash(plain))
        let chunk = StoredChunk(
            id: id, pack: Self.pack, packOffset: 0, storedLength: UInt32(stored.count), plainLength: UInt32(plain.count),
            codec: codec, plainCRC32: CRC32.of(plain), storedCRC32: CRC32.of(stored),
            base: codec.needsBase ? id : nil)
        plainBytes[id] = plain
        storedBytes[chunk] = stored
        return chunk
    }

    func plain(_ piece: ContentPiece) throws -> [UInt8] {
        switch piece {
        case .literal(let bytes): return bytes
        case .chunk(let chunk): return try #require(plainBytes[chunk.id])
        case .source(let source, let offset, let length): return try Self.read(source, offset, length)
        }
    }

    func bytes(of extent: Extent) throws -> [UInt8] {
        switch extent {
        case .literal(let bytes): return bytes
        case .plain(let chunk, let offset, let length):
            return Array(try #require(plainBytes[chunk.id])[Int(offset)..<Int(offset + length)])
        case .stored(let chunk): return try #require(storedBytes[chunk])
        case .source(let source, let offset, let length): return try Self.read(source, offset, length)
        }
    }

    /// The whole file, extent after extent.
    func materialize(_ table: ExtentTable) throws -> [UInt8] {
        var output: [UInt8] = []
        for extent in table.extents { output += try bytes(of: extent) }
        return output
    }

    func materialize(_ table: ExtentTable, _ range: Range<UInt64>) throws -> [UInt8] {
        var output: [UInt8] = []
        for slice in table.slices(in: range) {
            if case .source(let source, let offset, _) = slice.extent {
                // What is asked for and no more: these make their bytes.
                output += try Self.read(source, offset + slice.range.lowerBound, UInt64(slice.range.count))
            } else {
                output += try bytes(of: slice.extent)[Int(slice.range.lowerBound)..<Int(slice.range.upperBound)]
            }
        }
        return output
    }

    func member(
        _ path: String, _ content: [ContentPiece] = [], mode: UInt32 = 0o100644, time: Int64 = 1_768_141_800
    ) throws -> ArchiveMember {
        try member(Array(path.utf8), content, mode: mode, time: time)
    }

    /// A member whose size and CRC are those of its pieces.
    func member(
        _ path: [UInt8], _ content: [ContentPiece], mode: UInt32 = 0o100644, time: Int64 = 1_768_141_800
    ) throws -> ArchiveMember {
        let plain = try content.flatMap { try self.plain($0) }
        return ArchiveMember(
            path: path, mode: mode, modificationTime: Timestamp(seconds: time), size: UInt64(plain.count),
            crc32: CRC32.of(plain), content: content)
    }

    private static func read(_ source: any ByteSource, _ offset: UInt64, _ length: UInt64) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: Int(length))
        let count = try buffer.withUnsafeMutableBytes { (bytes) throws(BackupError) in
            try source.read(at: offset, into: bytes)
        }
        #expect(count == buffer.count)
        return buffer
    }
}

/// A source that gives zeros for ever.
final class ZeroSource: ByteSource {
    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        return buffer.count
    }
}

/// Text that compresses, of an exact length.
func sampleText(_ count: Int) -> [UInt8] {
    var text: [UInt8] = []
    var line = 0
    while text.count < count {
        text += Array("line \(line) of a text that compresses\n".utf8)
        line += 1
    }
    return Array(text.prefix(count))
}

/// Runs a Python program; it must succeed.
/// - Returns: what it printed.
@discardableResult
func python(_ program: String, _ arguments: String...) throws -> String {
    let result = try run(["python3", "-c", program] + arguments)
    #expect(result.status == 0, "\(result.output)")
    return result.output
}

func expectSuccess(_ command: String...) throws {
    let result = try run(command)
    #expect(result.status == 0, "\(command.joined(separator: " ")): \(result.output.suffix(2000))")
}

extension ArchiveReader {
    init(zipFile path: String, limits: ArchiveLimits) throws(BackupError) {
        do {
            let file = try SharedFile(path: path)
            try self.init(zip: file, size: file.size, limits: limits)
        } catch {
            throw error.at(path)
        }
    }
}
