import BackupCore
import SystemIO

/// The rows of one destination by the path of the copy, with 16 bytes of memory for each. For one thread.
final class CopiedRows {
    private struct Slot {
        let hash: Int
        let offset: UInt64
    }

    private let file: SharedFile
    private var slots: [Slot] = []
    private var hasher = SHA256Hasher()

    /// Copies that are not at the destination.
    private(set) var failureCount = 0
    /// Copies that are as the source is, which differs from a list that came with it.
    private(set) var mismatchCount = 0
    /// The algorithms whose digests all rows of files have.
    private(set) var algorithms: Set<HashAlgorithm>?

    /// Of all rows: another run that changes nothing has the same.
    private(set) var state = ""

    var count: Int { slots.count + failureCount }
    /// Copies that are at the destination.
    var copiedCount: Int { slots.count }

    private init(_ file: SharedFile) { self.file = file }

    /// - Returns: the rows of each destination, by its path.
    static func load(_ folder: JobFolder) throws(BackupError) -> [String: CopiedRows] {
        let file = try SharedFile(path: folder.results)
        var all: [String: CopiedRows] = [:]
        var lines = LineFile(file)
        var offset = lines.offset
        while let line = try lines.next() {
            if let row = RecordedRow(line) {
                let rows = all[row.destination] ?? CopiedRows(file)
                all[row.destination] = rows
                rows.add(row, at: offset)
                line.withUnsafeBytes { rows.hasher.update($0) }
            }
            offset = lines.offset
        }
        for rows in all.values {
            rows.slots.sort { $0.hash < $1.hash }
            rows.state = rows.hasher.finish().hexadecimal
        }
        return all
    }

    private func add(_ row: RecordedRow, at offset: UInt64) {
        if row.status == .sourceMismatch { mismatchCount += 1 }
        guard row.status.isSuccess || row.status == .sourceMismatch else {
            failureCount += 1
            return
        }
        slots.append(Slot(hash: row.target.hashValue, offset: offset))
        // Links have none.
        let own = row.digests.algorithms
        if !own.isEmpty { algorithms = algorithms?.intersection(own) ?? own }
    }

    /// - Returns: `nil` for a file that this job has not copied.
    func row(_ target: [UInt8]) throws(BackupError) -> RecordedRow? {
        let hash = target.hashValue
        var index = slots.partitioningIndex { $0.hash >= hash }
        while index < slots.count, slots[index].hash == hash {
            var lines = LineFile(file, from: slots[index].offset, partByteCount: 1_024)
            if let line = try lines.next(), let row = RecordedRow(line), row.target == target { return row }
            index += 1
        }
        return nil
    }
}
