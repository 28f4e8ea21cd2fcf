import BackupCore
import SQLite

/// A batch that is not uploaded, as the bytes that are to be stored.
struct QueuedBatch: Equatable {
    let sequence: UInt64
    let changeCount: UInt64
    let object: [UInt8]
}

extension DeviceState {
    /// The number of the next batch.
    func nextSequence() throws(BackupError) -> UInt64 {
        let next = try number(.sequence) + 1
        guard ChangeBatch.sequences.contains(next) else {
            throw BackupError(.notSupported, "there are no numbers left for changes", path: connection.path)
        }
        return next
    }

    /// Adds the next batch.
    func enqueue(_ batch: QueuedBatch) throws(BackupError) {
        let statement = try connection.keptStatement("INSERT INTO queue VALUES (?1, ?2, ?3)")
        statement.bind(1, integer: Int64(clamping: batch.sequence))
        statement.bind(2, integer: Int64(clamping: batch.changeCount))
        try statement.bind(3, copyingBlob: batch.object)
        try statement.run()
        try set(.sequence, batch.sequence)
    }

    /// The first batch that is not uploaded, from a number on.
    func queued(from sequence: UInt64 = 0) throws(BackupError) -> QueuedBatch? {
        let row = try connection.keptStatement(
            "SELECT sequence, changes, object FROM queue WHERE sequence >= ?1 ORDER BY sequence LIMIT 1")
        defer { row.reset() }
        row.bind(1, integer: Int64(clamping: sequence))
        guard try row.step() else { return nil }
        return QueuedBatch(
            sequence: try self.sequence(row, 0), changeCount: try self.sequence(row, 1),
            object: Array(row.bytes(2, isText: false)))
    }

    /// Changes that are not uploaded.
    func queuedChangeCount() throws(BackupError) -> Int {
        Int(try connection.integer("SELECT coalesce(sum(changes), 0) FROM queue") ?? 0)
    }

    func noteUploaded(_ batch: QueuedBatch) throws(BackupError) {
        try remove(batch)
        try set(.uploaded, batch.sequence)
        try set(.uploadedChanges, try number(.uploadedChanges) + batch.changeCount)
    }

    private func remove(_ batch: QueuedBatch) throws(BackupError) {
        let statement = try connection.keptStatement("DELETE FROM queue WHERE sequence = ?1")
        statement.bind(1, integer: Int64(clamping: batch.sequence))
        try statement.run()
    }

    /// Becomes another device: a copy of this one uses its identity. What is uploaded under the old one stays its log, from where
    /// the copy goes on; what is queued moves to the new log.
    func takeNewIdentity(_ log: DeviceLog) throws(BackupError) {
        try transaction { () throws(BackupError) in
            let old = device
            let uploaded = try number(.uploaded)
            let new = try DeviceID.random()
            if uploaded > 0 { try setPosition(of: old, uploaded) }
            try moveRecords(from: old, after: uploaded, to: new)
            try set(.uploaded, 0)
            try set(.sequence, 0)
            // One by one: the new number of each is below the old numbers of all that follow.
            var last: UInt64 = 0
            while let queued = try queued(from: uploaded + last + 1) {
                let name = DeviceLogName(device: old, sequence: queued.sequence).object.text
                let batch = try ChangeBatch(decoding: log.protection.open(queued.object, name))
                var seen = batch.seen
                if uploaded > 0 { seen[old] = uploaded }
                last += 1
                let object = try log.sealed(batch.moved(to: new, sequence: last, seen: seen))
                try remove(queued)
                try enqueue(QueuedBatch(sequence: last, changeCount: queued.changeCount, object: object))
                try noteSeen(seen, by: new, last)
            }
            try take(new)
        }
    }

    private func moveRecords(from old: DeviceID, after uploaded: UInt64, to new: DeviceID) throws(BackupError) {
        let update = try connection.statement(
            "UPDATE records SET device = ?1, sequence = sequence - ?2 WHERE device = ?3 AND sequence > ?2")
        try update.bind(1, copyingBlob: new.bytes)
        update.bind(2, integer: Int64(clamping: uploaded))
        try update.bind(3, copyingBlob: old.bytes)
        try update.run()
    }
}
