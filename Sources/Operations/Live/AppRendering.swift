import AppData
import BackupCore
import Export
import Glibc
import SystemIO

/// One instant of the app's records: the export, with the places of its collections in it, and a copy of the database. Both lie in spool
/// files without names. Made inside one read transaction, so that they agree whatever the app writes meanwhile.
final class AppRendering: Sendable {
    let createdAt: Timestamp
    let export: SpoolFile
    /// Where `data/NAME.json` lies in the export, in the definition's order.
    let collections: [(name: String, range: Range<UInt64>)]
    let database: SpoolFile
    let counts: [RecordCount]
    let appVersion: String
    let deviceName: String

    /// - Parameters:
    ///   - folder: for the spool files: empty, and on a disk with room for them. They lose their names at once.
    ///   - createdAt: the creation time that the export tells.
    init(of database: AppDatabase, in folder: String, createdAt: Timestamp) throws(BackupError) {
        self.createdAt = createdAt
        let exportPath = "\(folder)/live.json"
        let databasePath = "\(folder)/live.sqlite"
        let sink = RangeRecordingSink(try OwnedDescriptor.open(exportPath, O_WRONLY | O_CREAT | O_EXCL))
        let definition = database.definition
        (counts, appVersion, deviceName) = try database.readSnapshot { (snapshot) throws(BackupError) in
            _ = try WireWriter(definition: definition).write(snapshot, createdAt: createdAt, to: sink)
            try snapshot.copyDatabase(to: databasePath)
            return (
                try snapshot.counts(), try snapshot.metadataText("appVersion") ?? "unknown",
                try snapshot.metadataText("deviceName") ?? "unknown"
            )
        }
        collections = sink.collections
        export = try SpoolFile(consuming: exportPath)
        self.database = try SpoolFile(consuming: databasePath)
    }

    /// The database's page size, from its header (SQLite's file format, section 1.3.2).
    func databasePageSizeBytes() throws(BackupError) -> Int {
        var header = [UInt8](repeating: 0, count: 18)
        let source = database
        let count = try header.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try source.read(at: 0, into: buffer)
        }
        guard count == header.count else { return 4_096 }
        let value = Int(header[16]) << 8 | Int(header[17])
        return value == 1 ? 65_536 : max(512, value)
    }
}

/// Writes the export to a file and remembers where its collections are.
private final class RangeRecordingSink: WireSink {
    private let descriptor: OwnedDescriptor
    private var position: UInt64 = 0
    private var start: UInt64 = 0
    private(set) var collections: [(name: String, range: Range<UInt64>)] = []

    init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }

    func write(literal bytes: UnsafeRawBufferPointer) throws(BackupError) { try write(bytes) }
    func write(collection bytes: UnsafeRawBufferPointer) throws(BackupError) { try write(bytes) }
    func beginCollection(_ name: String) { start = position }
    func endCollection(_ name: String) { collections.append((name, start..<position)) }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        try descriptor.writeAll(bytes)
        position += UInt64(bytes.count)
    }
}
