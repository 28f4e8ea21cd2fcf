import BackupCore
import BackupRepository
import Export
import SystemIO

/// Tells whether an archive is one of the store's own, whoever hands it in: then it was made from a backup whose every byte is checked, and
/// what a foreign archive may not hold (links that leave the media folder, a folder of zeros) is just what the user has there.
struct OwnArchive {
    private static let bufferSizeBytes = 1 << 20

    let repository: Repository

    /// Compares the file with the archives that have its size, byte by byte. A backup that cannot be read is none of them.
    func isArchive(_ path: String) throws(BackupError) -> Bool {
        let file = try SharedFile(path: path)
        try repository.refresh()
        for snapshot in repository.snapshots().reversed() where snapshot.record.archiveSizeBytes == file.size {
            guard let members = try? SnapshotArchive.members(of: snapshot, in: repository),
                let table = try? ZIPLayout.table(for: members)
            else { continue }
            if (try? isEqual(table, file)) == true { return true }
        }
        return false
    }

    private func isEqual(_ table: ExtentTable, _ file: SharedFile) throws(BackupError) -> Bool {
        var offset: UInt64 = 0
        var theirs = [UInt8](repeating: 0, count: Self.bufferSizeBytes)
        var ours = [UInt8](repeating: 0, count: Self.bufferSizeBytes)
        // Most archives of one size differ near their beginning: they are told apart before much is read.
        while offset < table.size {
            let count = Int(min(UInt64(Self.bufferSizeBytes), table.size - offset))
            try read(file, at: offset, into: &theirs, count)
            try read(StoredSource(table, in: repository), at: offset, into: &ours, count)
            guard theirs[..<count] == ours[..<count] else { return false }
            offset += UInt64(count)
        }
        return true
    }

    private func read(
        _ source: some ByteSource, at offset: UInt64, into bytes: inout [UInt8], _ count: Int
    ) throws(BackupError) {
        var done = 0
        while done < count {
            let read = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
                try source.read(
                    at: offset + UInt64(done), into: UnsafeMutableRawBufferPointer(rebasing: buffer[done..<count]))
            }
            guard read > 0 else { throw BackupError(.inputOutput, "a file became shorter while it was read") }
            done += read
        }
    }
}
