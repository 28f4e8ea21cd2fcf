/// An export exactly as the released charging tracker writes it (schema version 9).
public enum ReleasedAppDocument {
    public static let text = """
        {
          "cars" : [
            {
              "batteryCapacity" : 60,
              "carType" : "electric",
              "createdAt" : "2023-11-14T22:13:20Z",
              "currentMileage" : 15000,
              "expenseCurrency" : "₸",
              "frontWheelSize" : "235\\/45 R18",
              "id" : 1,
              "initialMileage" : 0,
              "measurementSystem" : "metric",
              "milleageSyncedAt" : "2026-01-09T23:06:40Z",
              "name" : "Model 3 🚗",
              "selectedForTracking" : true
            }
          ],
          "delayedNotifications" : [
            {
              "carId" : 1,
              "createdAt" : "2025-06-15T15:06:40Z",
              "id" : 1,
              "maintenanceRecord" : 1,
              "notificationId" : "0F3A8D2C-1111-4222-8333-444455556666",
              "when" : "2030-03-17T17:46:40Z"
            }
          ],
          "documents" : [

          ],
          "expenses" : [
            {
              "carId" : 1,
              "chargerType" : "Home (7kW)",
              "cost" : "12.5",
              "currency" : "CN¥",
              "date" : "2025-10-09T08:53:20Z",
              "energyCharged" : 45.5,
              "expenseType" : "charging",
              "id" : 1,
              "isInitialRecord" : false,
              "notes" : "",
              "odometer" : 14950
            },
            {
              "carId" : 1,
              "chargerType" : "Other",
              "cost" : "60.0",
              "currency" : "₸",
              "date" : "2025-11-09T08:53:20Z",
              "energyCharged" : 0,
              "expenseType" : "fuel",
              "fuelType" : "95",
              "fuelVolume" : 40,
              "id" : 2,
              "isInitialRecord" : false,
              "notes" : "a\\/b",
              "odometer" : 15000
            }
          ],
          "ideas" : [
            {
              "carId" : 1,
              "createdAt" : "2025-06-15T15:06:40Z",
              "id" : 1,
              "title" : "Roof box",
              "updatedAt" : "2025-06-15T15:06:41Z",
              "url" : "https:\\/\\/example.org\\/a?b=c&d"
            }
          ],
          "metadata" : {
            "appVersion" : "2026.6.2",
            "createdAt" : "2026-06-25T10:00:00Z",
            "databaseSchemaVersion" : 9,
            "deviceName" : "iPhone 15 Pro"
          },
          "plannedMaintenance" : [
            {
              "carId" : 1,
              "createdAt" : "2025-06-15T15:06:40Z",
              "id" : 1,
              "name" : "Tyres",
              "notes" : "summer",
              "odometer" : 20000,
              "when" : "2026-10-01T00:00:00Z"
            }
          ],
          "userSettings" : {
            "preferredCurrency" : "₸",
            "preferredLanguage" : "kk"
          }
        }
        """
}
