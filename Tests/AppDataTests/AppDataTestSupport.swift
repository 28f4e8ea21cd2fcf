import AppData
import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

/// Runs sqlite3 and gives what it prints.
@discardableResult
func sqlite(_ path: String, _ sql: String) throws -> String { try run(["sqlite3", path, sql]).output }

/// Records in memory; collections in the order given.
struct ListedRecords: RecordSource {
    let definition: AppDefinition
    var metadata: [FieldValue]
    var settings: [FieldValue]?
    var collections: [(name: String, records: [[FieldValue]])]
    /// Thrown after all records.
    var failure: BackupError?

    func visit(with visitor: any RecordVisitor) throws(BackupError) {
        try visitor.visit(metadata: buffer(metadata))
        for (name, records) in collections {
            guard let index = definition.collectionIndex(named: name) else { continue }
            try visitor.beginCollection(index)
            for record in records { try visitor.visit(record: buffer(record), of: index) }
        }
        if let settings { try visitor.visit(settings: buffer(settings)) }
        if let failure { throw failure }
    }

    private func buffer(_ values: [FieldValue]) -> RecordBuffer {
        let buffer = RecordBuffer(fieldCount: values.count)
        buffer.set(Record(values: values))
        return buffer
    }

    /// One car, three expenses, nothing else.
    static func small() throws -> ListedRecords {
        let expense = { (id: Int64, cost: String) -> [FieldValue] in
            [
                .integer(id), .text("2026-01-10T18:30:00Z"), .real(45.5), .text("home7kW"), .integer(14950), .text(cost), .null,
                .boolean(false), .text("charging"), .text("USD"), .integer(1),
            ]
        }
        return ListedRecords(
            definition: try AppDefinition.builtIn(named: "ev-charging-tracker"),
            metadata: [.text("2026-01-11T14:30:00Z"), .text("2026.1.1"), .text("iPhone 15 Pro"), .integer(1)],
            settings: [.text("KZT"), .text("ru")],
            collections: [
                (
                    "cars",
                    [
                        [
                            .integer(1), .text("Tesla"), .boolean(true), .real(60), .text("USD"), .integer(15000), .integer(0),
                            .text("2026-01-11T12:00:00Z"), .text("2024-06-01T10:00:00Z"),
                        ]
                    ]
                ), ("expenses", [expense(1, "12.50"), expense(2, "0.10"), expense(3, "12345678901234.56")]),
                ("plannedMaintenance", []), ("delayedNotifications", []),
            ])
    }
}
