import BackupCore
import Formats
import SystemIO
import TestSupport
import Testing

@Suite("tar reader: hostile archives", .rotating(oneIn: 3))
struct TARHostileTests {
    private func limits() -> ArchiveLimits {
        var limits = ArchiveLimits(totalSizeBytes: 1 << 20)
        limits.acceptsSymbolicLinks = true
        return limits
    }

    private func open(_ bytes: [UInt8]) throws(BackupError) -> ArchiveReader {
        try ArchiveReader(tar: MemorySource(bytes), size: UInt64(bytes.count), limits: limits())
    }

    @Test(arguments: HostileInput.tars)
    func `refused when it is opened`(_ archive: HostileInput) throws {
        let folder = try TemporaryFolder()
        let bytes = try readFile(archive.make(in: folder))
        let error = try #require(throws: BackupError.self) { try open(bytes) }
        #expect(error.code == archive.code, "\(error) \(error.findings)")
        #expect(try #require(error.findings.first).contains(archive.finding), "\(error.findings)")
    }

    @Test func `links and what an archive may unpack to are for the limits to say`() throws {
        let folder = try TemporaryFolder()
        let link = HostileInput.tar("", .invalidContent, "", "write(member(b'a', b'', kind=b'2', link=b'b') + END)")
        let bytes = try readFile(link.make(in: folder))
        let strict = ArchiveLimits(totalSizeBytes: 1 << 20)
        let refusal = #expect(throws: BackupError.self) {
            try ArchiveReader(tar: MemorySource(bytes), size: UInt64(bytes.count), limits: strict)
        }
        #expect(refusal?.message == "Import failed: The entry \"a\" is a link or a device.")
        let reader = try open(bytes)
        #expect(try reader.content(of: reader.entries()[0]) == Array("b".utf8))
        let large = HostileInput.tar("", .tooLarge, "", "write(member(b'a', bytes(1 << 20)) + member(b'b') + END)")
        let error = #expect(throws: BackupError.self) { try open(readFile(large.make(in: folder))) }
        #expect(error?.code == .tooLarge)
    }

    @Test func `an archive that is cut off anywhere is refused`() throws {
        let archive = try small()
        for count in stride(from: 0, to: archive.count - 9_000, by: 37) {
            #expect(throws: BackupError.self, "\(count)") { try open(Array(archive.prefix(count))) }
        }
    }

    @Test func `a changed byte of a header is noticed, or says nothing about names and content`() throws {
        let archive = try small()
        let original = try contents(of: archive)
        for index in stride(from: 0, to: archive.count - 9_000, by: 3) {
            for mask in [0x01, 0x80, 0xFF] as [UInt8] {
                var changed = archive
                changed[index] ^= mask
                guard let found = try? contents(of: changed) else { continue }
                // The bytes of a file have no checksum in this format; its name and size do.
                #expect(found.mapValues(\.count) == original.mapValues(\.count), "byte \(index)")
            }
        }
    }

    private func contents(of archive: [UInt8]) throws -> [[UInt8]: [UInt8]] {
        let reader = try open(archive)
        var result: [[UInt8]: [UInt8]] = [:]
        for entry in reader.entries() { result[entry.path] = try reader.content(of: entry) }
        return result
    }

    private func small() throws -> [UInt8] {
        let folder = try TemporaryFolder()
        try folder.write("content ", to: "file")
        let script =
            "cd '\(folder.path)'; mkdir -p d/e; echo x > d/e/\(String(repeating: "n", count: 120)); ln -s file l; tar --sort=name -cf a.tar d file l"
        try expectSuccess("sh", "-c", script)
        return try folder.read("a.tar")
    }
}
