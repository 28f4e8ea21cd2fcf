import AppData
import BackupCore
import BackupRepository
import Formats
import Restore
import SnapshotFormats
import SystemIO

/// Detects whether an archive is one of the store's own, wherever the file comes from. If so, it was made from a backup whose
/// every byte is checked. Content that a foreign archive may not hold (links that leave the media folder, a folder of zeros) is
/// then legitimate user data.
struct SelfMadeArchiveCheck {
    private static let bufferSizeBytes = 1 << 20

    let repository: Repository
    /// The exports that a mount shows although no snapshot has them; `nil` if they are not compared.
    var rendered: RenderedSnapshots?

    /// Compares the file byte by byte with the archives that have its size. An unreadable backup does not match.
    func snapshot(of file: ImportSource) throws(BackupError) -> Snapshot? {
        try repository.refresh()
        return try snapshot(of: file, among: repository.snapshots())
    }

    /// Whether the file equals, byte by byte, the export or the database of one of the store's own backups. Only checks files
    /// long enough to be refused for the length of their metadata: each check reads a folder of each backup.
    func isStoredFile(_ file: ImportSource) throws(BackupError) -> Bool {
        guard file.sizeBytes > UInt64(ImportValidator.metadataTextLimitBytes) else { return false }
        return try !snapshots(withFile: file).isEmpty
    }

    /// The backups whose export or database equals the file.
    /// - Returns: one backup for each of their different databases, newest first: exports without a creation time can be equal
    ///   for different data.
    func snapshots(withFile file: ImportSource) throws(BackupError) -> [Snapshot] {
        try repository.refresh()
        var found: [Snapshot] = []
        var databases: Set<SHA256Digest?> = []
        var compared: [FileContent: Bool] = [:]
        var crc32: UInt32?
        for snapshot in repository.snapshots().reversed() {
            guard let root = try? repository.rootDirectory(of: snapshot) else { continue }
            if isRenderedExport(of: snapshot, file, &crc32) {
                if databases.insert(root.entry(named: Self.database)?.checksums?.sha256).inserted { found.append(snapshot) }
                continue
            }
            for name in ["export.json", Self.database] as [FileName] {
                guard let entry = root.entry(named: name), entry.size == file.sizeBytes else { continue }
                let isSame = compared[entry.content] ?? isFile(entry.content, file)
                compared[entry.content] = isSame
                guard isSame else { continue }
                if databases.insert(root.entry(named: Self.database)?.checksums?.sha256).inserted { found.append(snapshot) }
                break
            }
        }
        return found
    }

    /// - Parameter crc32: of the file, once it was read.
    private func isRenderedExport(of snapshot: Snapshot, _ file: ImportSource, _ crc32: inout UInt32?) -> Bool {
        guard let rendered, let facts = rendered.knownFacts(of: snapshot), facts.sizeBytes == file.sizeBytes else { return false }
        // Rendering one of them takes longer than reading the file.
        if crc32 == nil { crc32 = try? SourceChecksums.of(file.bytes).crc32 }
        guard facts.crc32 == crc32, let files = try? rendered.files(of: snapshot, in: repository) else { return false }
        return (try? isEqual(files.export.table, file.bytes)) == true
    }

    /// The snapshot without an export whose archive equals the file: the archive as it is stored, or as a mount shows it.
    func snapshotWithoutExport(of file: ImportSource, among snapshots: [Snapshot]) throws(BackupError) -> Snapshot? {
        if let snapshot = try snapshot(of: file, among: snapshots) { return snapshot }
        for snapshot in snapshots.reversed() {
            guard let rendered, let sizes = rendered.knownFacts(of: snapshot)?.archiveSizes else { continue }
            for (format, sizeBytes) in [(ArchiveFormat.zip, sizes.zip), (.tar, sizes.tar)] where sizeBytes == file.sizeBytes {
                guard let files = try? rendered.files(of: snapshot, in: repository),
                    let table = try? SnapshotArchive.table(of: snapshot, format, with: files, in: repository)
                else { continue }
                if (try? isEqual(table, file.bytes)) == true { return snapshot }
            }
        }
        return nil
    }

    /// Whether a file equals what is stored. What cannot be read does not.
    func isFile(_ content: FileContent, _ file: ImportSource) -> Bool {
        guard let pieces = try? repository.pieces(of: content) else { return false }
        return (try? isEqual(ExtentTable(plainContent: pieces), file.bytes)) == true
    }

    private static let database: FileName = "database.sqlite"

    /// The database of a snapshot.
    func database(of snapshot: Snapshot) -> StoredDatabase {
        StoredDatabase { [repository] () throws(BackupError) in
            let root = try repository.rootDirectory(of: snapshot)
            guard let index = root.index(named: Self.database) else { return nil }
            let table = ExtentTable(plainContent: try repository.pieces(of: root.entries[index].content))
            return (StoredSource(table, in: repository), table.size)
        }
    }

    /// The snapshot whose archive equals the file.
    func snapshot(of file: ImportSource, among snapshots: [Snapshot]) throws(BackupError) -> Snapshot? {
        for snapshot in snapshots.reversed() {
            for format in ArchiveFormat.allCases where size(of: snapshot, format) == file.sizeBytes {
                guard let table = try? SnapshotArchive.table(of: snapshot, format, in: repository) else { continue }
                if (try? isEqual(table, file.bytes)) == true { return snapshot }
            }
        }
        return nil
    }

    /// The recorded size: a tar archive without one is not compared.
    private func size(of snapshot: Snapshot, _ format: ArchiveFormat) -> UInt64? {
        switch format {
        case .zip: snapshot.record.archiveSizeBytes
        case .tar: snapshot.tarSizeBytes(layoutVersion: TARLayout.version)
        }
    }

    private func isEqual(_ table: ExtentTable, _ file: any ByteSource) throws(BackupError) -> Bool {
        var offset: UInt64 = 0
        var ours = [UInt8](repeating: 0, count: Self.bufferSizeBytes)
        // Most archives of equal size differ near the beginning, so little is read.
        while offset < table.size {
            let count = try ours.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
                try repository.read(table, at: offset, into: buffer)
            }
            guard try file.bytes(at: offset, upTo: count)[...] == ours[..<count] else { return false }
            offset += UInt64(count)
        }
        return true
    }
}
