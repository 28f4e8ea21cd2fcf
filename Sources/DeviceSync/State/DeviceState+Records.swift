import BackupCore
import SQLite

/// What a device knows of a record: its content when it was last seen, and the change that this comes from.
struct KnownRecord: Equatable {
    /// `nil` for a deleted record.
    var digest: SHA256Digest?
    var stamp: ChangeStamp
    /// The batch that the change is in.
    var sequence: UInt64
    /// Whether its deletion waits for the user.
    var isHeld = false
}

extension DeviceState {
    private static let columns = "digest, milliseconds, counter, device, sequence"

    func record(_ collection: String, _ key: [UInt8]) throws(BackupError) -> KnownRecord? {
        let row = try connection.keptStatement(
            "SELECT \(Self.columns), held FROM records WHERE collection = ?1 AND key = ?2")
        defer { row.reset() }
        try row.bind([collection])
        try row.bind(2, copyingBlob: key)
        guard try row.step() else { return nil }
        var known = try known(row, 0)
        known.isHeld = row.integer(5) == 1
        return known
    }

    func set(_ collection: String, _ key: [UInt8], _ known: KnownRecord) throws(BackupError) {
        let statement = try connection.keptStatement(
            "INSERT OR REPLACE INTO records (collection, key, \(Self.columns), held) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
        try bind(collection, key, known, to: statement)
        statement.bind(8, integer: known.isHeld ? 1 : 0)
        try statement.run()
    }

    /// Records that are not deleted, as far as the device knows.
    func liveCount() throws(BackupError) -> Int {
        Int(try connection.integer("SELECT count(*) FROM records WHERE digest IS NOT NULL") ?? 0)
    }

    func heldCount() throws(BackupError) -> Int {
        Int(try connection.integer("SELECT count(*) FROM records WHERE held = 1") ?? 0)
    }

    /// Each record that is not deleted. Nothing may be written meanwhile.
    func forEachLive(_ body: (_ collection: String, _ key: [UInt8]) throws(BackupError) -> Void) throws(BackupError) {
        let rows = try connection.statement("SELECT collection, key FROM records WHERE digest IS NOT NULL")
        while try rows.step() { try body(rows.text(0), Array(rows.bytes(1, isText: false))) }
    }

    private func known(_ row: DatabaseStatement, _ first: Int32) throws(BackupError) -> KnownRecord {
        var digest: SHA256Digest?
        if row.type(first) != .null {
            guard let found = SHA256Digest(bytes: row.bytes(first, isText: false)) else { throw damaged }
            digest = found
        }
        let stamp = ChangeStamp(
            milliseconds: try sequence(row, first + 1), counter: try sequence(row, first + 2),
            device: try deviceID(row, first + 3))
        return KnownRecord(digest: digest, stamp: stamp, sequence: try sequence(row, first + 4))
    }

    /// Parameters 1 to 7.
    private func bind(
        _ collection: String, _ key: [UInt8], _ known: KnownRecord, to statement: DatabaseStatement
    ) throws(BackupError) {
        try statement.bind([collection])
        try statement.bind(2, copyingBlob: key)
        if let digest = known.digest { try statement.bind(3, copyingBlob: digest.bytes) } else { statement.bindNull(3) }
        statement.bind(4, integer: Int64(clamping: known.stamp.milliseconds))
        statement.bind(5, integer: Int64(clamping: known.stamp.counter))
        try statement.bind(6, copyingBlob: known.stamp.device.bytes)
        statement.bind(7, integer: Int64(clamping: known.sequence))
    }

    // MARK: What is being applied

    func setApplying(_ collection: String, _ key: [UInt8], _ known: KnownRecord) throws(BackupError) {
        let statement = try connection.keptStatement(
            "INSERT OR REPLACE INTO applying (collection, key, \(Self.columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
        try bind(collection, key, known, to: statement)
        try statement.run()
    }

    /// What a merge was about to write when it ended: empty unless it was interrupted.
    func applying() throws(BackupError) -> [(collection: String, key: [UInt8], known: KnownRecord)] {
        let rows = try connection.statement("SELECT collection, key, \(Self.columns) FROM applying")
        var found: [(collection: String, key: [UInt8], known: KnownRecord)] = []
        while try rows.step() { found.append((rows.text(0), Array(rows.bytes(1, isText: false)), try known(rows, 2))) }
        return found
    }

    func clearApplying() throws(BackupError) { try connection.run("DELETE FROM applying") }
}
