import AppData
import BackupCore
import Formats
import Foundation
import SystemIO
import TestSupport
import Testing

/// Gathers what an export writes.
final class MemorySink: WireSink {
    var whole: [UInt8] = []
    var collections: [String: [UInt8]] = [:]
    var order: [String] = []
    private var current: String?

    func write(literal bytes: UnsafeRawBufferPointer) throws(BackupError) {
        precondition(current == nil, "literal bytes inside a collection")
        whole += bytes
    }

    func beginCollection(_ name: String) throws(BackupError) {
        current = name
        order.append(name)
        collections[name] = []
    }

    func write(collection bytes: UnsafeRawBufferPointer) throws(BackupError) {
        whole += bytes
        collections[current ?? "none", default: []] += bytes
    }

    func endCollection(_ name: String) throws(BackupError) {
        precondition(current == name, "another collection ends")
        current = nil
    }
}

/// The EV charging tracker, and databases of it.
enum EVFixture {
    /// One day after the example was made.
    static let now = Timestamp(seconds: 1_768_228_200)  // 2026-01-12T14:30:00Z
    static let exportTime = Timestamp(seconds: 1_768_141_800)  // 2026-01-11T14:30:00Z

    static func definition() throws -> AppDefinition { try AppDefinition.builtIn(named: "ev-charging-tracker") }

    static func validate(_ text: String) throws -> ImportSummary {
        let definition = try definition()
        return try WireImport(MemorySource(text), definition: definition, now: now).summary
    }

    /// Imports the text into a new database and exports that again.
    static func roundTrip(_ text: String, in folder: TemporaryFolder, bufferSizeBytes: Int = 256 << 10) throws -> MemorySink {
        let definition = try definition()
        let database = try AppDatabase.create(at: folder("app-\(RandomToken.make()).sqlite"), definition: definition)
        let file = try WireImport(MemorySource(text), definition: definition, now: now, bufferSizeBytes: bufferSizeBytes)
        let summary = file.summary
        try database.replaceAll(from: file.reader, expectedCounts: summary.recordCounts)
        let sink = MemorySink()
        let statistics = try database.readSnapshot { (snapshot) throws(BackupError) in
            try WireWriter().write(snapshot, createdAt: exportTime, to: sink)
        }
        #expect(statistics.recordCounts == summary.recordCounts)
        #expect(statistics.anomalies == [])
        return sink
    }
}
