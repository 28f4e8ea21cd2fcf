"""peer_import.py FILE DATABASE: an import as a script in Python would do it with json and sqlite3: the file is read, the types
are checked, and everything is replaced in one transaction. It checks less than we do: no dates, currencies, amounts or limits.
"""

import json
import sqlite3
import sys

# Name, column, type, whether it may be missing.
CARS = (
    ("id", "id", int, False), ("name", "name", str, False), ("selectedForTracking", "selected_for_tracking", bool, False),
    ("batteryCapacity", "battery_capacity", float, True), ("expenseCurrency", "expense_currency", str, False),
    ("currentMileage", "current_mileage", int, False), ("initialMileage", "initial_mileage", int, False),
    ("milleageSyncedAt", "milleage_synced_at", str, False), ("createdAt", "created_at", str, False))
EXPENSES = (
    ("id", "id", int, False), ("date", "date", str, False), ("energyCharged", "energy_charged", float, False),
    ("chargerType", "charger_type", str, False), ("odometer", "odometer", int, False), ("cost", "cost", str, True),
    ("notes", "notes", str, True), ("isInitialRecord", "is_initial_record", bool, False),
    ("expenseType", "expense_type", str, False), ("currency", "currency", str, False), ("carId", "car_id", int, True))


def check(records, fields):
    for record in records:
        for name, _, kind, may_be_missing in fields:
            value = record.get(name)
            if value is None:
                if not may_be_missing:
                    raise ValueError(f"missing field {name}")
            elif type(value) is not kind:
                raise ValueError(f"{name} is not of the kind it should be")


def replace(connection, table, records, fields):
    connection.execute(f"DELETE FROM {table}")
    columns = ", ".join(column for _, column, _, _ in fields)
    marks = ", ".join("?" for _ in fields)
    names = [name for name, _, _, _ in fields]
    connection.executemany(
        f"INSERT INTO {table} ({columns}) VALUES ({marks})", ([record.get(name) for name in names] for record in records))


def main():
    path, database = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    check(document["cars"], CARS)
    check(document["expenses"], EXPENSES)
    cars = {car["id"] for car in document["cars"]}
    if len(cars) != len(document["cars"]):
        raise ValueError("a car occurs twice")
    if len({expense["id"] for expense in document["expenses"]}) != len(document["expenses"]):
        raise ValueError("an expense occurs twice")
    if any(expense.get("carId") not in cars for expense in document["expenses"] if expense.get("carId") is not None):
        raise ValueError("an expense refers to an unknown car")
    connection = sqlite3.connect(database)
    # As the program's: SQLite's own default for synchronous, and a log.
    connection.execute("PRAGMA journal_mode = WAL")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        replace(connection, "cars", document["cars"], CARS)
        replace(connection, "expenses", document["expenses"], EXPENSES)
    connection.close()


if __name__ == "__main__":
    main()
