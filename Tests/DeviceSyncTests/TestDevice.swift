import AppData
import BackupCore
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport

@testable import DeviceSync

protocol InterruptibleDevice: AnyObject {
    /// Where the next round is interrupted.
    var interruption: BatchMerge.Point? { get set }
}

extension InterruptibleDevice {
    func reach(_ point: BatchMerge.Point) throws(BackupError) {
        guard point == interruption else { return }
        interruption = nil
        throw BackupError(.interrupted, "the device has crashed")
    }
}

/// A device with records in memory.
final class TestDevice: InterruptibleDevice {
    let database = MemoryDatabase()
    private(set) var state: DeviceState
    let conflicts = ListedConflicts()
    let storage: FilteredStorage
    private(set) var backupCount = 0
    var now = Timestamp(seconds: 1_800_000_000)
    var interruption: BatchMerge.Point?
    var protection = LogProtection.none

    init(_ storage: any ObjectStorage, statePath: String = ":memory:") throws {
        self.storage = FilteredStorage(storage)
        state = try DeviceState(path: statePath)
    }

    func reopen(_ statePath: String) throws { state = try DeviceState(path: statePath) }

    /// One round.
    @discardableResult
    func exchange(
        acceptsDeletions: Bool = false, looksForDevices: Bool = true, finds: Bool = true
    ) throws(BackupError) -> RoundReport {
        let round = DeviceRound(
            database: database, state: state, storage: storage, protection: protection, conflicts: conflicts,
            now: { [unowned self] in now }, backUp: { [unowned self] () throws(BackupError) in backupCount += 1 },
            reached: { [unowned self] (point) throws(BackupError) in try reach(point) })
        var report = RoundReport()
        if finds { try round.findChanges(&report, acceptsDeletions: acceptsDeletions) }
        try round.exchange(&report, looksForDevices: looksForDevices)
        return report
    }

    /// Only what needs no remote.
    func findChanges() throws(BackupError) {
        let round = DeviceRound(
            database: database, state: state, storage: storage, protection: protection, conflicts: conflicts,
            now: { [unowned self] in now }, backUp: { () throws(BackupError) in })
        var report = RoundReport()
        try round.findChanges(&report)
    }

    func advance(milliseconds: Int64) {
        let total = now.seconds * 1_000 + Int64(now.nanoseconds / 1_000_000) + milliseconds
        now = Timestamp(seconds: total / 1_000, nanoseconds: UInt32(total % 1_000) * 1_000_000)
    }
}

/// A storage whose listings do not show everything: what a device sees when it looks before others have finished.
final class FilteredStorage: ObjectStorage, @unchecked Sendable {
    var base: any ObjectStorage
    var hidden: DeviceID?

    init(_ base: any ObjectStorage) { self.base = base }

    var location: String { base.location }
    var capabilities: StorageCapabilities { base.capabilities }

    func list(prefix: String, after previous: ObjectName?, limit: Int) throws(BackupError) -> ObjectPage {
        let page = try base.list(prefix: prefix, after: previous, limit: limit)
        return ObjectPage(
            objects: page.objects.filter { hidden == nil || DeviceLogName($0.name)?.device != hidden }, hasMore: page.hasMore)
    }

    func look(_ name: ObjectName) throws(BackupError) -> ObjectFacts? { try base.look(name) }

    func read(
        _ name: ObjectName, range: Range<UInt64>?, _ consume: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) -> ObjectFacts { try base.read(name, range: range, consume) }

    func create(_ name: ObjectName, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion { try base.create(name, draft) }

    func replace(
        _ name: ObjectName, version: ObjectVersion, _ draft: ObjectDraft
    ) throws(BackupError) -> ObjectVersion { try base.replace(name, version: version, draft) }

    func remove(_ name: ObjectName, version: ObjectVersion?) throws(BackupError) {
        try base.remove(name, version: version)
    }
}

/// All batches in a storage, in the order of their names.
func allBatches(in storage: any ObjectStorage) throws -> [ChangeBatch] {
    let log = DeviceLog(storage: storage, protection: .none)
    return try log.newBatches(after: [:]).map { try log.read($0) }
}

enum TestID {
    /// With ascending bytes.
    static func device(_ first: UInt8) -> DeviceID { id(first..<first + 16) }

    static func device(repeating byte: UInt8) -> DeviceID { id(repeatElement(byte, count: 16)) }

    private static func id(_ bytes: some Collection<UInt8>) -> DeviceID {
        guard let id = DeviceID(bytes: bytes) else { preconditionFailure("a device ID has 16 bytes") }
        return id
    }
}

enum RecordKey {
    /// As the state has it.
    static func bytes(_ key: String) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(FieldValue.text(key))
        return writer.bytes
    }
}
