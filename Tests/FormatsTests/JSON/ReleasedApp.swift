import Foundation

/// What the released charging tracker exports, made by Foundation's own encoder: the fields of `facts` of that app, in its
/// spelling.
struct ReleasedApp: Codable {
    struct Metadata: Codable {
        var createdAt: Date
        var appVersion = "2026.6.2"
        var deviceName = "iPhone/15 \"Pro\""
        var databaseSchemaVersion: Int
    }

    struct Car: Codable {
        var id = 1
        var name = "Model 3 🚗"
        var selectedForTracking = true
        var batteryCapacity: Double? = 60
        var expenseCurrency = "₸"
        var currentMileage = 15_000
        var initialMileage = 0
        var milleageSyncedAt = Date(timeIntervalSince1970: 1_768_000_000)
        var createdAt = Date(timeIntervalSince1970: 1_700_000_000)
        var frontWheelSize: String?
        var rearWheelSize: String?
        var measurementSystem: String?
        var carType: String?
    }

    struct Expense: Codable {
        var id = 1
        var date = Date(timeIntervalSince1970: 1_760_000_000)
        var energyCharged = 45.5
        var chargerType = "Home (7kW)"
        var odometer = 14_950
        var cost: String? = "12.5"
        var notes = ""
        var isInitialRecord = false
        var expenseType = "charging"
        var currency = "CN¥"
        var carId: Int? = 1
        var fuelType: String?
        var fuelVolume: Double?
    }

    struct Maintenance: Codable {
        var id = 1
        var odometer: Int?
        var name = "Tyres"
        var notes = "summer / winter"
        var when: Date?
        var carId = 1
        var createdAt = Date(timeIntervalSince1970: 1_750_000_000)
    }

    struct Notification: Codable {
        var id = 1
        var when = Date(timeIntervalSince1970: 1_900_000_000)
        var notificationId = "0F3A8D2C-1111-4222-8333-444455556666"
        var maintenanceRecord: Int?
        var carId = 1
        var createdAt = Date(timeIntervalSince1970: 1_750_000_000)
    }

    struct Settings: Codable {
        var preferredCurrency = "₸"
        var preferredLanguage = "zh-Hans"
    }

    struct Document: Codable {
        var id = 1
        var carId = 1
        var customTitle: String?
        var fileName = "insurance.pdf"
        var fileType = "pdf"
        var fileSize = 9_007_199_254_740_993
        var createdAt = Date(timeIntervalSince1970: 1_750_000_000)
        var updatedAt = Date(timeIntervalSince1970: 1_750_000_001)
    }

    struct Idea: Codable {
        var id = 1
        var carId = 1
        var title = "Roof box"
        var url: String? = "https://example.org/a?b=c&d"
        var descriptionText: String?
        var createdAt = Date(timeIntervalSince1970: 1_750_000_000)
        var updatedAt = Date(timeIntervalSince1970: 1_750_000_001)
    }

    var metadata: Metadata
    var cars = [Car()]
    var expenses = [Expense()]
    var plannedMaintenance = [Maintenance()]
    var delayedNotifications = [Notification()]
    var userSettings = Settings()
    var documents: [Document]?
    var ideas: [Idea]?

    init(version: Int, createdAt: Date) {
        metadata = Metadata(createdAt: createdAt, databaseSchemaVersion: version)
    }

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        encoder.dateEncodingStrategy = .iso8601
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
