import AppData
import BackupCore
import ObjectStorage
import SystemIO
import TestSupport
import Testing

@testable import DeviceSync

/// The bytes of a batch, against bytes that another program has made from the description of the format.
struct BatchFormatTests {
    private static let hexadecimal = """
        6266736368616e670100000102030405060708090a0b0c0d0e0f0700000000000000050000006e6f7465730200000001
        000000ffffffffffffffffffffffffffffffff03000000000000000100000007000000656e7472696573060000000200
        00006964010000006e010000007204000000666c616703000000726177040000006e6f6e650200000000000000017b50
        5c18a3010000040000000000000003020000006b3103020000006b3101feffffffffffffff02000000000000e03f0401
        050200000000fe0000000000027c505c18a301000000000000000000000109000000000000007ecd2313a4f9a586eeae
        dc178cc77cea1d31304c014a8c4bd39ba972a3472ff4
        """

    private static let device = TestID.device(0)
    private static let other = TestID.device(repeating: 0xFF)

    private static let batch = ChangeBatch(
        device: device, sequence: 7, app: "notes", schemaVersion: 2, seen: [other: 3],
        collections: [ChangeBatch.Collection(name: "entries", fields: ["id", "n", "r", "flag", "raw", "none"])],
        changes: [
            Change(
                collection: 0, key: .text("k1"),
                values: [.text("k1"), .integer(-2), .real(0.5), .boolean(true), .blob([0, 0xFE]), .null],
                stamp: ChangeStamp(milliseconds: 1_800_000_000_123, counter: 4, device: device)),
            Change(
                collection: 0, key: .integer(9), values: nil,
                stamp: ChangeStamp(milliseconds: 1_800_000_000_124, counter: 0, device: device)),
        ])

    private static var bytes: [UInt8] { Hexadecimal.decode(hexadecimal.utf8.filter { $0 != 10 }) ?? [] }

    @Test func `a batch has the bytes of the description`() throws {
        #expect(Self.batch.encoded == Self.bytes)
        #expect(try ChangeBatch(decoding: Self.bytes) == Self.batch)
    }

    @Test func `damage of any byte is noticed`() throws {
        for index in Self.bytes.indices {
            var bytes = Self.bytes
            bytes[index] ^= 0x20
            // Other bytes in place of the version are a version of the future, or 0.
            let codes: [BackupError.Code] = index == 8 || index == 9 ? [.unsupportedVersion] : [.damagedContent]
            #expect(codes.contains(try #require(failure { _ = try ChangeBatch(decoding: bytes) }).code), "byte \(index)")
        }
    }

    @Test func `a part of a batch is damage`() throws {
        for count in Self.bytes.indices {
            let part = Array(Self.bytes.prefix(count))
            #expect(try #require(failure { _ = try ChangeBatch(decoding: part) }).code == .damagedContent, "\(count) bytes")
        }
    }

    @Test func `a later version is a later version, and not damage`() throws {
        let bytes = Array("bfschang".utf8) + [2, 0, 1, 2, 3]
        let error = try #require(failure { _ = try ChangeBatch(decoding: bytes) })
        #expect(error.code == .unsupportedVersion)
        #expect(error.message.english == "these changes have format version 2; this program reads 1")
    }

    /// With a right checksum, as from another program.
    private static func failureCode(_ change: (inout [UInt8]) -> Void) -> BackupError.Code? {
        var bytes = Array(bytes.dropLast(32))
        change(&bytes)
        bytes += SHA256Hasher.hash(bytes).bytes
        do {
            _ = try ChangeBatch(decoding: bytes)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `values that cannot be are refused`() {
        #expect(Self.failureCode { _ in } == nil)
        // The sequence number 0, and one of more than 16 digits.
        #expect(Self.failureCode { $0[26] = 0 } == .damagedContent)
        #expect(Self.failureCode { $0[33] = 0xFF } == .damagedContent)
        // After the last change.
        #expect(Self.failureCode { $0.append(0) } == .damagedContent)
        // The second stamp: before the first, and after the year 9999.
        let second = Self.bytes.count - 32 - 25
        #expect(Self.failureCode { $0[second] = 0 } == .damagedContent)
        #expect(Self.failureCode { $0[second + 7] = 0x7F } == .damagedContent)
        // Its counter, its kind, its collection, and the kind of its key.
        #expect(Self.failureCode { $0[second + 14] = 0xFF } == .damagedContent)
        #expect(Self.failureCode { $0[second - 1] = 3 } == .damagedContent)
        #expect(Self.failureCode { $0[second - 5] = 1 } == .damagedContent)
        #expect(Self.failureCode { $0[second + 16] = 6 } == .damagedContent)
    }

    @Test func `names have sixteen digits, and sort like numbers`() {
        let name = DeviceLogName(device: Self.device, sequence: 42).object
        #expect(name.text == "devices/000102030405060708090a0b0c0d0e0f/0000000000000042.changes")
        #expect(DeviceLogName(name) == DeviceLogName(device: Self.device, sequence: 42))
        for text in [
            "devices/group", "devices/000102030405060708090a0b0c0d0e0f/42.changes",
            "devices/000102030405060708090A0B0C0D0E0F/0000000000000042.changes",
            "devices/000102030405060708090a0b0c0d0e0f/0000000000000000.changes",
            "devices/000102030405060708090a0b0c0d0e0f/0000000000000042.changes.tmp",
            "packs/000102030405060708090a0b0c0d0e0f/0000000000000042.changes",
        ] {
            #expect(ObjectName(text).map { DeviceLogName($0) == nil } == true, "\(text)")
        }
    }

    @Test func `two contents differ in one byte of any member`() {
        let form = RecordForm(
            app: "notes", schemaVersion: 1,
            collections: [RecordForm.Collection(name: "entries", fields: ["b", "a"], keyIndex: 0)])
        let contents: [[FieldValue]] = [
            [.text("x"), .text("y")], [.text("y"), .text("x")], [.text("xy"), .null], [.null, .text("xy")],
            [.text("x"), .blob([121])],
            [.integer(1), .real(1)], [.real(1), .integer(1)], [.integer(1), .boolean(true)], [.real(0), .null],
            [.real(-0.0), .null],
            [.text("é"), .null], [.text("e\u{301}"), .null],
        ]
        #expect(Set(contents.map { form.digest(of: $0, in: 0) }).count == contents.count)
        // A member that a later version has added, and that is null.
        let later = RecordForm(
            app: "notes", schemaVersion: 2,
            collections: [RecordForm.Collection(name: "entries", fields: ["a", "new", "b"], keyIndex: 2)])
        #expect(
            later.digest(of: [.text("y"), .null, .text("x")], in: 0) == form.digest(of: [.text("x"), .text("y")], in: 0))
    }
}
