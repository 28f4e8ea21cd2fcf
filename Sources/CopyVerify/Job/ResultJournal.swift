import BackupCore
import Formats
import Glibc
import Synchronization
import SystemIO

/// `results.jsonl`: the rows of a job, in the order in which they became certain. A row is written after its copy is durable.
final class ResultJournal: Sendable {
    private let path: String
    private let file: OwnedDescriptor
    private let written: Mutex<WrittenRows>
    /// The rows of earlier runs.
    let earlier: RecordedRows

    /// Opens the rows of a job, or begins them. Rows of copies that failed, of copies that are no longer there, and a last line
    /// that is torn, are removed: those copies are made again, and get a row then.
    /// - Parameter isStillTrue: asked for each row.
    init(_ folder: JobFolder, keeping isStillTrue: (RecordedRow) -> Bool) throws(BackupError) {
        path = folder.results
        if try FileSystem.exists(path) { try Self.keep(path, isStillTrue) }
        file = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW)
        try FileSystem.synchronizeDirectory(folder.path)
        earlier = try RecordedRows(path)
        written = Mutex(WrittenRows(start: try file.status().size))
    }

    /// The rows of this run.
    var ownRows: WrittenRows { written.withLock { $0 } }

    private static func keep(_ path: String, _ isStillTrue: (RecordedRow) -> Bool) throws(BackupError) {
        let draft = path + ".kept"
        try FileSystem.removeFile(draft)
        let kept = try OwnedDescriptor.open(draft, O_WRONLY | O_CREAT | O_EXCL)
        var lines = try LineFile(path: path)
        var text: [UInt8] = []
        while let line = try lines.next() {
            guard let row = RecordedRow(line), isStillTrue(row) else { continue }
            text += line + [10]
            if text.count > 1 << 20 {
                try kept.writeAll(text)
                text = []
            }
        }
        try kept.writeAll(text)
        try kept.synchronize()
        try FileSystem.rename(draft, to: path)
    }

    /// Appends rows durably.
    func append(_ rows: [ResultRow]) throws(BackupError) {
        guard !rows.isEmpty else { return }
        var text = RowText(recordedAt: SystemClock.now())
        for row in rows { text.add(row) }
        let bytes = text.bytes
        let result = written.withLock { written in
            Result { () throws(BackupError) in
                do throws(BackupError) {
                    try file.writeAll(bytes)
                    written.add(rows)
                    try file.synchronize()
                } catch {
                    // A part of a line may be there.
                    written.isWhole = false
                    throw error
                }
            }
        }
        try result.get()
    }
}

/// What is known of the rows that a run has written, without reading them again.
struct WrittenRows: Sendable {
    /// Where they begin in the file.
    let start: UInt64
    /// Whether the file has nothing but them from there on.
    var isWhole = true
    /// For each destination.
    private(set) var counts: [String: RowCounts] = [:]
    /// Failures that are not those of a destination.
    private(set) var failureCount = 0

    init(start: UInt64) { self.start = start }

    fileprivate mutating func add(_ rows: [ResultRow]) {
        for row in rows {
            counts[row.destination, default: RowCounts()].byStatus[row.status, default: 0] += 1
            if !row.status.isSuccess, !row.isDropped { failureCount += 1 }
        }
    }
}

/// The rows of earlier runs by path and destination. It keeps 16 bytes for each, and reads the row itself when it is asked for.
final class RecordedRows: Sendable {
    private struct Entry: Sendable {
        let hash: Int
        let offset: UInt64
    }

    private let path: String
    private let entries: [Entry]

    init(_ path: String) throws(BackupError) {
        self.path = path
        var entries: [Entry] = []
        var lines = try LineFile(path: path)
        var offset = lines.offset
        while let line = try lines.next() {
            if let row = RecordedRow(line) {
                entries.append(Entry(hash: Self.hash(row.path, row.destination), offset: offset))
            }
            offset = lines.offset
        }
        entries.sort { $0.hash < $1.hash }
        self.entries = entries
    }

    /// Whether there is a row of a file and a destination.
    func has(_ path: [UInt8], destination: String) throws(BackupError) -> Bool {
        guard !entries.isEmpty else { return false }
        let hash = Self.hash(path, destination)
        var index = entries.partitioningIndex { $0.hash >= hash }
        while index < entries.count, entries[index].hash == hash {
            var lines = try LineFile(path: self.path, from: entries[index].offset, partByteCount: 1_024)
            if let line = try lines.next(), let row = RecordedRow(line), row.path == path, row.destination == destination {
                return true
            }
            index += 1
        }
        return false
    }

    /// Of this process. Two paths with one hash cost time only: the row has the path.
    private static func hash(_ path: [UInt8], _ destination: String) -> Int {
        var hasher = Hasher()
        hasher.combine(path)
        hasher.combine(destination)
        return hasher.finalize()
    }
}
