import BackupCore
import SQLite
import SystemIO

/// What a device knows of itself and of the others. For one thread at a time: the holder of the store's lock for it.
///
/// All functions that write run inside `transaction`.
public final class DeviceState {
    let connection: DatabaseConnection
    /// This device.
    private(set) var device: DeviceID

    /// - Parameter path: of the file, which is made if there is none.
    /// - Throws: `damagedContent`, `unsupportedVersion`; errors of the file system.
    public init(path: String) throws(BackupError) {
        connection = try StateDatabase.open(path)
        if let text = try connection.text("SELECT value FROM facts WHERE name = 'device'") {
            guard let device = DeviceID(text: text) else { throw StateDatabase.damaged(path) }
            self.device = device
        } else {
            device = try DeviceID.random()
            try connection.run("INSERT INTO facts VALUES ('device', ?1)", device.description)
        }
    }

    /// Its identity in the remote.
    public var deviceID: DeviceID { device }

    /// What people want to know of it.
    public struct Summary: Sendable, Equatable {
        /// Changes that are not uploaded.
        public let queuedCount: Int
        /// Changes that were uploaded so far.
        public let uploadedCount: Int
        /// Deletions that wait for the user.
        public let waitingDeletionCount: Int
        /// When the logs of the other devices were last read.
        public let lastFetch: Timestamp?
    }

    /// As of now.
    public func summary() throws(BackupError) -> Summary {
        let fetched = try number(.lastFetch)
        return Summary(
            queuedCount: try queuedChangeCount(), uploadedCount: Int(clamping: try number(.uploadedChanges)),
            waitingDeletionCount: try heldCount(),
            lastFetch: fetched == 0 ? nil : Timestamp(seconds: Int64(clamping: fetched)))
    }

    var damaged: BackupError { StateDatabase.damaged(connection.path) }

    func transaction<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        let before = device
        do throws(BackupError) {
            return try connection.transaction(.immediate, body)
        } catch {
            device = before
            throw error
        }
    }

    // MARK: Facts

    enum Fact: String {
        case device, group
        /// The clock.
        case milliseconds, counter
        /// The number of this device's last uploaded batch, and of its last one.
        case uploaded, sequence
        /// Whether the records were compared for the first time.
        case hasJoined
        /// Whether there is a backup from before the first merge.
        case hasBackup
        /// For the status: how many changes were uploaded and merged so far.
        case uploadedChanges, mergedChanges
        /// In seconds since 1970.
        case lastFetch
    }

    func number(_ fact: Fact) throws(BackupError) -> UInt64 {
        let row = try connection.keptStatement("SELECT value FROM facts WHERE name = ?1")
        defer { row.reset() }
        try row.bind([fact.rawValue])
        guard try row.step() else { return 0 }
        guard row.type(0) == .integer, row.integer(0) >= 0 else { throw damaged }
        return UInt64(row.integer(0))
    }

    func set(_ fact: Fact, _ number: UInt64) throws(BackupError) {
        let statement = try connection.keptStatement("INSERT OR REPLACE INTO facts VALUES (?1, ?2)")
        try statement.bind([fact.rawValue])
        statement.bind(2, integer: Int64(clamping: number))
        try statement.run()
    }

    func text(_ fact: Fact) throws(BackupError) -> String? {
        let row = try connection.keptStatement("SELECT value FROM facts WHERE name = ?1")
        defer { row.reset() }
        try row.bind([fact.rawValue])
        return try row.step() ? row.text(0) : nil
    }

    func set(_ fact: Fact, _ text: String) throws(BackupError) {
        try connection.run("INSERT OR REPLACE INTO facts VALUES (?1, ?2)", fact.rawValue, text)
    }

    var clock: HybridClock {
        get throws(BackupError) {
            HybridClock(milliseconds: try number(.milliseconds), counter: try number(.counter))
        }
    }

    func set(_ clock: HybridClock) throws(BackupError) {
        try set(.milliseconds, clock.milliseconds)
        try set(.counter, clock.counter)
    }

    // MARK: Positions

    /// How far the log of each other device is merged.
    func positions() throws(BackupError) -> SeenBatches {
        let rows = try connection.keptStatement("SELECT device, sequence FROM positions")
        var found: SeenBatches = [:]
        try rows.forEachRow { () throws(BackupError) in
            found[try deviceID(rows, 0)] = try sequence(rows, 1)
        }
        return found
    }

    func setPosition(of device: DeviceID, _ sequence: UInt64) throws(BackupError) {
        let statement = try connection.keptStatement("INSERT OR REPLACE INTO positions VALUES (?1, ?2)")
        try statement.bind(1, copyingBlob: device.bytes)
        statement.bind(2, integer: Int64(clamping: sequence))
        try statement.run()
    }

    // MARK: What devices had seen

    /// Whether the device that made a batch had merged another batch before.
    func had(_ device: DeviceID, _ sequence: UInt64, seen other: DeviceID, _ otherSequence: UInt64) throws(BackupError) -> Bool {
        // Its own changes, in their order.
        if device == other { return true }
        let row = try connection.keptStatement("SELECT seen FROM vectors WHERE device = ?1 AND sequence = ?2")
        defer { row.reset() }
        try row.bind(1, copyingBlob: device.bytes)
        row.bind(2, integer: Int64(clamping: sequence))
        guard try row.step() else { return false }
        return try Self.decode(Array(row.bytes(0, isText: false)), damaged)[other] ?? 0 >= otherSequence
    }

    func noteSeen(_ seen: SeenBatches, by device: DeviceID, _ sequence: UInt64) throws(BackupError) {
        let statement = try connection.keptStatement("INSERT OR REPLACE INTO vectors VALUES (?1, ?2, ?3)")
        try statement.bind(1, copyingBlob: device.bytes)
        statement.bind(2, integer: Int64(clamping: sequence))
        try statement.bind(3, copyingBlob: Self.encode(seen))
        try statement.run()
    }

    private static func encode(_ seen: SeenBatches) -> [UInt8] {
        var writer = ByteWriter()
        for (device, sequence) in seen.sorted(by: { $0.key < $1.key }) {
            writer.append(raw: device.bytes)
            writer.append(sequence)
        }
        return writer.bytes
    }

    private static func decode(_ bytes: [UInt8], _ damaged: BackupError) throws(BackupError) -> SeenBatches {
        var reader = ByteReader(bytes)
        var seen: SeenBatches = [:]
        while !reader.isAtEnd {
            guard let device = DeviceID(bytes: try reader.readRaw(count: DeviceID.byteCount)) else { throw damaged }
            seen[device] = try reader.read(UInt64.self)
        }
        return seen
    }

    // MARK: Columns

    func deviceID(_ row: DatabaseStatement, _ column: Int32) throws(BackupError) -> DeviceID {
        guard let device = DeviceID(bytes: Array(row.bytes(column, isText: false))) else { throw damaged }
        return device
    }

    func sequence(_ row: DatabaseStatement, _ column: Int32) throws(BackupError) -> UInt64 {
        guard row.type(column) == .integer, row.integer(column) >= 0 else { throw damaged }
        return UInt64(row.integer(column))
    }

    /// - Parameter new: from now on this is the device's identity; valid if the transaction commits.
    func take(_ new: DeviceID) throws(BackupError) {
        try set(.device, new.description)
        device = new
    }
}

extension DatabaseStatement {
    func bind(_ parameter: Int32, copyingBlob bytes: [UInt8]) throws(BackupError) {
        try bytes.withUnsafeBytesThrowing { (buffer) throws(BackupError) in try bind(parameter, copying: buffer) }
    }
}
