import BackupCore
import BackupRepository
import Export
import Restore
import SystemIO

/// Tells whether an archive is one of the store's own, whoever hands it in: then it was made from a backup whose every byte is checked, and
/// what a foreign archive may not hold (links that leave the media folder, a folder of zeros) is just what the user has there.
struct OwnArchive {
    private static let bufferSizeBytes = 1 << 20

    let repository: Repository

    /// Compares the file with the archives that have its size, byte by byte. A backup that cannot be read is none of them.
    func isArchive(_ file: ImportSource) throws(BackupError) -> Bool {
        try repository.refresh()
        return try snapshot(of: file, among: repository.snapshots()) != nil
    }

    /// The snapshot whose archive the file is.
    func snapshot(of file: ImportSource, among snapshots: [Snapshot]) throws(BackupError) -> Snapshot? {
        for snapshot in snapshots.reversed() where snapshot.record.archiveSizeBytes == file.sizeBytes {
            guard let table = try? SnapshotArchive.table(of: snapshot, .zip, in: repository) else { continue }
            if (try? isEqual(table, file.bytes)) == true { return snapshot }
        }
        return nil
    }

    private func isEqual(_ table: ExtentTable, _ file: any ByteSource) throws(BackupError) -> Bool {
        var offset: UInt64 = 0
        var ours = [UInt8](repeating: 0, count: Self.bufferSizeBytes)
        // Most archives of one size differ near their beginning: they are told apart before much is read.
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
