import AppData
import BackupCore
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import DeviceSync

/// Random histories of two or three devices, with wrong clocks, a bad network, crashes, and an app that writes at any moment.
struct HistoryTests {
    private static let keys = ["a", "b", "c", "d"]
    private static let seeds: UInt64 = 1_000
    private static let points: [BatchMerge.Point] = [.conflictsKept, .intentRecorded, .rowsWritten, .committed]

    /// In parts, so that several threads can take them.
    @Test(arguments: Rounds.seeds(10, oneIn: 10))
    func `all devices end equal, and nothing is lost`(part: UInt64) throws {
        for seed in stride(from: part, to: Self.seeds, by: 10) {
            let history = try History(seed: seed)
            try history.run()
            try history.settle()
            try history.check()
        }
    }

    private final class History {
        let seed: UInt64
        var generator: SeededGenerator
        let server = SimulatedServer()
        let devices: [TestDevice]
        var writeCount = 0

        init(seed: UInt64) throws {
            self.seed = seed
            generator = SeededGenerator(seed: seed)
            let count = Int.random(in: 2...3, using: &generator)
            var devices: [TestDevice] = []
            for _ in 0..<count {
                let device = try TestDevice(SimulatedStorage(server))
                // Years of difference; some clocks are before 1970 or at the end of time.
                let offset: Int64 =
                    [0, 5, -3_600_000, 3_600_000, -63_072_000_000, 1_000_000_000_000_000]
                    .randomElement(using: &generator) ?? 0
                device.now = Timestamp(seconds: 1_800_000_000 + offset / 1_000)
                devices.append(device)
            }
            self.devices = devices
            // So that no deletion empties a database.
            for device in devices { device.database.appSets("base", "base") }
        }

        func run() throws {
            for _ in 0..<Int.random(in: 8...24, using: &generator) {
                let device = devices[Int.random(in: devices.indices, using: &generator)]
                device.advance(milliseconds: Int64.random(in: 0...2_000, using: &generator))
                switch Int.random(in: 0..<10, using: &generator) {
                case 0..<4: try write(on: device)
                case 4: device.advance(milliseconds: Int64.random(in: -100_000...100_000, using: &generator))
                case 5: try device.findChanges()
                default: exchange(device)
                }
            }
        }

        private func write(on device: TestDevice) throws {
            writeCount += 1
            let key = HistoryTests.keys[Int.random(in: HistoryTests.keys.indices, using: &generator)]
            // A record that comes and goes between two looks was never there, and neither was one of a merge that a crash has cut
            // off before the device knew that it was complete.
            let isKnown = try device.state.record("notes", RecordKey.bytes(key))?.digest != nil && device.state.applying().isEmpty
            device.database.appSets(
                key, Int.random(in: 0..<4, using: &generator) == 0 ? nil : "\(seed).\(writeCount)", isKnown: isKnown)
        }

        /// A round that may fail anywhere.
        private func exchange(_ device: TestDevice) {
            var network = SimulatedNetwork()
            if Bool.random(using: &generator) {
                network.chances = [
                    (.lostRequest, 0.05), (.lostAnswer, 0.05), (.late(requestCount: 3), 0.05), (.duplicate, 0.03),
                    (.serverError, 0.03), (.wrongBytes, 0.03), (.truncated, 0.03), (.killed(hasEffect: true), 0.02),
                    (.killed(hasEffect: false), 0.02),
                ]
            }
            device.storage.base = SimulatedStorage(server, network, seed: generator.next())
            if Int.random(in: 0..<3, using: &generator) == 0 {
                device.interruption = HistoryTests.points.randomElement(using: &generator)
            }
            device.storage.hidden =
                Int.random(in: 0..<4, using: &generator) == 0 ? devices.randomElement(using: &generator)?.state.device : nil
            if Int.random(in: 0..<4, using: &generator) == 0 {
                device.database.beforeWriting = { [unowned self, unowned device] in
                    device.database.beforeWriting = nil
                    _ = try? write(on: device)
                }
            }
            _ = try? device.exchange(
                looksForDevices: Bool.random(using: &generator), finds: Int.random(in: 0..<3, using: &generator) > 0)
            device.database.beforeWriting = nil
            device.interruption = nil
            device.storage.hidden = nil
        }

        /// All are online, until each has seen what each has.
        func settle() throws {
            for _ in 0..<3 {
                for device in devices {
                    device.storage.base = SimulatedStorage(server)
                    let report = try device.exchange()
                    #expect(report.problems.isEmpty, "seed \(seed)")
                }
            }
        }

        func check() throws {
            let batches = try allBatches(in: SimulatedStorage(server))
            for (_, log) in Dictionary(grouping: batches, by: \.device) {
                #expect(log.map(\.sequence) == Array(1...UInt64(log.count)), "seed \(seed)")
            }
            let changes = batches.flatMap { batch in batch.changes.map { (batch: batch, change: $0) } }
            // By the stamps alone, without the code that merges.
            var expected: [String: String] = [:]
            var latest: [String: Change] = [:]
            for (_, change) in changes {
                guard let key = change.key.string else { continue }
                if let known = latest[key], known.stamp > change.stamp { continue }
                latest[key] = change
                expected[key] = change.values?[1].string
            }
            for device in devices { #expect(device.database.records == expected, "seed \(seed)") }
            checkLosers(changes, latest, expected)
        }

        private func checkLosers(
            _ changes: [(batch: ChangeBatch, change: Change)], _ latest: [String: Change], _ expected: [String: String]
        ) {
            let conflicts = devices.map(\.conflicts.texts)
            let replacedByApp = devices.reduce(into: Set<String>()) { $0.formUnion($1.database.replacedByApp) }
            for (batch, change) in changes {
                guard let key = change.key.string, let text = change.values?[1].string, expected[key] != text else { continue }
                #expect(
                    conflicts.contains { $0.contains(text) } || replacedByApp.contains(text),
                    "seed \(seed): \(text) has disappeared")
                // Whether any later change of the record was made by a device that had seen this one.
                let isSuperseded = changes.contains { later in
                    later.change.key == change.key && later.change.stamp > change.stamp
                        && (later.batch.device == batch.device
                            || later.batch.seen[batch.device] ?? 0 >= batch.sequence)
                }
                if !isSuperseded {
                    #expect(conflicts.allSatisfy { $0.contains(text) }, "seed \(seed): \(text) is not kept everywhere")
                }
            }
            // What a merge has replaced was in a log before.
            let logged = Set(changes.compactMap { $0.change.values?[1].string })
            for device in devices {
                #expect(device.database.replacedByMerge.isSubset(of: logged), "seed \(seed)")
                let deleted = Set(
                    changes.filter { $0.batch.device == device.state.device && $0.change.values == nil }
                        .compactMap(\.change.key.string))
                #expect(device.database.broughtBack.isSubset(of: deleted), "seed \(seed)")
            }
        }
    }
}
