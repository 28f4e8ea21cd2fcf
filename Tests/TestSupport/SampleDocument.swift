/// The app's own example of an export, unchanged.
public enum SampleDocument {
    public static let text = """
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

    /// The example with one text replaced, which must occur in it.
    public static func replacing(_ old: String, _ new: String) -> String {
        precondition(text.contains(old), "the example has no \(old)")
        return text.replacing(old, with: new, maxReplacements: 1)
    }

    /// An export of another car and `count` expenses, so that exports can be distinguished.
    public static func variant(_ name: String, expenses count: Int = 1) -> String {
        let expenses = (1...max(1, count)).map { number in
            """
            {"id": \(number), "date": "2026-01-10T18:30:00Z", "energyCharged": \(number).25, "chargerType": "home11kW", \
            "odometer": \(100 + number), "cost": "\(number).10", "notes": "\(name) \(number)", "isInitialRecord": false, \
            "expenseType": "charging", "currency": "EUR", "carId": 7}
            """
        }
        return """
            {"metadata": {"createdAt": "2026-01-02T03:04:05Z", "appVersion": "2026.1.2", "deviceName": "\(name)", \
            "databaseSchemaVersion": 1}, "cars": [{"id": 7, "name": "\(name)", "selectedForTracking": true, \
            "batteryCapacity": null, "expenseCurrency": "EUR", "currentMileage": 200, "initialMileage": 1, \
            "milleageSyncedAt": "2026-01-01T12:00:00Z", "createdAt": "2025-06-01T10:00:00Z"}], \
            "expenses": [\(count == 0 ? "" : expenses.joined(separator: ",\n"))], "plannedMaintenance": [], \
            "delayedNotifications": [], "userSettings": {"preferredCurrency": "EUR", "preferredLanguage": "de"}}

            """
    }
}
