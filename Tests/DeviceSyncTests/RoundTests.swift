import BackupCore
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import DeviceSync

/// Single rounds of a few devices.
struct RoundTests {
    let server = SimulatedServer()

    private var storage: SimulatedStorage { SimulatedStorage(server) }

    @Test func `a change of one device comes to the others, without a conflict`() throws {
        let first = try TestDevice(storage)
        let second = try TestDevice(storage)
        first.database.appSets("a", "one")
        let sent = try first.exchange()
        #expect((sent.foundCount, sent.uploadedCount, sent.mergedCount) == (1, 1, 0))
        let received = try second.exchange()
        #expect((received.foundCount, received.uploadedCount, received.mergedCount) == (0, 0, 1))
        #expect(second.database.records == ["a": "one"])
        // Changed by turns, with clocks years apart: each has seen the other's.
        second.now = Timestamp(seconds: 1_000)
        for round in 0..<4 {
            let device = round % 2 == 0 ? second : first
            let other = round % 2 == 0 ? first : second
            device.database.appSets("a", "turn \(round)")
            try device.exchange()
            try other.exchange()
            #expect(other.database.records == ["a": "turn \(round)"])
        }
        second.database.appSets("a", nil)
        second.database.appSets("b", "left")
        try second.exchange()
        try first.exchange()
        #expect(first.database.records == ["b": "left"])
        #expect(first.conflicts.kept + second.conflicts.kept == [])
        // Nothing echoes.
        for device in [first, second, first, second] { #expect(try device.exchange().foundCount == 0) }
        #expect(try allBatches(in: storage).count == 6)
    }

    @Test func `of two changes at once the later wins, and the other is kept on both devices`() throws {
        let devices = try [TestDevice(storage), TestDevice(storage)]
        devices[0].database.appSets("a", "old")
        for device in devices { try device.exchange() }
        devices[1].advance(milliseconds: 5)
        devices[0].database.appSets("a", "earlier")
        devices[1].database.appSets("a", "later")
        for device in devices + devices { try device.exchange() }
        for device in devices {
            #expect(device.database.records == ["a": "later"])
            let conflict = try #require(device.conflicts.kept.first)
            #expect(device.conflicts.kept.count == 1)
            #expect(conflict.values == [.text("a"), .text("earlier")])
            #expect(conflict.fields == ["id", "text"])
            #expect(conflict.stamp.device == devices[0].state.device)
            #expect(conflict.winner.device == devices[1].state.device)
        }
    }

    @Test func `a deletion and a change at once: the later wins, and values are kept`() throws {
        let devices = try [TestDevice(storage), TestDevice(storage)]
        for key in ["a", "b", "c"] { devices[0].database.appSets(key, "old") }
        for device in devices { try device.exchange() }
        devices[0].database.appSets("a", "changed")
        devices[1].database.appSets("b", "changed")
        devices[1].advance(milliseconds: 5)
        devices[1].database.appSets("a", nil)
        devices[0].database.appSets("b", nil)
        for device in devices + devices { try device.exchange() }
        for device in devices {
            #expect(device.database.records == ["b": "changed", "c": "old"])
            #expect(device.conflicts.kept.map(\.values) == [[.text("a"), .text("changed")]])
        }
    }

    @Test func `equal records of two devices are no conflict, and what a device brings loses against known changes`() throws {
        let first = try TestDevice(storage)
        first.database.appSets("a", "same")
        first.database.appSets("b", "old")
        try first.exchange()
        first.database.appSets("b", "changed")
        try first.exchange()
        // Its clock is ahead, but its values may be of any age.
        let second = try TestDevice(storage)
        second.advance(milliseconds: 1_000_000)
        second.database.appSets("a", "same")
        second.database.appSets("b", "other")
        second.database.appSets("c", "new")
        for device in [second, first, second] { try device.exchange() }
        for device in [first, second] {
            #expect(device.database.records == ["a": "same", "b": "changed", "c": "new"])
            // Which of the first two values is older is not known, so one of them may be kept as well.
            #expect(device.conflicts.texts.contains("other"))
            #expect(device.conflicts.texts.isSubset(of: ["other", "old"]))
        }
    }

    @Test func `a backup is made once, before the first merge`() throws {
        let first = try TestDevice(storage)
        let second = try TestDevice(storage)
        first.database.appSets("a", "one")
        for device in [first, first, second, second] { try device.exchange() }
        #expect((first.backupCount, second.backupCount) == (0, 1))
        first.database.appSets("a", "two")
        for device in [first, second] { try device.exchange() }
        #expect((first.backupCount, second.backupCount) == (0, 1))
    }

    @Test func `many deletions at once wait for the user, also when there are more records later`() throws {
        let first = try TestDevice(storage)
        let second = try TestDevice(storage)
        for number in 0..<20 { first.database.appSets("\(number)", "text") }
        for device in [first, second] { try device.exchange() }
        for number in 0..<11 { first.database.appSets("\(number)", nil) }
        try first.exchange()
        #expect(try first.state.heldCount() == 11)
        for number in 20..<60 { first.database.appSets("\(number)", "text") }
        // One of them comes back, and one is changed by the other device.
        first.database.appSets("0", "text")
        second.database.appSets("1", "changed")
        for device in [first, second, first, second] { try device.exchange() }
        #expect(try first.state.heldCount() == 9)
        #expect(first.database.records["1"] == "changed")
        #expect(second.database.records.count == 60)
        // A few more are deletions as usual.
        first.database.appSets("20", nil)
        for device in [first, second] { try device.exchange() }
        #expect(second.database.records.count == 59)
        try first.exchange(acceptsDeletions: true)
        try second.exchange()
        #expect(try first.state.heldCount() == 0)
        #expect(second.database.records.count == 50)
        #expect(second.database.records == first.database.records)
    }

    @Test func `an empty database deletes nothing elsewhere`() throws {
        let first = try TestDevice(storage)
        let second = try TestDevice(storage)
        for key in ["a", "b"] { first.database.appSets(key, "text") }
        for device in [first, second] { try device.exchange() }
        for key in ["a", "b"] { first.database.appSets(key, nil) }
        for device in [first, second] { try device.exchange() }
        #expect(try first.state.heldCount() == 2)
        #expect(second.database.records == ["a": "text", "b": "text"])
    }

    @Test func `a record that the definition does not allow is reported, and the rest goes on`() throws {
        let first = try TestDevice(storage)
        let second = try TestDevice(storage)
        first.database.appSets("a", "invalid")
        first.database.appSets("b", "valid")
        let report = try first.exchange()
        #expect(
            report.problems.map(\.message.english) == [
                "the record a of notes is not sent to other devices: the text is not valid"
            ])
        second.database.appSets("c", "valid")
        for device in [second, first] { try device.exchange() }
        #expect(second.database.records == ["b": "valid", "c": "valid"])
        #expect(first.database.records == ["a": "invalid", "b": "valid", "c": "valid"])
        // It is not overwritten unseen either.
        second.database.appSets("a", "theirs")
        try second.exchange()
        #expect(try first.exchange().problems.count == 1)
        #expect(first.database.records["a"] == "invalid")
        first.database.appSets("a", "corrected")
        for device in [first, second] { try device.exchange() }
        #expect(second.database.records["a"] == first.database.records["a"])
        #expect(second.conflicts.texts == first.conflicts.texts)
        #expect(first.conflicts.texts.count == 1)
    }

    @Test func `data of a later version of the app waits until the app is updated`() throws {
        let first = try TestDevice(storage)
        let second = try TestDevice(storage)
        first.database.form = RecordForm(
            app: "notes", schemaVersion: 2, collections: MemoryDatabase.form.collections)
        first.database.appSets("a", "text")
        try first.exchange()
        let report = try second.exchange()
        #expect(report.problems.map(\.code) == [.unsupportedVersion])
        #expect(second.database.records == [:])
        second.database.form = first.database.form
        #expect(try second.exchange().problems.isEmpty)
        #expect(second.database.records == ["a": "text"])
    }
}
