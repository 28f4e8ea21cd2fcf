"""peer_export.py DATABASE FILE CREATED: the built-in app's export as a script in Python would do it with json and sqlite3.

Its bytes are the same as ours.
"""

import json
import sqlite3
import sys

CAR_NAMES = (
    "id", "name", "selectedForTracking", "batteryCapacity", "expenseCurrency", "currentMileage", "initialMileage",
    "milleageSyncedAt", "createdAt")
EXPENSE_NAMES = (
    "id", "date", "energyCharged", "chargerType", "odometer", "cost", "notes", "isInitialRecord", "expenseType", "currency",
    "carId")
FLAGS = ("selectedForTracking", "isInitialRecord")


def records(connection, names, query) -> list:
    found = []
    for row in connection.execute(query):
        record = {name: value for name, value in zip(names, row) if value is not None}
        for name in FLAGS:
            if name in record:
                record[name] = bool(record[name])
        found.append(record)
    return found


def main():
    database, path, created = sys.argv[1:]
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    document = {
        "metadata": {
            "createdAt": created, "appVersion": "2026.1.1", "deviceName": "bench", "databaseSchemaVersion": 1},
        "cars": records(
            connection, CAR_NAMES,
            "SELECT id, name, selected_for_tracking, battery_capacity, expense_currency, current_mileage, initial_mileage, "
            "milleage_synced_at, created_at FROM cars ORDER BY id"),
        "expenses": records(
            connection, EXPENSE_NAMES,
            "SELECT id, date, energy_charged, charger_type, odometer, cost, notes, is_initial_record, expense_type, currency, "
            "car_id FROM expenses ORDER BY id"),
        "plannedMaintenance": [], "delayedNotifications": [],
        "userSettings": {"preferredCurrency": "USD", "preferredLanguage": "en"},
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    main()
