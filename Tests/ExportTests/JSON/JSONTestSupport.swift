import AppData
import BackupCore
import Export
import Foundation
import SystemIO
import Testing

/// Bytes in memory as a source; gives them in small pieces when asked to.
final class MemorySource: ByteSource {
    private let bytes: [UInt8]
    private let pieceSize: Int

    init(_ bytes: [UInt8], pieceSize: Int = .max) {
        self.bytes = bytes
        self.pieceSize = pieceSize
    }

    convenience init(_ text: String, pieceSize: Int = .max) { self.init(Array(text.utf8), pieceSize: pieceSize) }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let start = min(Int(offset), bytes.count)
        let count = min(buffer.count, bytes.count - start, pieceSize)
        buffer.copyBytes(from: bytes[start..<start + count])
        return count
    }
}

/// A folder that goes when the test ends.
final class JSONTestFolder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "backupfs-json-" + RandomToken.make()
        try FileSystem.makeDirectories(path)
    }

    deinit { try? FileSystem.removeTree(path) }

    func file(_ name: String) -> String { path + "/" + name }
}

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

/// Runs a program and gives what it prints.
func jsonTool(_ program: String, _ arguments: [String], input: [UInt8]? = nil) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    let output = Foundation.Pipe()
    process.standardOutput = output
    process.standardError = output
    let folder = try JSONTestFolder()
    if let input {
        try Data(input).write(to: URL(fileURLWithPath: folder.file("input")))
        process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: folder.file("input")))
    }
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: text, as: UTF8.self))
}

/// The EV charging tracker, and databases of it.
enum EVFixture {
    /// One day after the example was made.
    static let now = Timestamp(seconds: 1_768_228_200)  // 2026-01-12T14:30:00Z
    static let exportTime = Timestamp(seconds: 1_768_141_800)  // 2026-01-11T14:30:00Z

    static func definition() throws -> AppDefinition { try AppDefinition.builtIn(named: "ev-charging-tracker") }

    static func validate(_ text: String) throws -> ImportSummary {
        let definition = try definition()
        return try ImportValidator(definition: definition, now: now)
            .validate(WireReader(MemorySource(text), definition: definition))
    }

    /// Imports the text into a new database and exports that again.
    static func roundTrip(_ text: String, in folder: JSONTestFolder, bufferSizeBytes: Int = 256 << 10) throws -> MemorySink {
        let definition = try definition()
        let database = try AppDatabase.create(at: folder.file("app-\(RandomToken.make()).sqlite"), definition: definition)
        let reader = WireReader(MemorySource(text), definition: definition, bufferSizeBytes: bufferSizeBytes)
        let summary = try ImportValidator(definition: definition, now: now).validate(reader)
        try database.replaceAll(from: reader, expectedCounts: summary.recordCounts)
        let sink = MemorySink()
        let statistics = try database.readSnapshot { (snapshot) throws(BackupError) in
            try WireWriter(definition: definition).write(snapshot, createdAt: exportTime, to: sink)
        }
        #expect(statistics.recordCounts == summary.recordCounts)
        #expect(statistics.anomalies == [])
        return sink
    }

    /// The example of the app's own description of its format.
    static let example = """
        {
          "metadata": {
            "createdAt": "2026-01-11T14:30:00Z",
            "appVersion": "2026.1.1",
            "deviceName": "iPhone 15 Pro",
            "databaseSchemaVersion": 1
          },
          "cars": [
            {
              "id": 1,
              "name": "Tesla Model 3",
              "selectedForTracking": true,
              "batteryCapacity": 60.0,
              "expenseCurrency": "USD",
              "currentMileage": 15000,
              "initialMileage": 0,
              "milleageSyncedAt": "2026-01-11T12:00:00Z",
              "createdAt": "2024-06-01T10:00:00Z"
            }
          ],
          "expenses": [
            {
              "id": 1,
              "date": "2026-01-10T18:30:00Z",
              "energyCharged": 45.5,
              "chargerType": "home7kW",
              "odometer": 14950,
              "cost": "12.50",
              "notes": "Home charging overnight",
              "isInitialRecord": false,
              "expenseType": "charging",
              "currency": "USD",
              "carId": 1
            }
          ],
          "plannedMaintenance": [
            {
              "id": 1,
              "carId": 1,
              "description": "Tire rotation",
              "scheduledDate": "2026-02-15T10:00:00Z",
              "isCompleted": false
            }
          ],
          "delayedNotifications": [
            {
              "id": "notification-uuid-1",
              "title": "Maintenance reminder",
              "body": "Time for tire rotation",
              "scheduledDate": "2026-02-14T09:00:00Z"
            }
          ],
          "userSettings": {
            "preferredCurrency": "USD",
            "preferredLanguage": "en"
          }
        }

        """
}
