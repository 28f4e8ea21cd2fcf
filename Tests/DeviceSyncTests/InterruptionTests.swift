import BackupCore
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import DeviceSync

/// A round of two devices that fails at each of its requests and steps, one after the other.
struct InterruptionTests {
    /// Two devices that have changed one record at once, and one record each.
    private struct Pair {
        let server = SimulatedServer()
        let first: TestDevice
        let second: TestDevice

        init() throws {
            first = try TestDevice(SimulatedStorage(server))
            second = try TestDevice(SimulatedStorage(server))
            for key in ["a", "b", "c"] { first.database.appSets(key, "old") }
            for device in [first, second] { try device.exchange() }
            first.database.appSets("a", "earlier")
            first.database.appSets("b", "of the first")
            first.database.appSets("c", nil)
            second.advance(milliseconds: 5)
            second.database.appSets("a", "later")
            second.database.appSets("d", "of the second")
            try first.exchange()
        }

        /// Both are online until nothing is left, and have what they would have had without a fault.
        func check(_ comment: String) throws {
            for device in [second, first, second] {
                device.storage.base = SimulatedStorage(server)
                #expect(try device.exchange().problems.isEmpty, "\(comment)")
            }
            for device in [first, second] {
                #expect(device.database.records == ["a": "later", "b": "of the first", "d": "of the second"], "\(comment)")
                #expect(device.conflicts.texts == ["earlier"], "\(comment)")
                #expect(try device.state.queuedChangeCount() == 0, "\(comment)")
            }
            let batches = try allBatches(in: SimulatedStorage(server))
            // No change went out twice.
            #expect(batches.map(\.changes.count).sorted() == [2, 3, 3], "\(comment)")
        }
    }

    @Test(arguments: [
        SimulatedFault.lostRequest, .lostAnswer, .duplicate, .late(requestCount: 2), .denied, .serverError, .wrongBytes,
        .truncated,
        .killed(hasEffect: true), .killed(hasEffect: false),
    ])
    func `each request of a round can fail`(fault: SimulatedFault) throws {
        var requestCount = 1
        for number in 1... {
            guard number <= requestCount else { break }
            let pair = try Pair()
            var network = SimulatedNetwork()
            network.scheduled = [number: fault]
            let storage = SimulatedStorage(pair.server, network)
            pair.second.storage.base = storage
            do throws(BackupError) {
                _ = try pair.second.exchange()
            } catch {
                #expect([.offline, .accessDenied, .inputOutput, .damagedContent, .interrupted].contains(error.code), "\(number)")
            }
            requestCount = max(requestCount, number == 1 ? 4 : storage.requestCount)
            try pair.check("request \(number)")
        }
        #expect(requestCount >= 4)
    }

    @Test(arguments: [BatchMerge.Point.conflictsKept, .intentRecorded, .rowsWritten, .committed], [false, true])
    func `a round can be interrupted at each step, and the app may write before the next`(
        point: BatchMerge.Point, appWrites: Bool
    ) throws {
        let pair = try Pair()
        pair.second.interruption = point
        #expect(errorCode { try pair.second.exchange() } == .interrupted)
        if appWrites {
            pair.second.advance(milliseconds: 5)
            pair.second.database.appSets("b", "written after the crash")
            try pair.second.exchange()
            try pair.first.exchange()
            try pair.second.exchange()
            for device in [pair.first, pair.second] {
                #expect(device.database.records["b"] == "written after the crash")
                #expect(device.conflicts.texts.isSuperset(of: ["earlier"]))
            }
        } else {
            try pair.check("\(point)")
        }
    }

    @Test(arguments: [BatchMerge.Point.intentRecorded, .rowsWritten, .committed])
    func `another device's changes may come first after an interruption`(point: BatchMerge.Point) throws {
        let server = SimulatedServer()
        let devices = try (0..<3).map { _ in try TestDevice(SimulatedStorage(server)) }
        let (first, second, third) = (devices[0], devices[1], devices[2])
        first.database.appSets("a", "old")
        for device in devices { try device.exchange() }
        first.database.appSets("a", "new")
        second.database.appSets("b", "other")
        for device in [first, second] { try device.exchange() }
        third.interruption = point
        third.storage.hidden = second.state.device
        #expect(errorCode { try third.exchange() } == .interrupted)
        third.storage.hidden = first.state.device
        try third.exchange(finds: false)
        #expect(third.database.records["b"] == "other")
        third.storage.hidden = nil
        for device in [third, first, second] { try device.exchange() }
        for device in devices { #expect(device.database.records == ["a": "new", "b": "other"]) }
        // Neither what it has merged nor what it has not counts as a change of its app.
        #expect(try allBatches(in: SimulatedStorage(server)).allSatisfy { $0.device != third.state.device })
    }

    @Test func `what was found offline is uploaded later`() throws {
        let server = SimulatedServer()
        let first = try TestDevice(SimulatedStorage(server))
        let second = try TestDevice(SimulatedStorage(server))
        var network = SimulatedNetwork()
        network.chances = [(.lostRequest, 1)]
        first.storage.base = SimulatedStorage(server, network)
        for number in 0..<3 {
            first.database.appSets("\(number)", "text")
            #expect(errorCode { try first.exchange() } == .offline)
            #expect(try first.state.queuedChangeCount() == number + 1)
        }
        first.storage.base = SimulatedStorage(server)
        #expect(try first.exchange().uploadedCount == 3)
        try second.exchange()
        #expect(second.database.records == ["0": "text", "1": "text", "2": "text"])
    }

    @Test func `a full remote is still read`() throws {
        var options = SimulatedServer.Options()
        options.capacityBytes = 1_500
        let server = SimulatedServer(options)
        let first = try TestDevice(SimulatedStorage(server))
        let second = try TestDevice(SimulatedStorage(server))
        first.database.appSets("a", "text")
        try first.exchange()
        second.database.appSets("b", String(repeating: "x", count: 2_000))
        #expect(errorCode { try second.exchange() } == .noSpace)
        #expect(second.database.records["a"] == "text")
        #expect(try second.state.queuedChangeCount() == 1)
    }
}
