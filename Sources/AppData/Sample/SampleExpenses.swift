import BackupCore
import SystemIO

/// The expenses of the sample data, in date order.
struct SampleExpenses {
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
