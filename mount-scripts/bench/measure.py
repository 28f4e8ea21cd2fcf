"""Runs a program and measures it: wall time, peak memory, and what it left on disk."""

import os
import platform
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path


class StepFailed(Exception):
    pass


@dataclass
class Measurement:
    seconds: float
    # Of the largest process: the kernel keeps the maximum of a program and of what it started and waited for. What is below
    # this script's own size (some 20 MB) is this script, since a new process begins as a copy of it.
    peak_bytes: int
    # It took longer than it was given, and `seconds` is what it was given.
    was_stopped: bool = False
    # Of processors, the program's and the system's for it, together with what it started and waited for.
    cpu_seconds: float = 0
    # From disks, by the program and what it started and waited for.
    read_bytes: int = 0


class Runner:
    """Runs commands; their output goes to a log and is shown when one fails."""

    def __init__(self, log: Path):
        self.log = log
        log.write_text("")

    def run(
            self, command, folder=None, environment=None, limit_seconds: float | None = None,
            is_silent: bool = False) -> Measurement:
        """With `limit_seconds` it is stopped then, which is no failure. `is_silent`: its output goes nowhere."""
        with open(self.log, "ab") as log:
            log.write(f"\n$ {' '.join(map(str, command))}\n".encode())
            log.flush()
            beginning = log.tell()
            start = time.monotonic()
            # A group of its own: what it starts, like the commands of a pipe, can be ended with it.
            process = subprocess.Popen(
                [str(word) for word in command], cwd=folder, env={**os.environ, **(environment or {})}, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL if is_silent else log, stderr=log)
            was_stopped = threading.Event()
            timer = None
            if limit_seconds is not None:
                timer = threading.Timer(limit_seconds, lambda: (was_stopped.set(), os.killpg(process.pid, signal.SIGKILL)))
                timer.start()
            try:
                # It is not reaped before the timer can no longer kill it, since its number could be another's then.
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
                seconds = time.monotonic() - start
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
            finally:
                if timer:
                    timer.cancel()
                    timer.join()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
        peak_bytes = usage.ru_maxrss * 1024
        if was_stopped.is_set():
            return Measurement(limit_seconds, peak_bytes, was_stopped=True)
        if process.returncode != 0:
            with open(self.log, "rb") as log:
                log.seek(beginning)
                output = log.read().decode(errors="replace").strip()
            raise StepFailed(f"exit code {process.returncode}: {' '.join(map(str, command))}\n{output[-1500:]}")
        return Measurement(
            seconds, peak_bytes, cpu_seconds=usage.ru_utime + usage.ru_stime, read_bytes=usage.ru_inblock * 512)


def settle():
    """Waits until the disk has everything, so that nobody pays for what was written before."""
    os.sync()


def may_drop_caches() -> bool:
    return os.access("/proc/sys/vm/drop_caches", os.W_OK)


def drop_caches():
    settle()
    if may_drop_caches():
        Path("/proc/sys/vm/drop_caches").write_text("3")


class FreshFolder:
    """An empty folder to restore into. For root it is a new file system in a file, since a file system that has seen many files
    come and go makes new ones several times slower, and not evenly; the `target` within it is not made."""

    def __init__(self, scratch: Path, byte_count: int, file_count: int):
        self.mountpoint = scratch / "fresh"
        self.image = scratch / "fresh.image"
        self.size = 4 * byte_count + (1 << 30)
        self.inodes = 2 * file_count + 10_000
        self.is_mounted = False

    def __enter__(self) -> Path:
        self.mountpoint.mkdir()
        if os.geteuid() == 0 and shutil.which("mkfs.ext4"):
            with open(self.image, "wb") as file:
                file.truncate(self.size)
            subprocess.run(
                ["mkfs.ext4", "-q", "-F", "-N", str(self.inodes), "-E", "lazy_itable_init=1,nodiscard", self.image], check=True)
            # Containers may have no loop devices: then it is an ordinary folder.
            self.is_mounted = subprocess.run(
                ["mount", "-o", "loop", self.image, self.mountpoint], stderr=subprocess.DEVNULL).returncode == 0
        return self.mountpoint / "target"

    def __exit__(self, *_):
        if self.is_mounted:
            subprocess.run(["umount", self.mountpoint], check=True)
        self.image.unlink(missing_ok=True)
        shutil.rmtree(self.mountpoint)


def stored_bytes(folder: Path) -> int:
    """The lengths of all files below a folder, or of one file; nothing for what is not there."""
    if folder.is_file():
        return folder.stat().st_size
    return sum(
        os.lstat(os.path.join(path, name)).st_size for path, _, names in os.walk(folder) for name in names)


def machine(folder: Path) -> list:
    """What the numbers depend on, a line each."""
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = "unknown distribution"
    kind = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True).stdout.strip()
    free = shutil.disk_usage(folder).free
    return [
        f"{model}, {len(os.sched_getaffinity(0))} cores, {memory / 2**30:.0f} GiB of memory",
        f"{system}, Linux {platform.release()}",
        f"everything on one {kind} file system, {free / 2**30:.0f} GiB free",
    ]
