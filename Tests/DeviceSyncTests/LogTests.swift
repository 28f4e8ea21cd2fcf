import BackupCore
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import DeviceSync

/// What can be wrong with the logs in a remote.
struct LogTests {
    let server = SimulatedServer()

    private var storage: SimulatedStorage { SimulatedStorage(server) }

    private func name(_ device: TestDevice, _ sequence: UInt64) -> ObjectName {
        DeviceLogName(device: device.state.device, sequence: sequence).object
    }

    /// Two devices with three batches each, and one that has merged nothing.
    private func devices() throws -> (first: TestDevice, second: TestDevice, reader: TestDevice) {
        let devices = try (TestDevice(storage), TestDevice(storage), TestDevice(storage))
        for number in 1...3 {
            devices.0.database.appSets("first \(number)", "text")
            devices.1.database.appSets("second \(number)", "text")
            for device in [devices.0, devices.1] { try device.exchange() }
        }
        return devices
    }

    @Test func `a missing object ends the log of its device, and nothing is skipped`() throws {
        let (first, _, reader) = try devices()
        let missing = name(first, 2)
        let (bytes, _) = try #require(try storage.contents(of: missing, limitBytes: 1 << 20))
        try storage.remove(missing, version: nil)
        for _ in 0..<2 {
            let report = try reader.exchange()
            #expect(report.problems.map(\.code) == [.notFound])
            #expect(report.problems.first?.path == "\(storage.location)/\(missing)")
            #expect(reader.database.records.keys.sorted() == ["first 1", "second 1", "second 2", "second 3"])
        }
        _ = try storage.create(missing, ObjectDraft(bytes))
        #expect(try reader.exchange().problems.isEmpty)
        #expect(reader.database.records.count == 6)
    }

    @Test func `a damaged object ends the log of its device, and nothing is skipped`() throws {
        let (first, _, reader) = try devices()
        let damaged = name(first, 2)
        let (bytes, version) = try #require(try storage.contents(of: damaged, limitBytes: 1 << 20))
        var changed = bytes
        changed[40] ^= 1
        _ = try storage.replace(damaged, version: version, ObjectDraft(changed))
        #expect(try reader.exchange().problems.map(\.code) == [.damagedContent])
        #expect(reader.database.records.keys.sorted() == ["first 1", "second 1", "second 2", "second 3"])
        // One batch in another's place.
        let (other, _) = try #require(try storage.contents(of: name(first, 3), limitBytes: 1 << 20))
        let current = try #require(try storage.look(damaged)).version
        _ = try storage.replace(damaged, version: current, ObjectDraft(other))
        #expect(try reader.exchange().problems.map(\.code) == [.damagedContent])
        #expect(reader.database.records.count == 4)
    }

    @Test func `a copy of a device's state becomes another device, and nothing is lost`() throws {
        let folder = try TemporaryFolder()
        let original = try TestDevice(storage, statePath: folder("original"))
        let other = try TestDevice(storage)
        original.database.appSets("a", "one")
        for device in [original, other] { try device.exchange() }
        // A change that is not uploaded is in the copy, too.
        original.database.appSets("b", "queued")
        try original.findChanges()
        #expect(try run(["sqlite3", folder("original"), "VACUUM INTO '\(folder("copy"))'"]).status == 0)
        let copy = try TestDevice(storage, statePath: folder("copy"))
        for (key, text) in original.database.records { copy.database.appSets(key, text) }
        #expect(copy.state.device == original.state.device)
        let id = original.state.device
        original.database.appSets("c", "of the original")
        copy.database.appSets("c", "of the copy")
        copy.database.appSets("d", "of the copy")
        for device in [original, copy, other, original, copy] { try device.exchange() }
        #expect(original.state.device == id)
        #expect(copy.state.device != id)
        for device in [original, copy, other] {
            #expect(device.database.records.keys.sorted() == ["a", "b", "c", "d"])
            #expect(device.database.records == original.database.records)
            #expect(device.conflicts.kept.count == 1)
            #expect(device.conflicts.texts.union([device.database.records["c"] ?? ""]) == ["of the original", "of the copy"])
        }
    }

    @Test func `a copy that has changed nothing also sees what the original does`() throws {
        let folder = try TemporaryFolder()
        let original = try TestDevice(storage, statePath: folder("original"))
        original.database.appSets("a", "one")
        try original.exchange()
        #expect(try run(["sqlite3", folder("original"), "VACUUM INTO '\(folder("copy"))'"]).status == 0)
        let copy = try TestDevice(storage, statePath: folder("copy"))
        copy.database.appSets("a", "one")
        original.database.appSets("a", "two")
        for device in [original, copy] { try device.exchange() }
        #expect(copy.database.records == ["a": "two"])
        #expect(copy.state.device != original.state.device)
    }

    @Test func `a state that was set back goes on as another device`() throws {
        let folder = try TemporaryFolder()
        let device = try TestDevice(storage, statePath: folder("state"))
        let other = try TestDevice(storage)
        device.database.appSets("a", "one")
        try device.exchange()
        #expect(try run(["sqlite3", folder("state"), "VACUUM INTO '\(folder("old"))'"]).status == 0)
        device.database.appSets("a", "two")
        try device.exchange()
        try device.reopen(folder("old"))
        device.database.appSets("b", "three")
        for each in [device, other, device] { try each.exchange() }
        #expect(other.database.records == ["a": "two", "b": "three"])
        #expect(device.database.records == other.database.records)
    }

    @Test func `a lost state joins again, and loses nothing`() throws {
        let (first, second, _) = try devices()
        try second.exchange()
        first.database.appSets("first 2", "unsent")
        try first.reopen(":memory:")
        for device in [first, second, first] { try device.exchange() }
        #expect(first.database.records == second.database.records)
        #expect(first.database.records.count == 6)
        // Nothing says any more when it was changed, so the change that is known counts.
        #expect(first.database.records["first 2"] == "text")
        #expect(first.conflicts.texts.union(second.conflicts.texts) == ["unsent"])
    }

    @Test func `another group or app, and an emptied place, are refused`() throws {
        let device = try TestDevice(storage)
        device.database.appSets("a", "one")
        try device.exchange()
        let emptied = SimulatedServer()
        device.storage.base = SimulatedStorage(emptied)
        #expect(try #require(failure { try device.exchange() }).code == .notFound)
        #expect(emptied.objectCount == 0)
        let stranger = try TestDevice(SimulatedStorage(emptied))
        try stranger.exchange()
        #expect(try #require(failure { try device.exchange() }).code == .conflict)
        let other = try TestDevice(storage)
        other.database.form = RecordForm(app: "tasks", schemaVersion: 1, collections: [])
        #expect(try #require(failure { try other.exchange() }).code == .invalidContent)
        #expect(emptied.objectCount == 1)
    }

    @Test func `without a key of the repository the logs do not open`() throws {
        let sealed = LogProtection(
            seal: { (bytes, name) throws(BackupError) in Array("sealed:\(name):".utf8) + bytes },
            open: { (bytes, name) throws(BackupError) in
                let mark = Array("sealed:\(name):".utf8)
                guard bytes.starts(with: mark) else { throw BackupError(.repositoryDamaged, "it does not open") }
                return Array(bytes.dropFirst(mark.count))
            })
        let devices = try [TestDevice(storage), TestDevice(storage)]
        for device in devices { device.protection = sealed }
        devices[0].database.appSets("a", "secret text")
        for device in devices { try device.exchange() }
        #expect(devices[1].database.records == ["a": "secret text"])
        let (bytes, _) = try #require(try storage.contents(of: name(devices[0], 1), limitBytes: 1 << 20))
        #expect(bytes.starts(with: Array("sealed:devices/\(devices[0].state.device)/0000000000000001.changes:bfschang".utf8)))
        let stranger = try TestDevice(storage)
        #expect(try #require(failure { try stranger.exchange() }).code == .damagedContent)
    }

    @Test func `a long log is listed with few requests`() throws {
        let first: [DeviceLogName] = (1...3_500).map { DeviceLogName(device: TestID.device(0), sequence: $0) }
        let names = first + (1...2_500).map { DeviceLogName(device: TestID.device(1), sequence: $0) }
        for name in names { server.place(name.object, sizeBytes: 1, source: MemorySource([0])) }
        let counted = storage
        let log = DeviceLog(storage: counted, protection: .none)
        let known: SeenBatches = [names[0].device: 3_490, names[3_500].device: 2_499]
        let expected = names.filter { $0.sequence > known[$0.device] ?? 0 }
        #expect(try log.newBatches(after: known) == expected)
        #expect(counted.traffic[.list].requestCount == 3)
        #expect(try log.newBatches(ofKnown: known) == expected)
        #expect(counted.traffic[.list].requestCount == 5)
        #expect(try log.newBatches(after: [:]) == names)
        #expect(try log.newBatches(ofKnown: [names[0].device: 0]) == Array(names[..<3_500]))
    }

    @Test func `a server without conditional requests does not lose a batch of a copy`() throws {
        var options = SimulatedServer.Options()
        options.capabilities = [.rangedReads]
        let plain = SimulatedServer(options)
        let folder = try TemporaryFolder()
        let original = try TestDevice(SimulatedStorage(plain), statePath: folder("original"))
        original.database.appSets("a", "one")
        try original.exchange()
        #expect(try run(["sqlite3", folder("original"), "VACUUM INTO '\(folder("copy"))'"]).status == 0)
        let copy = try TestDevice(SimulatedStorage(plain), statePath: folder("copy"))
        copy.database.appSets("a", "one")
        original.database.appSets("b", "two")
        copy.database.appSets("c", "three")
        for device in [original, copy, original] { try device.exchange() }
        #expect(original.database.records == ["a": "one", "b": "two", "c": "three"])
        #expect(copy.database.records == original.database.records)
    }
}
