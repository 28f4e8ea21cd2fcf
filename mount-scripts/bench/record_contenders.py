"""Who exports and imports records, and how."""

import filecmp
import os
import shutil
import sqlite3
import sys
from pathlib import Path

import contenders
from daemon import Daemon
from measure import Measurement, StepFailed, settle
from record_data import CREATED, EXPENSE_COLUMNS, rows

# What is measured "on one core" runs there, and nowhere else.
ON_ONE_CORE = ["taskset", "--cpu-list", str(max(os.sched_getaffinity(0)))]


class RecordContender:
    """Steps are methods by their names; who has none for a step does not take part in it."""

    name = ""
    is_under_test = False

    def __init__(self, scratch: Path, runner):
        self.scratch = scratch
        self.runner = runner

    @property
    def output(self) -> Path:
        return self.scratch / "export.json"

    def run(self, *command, environment=None) -> Measurement:
        settle()
        return self.runner.run(command, environment=environment)

    def verify_export(self, data, measurement: Measurement) -> Measurement:
        """The same bytes as the export that Python's json wrote."""
        if not filecmp.cmp(self.output, data.export, shallow=False):
            raise StepFailed(f"{self.name}: what was exported differs from {data.export}")
        return measurement

    @staticmethod
    def verify_import(data, database: Path, measurement: Measurement) -> Measurement:
        if any(one != other for one, other in zip(rows(database), rows(data.database), strict=True)):
            raise StepFailed(f"{database} does not hold what {data.database} does")
        return measurement


class BackupFS(RecordContender):
    name = "backupfs"
    is_under_test = True

    @classmethod
    def version(cls) -> str:
        return contenders.BackupFS.version()

    @property
    def store(self) -> Path:
        return self.scratch / "store"

    @property
    def database(self) -> Path:
        [found] = (self.store / "app").glob("*.sqlite")
        return found

    def command(self, *words) -> list:
        return [contenders.BackupFS.binary, *words, "--store", self.store]

    def prepare(self, database: Path):
        """A store that has nothing yet but the app's data."""
        shutil.rmtree(self.store, ignore_errors=True)
        self.runner.run(self.command("init"))
        shutil.copyfile(database, self.database)

    def run(self, *command, environment=None) -> Measurement:
        return super().run(*command, environment={"BACKUPFS_NOW": CREATED, **(environment or {})})

    def export(self, data) -> Measurement:
        self.prepare(data.database)
        return self.verify_export(data, self.run(*self.command("export", "--json", "--output", self.output)))

    def export_backup(self, data) -> Measurement:
        self.prepare(data.database)
        self.run(*self.command("backup", "--label", "one"))
        return self.verify_export(data, self.run(*self.command("export", "one", "--json", "--output", self.output)))

    def live(self, data) -> Measurement:
        """The live export as a program reads it through a mount, after a change."""
        self.prepare(data.database)
        with self.mounted() as daemon:
            self.runner.run(["cat", self.mountpoint / "live" / "export.json"], is_silent=True)
            # What the mount has rendered is no longer true then, and nothing else has changed.
            connection = sqlite3.connect(self.database)
            with connection:
                connection.execute(f"INSERT INTO expenses ({EXPENSE_COLUMNS}) SELECT {EXPENSE_COLUMNS.replace('id,', '0,', 1)} "
                                   "FROM expenses WHERE id = 1")
                connection.execute("DELETE FROM expenses WHERE id = 0")
            connection.close()
            used = daemon.processor_seconds()
            measurement = self.run(
                "dd", "bs=1M", "status=none", f"if={self.mountpoint / 'live' / 'export.json'}", f"of={self.output}")
            measurement = self.with_daemon(measurement, daemon, used)
        return self.verify_export(data, measurement)

    def restore(self, data, *words) -> Measurement:
        return self.verify_import(
            data, self.database, self.run(*self.command("restore", data.export, "--yes", *words)))

    def import_empty(self, data) -> Measurement:
        self.prepare(data.empty)
        return self.restore(data)

    def import_full(self, data) -> Measurement:
        self.prepare(data.database)
        return self.restore(data)

    def validate(self, data) -> Measurement:
        self.prepare(data.empty)
        return self.run(*ON_ONE_CORE, *self.command("restore", data.export, "--dry-run"))

    def preview(self, data) -> Measurement:
        """The program that serves and checks has one core; who copies runs elsewhere, as it would."""
        self.prepare(data.empty)
        with self.mounted(*ON_ONE_CORE) as daemon:
            used = daemon.processor_seconds()
            measurement = self.run("cp", data.export, self.mountpoint / "restore" / "preview" / "export.json")
            return self.with_daemon(measurement, daemon, used)

    def small_export(self, data) -> Measurement:
        return self.export(data)

    def small_import(self, data) -> Measurement:
        return self.import_full(data)

    def small_backup(self, data) -> Measurement:
        self.prepare(data.database)
        return self.run(*self.command("backup"))

    @property
    def mountpoint(self) -> Path:
        return self.scratch.parent / "mounts" / "records"

    def mounted(self, *before) -> Daemon:
        command = [*before, contenders.BackupFS.binary, "mount", "--foreground", "--store", self.store, self.mountpoint]
        return Daemon(command, self.mountpoint, {"BACKUPFS_NOW": CREATED}, self.runner.log)

    @staticmethod
    def with_daemon(measurement: Measurement, daemon: Daemon, used: float) -> Measurement:
        """The memory is the daemon's, the processor's time that of both."""
        return Measurement(
            measurement.seconds, daemon.memory()["peak_bytes"],
            cpu_seconds=measurement.cpu_seconds + daemon.processor_seconds() - used)


class SQLite(RecordContender):
    name = "sqlite3"

    @classmethod
    def version(cls) -> str:
        return "sqlite3 " + contenders.first_line(["sqlite3", "--version"])

    def export(self, data) -> Measurement:
        """The expenses alone, as an array; it has no way to write the rest."""
        return self.run(
            "sqlite3", "-readonly", "-json", data.database, f".once {self.output}",
            "SELECT id, date, energy_charged AS energyCharged, charger_type AS chargerType, odometer, cost, notes, "
            "is_initial_record AS isInitialRecord, expense_type AS expenseType, currency, car_id AS carId "
            "FROM expenses ORDER BY id")


class Python(RecordContender):
    name = "python"

    @classmethod
    def version(cls) -> str:
        return f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}"

    @property
    def database(self) -> Path:
        return self.scratch / "python.sqlite"

    def prepare(self, database: Path):
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.database}{suffix}").unlink(missing_ok=True)
        shutil.copyfile(database, self.database)

    def run_script(self, name: str, *words) -> Measurement:
        return self.run(sys.executable, Path(__file__).with_name(name), *words)

    def export(self, data) -> Measurement:
        return self.verify_export(data, self.run_script("peer_export.py", data.database, self.output, CREATED))

    def import_empty(self, data) -> Measurement:
        self.prepare(data.empty)
        return self.verify_import(data, self.database, self.run_script("peer_import.py", data.export, self.database))

    def import_full(self, data) -> Measurement:
        self.prepare(data.database)
        return self.verify_import(data, self.database, self.run_script("peer_import.py", data.export, self.database))


ALL = [BackupFS, SQLite, Python]
