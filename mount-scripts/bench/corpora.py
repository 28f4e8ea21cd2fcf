"""The data that is backed up: the same bytes for the same scale, always. Each file is made from a seed of its own, so that a
change can be taken back by making the old file again, and a corpus need not be copied for each run."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
from pathlib import Path

MEGABYTE = 1 << 20
WORDS = (
    "charge trip home station fast slow cable battery tyre service winter summer north south road city early late "
    "invoice paid card cash receipt discount member parking garage highway ferry hotel office family holiday "
    "weekend rain snow cold warm busy empty broken repaired checked full half again first last long short"
).split()


class Corpus:
    """A folder of data in three states: as built, with 1% changed, and with one thing added to that."""

    name = ""
    title = ""
    changed_title = ""
    added_title = ""
    has_media = False

    def __init__(self, folder: Path, scale: float, binary: Path):
        self.folder = folder / self.name
        self.scale = scale
        self.binary = binary

    @property
    def database(self) -> Path:
        return self.folder / "app.sqlite"

    @property
    def media(self):
        """The folder of media files, if the app has one."""
        return self.folder / "media" if self.has_media else None

    def build(self):
        """Builds what is not there yet; otherwise takes all changes back."""
        marker = self.folder.with_suffix(".complete")
        description = json.dumps({"generator": 1, "scale": self.scale})
        if not marker.exists() or marker.read_text() != description:
            marker.unlink(missing_ok=True)
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            self.create()
            marker.write_text(description)
        self.reset()

    def create(self):
        raise NotImplementedError

    def reset(self):
        raise NotImplementedError

    def change(self):
        raise NotImplementedError

    def add(self):
        raise NotImplementedError

    def count(self, at_full_scale: int) -> int:
        return max(1, round(at_full_scale * self.scale))

    def end_state(self):
        """BorgBackup does not trust the newest file of a folder and reads it again; let that be a small one."""
        (self.folder / "newest.txt").write_text("The newest file of this folder.\n")

    def create_media_database(self, count: int):
        connection = sqlite3.connect(self.database)
        connection.executescript(
            "CREATE TABLE entries (id INTEGER PRIMARY KEY, title TEXT NOT NULL);"
            "CREATE TABLE app_metadata (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);")
        connection.executemany(
            "INSERT INTO entries VALUES (?, ?)", ((number, f"Entry {number}") for number in range(1, count + 1)))
        connection.commit()
        connection.close()


class Photos(Corpus):
    name = "photos"
    title = "(a) photos of 0.5 to 8 MB and a large file"
    changed_title = "1% of the photos replaced, 1% of the large file overwritten in place"
    added_title = "a photo"
    has_media = True

    @property
    def photo_count(self) -> int:
        return self.count(700)

    @property
    def block_count(self) -> int:
        return self.count(1024)

    def photo(self, number: int) -> Path:
        return self.media / f"IMG_{number:05}.jpg"

    def write_photo(self, number: int, version: int):
        generator = random.Random(f"photo {number} {version}")
        self.photo(number).write_bytes(generator.randbytes(generator.randrange(500_000, 8_000_000)))

    def write_block(self, file, number: int, version: int):
        file.seek(number * MEGABYTE)
        file.write(random.Random(f"block {number} {version}").randbytes(MEGABYTE))

    def changed_photos(self) -> list:
        return random.Random("changed photos").sample(range(self.photo_count), self.count(7))

    def changed_blocks(self) -> list:
        return random.Random("changed blocks").sample(range(self.block_count), self.count(10))

    def write_changed(self, version: int):
        for number in self.changed_photos():
            self.write_photo(number, version)
        with open(self.media / "film.mp4", "r+b") as file:
            for number in self.changed_blocks():
                self.write_block(file, number, version)
        self.end_state()

    def create(self):
        self.media.mkdir()
        for number in range(self.photo_count):
            self.write_photo(number, 0)
        with open(self.media / "film.mp4", "wb") as file:
            for number in range(self.block_count):
                self.write_block(file, number, 0)
        self.create_media_database(self.photo_count)

    def reset(self):
        self.photo(self.photo_count).unlink(missing_ok=True)
        self.write_changed(0)

    def change(self):
        self.write_changed(1)

    def add(self):
        self.write_photo(self.photo_count, 0)
        self.end_state()


class Documents(Corpus):
    name = "documents"
    title = "(b) small JSON files, 100 in each folder"
    changed_title = "a field in 1% of the files"
    added_title = "a file in a new folder"
    has_media = True

    @property
    def folder_count(self) -> int:
        return self.count(1000)

    def write_document(self, number: int, version: int):
        self.write_document_at(self.media / f"{number // 100:04}" / f"{number:06}.json", number, version)

    @staticmethod
    def write_document_at(path: Path, number: int, version: int):
        generator = random.Random(f"document {number}")
        document = {
            "id": number,
            "title": " ".join(generator.choices(WORDS, k=5)),
            "version": version,
            "entries": [
                {"key": f"{generator.getrandbits(64):016x}", "amount": generator.randrange(100_000) / 100,
                 "notes": " ".join(generator.choices(WORDS, k=8))}
                for _ in range(generator.randrange(8, 22))
            ],
        }
        path.write_text(json.dumps(document, indent=1))

    def write_changed(self, version: int):
        for number in random.Random("changed documents").sample(range(self.folder_count * 100), self.folder_count):
            self.write_document(number, version)
        self.end_state()

    def create(self):
        for folder in range(self.folder_count):
            (self.media / f"{folder:04}").mkdir(parents=True)
            for number in range(folder * 100, folder * 100 + 100):
                self.write_document(number, 0)
        self.create_media_database(self.folder_count)

    def reset(self):
        shutil.rmtree(self.media / f"{self.folder_count:04}", ignore_errors=True)
        self.write_changed(0)

    def change(self):
        self.write_changed(1)

    def add(self):
        (self.media / f"{self.folder_count:04}").mkdir()
        self.write_document(self.folder_count * 100, 0)
        self.end_state()


class Expenses(Corpus):
    name = "expenses"
    title = "(c) a database of expenses, which our backup also holds as JSON"
    changed_title = "the second version, with 1% of the rows updated at random and 0.1% appended"
    added_title = "a row"

    CHARGERS = ("home7kW", "home11kW", "publicFast50kW", "publicRapid100kW", "superchargerV3250kW")
    TYPES = ("charging", "charging", "charging", "maintenance", "repair", "carwash", "insurance", "other")

    @property
    def row_count(self) -> int:
        return self.count(1_000_000)

    def version(self, number: int) -> Path:
        return self.folder.parent / f"{self.name}-{number}.sqlite"

    @staticmethod
    def notes(generator):
        if generator.random() < 0.2:
            return None
        return " ".join(generator.choices(WORDS, k=generator.randrange(4, 24)))

    def row(self, number: int, generator) -> tuple:
        minute = number * 10 // 60
        date = f"{2000 + minute // 525_600 % 25}-{minute // 43_200 % 12 + 1:02}-{minute // 1440 % 28 + 1:02}" \
               f"T{minute // 60 % 24:02}:{minute % 60:02}:{number * 10 % 60:02}Z"
        return (
            number, date, generator.randrange(50, 900) / 10, generator.choice(self.CHARGERS), number * 3,
            f"{generator.randrange(100, 20_000) / 100:.2f}", self.notes(generator), 0, generator.choice(self.TYPES),
            "€", generator.randrange(1, 4))

    def insert(self, connection, numbers, seed: str):
        generator = random.Random(seed)
        connection.executemany(
            "INSERT INTO expenses (id, date, energy_charged, charger_type, odometer, cost, notes, is_initial_record, "
            "expense_type, currency, car_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self.row(number, generator) for number in numbers))

    def create(self):
        # The tables as the program makes them.
        store = self.folder / "store"
        subprocess.run([self.binary, "init", "--store", store], check=True, stdout=subprocess.DEVNULL)
        [empty] = (store / "app").glob("*.sqlite")
        with sqlite3.connect(empty) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        connection.close()
        shutil.copyfile(empty, self.version(1))
        shutil.rmtree(store)
        with sqlite3.connect(self.version(1)) as connection:
            connection.executemany(
                "INSERT INTO cars (id, name, battery_capacity, expense_currency, current_mileage, milleage_synced_at, created_at) "
                "VALUES (?, ?, 60.5, '€', 500000, '2024-01-01T00:00:00Z', '2020-01-01T00:00:00Z')",
                [(1, "Blue"), (2, "Red"), (3, "White")])
            self.insert(connection, range(1, self.row_count + 1), "rows")
        connection.close()
        shutil.copyfile(self.version(1), self.version(2))
        with sqlite3.connect(self.version(2)) as connection:
            generator = random.Random("updates")
            updated = generator.sample(range(1, self.row_count + 1), max(1, self.row_count // 100))
            connection.executemany(
                "UPDATE expenses SET cost = ?, notes = ? WHERE id = ?",
                ((f"{generator.randrange(100, 20_000) / 100:.2f}", self.notes(generator), number) for number in updated))
            appended = self.row_count + 1 + self.row_count // 1000
            self.insert(connection, range(self.row_count + 1, appended), "appended")
        connection.close()
        shutil.copyfile(self.version(2), self.version(3))
        with sqlite3.connect(self.version(3)) as connection:
            self.insert(connection, [appended], "one row")
        connection.close()

    def take(self, number: int):
        # In place, as an app changes its database.
        shutil.copyfile(self.version(number), self.database)
        self.end_state()

    def reset(self):
        self.take(1)

    def change(self):
        self.take(2)

    def add(self):
        self.take(3)


ALL = {"a": Photos, "b": Documents, "c": Expenses}
