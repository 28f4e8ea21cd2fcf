import AppData
import BackupCore
import SQLite

/// Finds what the app has changed since the last time, and queues it.
struct LocalChanges {
    /// What was found.
    struct Found {
        var changeCount = 0
        /// A record that cannot be sent: the first of them.
        var problem: BackupError?
        fileprivate var rowCount = 0
        fileprivate var knownCount = 0
    }

    /// More deletions than this at once, of more than half of the records, are held.
    private static let deletionLimit = 10

    let state: DeviceState
    let log: DeviceLog
    let now: Timestamp

    /// Compares the records with the state, in bounded memory. The state is changed in one transaction.
    /// - Parameter acceptsDeletions: whether deletions that wait for the user are no longer held.
    func find(_ reading: any RecordReading, acceptsDeletions: Bool) throws(BackupError) -> Found {
        try state.transaction { () throws(BackupError) in
            try recover(reading)
            var found = Found()
            let liveCount = try liveCount(reading.form)
            let isJoining = try state.number(.hasJoined) == 0
            var clock = try state.clock
            var joinCount: UInt64 = 0
            var builder = try BatchBuilder(state, log, reading.form)
            func stamp() throws(BackupError) -> ChangeStamp {
                guard isJoining else { return try clock.stamp(at: now, by: state.device) }
                // Nothing is known of when these values were set: whatever others have changed is later.
                joinCount += 1
                return ChangeStamp(milliseconds: 0, counter: joinCount, device: state.device)
            }
            for collection in reading.form.collections.indices {
                try findChanged(reading, collection, &found, &builder, stamp)
            }
            if found.knownCount < liveCount {
                try findVanished(
                    reading, liveCount: liveCount, isEmpty: found.rowCount == 0, acceptsDeletions, &builder, stamp)
            }
            try builder.finish()
            found.changeCount = builder.changeCount
            try state.set(clock)
            try state.set(.hasJoined, 1)
            return found
        }
    }

    // MARK: New and changed records

    private func findChanged(
        _ reading: any RecordReading, _ collection: Int, _ found: inout Found, _ builder: inout BatchBuilder,
        _ stamp: () throws(BackupError) -> ChangeStamp
    ) throws(BackupError) {
        let form = reading.form
        let description = form.collections[collection]
        var lastKey: [UInt8]?
        try reading.forEachRecord(of: collection) { (values) throws(BackupError) in
            found.rowCount += 1
            let key = form.key(of: values, in: collection)
            guard key != lastKey else {
                throw BackupError(
                    .invalidContent,
                    "two records of \(description.name) have the key \(values[description.keyIndex].messageText)",
                    remedy: "Give one of them another key in the app.")
            }
            lastKey = key
            let known = try state.record(description.name, key)
            if known?.digest != nil { found.knownCount += 1 }
            let digest = form.digest(of: values, in: collection)
            if var known, known.digest == digest {
                guard known.isHeld else { return }
                known.isHeld = false
                return try state.set(description.name, key, known)
            }
            if let problem = problem(reading, values, collection) {
                found.problem = found.problem ?? problem
                return
            }
            let stamp = try stamp()
            let change = Change(
                collection: collection, key: values[description.keyIndex], values: values, stamp: stamp)
            let sequence = try builder.add(change)
            try state.set(description.name, key, KnownRecord(digest: digest, stamp: stamp, sequence: sequence))
        }
    }

    private func problem(_ reading: any RecordReading, _ values: [FieldValue], _ collection: Int) -> BackupError? {
        let description = reading.form.collections[collection]
        let reason: Message
        if let problem = reading.problem(with: values, in: collection) {
            reason = problem
        } else if BatchBuilder.sizeBytes(of: values) > BatchBuilder.recordLimitBytes {
            reason = "it is larger than \(BatchBuilder.recordLimitBytes >> 20) MiB"
        } else {
            return nil
        }
        return BackupError(
            .invalidContent,
            """
            the record \(values[description.keyIndex].messageText) of \(description.name) is not sent to other devices: \
            \(reason)
            """,
            remedy: "Correct the record in the app.")
    }

    // MARK: Deleted records

    private func findVanished(
        _ reading: any RecordReading, liveCount: Int, isEmpty: Bool, _ acceptsDeletions: Bool,
        _ builder: inout BatchBuilder, _ stamp: () throws(BackupError) -> ChangeStamp
    ) throws(BackupError) {
        let form = reading.form
        let connection = state.connection
        try connection.execute(
            "CREATE TEMP TABLE IF NOT EXISTS vanished (collection INTEGER, key BLOB); DELETE FROM temp.vanished")
        let insertion = try connection.statement("INSERT INTO temp.vanished VALUES (?1, ?2)")
        var count = 0
        try state.forEachLive { (name, key) throws(BackupError) in
            guard let collection = form.collection(named: name) else { return }
            if try reading.record(of: collection, key: Self.value(of: key)) != nil { return }
            insertion.bind(1, integer: Int64(collection))
            try insertion.bind(2, copyingBlob: key)
            try insertion.run()
            count += 1
        }
        let isSuspicious = isEmpty || (count > Self.deletionLimit && count > liveCount / 2)
        let rows = try connection.statement("SELECT collection, key FROM temp.vanished")
        while try rows.step() {
            let collection = Int(rows.integer(0))
            let name = form.collections[collection].name
            let key = Array(rows.bytes(1, isText: false))
            guard var known = try state.record(name, key) else { throw state.damaged }
            if !acceptsDeletions, isSuspicious || known.isHeld {
                known.isHeld = true
            } else {
                let stamp = try stamp()
                let sequence = try builder.add(
                    Change(collection: collection, key: Self.value(of: key), values: nil, stamp: stamp))
                known = KnownRecord(digest: nil, stamp: stamp, sequence: sequence)
            }
            try state.set(name, key, known)
        }
    }

    /// Records of these collections: those of a collection that the app no longer has stay as they were.
    private func liveCount(_ form: RecordForm) throws(BackupError) -> Int {
        var count = 0
        let row = try state.connection.statement(
            "SELECT count(*) FROM records WHERE collection = ?1 AND digest IS NOT NULL")
        for collection in form.collections {
            try row.bind([collection.name])
            if try row.step() { count += Int(row.integer(0)) }
            row.reset()
        }
        return count
    }

    private static func value(of key: [UInt8]) throws(BackupError) -> FieldValue {
        var reader = ByteReader(key)
        return try reader.readValue()
    }

    // MARK: After an interruption

    /// A merge that was interrupted has written its records to the app's database or not. Those that it has written are not
    /// changes of the app.
    private func recover(_ reading: any RecordReading) throws(BackupError) {
        let applying = try state.applying()
        guard !applying.isEmpty else { return }
        var clock = try state.clock
        for (name, key, known) in applying {
            guard let collection = reading.form.collection(named: name) else { continue }
            let values = try reading.record(of: collection, key: Self.value(of: key))
            let digest = values.map { reading.form.digest(of: $0, in: collection) }
            guard digest == known.digest else { continue }
            try state.set(name, key, known)
            clock.observe(known.stamp)
        }
        try state.set(clock)
        try state.clearApplying()
    }
}
