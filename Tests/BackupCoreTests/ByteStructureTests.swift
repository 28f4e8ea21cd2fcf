import TestSupport
import Testing

@testable import BackupCore

/// The repository's binary structures: what is written is little-endian, and damaged input is an error and nothing worse.
struct ByteStructureTests {
    private static let digest = SHA256Digest(bytes: (0..<32).map { UInt8($0) })

    private static func sample() throws -> ByteWriter {
        var writer = ByteWriter()
        writer.append(UInt8(0x01))
        writer.append(UInt16(0x0203))
        writer.append(UInt32(0x0405_0607))
        writer.append(Int64(-2))
        writer.append("é")
        writer.append(lengthPrefixed: [9, 8])
        writer.append(raw: [7])
        writer.append(Timestamp(seconds: -1, nanoseconds: 999_999_999))
        writer.append(try #require(digest))
        return writer
    }

    private static func readAll(_ bytes: [UInt8]) throws(BackupError) {
        var reader = ByteReader(bytes)
        _ = try reader.read(UInt8.self)
        _ = try reader.read(UInt16.self)
        _ = try reader.read(UInt32.self)
        _ = try reader.read(Int64.self)
        _ = try reader.readText()
        _ = try reader.readLengthPrefixed()
        _ = try reader.readRaw(count: 1)
        _ = try reader.readTimestamp()
        _ = try reader.readDigest(SHA256Digest.self)
    }

    @Test func `the bytes are the ones the format document names`() throws {
        #expect(
            try Self.sample().bytes == [
                0x01, 0x03, 0x02, 0x07, 0x06, 0x05, 0x04, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,  // integers
                2, 0, 0, 0, 0xC3, 0xA9, 2, 0, 0, 0, 9, 8, 7,  // text, prefixed bytes, raw bytes
                0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xC9, 0x9A, 0x3B,  // time
                0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
                31,
            ])
    }

    @Test func `values come back`() throws {
        var reader = ByteReader(try Self.sample().bytes)
        #expect(try reader.read(UInt8.self) == 1)
        #expect(try reader.read(UInt16.self) == 0x0203)
        #expect(try reader.read(UInt32.self) == 0x0405_0607)
        #expect(try reader.read(Int64.self) == -2)
        #expect(try reader.readText() == "é")
        #expect(try reader.readLengthPrefixed() == [9, 8])
        #expect(try reader.readRaw(count: 1) == [7])
        #expect(try reader.readTimestamp() == Timestamp(seconds: -1, nanoseconds: 999_999_999))
        #expect(!reader.isAtEnd)
        #expect(try reader.readDigest(SHA256Digest.self) == Self.digest)
        #expect(reader.isAtEnd)
        #expect(reader.remainingCount == 0)
    }

    @Test func `every truncation is an error`() throws {
        let bytes = try Self.sample().bytes
        for count in 0..<bytes.count {
            #expect(
                errorCode { try Self.readAll(Array(bytes[..<count])) } == .repositoryDamaged, "\(count)"
            )
        }
        #expect(errorCode { try Self.readAll(bytes) } == nil)
    }

    @Test func `a length far beyond the end is refused before anything is allocated`() {
        for length in [[0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 0x80], [4, 0, 0, 0]] as [[UInt8]] {
            var reader = ByteReader(length + [1, 2, 3])
            #expect(errorCode { _ = try reader.readLengthPrefixed() } == .repositoryDamaged)
        }
        var reader = ByteReader([1, 2, 3])
        #expect(errorCode { _ = try reader.readRaw(count: -1) } == .repositoryDamaged)
        #expect(errorCode { _ = try reader.readRaw(count: .max) } == .repositoryDamaged)
        #expect(reader.remainingCount == 3)
    }

    @Test func `a failed read takes nothing`() throws {
        var reader = ByteReader([1, 2, 3])
        #expect(errorCode { _ = try reader.read(UInt64.self) } == .repositoryDamaged)
        #expect(try reader.readRaw(count: 3) == [1, 2, 3])
    }

    @Test func `text must be UTF-8, and times within their second`() {
        for bytes in [[0xC3], [0xFF], [0xED, 0xA0, 0x80], [0xC0, 0x80]] as [[UInt8]] {
            var writer = ByteWriter()
            writer.append(lengthPrefixed: bytes)
            var reader = ByteReader(writer.bytes)
            #expect(errorCode { _ = try reader.readText() } == .repositoryDamaged, "\(bytes)")
        }
        var writer = ByteWriter()
        writer.append(Int64(0))
        writer.append(UInt32(1_000_000_000))
        var reader = ByteReader(writer.bytes)
        #expect(errorCode { _ = try reader.readTimestamp() } == .repositoryDamaged)
    }

    @Test func `a reader of a slice counts from its start`() throws {
        let bytes: [UInt8] = [9, 9, 1, 0, 9]
        var reader = ByteReader(bytes[2..<4])
        #expect(reader.remainingCount == 2)
        #expect(try reader.read(UInt16.self) == 1)
        #expect(errorCode { _ = try reader.read(UInt8.self) } == .repositoryDamaged)
    }
}
