import BackupCore
import BackupRepository
import SnapshotFormats
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Exports that a mount renders, and the record of their sizes.
struct RenderedSnapshotsTests {
    /// A store with three different backups that show exports which they do not store.
    private static func use(_ body: (Sandbox, Store, [Snapshot]) throws -> Void) throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample >/dev/null; backupfs config set export live --store $S
            for n in a b c; do
              sqlite3 $S/app/database.sqlite "update cars set name = name || '$n'"; backupfs backup --label $n --store $S
            done
            """)
        let store = try Store.open(sandbox.storePath)
        try body(sandbox, store, store.repository.snapshots())
    }

    private static func text(_ file: RenderedFiles.File) throws -> [UInt8] {
        try file.source.bytes(at: 0, upTo: Int(file.sizeBytes) + 1)
    }

    @Test func `texts that were let go come again, with the same bytes`() throws {
        try Self.use { _, store, snapshots in
            let rendered = RenderedSnapshots(store: store, textLimitBytes: 0)
            let files = try snapshots.map { try #require(try rendered.files(of: $0, in: store.repository)) }
            let texts = try files.map { try Self.text($0.export) }
            #expect(Set(texts).count == 3)
            for (snapshot, text) in zip(snapshots, texts) {
                let records = try SnapshotRecords(of: snapshot, in: store.repository, for: store)
                #expect(try store.repository.readAll(records.export()) == text)
            }
            for round in 0..<3 {
                if round == 2 { rendered.letGo(idleSeconds: 0) }
                for (one, text) in zip(files, texts) {
                    #expect(try Self.text(one.export) == text)
                    #expect(one.export.crc32 == CRC32.of(text))
                    for (name, file) in one.collections {
                        let bytes = try Self.text(file)
                        #expect(UInt64(bytes.count) == file.sizeBytes && CRC32.of(bytes) == file.crc32, "\(name)")
                    }
                }
            }
            // Another mount has them from the record.
            let other = RenderedSnapshots(store: store)
            for (snapshot, one) in zip(snapshots, files) {
                let facts = try #require(other.knownFacts(of: snapshot))
                #expect(facts.sizeBytes == one.export.sizeBytes && facts.archiveSizes == one.archiveSizes)
            }
        }
    }

    @Test func `the sizes of archives are those of their tables`() throws {
        try Self.use { _, store, snapshots in
            let files = try #require(try RenderedSnapshots(store: store).files(of: snapshots[0], in: store.repository))
            for (format, size) in [(ArchiveFormat.zip, files.archiveSizes?.zip), (.tar, files.archiveSizes?.tar)] {
                #expect(try SnapshotArchive.table(of: snapshots[0], format, with: files, in: store.repository).size == size)
            }
        }
    }

    @Test func `other bytes than those whose size was given out are never read`() throws {
        try Self.use { _, store, snapshots in
            let key = RenderedFacts.key(of: snapshots[0], store.definition)
            _ = try RenderedSnapshots(store: store).files(of: snapshots[0], in: store.repository)
            let facts = try #require(RenderedFacts(key, in: store.paths.renderedExports))
            RenderedFacts(
                sizeBytes: facts.sizeBytes, crc32: facts.crc32 ^ 1, collections: facts.collections, naming: facts.naming,
                archiveSizes: facts.archiveSizes
            ).keep(key, in: store.paths.renderedExports)
            let files = try #require(try RenderedSnapshots(store: store).files(of: snapshots[0], in: store.repository))
            let error = #expect(throws: BackupError.self) { try Self.text(files.export) }
            #expect(error?.code == .inputOutput)
            #expect(files.collections.count == 4)
            for (_, file) in files.collections { #expect(throws: BackupError.self) { try Self.text(file) } }
        }
    }

    @Test func `a record is whole, or there is none`() throws {
        try Self.use { sandbox, store, snapshots in
            _ = try RenderedSnapshots(store: store).files(of: snapshots[0], in: store.repository)
            let key = RenderedFacts.key(of: snapshots[0], store.definition)
            let folder = store.paths.renderedExports
            let path = "\(folder)/\(key.hexadecimal)"
            let bytes = try FileSystem.readFile(path)
            let facts = try #require(RenderedFacts(key, in: folder))
            for position in stride(from: 0, to: bytes.count, by: 7) {
                var damaged = bytes
                damaged[position] ^= 0x40
                try sandbox.write(damaged, to: path)
                #expect(RenderedFacts(key, in: folder) == nil, "\(position)")
                try sandbox.write(Array(bytes[..<position]), to: path)
                #expect(RenderedFacts(key, in: folder) == nil, "\(position)")
            }
            try sandbox.write(bytes, to: path)
            #expect(RenderedFacts(key, in: folder) == facts)
            // That of another backup is not this one's.
            #expect(RenderedFacts(RenderedFacts.key(of: snapshots[1], store.definition), in: folder) == nil)
            try sandbox.sh("cp \(path) \(folder)/\(RenderedFacts.key(of: snapshots[1], store.definition).hexadecimal)")
            #expect(RenderedFacts(RenderedFacts.key(of: snapshots[1], store.definition), in: folder) == nil)
        }
    }

    @Test func `of too many records those that were written first are removed`() throws {
        let sandbox = try Sandbox()
        let folder = sandbox("records")
        try sandbox.sh("mkdir $R/records; cd $R/records; for n in 1 2 3 4 5; do touch -d @$((100 - n)) $n; done")
        CacheRecord.limit(folder, count: 5)
        #expect(try sandbox.sh("ls $R/records | paste -sd' '") == "1 2 3 4 5")
        CacheRecord.limit(folder, count: 2)
        #expect(try sandbox.sh("ls $R/records | paste -sd' '") == "1 2")
        CacheRecord.limit(sandbox("none"), count: 2)
    }
}
