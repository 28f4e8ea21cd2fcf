import BackupCore
import Formats
import Foundation
import TestSupport
import Testing

@Suite("ZIP reader: hostile archives", .rotating(oneIn: 3))
struct ZIPHostileTests {
    private let limits = ArchiveLimits(totalSizeBytes: 1 << 20)

    @Test(
        "refused when it is opened",
        arguments: HostileInput.zipStructures + HostileInput.zipContradictions + HostileInput.zip64Lies + HostileInput.zipNames
            + HostileInput.zipBombs)
    func refusedAtOpening(_ archive: HostileInput) throws {
        let folder = try TemporaryFolder()
        let path = try archive.make(in: folder)
        let error = try #require(throws: BackupError.self) { try ArchiveReader(zipFile: path, limits: limits) }
        try expect(error, archive)
        #expect(error.path == path)
    }

    @Test("refused when its content is read", arguments: HostileInput.zipContents)
    func refusedAtExtraction(_ archive: HostileInput) throws {
        let folder = try TemporaryFolder()
        let path = try archive.make(in: folder)
        var givenCount = 0
        let error = try #require(throws: BackupError.self) {
            let reader = try ArchiveReader(zipFile: path, limits: limits)
            try reader.extract(reader.entries()[0]) { part in givenCount += part.count }
        }
        try expect(error, archive)
        #expect(givenCount <= 7)
    }

    private func expect(_ error: BackupError, _ archive: HostileInput) throws {
        #expect(error.code == archive.code, "\(error) \(error.findings)")
        let finding = try #require(error.findings.first)
        #expect(archive.finding.isEmpty || finding.contains(archive.finding), "\(finding)")
        switch archive.code {
        case .damagedContent: #expect(error.message == "This backup file is corrupted and cannot be restored.")
        case .invalidContent:
            #expect(
                error.message == "Invalid file format. Please select a valid backup file."
                    || error.message == "Import failed: \(finding)")
        default: #expect(error.message == "Import failed: \(finding)")
        }
    }

    @Test("a ratio bomb is refused by its headers, a large honest archive is not")
    func ratio() throws {
        let folder = try TemporaryFolder()
        let bomb = try ZIPCraft.make("z = bytes(1 << 27); write(archive(E(b'a', z, method=8)))", in: folder)
        let limits = ArchiveLimits(totalSizeBytes: 1 << 40)
        let error = try #require(throws: BackupError.self) { try ArchiveReader(zipFile: bomb, limits: limits) }
        #expect(error.code == .tooLarge)
        let honest = try ZIPCraft.make("z = bytes(100 << 20); write(archive(E(b'a', z, method=8)))", in: folder)
        let reader = try ArchiveReader(zipFile: honest, limits: limits)
        var count = 0
        try reader.extract(reader.entries()[0]) { part in count += part.count }
        #expect(count == 100 << 20)
    }

    @Test("an archive that is cut off anywhere is refused")
    func everyPrefix() throws {
        let archive = try smallArchive()
        for count in 0..<archive.count {
            let error = #expect(throws: BackupError.self) {
                try ArchiveReader(zip: MemorySource(Array(archive.prefix(count))), size: UInt64(count), limits: limits)
            }
            #expect(error?.code == (count < 4 ? .invalidContent : .damagedContent))
        }
    }

    @Test("a changed byte anywhere is noticed, unless it says nothing about names and content")
    func everyByteChanged() throws {
        let archive = try smallArchive()
        let original = try contents(of: archive)
        var unnoticed = 0
        let masks = Rounds.part(of: [0x01, 0x80, 0xFF] as [UInt8], oneIn: 3)
        for index in archive.indices {
            for mask in masks {
                var changed = archive
                changed[index] ^= mask
                if let found = try? contents(of: changed) {
                    #expect(found == original, "byte \(index)")
                    unnoticed += 1
                }
            }
        }
        // Versions, times, attributes and comment bytes: a few dozen for each entry and no more.
        #expect(unnoticed < archive.count)
    }

    private func contents(of archive: [UInt8]) throws -> [[UInt8]: [UInt8]] {
        let reader = try ArchiveReader(zip: MemorySource(archive), size: UInt64(archive.count), limits: limits)
        var result: [[UInt8]: [UInt8]] = [:]
        for entry in reader.entries() { result[entry.path] = try reader.content(of: entry) }
        return result
    }

    private func smallArchive() throws -> [UInt8] {
        let folder = try TemporaryFolder()
        let path = try ZIPCraft.make(
            """
            d = b'content ' * 9
            streamed = dict(l_crc=0, l_csize=0, l_usize=0, flags=8, descriptor=descriptor(d, deflate(d)))
            write(archive(E(b'folder/', b'', attr=0o40755 << 16), E(b'folder/stored'), E(b'deflated', d, method=8),
                E(b'streamed', d, method=8, **streamed), comment=b'a comment'))
            """, in: folder)
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }
}
