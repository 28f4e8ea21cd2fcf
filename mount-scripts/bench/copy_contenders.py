"""Who copies a folder to two places and verifies the copies, and how."""

import os
import shlex
import shutil
from pathlib import Path

import contenders
from copy_data import extent
from measure import Measurement, StepFailed, drop_caches


class CopyContender:
    """Steps are methods by their names; who has none for a step does not take part in it."""

    name = ""
    is_under_test = False

    def __init__(self, scratch: Path, memory: Path, runner):
        self.scratch = scratch
        self.disk = scratch / "copy"
        self.memory = memory / "copy"
        self.runner = runner

    @property
    def targets(self) -> list:
        return [self.memory, self.disk]

    def clear(self):
        for target in (self.memory, self.disk):
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()

    def sums(self, source: Path) -> Path:
        """Made before the time is taken."""
        path = source.with_name(source.name + ".sha256")
        if not path.exists():
            self.runner.run(["sh", "-c", f"cd {shlex.quote(str(source))} && find . -type f -print0 | xargs -0 sha256sum > \"$1\"", "sh", path])
        return path

    def copy(self, source: Path, command: list, keeps_disk: bool = False) -> Measurement:
        """From the disk, into empty folders."""
        self.clear()
        drop_caches()
        measurement = self.runner.run(command, environment={"HOME": str(self.scratch)})
        for target in self.targets:
            if extent(target) != extent(source):
                raise StepFailed(f"{self.name}: {target} has {extent(target)} files and bytes, and not {extent(source)}")
        if keeps_disk:
            shutil.rmtree(self.memory)
        else:
            self.clear()
        return measurement

    def card(self, data) -> Measurement:
        return self.copy(data.card, self.command(data.card))

    def small(self, data) -> Measurement:
        # Into a folder of its own, which stays until the end: for minutes after files were removed, ext4 does not use their inodes
        # again, and looks at each of them for each new file.
        self.disk = self.scratch / f"small-{self.name}-{len(list(self.scratch.glob('small-*')))}"
        return self.copy(data.small, self.command(data.small), keeps_disk=True)


class BackupFS(CopyContender):
    name = "backupfs"
    is_under_test = True

    @classmethod
    def version(cls) -> str:
        return contenders.BackupFS.version()

    def command(self, source: Path) -> list:
        jobs = self.scratch / ".local"
        shutil.rmtree(jobs, ignore_errors=True)
        return [contenders.BackupFS.binary, "copy", source, *self.targets]

    def digests(self, data) -> Measurement:
        """Of a file in memory, which is read once."""
        algorithms = [word for name in ("md5", "sha1", "sha256") for word in ("-a", name)]
        command = [contenders.BackupFS.binary, "checksum", "--no-cache", *algorithms, large_file(data, self.memory.parent)]
        return self.runner.run(command, environment={"HOME": str(self.scratch)})


class Rsync(CopyContender):
    """One copy after the other, and then their checksums."""

    name = "rsync"

    @classmethod
    def version(cls) -> str:
        return contenders.first_line(["rsync", "--version"]) + ", -a, and sha256sum -c --quiet"

    def command(self, source: Path) -> list:
        script = "set -e; for target in \"$3\" \"$4\"; do rsync -a \"$1/\" \"$target/\"; done;" \
            " for target in \"$3\" \"$4\"; do (cd \"$target\" && sha256sum -c --quiet \"$2\"); done"
        return ["sh", "-c", script, "sh", source, self.sums(source), *self.targets]


class Cp(CopyContender):
    """To the disk alone."""

    name = "cp"

    @property
    def targets(self) -> list:
        return [self.disk]

    @classmethod
    def version(cls) -> str:
        return contenders.first_line(["cp", "--version"]) + ", -a to the disk alone, and sha256sum -c --quiet"

    def command(self, source: Path) -> list:
        script = 'set -e; cp -a "$1/." "$3/"; cd "$3" && sha256sum -c --quiet "$2"'
        return ["sh", "-c", script, "sh", source, self.sums(source), self.disk]

    # Many small files are measured beside rsync.
    small = None


class MD5Sum(CopyContender):
    name = "md5sum"
    card = small = None

    @classmethod
    def version(cls) -> str:
        return contenders.first_line(["md5sum", "--version"])

    def digests(self, data) -> Measurement:
        return self.runner.run(["md5sum", large_file(data, self.memory.parent)])


def large_file(data, memory: Path) -> Path:
    """All clips as one file in memory, so that only the hashing takes time."""
    path = memory / "large" / "file"
    if not path.exists():
        path.parent.mkdir()
        with open(path, "wb") as file:
            for clip in sorted((data.card / "CLIPS").iterdir()):
                # In parts: a program that is started counts the memory of the one that starts it (getrusage(2)).
                with open(clip, "rb") as part:
                    shutil.copyfileobj(part, file, 1 << 20)
    return path


ALL = [BackupFS, Rsync, Cp, MD5Sum]
