"""A program that serves a mount in the foreground: begun, waited for, watched and ended."""

import os
import subprocess
import time
from pathlib import Path

from measure import StepFailed

READY_SECONDS = 120
UNMOUNT_SECONDS = 15
END_SECONDS = 5
# The wait for a mount is measured, so it has to be short.
POLL_SECONDS = 0.001


class Daemon:
    """Mounted while in the `with`."""

    def __init__(self, command: list, mountpoint: Path, environment: dict, log: Path):
        self.command = [str(word) for word in command]
        self.mountpoint = mountpoint
        self.environment = environment
        self.log = log
        self.process = None

    def __enter__(self):
        self.mountpoint.mkdir(parents=True, exist_ok=True)
        with open(self.log, "ab") as log:
            log.write(f"\n$ {' '.join(self.command)}\n".encode())
            log.flush()
            beginning = log.tell()
            # Ctrl-C is for this script, which unmounts first.
            self.process = subprocess.Popen(
                self.command, env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
        try:
            self.wait_until_mounted(beginning)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def wait_until_mounted(self, beginning: int):
        deadline = time.monotonic() + READY_SECONDS
        while not is_mounted(self.mountpoint):
            if self.process.poll() is not None or time.monotonic() > deadline:
                with open(self.log, "rb") as log:
                    log.seek(beginning)
                    output = log.read().decode(errors="replace").strip()
                raise StepFailed(f"not mounted: {' '.join(self.command)}\n{output[-1500:]}")
            time.sleep(POLL_SECONDS)

    def end(self):
        """Unmounts, upon which the program ends by itself; one that does not is made to."""
        try:
            deadline = time.monotonic() + UNMOUNT_SECONDS
            while is_mounted(self.mountpoint) and self.process.poll() is None and time.monotonic() < deadline:
                # A process that was stopped while it read may need a moment to close its files.
                if not unmount(self.mountpoint):
                    time.sleep(0.1)
        finally:
            # Also when Ctrl-C comes just then.
            self.make_end()

    def make_end(self):
        if is_mounted(self.mountpoint):
            unmount(self.mountpoint, "-z")
        for stop in (lambda: None, self.process.terminate, self.process.kill):
            stop()
            try:
                self.process.wait(END_SECONDS)
                break
            except subprocess.TimeoutExpired:
                continue
        # It may have mounted while it was told to end.
        if is_mounted(self.mountpoint):
            unmount(self.mountpoint, "-z")
        self.mountpoint.rmdir()

    def memory(self) -> dict:
        """In bytes: what is resident now, and the most that ever was."""
        found = {}
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in ("VmRSS", "VmHWM"):
                found[name] = int(value.split()[0]) * 1024
        return {"resident_bytes": found["VmRSS"], "peak_bytes": found["VmHWM"]}

    def processor_seconds(self) -> float:
        """Used so far, by the program and by the system for it."""
        # The name in parentheses may hold anything.
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def unmount(mountpoint: Path, *options) -> bool:
    command = ["fusermount3", "-u", *options, mountpoint]
    # Ctrl-C is not for it.
    return subprocess.run(command, stderr=subprocess.DEVNULL, start_new_session=True).returncode == 0


def is_mounted(mountpoint: Path) -> bool:
    """By the kernel's list: to look at the folder itself would ask the program, and wait for it."""
    escaped = str(mountpoint).replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011").replace("\n", "\\012")
    return any(line.split(" ")[4] == escaped for line in Path("/proc/self/mountinfo").read_text().splitlines())
