"""What shows data as files: mounts of backups, a mount that only passes through, mounts of an archive, and the bare disk."""

import os
import subprocess
from contextlib import nullcontext
from pathlib import Path

import contenders
from daemon import Daemon


class MountContender:
    name = ""
    is_under_test = False
    # Of the photos, or of the small files: there is no large file in it.
    serves_archive = False
    # Whether `zip` is sent through it, for an archive of what was backed up.
    is_zipped = False

    def __init__(self, folder: Path, runner, data):
        """`folder` is its own, for what it keeps."""
        self.folder = folder
        self.runner = runner
        self.data = data
        # Nothing is ever removed below a mount: this is no part of a folder that is emptied.
        self.mountpoint = Path(os.environ["BENCH_DIR"]) / "mounts" / self.name

    @classmethod
    def is_available(cls) -> bool:
        return True

    def prepare(self):
        """Makes what is mounted."""

    def command(self) -> list:
        """Serves the mount in the foreground."""
        raise NotImplementedError

    def environment(self) -> dict:
        return {"HOME": str(self.folder)}

    def mounted(self):
        return Daemon(self.command(), self.mountpoint, self.environment(), self.runner.log)

    @property
    def media(self) -> Path:
        """Where the media folder shows, while it is mounted."""
        raise NotImplementedError

    @property
    def archive(self):
        """Where an archive of the photos shows, if it does."""
        return None

    def sources(self) -> list:
        """The files and folders that everything shown comes from."""
        return [self.folder]


class BackupMount(MountContender):
    """Mounts what one of the programs that are compared has backed up."""

    kind = contenders.Contender
    is_zipped = True

    def __init__(self, folder: Path, runner, data):
        super().__init__(folder, runner, data)
        self.program = self.kind(folder, runner, data)

    @classmethod
    def version(cls) -> str:
        return cls.kind.version()

    def environment(self) -> dict:
        return super().environment() | self.program.environment()

    def prepare(self):
        self.folder.mkdir()
        self.program.prepare()
        for state in self.data.states:
            self.data.enter(state)
            self.program.back_up(state)

    @property
    def path_within(self) -> Path:
        return self.data.media.relative_to("/")


class BackupFSMount(BackupMount):
    name = "backupfs"
    kind = contenders.BackupFS
    is_under_test = True

    def command(self) -> list:
        return [self.program.binary, "mount", "--foreground", "--store", self.program.store, self.mountpoint]

    @property
    def media(self) -> Path:
        return self.mountpoint / "snapshots" / "everything" / "media"

    @property
    def archive(self):
        return self.mountpoint / "snapshots" / self.data.states[0] / "archive.zip"


class ResticMount(BackupMount):
    name = "restic"
    kind = contenders.Restic

    def command(self) -> list:
        return ["restic", "mount", self.mountpoint]

    @property
    def media(self) -> Path:
        return self.mountpoint / "snapshots" / "latest" / self.path_within


class BorgMount(BackupMount):
    name = "borg"
    kind = contenders.Borg

    def command(self) -> list:
        return [self.program.binary, "mount", "--foreground", "::everything", self.mountpoint]

    @property
    def media(self) -> Path:
        return self.mountpoint / self.path_within


class Bindfs(MountContender):
    """Passes everything through to the folder of the data: what FUSE itself costs."""

    name = "bindfs"

    @classmethod
    def version(cls) -> str:
        return contenders.first_line(["bindfs", "--version"])

    def command(self) -> list:
        return ["bindfs", "-f", "-r", self.data.folder, self.mountpoint]

    @property
    def media(self) -> Path:
        return self.mountpoint / self.data.media.relative_to(self.data.folder)

    @property
    def archive(self):
        return self.mountpoint / self.data.archive.name

    def sources(self) -> list:
        return [self.data.folder]


class Disk(MountContender):
    """Nothing is mounted, so its first time is like its second."""

    name = "disk"

    @classmethod
    def version(cls) -> str:
        return "the folder itself"

    def mounted(self):
        return nullcontext()

    @property
    def media(self) -> Path:
        return self.data.media

    @property
    def archive(self):
        return self.data.archive

    def sources(self) -> list:
        return [self.data.folder]


class ArchiveMount(MountContender):
    """Mounts the archive that `mount_data` writes."""

    serves_archive = True

    def prepare(self):
        self.folder.mkdir()

    @property
    def media(self) -> Path:
        return self.mountpoint

    def sources(self) -> list:
        return [self.folder, self.data.archive]


class FuseZip(ArchiveMount):
    name = "fuse-zip"

    @classmethod
    def version(cls) -> str:
        # It tells in the middle of other things, and to the standard error.
        answer = subprocess.run(["fuse-zip", "--version"], capture_output=True, text=True)
        return next(line for line in (answer.stderr + answer.stdout).splitlines() if "fuse-zip version" in line).strip()

    def command(self) -> list:
        return ["fuse-zip", "-f", "-r", self.data.archive, self.mountpoint]


class Ratarmount(ArchiveMount):
    name = "ratarmount"
    binary = os.environ.get("RATARMOUNT_BINARY")

    @classmethod
    def is_available(cls) -> bool:
        return bool(cls.binary)

    @classmethod
    def version(cls) -> str:
        return contenders.first_line([cls.binary, "--version"])

    def prepare(self):
        super().prepare()
        # It makes its index when it mounts for the first time.
        with self.mounted():
            os.listdir(self.mountpoint)

    def command(self) -> list:
        index = self.folder / "index.sqlite"
        return [self.binary, "--foreground", "--index-file", index, self.data.archive, self.mountpoint]


ALL = [BackupFSMount, ResticMount, BorgMount, Bindfs, Disk, FuseZip, Ratarmount]
