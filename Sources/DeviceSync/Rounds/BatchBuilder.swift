import AppData
import BackupCore

/// Makes batches of a device's changes and adds them to its queue, inside a transaction of its state.
struct BatchBuilder {
    /// A record that is larger is not sent.
    static let recordLimitBytes = ChangeBatch.limitBytes / 2

    private let state: DeviceState
    private let log: DeviceLog
    private let form: RecordForm
    private let seen: SeenBatches
    private var sequence: UInt64
    private var changes: [Change] = []
    private var sizeBytes = 0
    private(set) var changeCount = 0

    init(_ state: DeviceState, _ log: DeviceLog, _ form: RecordForm) throws(BackupError) {
        self.state = state
        self.log = log
        self.form = form
        seen = try state.positions()
        sequence = try state.nextSequence()
    }

    /// - Returns: the number of the batch that it is in.
    mutating func add(_ change: Change) throws(BackupError) -> UInt64 {
        let added = sequence
        changes.append(change)
        changeCount += 1
        sizeBytes += 32 + Self.sizeBytes(of: change.values ?? [change.key])
        if sizeBytes >= ChangeBatch.intendedSizeBytes { try close() }
        return added
    }

    /// Adds the last batch. Call it once.
    mutating func finish() throws(BackupError) { if !changes.isEmpty { try close() } }

    private mutating func close() throws(BackupError) {
        let batch = ChangeBatch(
            device: state.device, sequence: sequence, app: form.app, schemaVersion: form.schemaVersion, seen: seen,
            collections: form.collections.map { ChangeBatch.Collection(name: $0.name, fields: $0.fields) }, changes: changes)
        try state.enqueue(
            QueuedBatch(sequence: sequence, changeCount: UInt64(changes.count), object: try log.sealed(batch)))
        try state.noteSeen(seen, by: state.device, sequence)
        changes = []
        sizeBytes = 0
        sequence = try state.nextSequence()
    }

    static func sizeBytes(of values: [FieldValue]) -> Int {
        values.reduce(0) { sum, value in
            switch value {
            case .text(let bytes), .blob(let bytes): sum + bytes.count + 5
            case .null, .integer, .real, .boolean: sum + 9
            }
        }
    }
}
