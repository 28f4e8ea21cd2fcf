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
