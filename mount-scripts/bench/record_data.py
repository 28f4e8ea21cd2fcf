"""The records that are exported and imported: databases of the built-in app, and the same as the app's own export."""

import json
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

# When every export says that it was made: then all of them are the same, byte by byte.
CREATED = "2026-01-11T14:30:00Z"

# Of which notes are made: several scripts, and what JSON has to escape.
PHRASES = (
    "home charging overnight", "motorway, \"lane 3\"", "hotel car park", "paid by card / receipt kept", "first\nsecond line",
    "Ladesäule am Rathaus, überfüllt", "Größe geprüft, für später", "Café stop ☕", "recharge à l'hôtel, très lente",
    "ночной тариф", "замена тормозных колодок", "зарядка у торгового центра", "夜间充电", "高速道路の急速充電", "충전소 만석",
    "شحن ليلي في المنزل", "טעינה בבית", "रात की चार्जिंग", "🔋⚡ 80%", "C:\\receipts\\2024", "winter tyres", "half full, 12 °C",
)
CHARGERS = ("home3kW", "home7kW", "home11kW", "destination22kW", "publicFast50kW", "publicRapid100kW", "superchargerV3250kW")
TYPES = ("charging", "charging", "charging", "charging", "maintenance", "repair", "carwash", "insurance", "other")
CARS = [
    (1, "Tesla Model 3", 1, 60.0, "USD", 500_000, 0, "2026-01-10T12:00:00Z", "2020-01-01T00:00:00Z"),
    (2, "Hyundai Ioniq 5", 0, 77.4, "EUR", 500_000, 8_400, "2026-01-10T12:00:00Z", "2020-01-02T00:00:00Z"),
    (3, "Ниссан Лиф", 0, 39.6, "KZT", 500_000, 41_250, "2026-01-10T12:00:00Z", "2020-01-03T00:00:00Z"),
]
CAR_COLUMNS = (
    "id, name, selected_for_tracking, battery_capacity, expense_currency, current_mileage, initial_mileage, "
    "milleage_synced_at, created_at")
EXPENSE_COLUMNS = (
    "id, date, energy_charged, charger_type, odometer, cost, notes, is_initial_record, expense_type, currency, car_id")


class RecordData:
    """A database with some number of expenses, an empty one, and the export of the first."""

    def __init__(self, folder: Path, count: int, binary: Path):
        self.folder = folder / f"records-{count}"
        self.count = count
        self.binary = binary

    @property
    def database(self) -> Path:
        return self.folder / "full.sqlite"

    @property
    def empty(self) -> Path:
        return self.folder / "empty.sqlite"

    @property
    def export(self) -> Path:
        """Made by Python's json, and not by the program under test."""
        return self.folder / "export.json"

    def build(self):
        marker = self.folder.with_suffix(".complete")
        description = json.dumps({"generator": 1, "count": self.count})
        if marker.exists() and marker.read_text() == description:
            return
        marker.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        # The tables as the program makes them, and with the log that it gives them.
        store = self.folder / "store"
        subprocess.run([self.binary, "init", "--store", store], check=True, stdout=subprocess.DEVNULL)
        [made] = (store / "app").glob("*.sqlite")
        connection = sqlite3.connect(made)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        shutil.copyfile(made, self.empty)
        shutil.rmtree(store)
        shutil.copyfile(self.empty, self.database)
        connection = sqlite3.connect(self.database)
        with connection:
            connection.executemany(f"INSERT INTO cars ({CAR_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", CARS)
            connection.executemany(
                f"INSERT INTO expenses ({EXPENSE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self.expenses())
            connection.executemany(
                "INSERT OR REPLACE INTO app_metadata (key, value) VALUES (?, ?)",
                [("app_version", "2026.1.1"), ("device_name", "bench")])
        connection.close()
        subprocess.run(
            [sys.executable, Path(__file__).with_name("peer_export.py"), self.database, self.export, CREATED], check=True)
        marker.write_text(description)

    def expenses(self):
        generator = random.Random("expenses")
        notes = [", ".join(generator.choices(PHRASES, k=generator.randrange(1, 5))) for _ in range(20_000)]
        for number in range(1, self.count + 1):
            day, minute = divmod(number * 3, 1440)
            date = f"{2000 + day // 336 % 25}-{day // 28 % 12 + 1:02}-{day % 28 + 1:02}T{minute // 60:02}:{minute % 60:02}:07Z"
            yield (
                number, date, generator.randrange(50, 900) / 10, generator.choice(CHARGERS), number * 3,
                f"{generator.randrange(100, 20_000) / 100:.2f}", None if generator.random() < 0.3 else generator.choice(notes),
                int(number <= 3), generator.choice(TYPES), generator.choice(("USD", "EUR", "KZT", "€")),
                generator.randrange(1, 4))


def rows(database: Path):
    """What an import must bring back."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        yield from connection.execute(f"SELECT {CAR_COLUMNS} FROM cars ORDER BY id")
        yield from connection.execute(f"SELECT {EXPENSE_COLUMNS} FROM expenses ORDER BY id")
    finally:
        connection.close()
