import BackupCore
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import CopyVerify

/// Files that changed a short time before they were read.
struct SecondLookTests {
    private let folder: TemporaryFolder
    private let blocks = BlockPool(blockSizeBytes: 4_096, limit: 1)

    init() throws { folder = try TemporaryFolder() }

    private static let first = [UInt8](repeating: 7, count: 3_000)

    private static func unsettledStatus(of file: borrowing OwnedDescriptor) throws -> FileStatus {
        var status = try file.status()
        // On a machine that is very busy, seconds can pass.
        while status.isSettled {
            try file.setPermissions(0o600)
            status = try file.status()
        }
        return status
    }

    /// Looks at a file after its bytes from 1,000 to 3,000 were read as those of `first`.
    private func confirms(_ bytes: [UInt8]) throws -> Bool {
        let file = try OwnedDescriptor.openFile(folder.write(bytes, to: "file"))
        var look = SecondLook(try Self.unsettledStatus(of: file))
        Self.first.withUnsafeBytes { bytes in
            look.note(UnsafeRawBufferPointer(rebasing: bytes[1_000..<2_000]), at: 1_000)
            look.note(UnsafeRawBufferPointer(rebasing: bytes[2_000...]), at: 2_000)
        }
        return try look.confirms(file, size: UInt64(bytes.count)) { blocks.take() }
    }

    private static func first(changedAt place: Int) -> [UInt8] {
        var bytes = first
        bytes[place] = 8
        return bytes
    }

    @Test func `the same bytes are confirmed, whatever was not read`() throws {
        #expect(try confirms(Self.first))
        #expect(try confirms(Self.first(changedAt: 0)))
        #expect(try confirms(Self.first(changedAt: 999)))
        #expect(try confirms(Self.first + [1]))
    }

    @Test(arguments: [1_000, 1_999, 2_000, 2_999]) func `another byte in any part is not confirmed`(place: Int) throws {
        #expect(try !confirms(Self.first(changedAt: place)))
    }

    @Test func `a shorter file is not confirmed`() throws {
        #expect(try !confirms(Array(Self.first.dropLast())))
    }

    @Test func `a hole that gets bytes is not confirmed`() throws {
        let path = try folder.write([1], to: "sparse")
        let size: UInt64 = 4 << 20
        let file = try OwnedDescriptor.open(path, O_RDWR)
        try file.truncate(to: size)
        try file.writeAll([UInt8](repeating: 2, count: 65_536))
        func look(at hole: Range<UInt64>) throws -> SecondLook {
            var look = SecondLook(try Self.unsettledStatus(of: file))
            look.note(hole: hole)
            return look
        }
        let (middle, end) = (try look(at: 1 << 20..<2 << 20), try look(at: 2 << 20..<size))
        #expect(try middle.confirms(file, size: size) { blocks.take() })
        #expect(try end.confirms(file, size: size) { blocks.take() })
        try [UInt8(7)].withUnsafeBytesThrowing { (bytes) throws(BackupError) in try file.writeAll(bytes, at: 3 << 20) }
        #expect(try middle.confirms(file, size: size) { blocks.take() })
        #expect(try !end.confirms(file, size: size) { blocks.take() })
    }

    @Test func `a file that has not changed for a while is not read again`() throws {
        let file = try OwnedDescriptor.openFile(FileSystem.realPath("/proc/self/exe"))
        let status = try file.status()
        try #require(status.isSettled)
        var look = SecondLook(status)
        Self.first.withUnsafeBytes { look.note($0, at: 0) }
        look.note(hole: 0..<1_000_000)
        let isConfirmed = try look.confirms(file, size: 1_000_000) {
            Issue.record("a buffer was needed")
            return blocks.take()
        }
        #expect(isConfirmed)
    }
}
