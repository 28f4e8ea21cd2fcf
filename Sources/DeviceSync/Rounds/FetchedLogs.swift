import BackupCore

/// The new batches of all devices, one in memory for each, in an order in which a change comes after those that its device had
/// seen.
///
/// A log that is damaged or has a gap ends there: nothing of it is skipped, and the other logs go on.
struct FetchedLogs {
    private let log: DeviceLog
    private var rest: [DeviceID: ArraySlice<DeviceLogName>] = [:]
    private var positions: SeenBatches
    private var heads: [DeviceID: ChangeBatch] = [:]
    private(set) var problems: [BackupError] = []

    /// - Parameters:
    ///   - names: ascending for each device.
    ///   - positions: how far each device's log is merged.
    init(_ log: DeviceLog, _ names: [DeviceLogName], after positions: SeenBatches) {
        self.log = log
        self.positions = positions
        for name in names { rest[name.device, default: []].append(name) }
    }

    /// The next batch; each has to be merged or stopped before the next call.
    /// - Throws: when the storage cannot be read.
    mutating func next() throws(BackupError) -> ChangeBatch? {
        for device in rest.keys.sorted() where heads[device] == nil { try load(device) }
        let first = heads.values.min { left, right in
            switch (left.lastStamp, right.lastStamp) {
            case (let left?, let right?): left < right
            case (nil, let right): right != nil
            case (_, nil): false
            }
        }
        if let first { heads[first.device] = nil }
        return first
    }

    /// Ends the log of a batch that cannot be merged.
    mutating func stop(_ batch: ChangeBatch, _ problem: BackupError) {
        rest[batch.device] = nil
        problems.append(problem)
    }

    private mutating func load(_ device: DeviceID) throws(BackupError) {
        guard let name = rest[device]?.popFirst() else {
            rest[device] = nil
            return
        }
        let expected = (positions[device] ?? 0) + 1
        do throws(BackupError) {
            guard name.sequence == expected else {
                let missing = DeviceLogName(device: device, sequence: expected)
                throw BackupError(
                    .notFound, "changes of the device \(device.shortText) are missing",
                    path: "\(log.storage.location)/\(missing.object)",
                    remedy: "Its later changes are not merged. Bring the object back, from a version or a copy of the remote.")
            }
            heads[device] = try log.read(name)
            positions[device] = name.sequence
        } catch {
            guard [.damagedContent, .unsupportedVersion, .notFound, .tooLarge].contains(error.code) else { throw error }
            rest[device] = nil
            problems.append(error)
        }
    }
}
