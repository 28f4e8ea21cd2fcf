import AppData
import BackupCore

/// A change of one record by one device.
struct Change: Equatable, Sendable {
    /// Index into the batch's collections.
    let collection: Int
    let key: FieldValue
    /// All members of the record, in the order of the batch's collection; `nil` for a deletion.
    let values: [FieldValue]?
    let stamp: ChangeStamp
}

/// Consecutive changes of one device: one object of its log.
struct ChangeBatch: Equatable, Sendable {
    /// The members of a kind of records when the batch was made.
    struct Collection: Equatable, Sendable {
        let name: String
        let fields: [String]
    }

    /// Numbers of batches: as many as 16 digits have.
    static let sequences: ClosedRange<UInt64> = 1...9_999_999_999_999_999

    let device: DeviceID
    /// From 1 on, without gaps.
    let sequence: UInt64
    let app: String
    let schemaVersion: UInt32
    /// What the device had merged of the others when it made these changes.
    let seen: SeenBatches
    let collections: [Collection]
    /// Their stamps ascend.
    let changes: [Change]

    /// The order in which batches of several devices are merged: one comes after those that its device had seen.
    var lastStamp: ChangeStamp? { changes.last?.stamp }

    /// The same changes as those of another device, which has taken the place of this one.
    func moved(to device: DeviceID, sequence: UInt64, seen: SeenBatches) -> ChangeBatch {
        ChangeBatch(
            device: device, sequence: sequence, app: app, schemaVersion: schemaVersion, seen: seen, collections: collections,
            changes: changes.map {
                Change(collection: $0.collection, key: $0.key, values: $0.values, stamp: $0.stamp.with(device))
            })
    }
}
