"""The programs that are compared, each with the few commands a backup's life consists of."""

import filecmp
import os
import sqlite3
import subprocess
from pathlib import Path

from measure import StepFailed, stored_bytes


class Contender:
    name = ""
    is_under_test = False

    def __init__(self, scratch: Path, runner, corpus):
        self.scratch = scratch
        self.runner = runner
        self.corpus = corpus

    @property
    def repository(self) -> Path:
        return self.scratch / "repository"

    def caches(self) -> list:
        """Files and folders that the program makes again when they are lost, wherever they lie."""
        return []

    def cache_bytes(self) -> int:
        return sum(stored_bytes(path) for path in self.caches())

    def repository_bytes(self) -> int:
        """What has to be kept."""
        inside = sum(stored_bytes(path) for path in self.caches() if self.repository in path.parents)
        return stored_bytes(self.repository) - inside

    def run(self, *command, folder=None):
        return self.runner.run(command, folder=folder, environment=self.environment())

    def environment(self) -> dict:
        return {}

    def verify_restored(self, target: Path):
        """Peers restore the corpus's folder below its whole path."""
        compare_trees(self.corpus.folder, target / self.corpus.folder.relative_to("/"))


class BackupFS(Contender):
    name = "backupfs"
    is_under_test = True
    binary = Path()

    @classmethod
    def version(cls) -> str:
        return "backupfs " + first_line([cls.binary, "--version"])

    @property
    def store(self) -> Path:
        return self.scratch / "store"

    def caches(self) -> list:
        return [self.repository / f"catalog.sqlite{suffix}" for suffix in ("", "-wal", "-shm")]

    def prepare(self):
        command = [self.binary, "init", "--store", self.store, "--repository", self.repository]
        command += ["--database", self.corpus.database]
        if self.corpus.media:
            command += ["--app", Path(__file__).parent / "media-app.yaml", "--media", self.corpus.media]
        self.run(*command)

    def back_up(self, label: str):
        return self.run(self.binary, "backup", "--store", self.store, "--label", label)

    def restore(self, label: str, target: Path):
        return self.run(self.binary, "restore", label, "--target", target, "--store", self.store)

    def check(self):
        return self.run(self.binary, "check", "--read-data", "--store", self.store)

    def verify_restored(self, target: Path):
        if self.corpus.media:
            compare_trees(self.corpus.media, target / "media")
        # A consistent copy of a database need not have the same bytes; its records must be the same.
        copies = [dump(self.corpus.database), dump(target / "database.sqlite")]
        if any(one != other for one, other in zip(*copies, strict=True)):
            raise StepFailed("the restored database differs")


class Restic(Contender):
    name = "restic"

    @classmethod
    def version(cls) -> str:
        return first_line(["restic", "version"])

    def environment(self) -> dict:
        return {
            "RESTIC_REPOSITORY": str(self.repository), "RESTIC_PASSWORD": "bench",
            "RESTIC_CACHE_DIR": str(self.scratch / "cache"),
        }

    def caches(self) -> list:
        return [self.scratch / "cache"]

    def prepare(self):
        self.run("restic", "init")

    def back_up(self, label: str):
        return self.run("restic", "backup", "--quiet", "--tag", label, self.corpus.folder)

    def restore(self, label: str, target: Path):
        return self.run("restic", "restore", "--quiet", "--tag", label, "--target", target, "latest")

    def check(self):
        return self.run("restic", "check", "--quiet", "--read-data")


class Borg(Contender):
    name = "borg"
    binary = "borg"

    @classmethod
    def version(cls) -> str:
        return first_line([cls.binary, "--version"]) + ", -C lz4"

    def environment(self) -> dict:
        return {
            "BORG_BASE_DIR": str(self.scratch / "base"), "BORG_REPO": str(self.repository),
            "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes",
        }

    def caches(self) -> list:
        return [self.scratch / "base"]

    def prepare(self):
        self.run(self.binary, "init", "--encryption", "none")

    def back_up(self, label: str):
        return self.run(self.binary, "create", "--compression", "lz4", f"::{label}", self.corpus.folder)

    def restore(self, label: str, target: Path):
        target.mkdir()
        return self.run(self.binary, "extract", f"::{label}", folder=target)

    def check(self):
        return self.run(self.binary, "check", "--verify-data")


ALL = [BackupFS, Restic, Borg]


def first_line(command) -> str:
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return output.splitlines()[0].strip()


def compare_trees(original: Path, copy: Path):
    """Every name and every byte."""
    for path, folders, names in os.walk(original):
        other = copy / Path(path).relative_to(original)
        if not other.is_dir() or sorted(os.listdir(other)) != sorted(folders + names):
            raise StepFailed(f"the restored folder {other} does not hold what it should")
        _, different, failed = filecmp.cmpfiles(path, other, names, shallow=False)
        if different or failed:
            raise StepFailed(f"restored files differ in {other}: {(different + failed)[:3]}")


def dump(database: Path):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        yield from connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name")
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        for [table] in tables:
            yield from connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid')
    finally:
        connection.close()
