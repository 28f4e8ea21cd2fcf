import BackupCore
import GRDB
import SystemIO

/// A small repository whose catalog the fuzzer replaces.
package enum CatalogProbe {
    package struct Ground {
        package let path: String
        /// The catalog as it should be.
        package let catalog: [UInt8]
        package let files: [FileName: [UInt8]]
    }

    /// Creates a repository with two snapshots.
    package static func make(at path: String) throws(BackupError) -> Ground {
        var files: [FileName: [UInt8]] = [:]
        do {
            let repository = try Repository.create(at: path)
            for number in 0..<2 {
                let writer = try repository.makeWriter()
                let name = FileName("file\(number)")
                let bytes = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 / (7 + number) &* 31) }
                files[name] = bytes
                let entry = TreeEntry.file(
                    name: name, mode: 0o600, modificationTime: Timestamp(seconds: 5),
                    stored: try writer.store(bytes, policy: .structuredText))
                _ = try writer.commit(
                    SnapshotRecord(
                        kind: .snapshot, name: name, creationTime: Timestamp(seconds: Int64(number)), parent: nil,
                        root: try writer.store([entry]), archiveSizeBytes: 0, archiveLayout: [:], attributes: [:]))
            }
        }
        return Ground(path: path, catalog: try FileSystem.readFile(path + "/catalog.sqlite"), files: files)
    }

    /// Restores the correct catalog.
    package static func restore(_ ground: Ground) throws(BackupError) { try replace(ground, with: ground.catalog) }

    package static func replace(_ ground: Ground, with bytes: [UInt8]) throws(BackupError) {
        let path = ground.path + "/catalog.sqlite"
        for suffix in ["", "-wal", "-shm"] { try FileSystem.removeFile(path + suffix) }
        try FileSystem.writeForReaders(path, bytes)
    }

    /// Runs statements in the catalog; those that SQLite rejects are ignored.
    package static func run(_ script: String, in ground: Ground) {
        guard let queue = try? DatabaseQueue(path: ground.path + "/catalog.sqlite") else { return }
        try? queue.writeWithoutTransaction { try $0.execute(sql: script) }
    }

    /// Opens the repository and reads everything that is in it.
    /// - Returns: what is wrong, or `nil`.
    package static func difference(_ ground: Ground) throws(BackupError) -> String? {
        let repository = try Repository.open(at: ground.path, catalogHome: .memory)
        guard repository.snapshots().count == ground.files.count else { return "a snapshot is gone" }
        _ = try repository.totals()
        for (name, bytes) in ground.files {
            guard let snapshot = repository.snapshot(named: name),
                let entry = try repository.rootDirectory(of: snapshot).entry(named: name)
            else { return "a file is gone" }
            if try repository.bytes(of: entry.content, limitBytes: 1 << 20) != bytes { return "\(name) has other bytes" }
        }
        // The check finds and reports a catalog that disagrees with the packs, or the catalog is correct.
        var check = RepositoryCheck(repository, readData: .all) { _ in }
        _ = try check.run()
        return nil
    }
}
