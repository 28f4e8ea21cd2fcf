import BackupCore
import SystemIO

/// The content that `init --sample` puts into a new store, so that an app can be tried in a minute: always the same records and
/// files.
public struct SampleContent: Sendable {
    /// `nil` for an app whose records are its media files.
    public let records: (any RecordSource & Sendable)?
    /// For the media folder; empty for an app without one.
    public let photos: [SamplePhoto]

    /// - Parameter expenseCount: for the EV charging tracker; other apps have a fixed number.
    /// - Throws: `invalidArgument` for an app without sample data.
    public init(for definition: AppDefinition, expenseCount: Int) throws(BackupError) {
        switch definition.name {
        case "ev-charging-tracker":
            records = try SampleData(definition: definition, expenseCount: expenseCount)
            photos = []
        case "keeptrack":
            records = SampleIntakes(definition: definition)
            photos = []
        case "smilepile":
            let piles = SamplePiles(definition: definition)
            records = piles
            photos = piles.photos
        case "photo-library":
            records = nil
            photos = SamplePhoto.library
        default:
            throw BackupError(
                .invalidArgument, "there is no sample data for \(definition.title)",
                remedy: "Leave out --sample, or choose one of: \(AppDefinition.builtInNames.joined(separator: ", ")).")
        }
    }
}

/// Made-up data of the EV charging tracker, for demos and tests: three cars, their expenses over the two years before 2026-01-10,
/// maintenance and notifications. The same number of expenses always gives the same data.
public struct SampleData: RecordSource, Sendable {
    public let definition: AppDefinition
    /// For all three cars together.
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
        let records = SampleRecords(definition: definition, visitor: visitor)
        try visitor.visit(
            metadata: SampleRecords.buffer([
                .text("2026-01-10T18:30:00Z"), .text("2026.1.1"), .text("iPhone 15 Pro"),
                .integer(Int64(definition.schemaVersion)),
            ]))
        try records.collection("cars", cars())
        try records.collection("expenses", IteratorSequence(SampleExpenses(count: expenseCount)))
        try records.collection("plannedMaintenance", maintenance())
        try records.collection("delayedNotifications", notifications())
        try visitor.visit(settings: SampleRecords.buffer([.text("USD"), .text("en")]))
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

/// A car of the sample data.
struct SampleCar {
    let name: String
    let batteryCapacity: Double
    let currency: String
    let initialMileage: Int64
    /// Price of a kilowatt hour at home, in hundredths of the currency.
    let homePrice: Int64
    let isSelected: Bool

    static let all = [
        SampleCar(
            name: "Tesla Model 3", batteryCapacity: 60, currency: "USD", initialMileage: 0, homePrice: 15, isSelected: true),
        SampleCar(
            name: "Hyundai Ioniq 5", batteryCapacity: 77.4, currency: "EUR", initialMileage: 8_400, homePrice: 31,
            isSelected: false),
        SampleCar(
            name: "Ниссан Лиф", batteryCapacity: 39.6, currency: "KZT", initialMileage: 41_250, homePrice: 2_750,
            isSelected: false),
    ]
}

/// The expenses of the sample data, in date order.
struct SampleExpenses: IteratorProtocol {
    private static let endSeconds: Int64 = 1_768_069_800  // 2026-01-10T18:30:00Z
    private static let periodSeconds: Int64 = 2 * 365 * 86_400

    private struct Charger {
        let name: String
        /// Price as a multiple of the price at home, in hundredths.
        let priceFactor: Int64
        let note: String?
    }

    private static let chargers = [
        Charger(name: "home7kW", priceFactor: 100, note: "Home charging overnight"),
        Charger(name: "home7kW", priceFactor: 100, note: nil), Charger(name: "home7kW", priceFactor: 100, note: "Ночной тариф"),
        Charger(name: "home3kW", priceFactor: 100, note: nil), Charger(name: "home11kW", priceFactor: 100, note: nil),
        Charger(name: "destination22kW", priceFactor: 140, note: "Hotel car park"),
        Charger(name: "publicFast50kW", priceFactor: 230, note: "Café stop ☕"),
        Charger(name: "publicRapid100kW", priceFactor: 290, note: "Motorway, \"lane 3\""),
        Charger(name: "superchargerV3250kW", priceFactor: 270, note: nil),
    ]
    private static let others: [(type: String, cost: Int64, note: String)] = [
        ("maintenance", 12_000, "Service visit"), ("repair", 31_450, "Windscreen chip, both sides"), ("carwash", 1_500, ""),
        ("other", 990, "Parking"),
    ]

    private let count: Int
    private var index = 0
    private var generator = SampleGenerator(seed: 20_260_110)
    private var hasInitialRecord = [false, false, false]
    /// The odometer of each car so far, in kilometres.
    private(set) var odometers = SampleCar.all.map(\.initialMileage)

    init(count: Int) { self.count = count }

    mutating func next() -> [FieldValue]? {
        guard index < count else { return nil }
        let carIndex = [0, 0, 0, 1, 1, 2][generator.number(below: 6)]
        let car = SampleCar.all[carIndex]
        // The last one is at the very end of the period, the others evenly spread before it, with some minutes of jitter.
        let step = Self.periodSeconds / Int64(count)
        let jitter = index == count - 1 ? 0 : Int64(generator.number(below: Int(max(1, step / 2)))) / 60 * 60
        let date = Self.endSeconds - Int64(count - 1 - index) * step + jitter
        // A car drives about 25,000 km a year, regardless of the number of expenses.
        odometers[carIndex] += Int64(generator.number(below: max(2, 240_000 / count)))
        let isCharging = generator.number(below: 12) < 11
        let isInitial = !hasInitialRecord[carIndex]
        hasInitialRecord[carIndex] = true
        let charger = generator.choice(Self.chargers)
        let other = generator.choice(Self.others)
        let tenths = Int64(80 + generator.number(below: Int(car.batteryCapacity * 10) - 100))
        let energy = isCharging ? Double(tenths) / 10 : 0
        let cost = isCharging ? tenths * car.homePrice * charger.priceFactor / 1_000 : other.cost * car.homePrice / 15
        let note = isCharging ? charger.note : other.note
        index += 1
        return [
            .integer(Int64(index)), .text(ISO8601.format(Timestamp(seconds: date))), .real(energy),
            .text(isCharging ? charger.name : "unknown"), .integer(odometers[carIndex]), .text(Self.decimal(cost)),
            note.map(FieldValue.text) ?? .null, .boolean(isInitial), .text(isCharging ? "charging" : other.type),
            .text(car.currency), .integer(Int64(carIndex + 1)),
        ]
    }

    private static func decimal(_ hundredths: Int64) -> String {
        let cents = hundredths % 100
        return "\(hundredths / 100).\(cents < 10 ? "0" : "")\(cents)"
    }
}

/// Pseudorandom numbers that are the same on every machine and in every version (Guy Steele and others, "Fast Splittable
/// Pseudorandom Number Generators": SplitMix64).
struct SampleGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// From 0 to `bound` - 1.
    mutating func number(below bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func choice<Element>(_ elements: [Element]) -> Element { elements[number(below: elements.count)] }
}
