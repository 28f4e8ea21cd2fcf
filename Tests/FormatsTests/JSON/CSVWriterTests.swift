import AppData
import BackupCore
import Formats
import Foundation
import SystemIO
import TestSupport
import Testing

@Suite("CSV for spreadsheets")
struct CSVWriterTests {
    private func export(_ text: String, to folder: TemporaryFolder) throws -> [(path: String, count: Int)] {
        let definition = try EVFixture.definition()
        let database = try AppDatabase.create(at: folder("app.sqlite"), definition: definition)
        try database.replaceAll(from: WireReader(MemorySource(text), definition: definition))
        return try database.readSnapshot { (snapshot) throws(BackupError) in
            try CSVWriter().write(snapshot, toFolder: folder("csv/new"))
        }
    }

    private func text(_ folder: TemporaryFolder, _ name: String) throws -> String {
        String(decoding: try FileSystem.readFile(folder("csv/new/\(name)")), as: UTF8.self)
    }

    @Test("one file for each collection, as RFC 4180 has it")
    func example() throws {
        let folder = try TemporaryFolder()
        let written = try export(SampleDocument.text, to: folder)
        #expect(written.map(\.count) == [1, 1, 1, 1])
        #expect(
            try text(folder, "cars.csv")
                == "id,name,selectedForTracking,batteryCapacity,expenseCurrency,currentMileage,initialMileage,milleageSyncedAt,createdAt\r\n"
                + "1,Tesla Model 3,true,60.0,USD,15000,0,2026-01-11T12:00:00Z,2024-06-01T10:00:00Z\r\n")
        #expect(
            try text(folder, "expenses.csv")
                == "id,date,energyCharged,chargerType,odometer,cost,notes,isInitialRecord,expenseType,currency,carId\r\n"
                + "1,2026-01-10T18:30:00Z,45.5,home7kW,14950,12.50,Home charging overnight,false,charging,USD,1\r\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("csv/new")).count == 4)
    }

    @Test("quotes where they are needed, null apart from empty")
    func quoting() throws {
        let folder = try TemporaryFolder()
        let text = SampleDocument.text.replacing("Tire rotation", with: #"a,b \"c\"\r\nd"#)
            .replacing("Home charging overnight", with: "").replacing("\"cost\": \"12.50\"", with: "\"cost\": null")
            .replacing("Maintenance reminder", with: "=1+1 ☕")
        _ = try export(text, to: folder)
        #expect(
            try self.text(folder, "plannedMaintenance.csv")
                == "id,carId,description,scheduledDate,isCompleted\r\n1,1,\"a,b \"\"c\"\"\r\nd\",2026-02-15T10:00:00Z,false\r\n")
        #expect(try self.text(folder, "expenses.csv").hasSuffix("14950,,\"\",false,charging,USD,1\r\n"))
        #expect(try self.text(folder, "delayedNotifications.csv").contains("notification-uuid-1,=1+1 ☕,Time"))
        let script = "import csv,sys; print(list(csv.reader(open(sys.argv[1], newline='', encoding='utf-8')))[1][2])"
        let result = try run(["python3", "-c", script, folder("csv/new/plannedMaintenance.csv")])
        #expect(result.output == "a,b \"c\"\r\nd\n")
    }

    @Test("a full disk is told, and leaves no file")
    func fullDisk() throws {
        let folder = try TemporaryFolder()
        let definition = try EVFixture.definition()
        let database = try AppDatabase.create(at: folder("app.sqlite"), definition: definition)
        let error = try #require(throws: BackupError.self) {
            try database.readSnapshot { (snapshot) throws(BackupError) in
                let full = try OwnedDescriptor.open("/dev/full", O_WRONLY)
                try CSVWriter().write(snapshot, collection: 0, to: full)
            }
        }
        #expect(error.code == .noSpace)
        #expect(error.path == "/dev/full")
    }
}
