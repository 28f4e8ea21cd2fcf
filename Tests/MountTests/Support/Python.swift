import TestSupport
import Testing

/// Python scripts, for system calls that ordinary programs do not make.
extension Sandbox {
    /// The prelude of every script: the mountpoint is the current folder.
    private static let pythonPrelude = #"""
        import ctypes, errno, fcntl, hashlib, json, mmap, os, random, signal, sqlite3, stat, struct, subprocess, sys, threading, time
        M, R, S = (os.environ[name] for name in "MRS")
        os.chdir(M)
        libc = ctypes.CDLL(None, use_errno=True)

        def code(function, *arguments, **named):
            """ok, or the name of the errno."""
            try:
                function(*arguments, **named)
            except OSError as error:
                return "EOPNOTSUPP" if error.errno == errno.EOPNOTSUPP else errno.errorcode[error.errno]
            return "ok"

        def call(name, *arguments):
            """A function of the C library that Python does not have."""
            result = getattr(libc, name)(*(os.fsencode(each) if isinstance(each, str) else each for each in arguments))
            if result == -1:
                raise OSError(ctypes.get_errno(), name)
            return result

        def renameat2(old, new, flags):
            call("renameat2", -100, old, -100, new, flags)

        def opened(flags, then=lambda file: None):
            """A function that opens a path, does something and closes it."""
            def run(path):
                file = os.open(path, flags, 0o600)
                try:
                    return then(file)
                finally:
                    os.close(file)
            return run

        def read(path):
            with open(path, "rb") as file:
                return file.read()

        def everything(top="."):
            """All paths below a folder, links and folders too."""
            for folder, folders, files in os.walk(top):
                for name in folders + files:
                    yield os.path.join(folder, name)

        def is_file(path):
            return stat.S_ISREG(os.lstat(path).st_mode)

        def waits(process):
            """Whether it waits for the answer of a file system, or for one that waits. Other users than root see only that it sleeps."""
            try:
                for task in os.listdir(f"/proc/{process.pid}/task"):
                    state = read(f"/proc/{process.pid}/task/{task}/stat").rsplit(b")", 1)[1].split()[0]
                    place = read(f"/proc/{process.pid}/task/{task}/wchan")
                    if state == b"D" or b"request_wait" in place or state == b"S" and os.geteuid() != 0:
                        return True
            except OSError:
                pass
            return False

        def begun(processes):
            """Waits until each of them waits for a file system, or has ended."""
            until(lambda: all(process.poll() is not None or waits(process) for process in processes))

        def until(condition, seconds=10):
            limit = time.monotonic() + seconds
            while not condition() and time.monotonic() < limit:
                time.sleep(0.01)
            return condition()

        def answers_in(seconds, action):
            """Whether an action takes less than some seconds, on a machine that may be busy with something else for a while."""
            def took():
                start = time.monotonic()
                action()
                return time.monotonic() - start
            return until(lambda: took() < seconds, 30)

        """#

    /// Runs a Python script that must succeed, and returns its output without trailing newlines.
    @discardableResult
    func python(_ script: String, _ extra: [String: String] = [:], at place: SourceLocation = #_sourceLocation) throws -> String {
        try write(Self.pythonPrelude + script, to: "script.py")
        return try sh("python3 $R/script.py", extra, at: place)
    }
}
