import BackupCore
import SQLite
import SystemIO

/// A repository's structures, for the fuzzer: for any bytes, reading returns a value or an error, and a value that was read is
/// written back as it was read.
package enum StructureProbe: String, CaseIterable, Sendable {
    case record, label, source, directory, list
    case packIndex = "pack-index"
    case note, config
    case configCopy = "config-copy"
    case register

    /// Reads a structure and writes it again.
    /// - Returns: a description of the value, and its bytes; `nil` where the reader only reports that it is not such a structure.
    /// - Throws: errors of the reader.
    package func reread(_ bytes: [UInt8]) throws(BackupError) -> (description: String, bytes: [UInt8])? {
        switch self {
        case .record:
            let record = try SnapshotRecord(decoding: bytes)
            let snapshot = Snapshot(id: Self.snapshot, record: record, label: nil)
            // Formatting it for display must not trap. The text is not compared, since attributes have no order.
            _ = "\(snapshot.name) \(snapshot.publicAttributes) \(snapshot.tags) \(ISO8601.format(record.creationTime))"
            return (Self.describe(record), record.encode())
        case .label:
            let label = try SnapshotLabel(decoding: bytes, for: Self.snapshot)
            return ("\(label)", label.encode(for: Self.snapshot))
        case .source:
            guard let id = SourceID(hexadecimal: String(repeating: "0", count: 32)) else { return nil }
            let document = try SourceDocument(decoding: bytes, for: id)
            return ("\(document)", document.encode())
        case .directory:
            let directory = try Directory(decoding: bytes)
            let names = directory.entries.filter { directory.entry(named: $0.name) == nil }
            return ("\(directory.totals) \(names)", directory.encode())
        case .list:
            let content = try ContentList.decode(bytes)
            return ("\(content)", ContentList.encode(content))
        case .packIndex:
            let index = try PackIndex(decoding: bytes, isSealed: false)
            _ = index.storedChunks(in: PackID(Self.snapshot.digest))
            return ("\(index.kind) \(index.entries)", index.encode())
        case .note:
            guard let holder = LockHolder(decoding: bytes) else { return nil }
            return ("\(holder)", holder.encode())
        case .config:
            let configuration = try RepositoryConfiguration(decoding: bytes)
            return ("\(configuration)", configuration.encode())
        case .configCopy:
            let copy = try ConfigurationCopy(decoding: bytes)
            return ("\(copy)", copy.encode())
        case .register:
            let register = try SnapshotRegister(decoding: bytes)
            return ("\(register.isLabelled.sorted { $0.key < $1.key })", register.encode())
        }
    }

    private static func describe(_ record: SnapshotRecord) -> String {
        let maps = [record.archiveLayout.prefixes, record.attributes].map { map in
            map.map { (Array($0.key.utf8), Array($0.value.utf8)) }.sorted { $0.0.lexicographicallyPrecedes($1.0) }
        }
        return "\(record.kind) \(record.name) \(record.creationTime) \(String(describing: record.parent)) \(record.root) "
            + "\(record.archiveSizeBytes) \(record.token) \(maps)"
    }

    /// The snapshot that labels and documents must belong to.
    private static let snapshot = SnapshotID(SHA256Hasher.hash([]))

    /// A valid structure of each kind, as seed for the fuzzer.
    package var example: [UInt8] {
        get throws(BackupError) {
            let chunk = FileContent(elements: [.literal([1, 2, 3]), .chunk(ChunkID(Self.snapshot.digest), plainLength: 99)])
            let list = FileContent(elements: [.list(ChunkID(Self.snapshot.digest), plainLength: 5_000)])
            switch self {
            case .record:
                return SnapshotRecord(
                    kind: .snapshot, name: "a", creationTime: Timestamp(seconds: 1_700_000_000), parent: Self.snapshot,
                    root: StoredDirectory(content: chunk, totals: try Directory(entries: []).totals), archiveSizeBytes: 7,
                    archiveLayout: ["media/": "photos/"], attributes: ["app": "x", "sequence": "3", "tag": "t"]
                ).encode()
            case .label:
                return SnapshotLabel(name: "b", isPinned: true, verifiedAt: Timestamp(seconds: 9), tags: ["x", "y"]).encode(
                    for: Self.snapshot)
            case .source:
                guard let id = SourceID(hexadecimal: String(repeating: "0", count: 32)) else { return [] }
                return SourceDocument(
                    id: id, storeID: "s", app: "a", title: "A", hostName: "h", storePath: "/s", definition: "d",
                    settings: "app: a\n"
                ).encode()
            case .directory:
                let sums = ContentHasher.hash([1, 2, 3])
                let file = StoredFile(content: list, checksums: sums)
                return try Directory(entries: [
                    .file(
                        name: "f", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: file,
                        metadata: .of(
                            owner: FileOwner(user: 1, group: 2), link: EntryMetadata.Link(fileSystem: 0, inode: 3),
                            holeBytes: 4_096,
                            extendedAttributes: [ExtendedAttribute(name: Array("user.a".utf8), value: [0, 1])]))
                ]).encode()
            case .list: return ContentList.encode(list)
            case .packIndex:
                return PackIndex(
                    kind: .data,
                    entries: [
                        PackEntry(
                            id: ChunkID(Self.snapshot.digest), codec: .raw, storedLength: 4, plainLength: 4, plainCRC32: 1,
                            storedCRC32: 1, base: nil)
                    ], isSealed: false
                ).encode()
            case .note: return LockHolder(lock: "lock", isExclusive: true, operation: "backup").encode()
            case .config:
                return RepositoryConfiguration(repositoryID: String(repeating: "0", count: 32), chunker: .standard).encode()
            case .configCopy: return ConfigurationCopy(of: try Self.config.example, keys: nil).encode()
            case .register:
                var register = SnapshotRegister()
                register.enter([Self.snapshot])
                register.enterLabel(of: Self.snapshot)
                return register.encode()
            }
        }
    }
}

/// A small repository whose catalog the fuzzer replaces.
package enum CatalogProbe {
    /// A repository to work on, with what it should hold.
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

    /// Puts other bytes in the catalog's place.
    package static func replace(_ ground: Ground, with bytes: [UInt8]) throws(BackupError) {
        let path = ground.path + "/catalog.sqlite"
        for suffix in ["", "-wal", "-shm"] { try FileSystem.removeFile(path + suffix) }
        try FileSystem.writeForReaders(path, bytes)
    }

    /// Runs statements in the catalog; those that SQLite rejects are ignored.
    package static func run(_ script: String, in ground: Ground) {
        try? DatabaseConnection(ground.path + "/catalog.sqlite", .create, .catalog).execute(script)
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
