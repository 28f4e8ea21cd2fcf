import BackupCore

/// Made-up data of the EV charging tracker, for demos and tests: three cars, their expenses over the two years before 2026-01-10,
/// maintenance and notifications. The same number of expenses always gives the same data.
public struct SampleData: RecordSource, Sendable {
    public let definition: AppDefinition
    public let expenseCount: Int

    /// - Throws: `invalidArgument` for another app's definition
    public init(definition: AppDefinition, expenseCount: Int = 1_200) throws(BackupError) {
        guard definition.name == "ev-charging-tracker" else {
            throw BackupError(.invalidArgument, "there is no sample data for \(definition.title)")
        }
        self.definition = definition
        self.expenseCount = expenseCount
    }

    public func visit(with visitor: any RecordVisitor) throws(BackupError) {
        try visitor.visit(
            metadata: buffer([
                .text("2026-01-10T18:30:00Z"), .text("2026.1.1"), .text("iPhone 15 Pro"),
                .integer(Int64(definition.schemaVersion)),
            ]))
        try visit(visitor, "cars", cars())
        try visit(visitor, "expenses") { (index, receive) throws(BackupError) in
            let record = RecordBuffer(fieldCount: definition.collections[index].fields.count)
            var series = SampleExpenses(count: expenseCount)
            while let values = series.next() {
                record.set(Record(values: values))
                try receive(record)
            }
        }
        try visit(visitor, "plannedMaintenance", maintenance())
        try visit(visitor, "delayedNotifications", notifications())
        try visitor.visit(settings: buffer([.text("USD"), .text("en")]))
    }

    private func visit(
        _ visitor: any RecordVisitor, _ name: String,
        _ body: (Int, (RecordBuffer) throws(BackupError) -> Void) throws(BackupError) -> Void
    ) throws(BackupError) {
        guard let index = definition.collectionIndex(named: name) else { return }
        try visitor.beginCollection(index)
        try body(index) { (record) throws(BackupError) in try visitor.visit(record: record, of: index) }
    }

    private func visit(_ visitor: any RecordVisitor, _ name: String, _ records: [[FieldValue]]) throws(BackupError) {
        try visit(visitor, name) { (_, receive) throws(BackupError) in
            for record in records { try receive(buffer(record)) }
        }
    }

    private func buffer(_ values: [FieldValue]) -> RecordBuffer {
        let buffer = RecordBuffer(fieldCount: values.count)
        buffer.set(Record(values: values))
        return buffer
    }

    private func cars() -> [[FieldValue]] {
        var series = SampleExpenses(count: expenseCount)
        while series.next() != nil {}
        return SampleCar.all.enumerated().map { index, car in
            [
                .integer(Int64(index + 1)), .text(car.name), .boolean(car.isSelected), .real(car.batteryCapacity),
                .text(car.currency), .integer(series.odometers[index]), .integer(car.initialMileage),
                .text("2026-01-10T12:00:00Z"), .text("2024-01-1\(index)T10:00:00Z"),
            ]
        }
    }

    private func maintenance() -> [[FieldValue]] {
        let tasks: [(car: Int64, what: String, date: String, isDone: Bool)] = [
            (1, "Tire rotation", "2026-02-15T10:00:00Z", false), (1, "Cabin air filter", "2025-09-01T09:00:00Z", true),
            (1, "Brake fluid test", "2026-06-10T08:30:00Z", false), (2, "Winter tyres", "2025-11-03T07:45:00Z", true),
            (2, "Coolant change", "2027-03-20T09:00:00Z", false), (2, "Technical inspection", "2026-05-04T11:15:00Z", false),
            (3, "Замена тормозных колодок", "2026-03-08T06:00:00Z", false),
            (3, "Battery health report", "2025-12-12T12:00:00Z", true),
        ]
        return tasks.enumerated().map { index, task in
            [.integer(Int64(index + 1)), .integer(task.car), .text(task.what), .text(task.date), .boolean(task.isDone)]
        }
    }

    private func notifications() -> [[FieldValue]] {
        let reminders = [
            ("notification-0001", "Time for tire rotation", "2026-02-14T09:00:00Z"),
            ("notification-0002", "Technical inspection is due", "2026-05-03T09:00:00Z"),
            ("notification-0003", "Brake fluid test tomorrow", "2026-06-09T09:00:00Z"),
            ("notification-0004", "Завтра замена тормозных колодок", "2026-03-07T09:00:00Z"),
        ]
        return reminders.map { [.text($0.0), .text("Maintenance reminder"), .text($0.1), .text($0.2)] }
    }
}
