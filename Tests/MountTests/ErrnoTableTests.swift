import TestSupport
import Testing

/// The errno of every call that can fail, for every kind of place. Each kind stands for several places, which must all return the
/// same.
///
/// The kernel's own errors are included: to programs it does not matter who returns them.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ErrnoTableTests {
    @Test func `calls on what is there, and on what is not`() throws {
        try Self.mounted { sandbox in
            let table = try sandbox.python(Self.callsOnPlaces)
            let expected = Self.answersOfPlaces.split(separator: "\n")
            for (line, told) in zip(expected, table.split(separator: "\n")) { #expect(told == line) }
            #expect(table.split(separator: "\n").count == expected.count)
            #expect(try sandbox.names("snapshots") == ["latest", "one", "two"])
            #expect(try sandbox.sh("cat $M/live/media/one.jpg $M/snapshots/one/media/one.jpg") == "oneone")
        }
    }

    static func mounted(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try PhotoDiary.setUp(sandbox)
            // Names in exports/ contain the time: when a backup is made again, it gets the same one.
            try sandbox.mount(Sandbox.fixedClock)
            try sandbox.sh("ln -s loop $P/loop; \(AttributeSemanticsTests.fill); rm $M/restore/a.zip")
            try body(sandbox)
            try sandbox.unmount()
        }
    }

    // MARK: What is there

    private static let callsOnPlaces = #"""
        places = {
            "mountpoint": [M],
            "folder": ["live", "live/data", "live/media", "snapshots", "snapshots/one/data", "snapshots/one/media", "exports", "safety", "restore",
                "restore/preview"],
            "backup": ["snapshots/one"],
            "file": ["README.txt", "status.json", "live/export.json", "live/archive.tar", "live/media/one.jpg", "snapshots/one/export.json",
                "snapshots/one/archive.zip", "snapshots/one/SHA256SUMS", "snapshots/one/media/one.jpg", "exports/" + min(os.listdir("exports")),
                "safety/" + min(os.listdir("safety")), "restore/last.json", "restore/last.txt", "restore/preview/e.json.preview.txt"],
            "loop": ["live/media/loop", "snapshots/one/media/loop"],
            "latest": ["snapshots/latest"],
            "dropped": ["restore/d.part", "restore/preview/d.part"],
            "absent": ["absent", "live/absent", "snapshots/one/absent", "snapshots/one/media/absent", "exports/absent", "safety/absent"],
            "below": ["README.txt/x", "live/media/one.jpg/x", "snapshots/one/export.json/x", "restore/last.json/x"],
        }

        def mapped(kind):
            return opened(os.O_RDONLY, lambda file: mmap.mmap(file, 1, kind, mmap.PROT_READ).close())

        def access(path):
            if not os.access(path, os.W_OK): raise OSError(errno.EACCES, "")

        class Skip(Exception): pass

        def renamed(to, flags=0):
            def run(path):
                target = to or os.path.join(os.path.dirname(path), "other.part")
                # A folder cannot be moved into itself, which the kernel says before anybody else is asked.
                if target.startswith(path + "/") or target == path: raise Skip
                renameat2(path, target, flags)
            return run

        def put_back(kind, path):
            """A backup or a dropped file that the call before may have removed, renamed or emptied."""
            for folder in ("snapshots", "restore", "restore/preview"):
                if os.path.exists(other := folder + "/other.part"):
                    os.unlink(other) if is_file(other) else os.rename(other, path)
            if kind == "backup" and not os.path.exists(path): os.mkdir(path)
            if kind == "dropped":
                with open(path, "w") as file: file.write("{")

        calls = {
            "stat": os.stat,
            "lstat": os.lstat,
            "access W_OK": access,
            "readlink": os.readlink,
            "chdir": lambda path: (os.chdir(path), os.chdir(M)),
            "statvfs": os.statvfs,
            "stat PATH/": lambda path: os.stat(path + "/"),
            "stat PATH/absent": lambda path: os.stat(path + "/absent"),
            "stat PATH/256 bytes": lambda path: os.stat(path + "/" + "n" * 256),
            "O_RDONLY": opened(os.O_RDONLY),
            "O_WRONLY": opened(os.O_WRONLY),
            "O_RDWR": opened(os.O_RDWR),
            "O_RDONLY|O_TRUNC": opened(os.O_RDONLY | os.O_TRUNC),
            "O_WRONLY|O_APPEND": opened(os.O_WRONLY | os.O_APPEND),
            "O_RDONLY|O_CREAT": opened(os.O_RDONLY | os.O_CREAT),
            "O_RDONLY|O_CREAT|O_EXCL": opened(os.O_RDONLY | os.O_CREAT | os.O_EXCL),
            "creat": opened(os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            "O_DIRECTORY": opened(os.O_RDONLY | os.O_DIRECTORY),
            "O_NOFOLLOW": opened(os.O_RDONLY | os.O_NOFOLLOW),
            "O_PATH": opened(os.O_PATH),
            "O_TMPFILE": opened(os.O_WRONLY | os.O_TMPFILE),
            "read": opened(os.O_RDONLY, lambda file: os.read(file, 10)),
            "pread beyond the end": opened(os.O_RDONLY, lambda file: os.pread(file, 10, 1 << 40)),
            "write": opened(os.O_RDONLY, lambda file: os.write(file, b"x")),
            "ftruncate": opened(os.O_RDONLY, lambda file: os.ftruncate(file, 0)),
            "ftruncate O_RDWR": opened(os.O_RDWR, lambda file: os.ftruncate(file, 0)),
            "fallocate O_RDWR": opened(os.O_RDWR, lambda file: call("fallocate", file, 0, ctypes.c_long(0), ctypes.c_long(10))),
            "fchmod": opened(os.O_RDONLY, lambda file: os.fchmod(file, 0o600)),
            "fsync": opened(os.O_RDONLY, os.fsync),
            "flock": opened(os.O_RDONLY, lambda file: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)),
            "fcntl F_RDLCK": opened(os.O_RDONLY, lambda file: fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)),
            "fcntl F_WRLCK": opened(os.O_RDONLY, lambda file: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)),
            "lseek SEEK_DATA": opened(os.O_RDONLY, lambda file: os.lseek(file, 0, os.SEEK_DATA)),
            "lseek SEEK_HOLE": opened(os.O_RDONLY, lambda file: os.lseek(file, 0, os.SEEK_HOLE)),
            "lseek to -1": opened(os.O_RDONLY, lambda file: os.lseek(file, -1, os.SEEK_SET)),
            "ioctl": opened(os.O_RDONLY, lambda file: fcntl.ioctl(file, 0x5401, bytes(100))),
            "fcntl F_WRLCK O_RDWR": opened(os.O_RDWR, lambda file: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)),
            "mmap MAP_PRIVATE": mapped(mmap.MAP_PRIVATE),
            "list": os.listdir,
            "mkdir": os.mkdir,
            "rmdir": os.rmdir,
            "unlink": os.unlink,
            "symlink": lambda path: os.symlink("target", path),
            "mkfifo": os.mkfifo,
            "mknod": lambda path: os.mknod(path, stat.S_IFREG | 0o600),
            "link from": lambda path: os.link(path, "restore/hard", follow_symlinks=False),
            "rename beside": renamed(None),
            "rename beside NOREPLACE": renamed(None, 1),
            "rename beside WHITEOUT": renamed(None, 4),
            "rename to itself": lambda path: os.rename(path, path),
            "rename to restore/": renamed("restore/other.part"),
            "rename to safety/": renamed("safety/other.part"),
            "rename over a file": renamed("live/data/photos.json"),
            "rename over a backup": renamed("snapshots/two"),
            "rename over NOREPLACE": renamed("snapshots/two", 1),
            "rename EXCHANGE": renamed("snapshots/two", 2),
            "truncate to 0": lambda path: os.truncate(path, 0),
            "truncate as it is": lambda path: os.truncate(path, os.stat(path).st_size),
            "chmod": lambda path: os.chmod(path, 0o640),
            "lchown as it is": lambda path: os.lchown(path, os.getuid(), os.getgid()),
            "utimensat": lambda path: os.utime(path, (1, 1), follow_symlinks=False),
            "utimensat now": lambda path: os.utime(path, follow_symlinks=False),
            "listxattr": os.listxattr,
            "getxattr absent": lambda path: os.getxattr(path, "user.absent"),
            "getxattr security": lambda path: os.getxattr(path, "security.selinux"),
            "getxattr acl": lambda path: os.getxattr(path, "system.posix_acl_access"),
            "setxattr": lambda path: os.setxattr(path, "user.mine", b"1"),
            "setxattr security": lambda path: os.setxattr(path, "security.mine", b"1"),
            "removexattr": lambda path: os.removexattr(path, "user.absent"),
        }
        print(f"{str():25}" + "".join(f"{kind:11}" for kind in places).rstrip())
        for name, function in calls.items():
            cells = []
            for kind, paths in places.items():
                answers = {}
                for path in paths:
                    put_back(kind, path)
                    try: answers.setdefault(code(function, path), []).append(path)
                    except Skip: pass
                put_back(kind, path)
                cells.append("/".join(answers) if len(answers) == 1 else str(answers))
            print(f"{name:25}" + "".join(f"{cell:11}" for cell in cells).rstrip())
        """#

    private static let answersOfPlaces = """
                                 mountpoint folder     backup     file       loop       latest     dropped    absent     below
        stat                     ok         ok         ok         ok         ELOOP      ok         ok         ENOENT     ENOTDIR
        lstat                    ok         ok         ok         ok         ok         ok         ok         ENOENT     ENOTDIR
        access W_OK              ok         ok         ok         ok         EACCES     ok         ok         EACCES     EACCES
        readlink                 EINVAL     EINVAL     EINVAL     EINVAL     ok         ok         EINVAL     ENOENT     ENOTDIR
        chdir                    ok         ok         ok         ENOTDIR    ELOOP      ok         ENOTDIR    ENOENT     ENOTDIR
        statvfs                  ok         ok         ok         ok         ELOOP      ok         ok         ENOENT     ENOTDIR
        stat PATH/               ok         ok         ok         ENOTDIR    ELOOP      ok         ENOTDIR    ENOENT     ENOTDIR
        stat PATH/absent         ENOENT     ENOENT     ENOENT     ENOTDIR    ELOOP      ENOENT     ENOTDIR    ENOENT     ENOTDIR
        stat PATH/256 bytes      ENAMETOOLONGENAMETOOLONGENAMETOOLONGENOTDIR    ELOOP      ENAMETOOLONGENOTDIR    ENOENT     ENOTDIR
        O_RDONLY                 ok         ok         ok         ok         ELOOP      ok         ok         ENOENT     ENOTDIR
        O_WRONLY                 EISDIR     EISDIR     EISDIR     EROFS      ELOOP      EISDIR     ok         ENOENT     ENOTDIR
        O_RDWR                   EISDIR     EISDIR     EISDIR     EROFS      ELOOP      EISDIR     ok         ENOENT     ENOTDIR
        O_RDONLY|O_TRUNC         EISDIR     EISDIR     EISDIR     EROFS      ELOOP      EISDIR     ok         ENOENT     ENOTDIR
        O_WRONLY|O_APPEND        EISDIR     EISDIR     EISDIR     EROFS      ELOOP      EISDIR     ok         ENOENT     ENOTDIR
        O_RDONLY|O_CREAT         EISDIR     EISDIR     EISDIR     ok         ELOOP      EISDIR     ok         EROFS      ENOTDIR
        O_RDONLY|O_CREAT|O_EXCL  EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EROFS      ENOTDIR
        creat                    EISDIR     EISDIR     EISDIR     EROFS      ELOOP      EISDIR     ok         EROFS      ENOTDIR
        O_DIRECTORY              ok         ok         ok         ENOTDIR    ELOOP      ok         ENOTDIR    ENOENT     ENOTDIR
        O_NOFOLLOW               ok         ok         ok         ok         ELOOP      ELOOP      ok         ENOENT     ENOTDIR
        O_PATH                   ok         ok         ok         ok         ELOOP      ok         ok         ENOENT     ENOTDIR
        O_TMPFILE                EOPNOTSUPP EOPNOTSUPP EOPNOTSUPP ENOTDIR    ELOOP      EOPNOTSUPP ENOTDIR    ENOENT     ENOTDIR
        read                     EISDIR     EISDIR     EISDIR     ok         ELOOP      EISDIR     ok         ENOENT     ENOTDIR
        pread beyond the end     EISDIR     EISDIR     EISDIR     ok         ELOOP      EISDIR     ok         ENOENT     ENOTDIR
        write                    EBADF      EBADF      EBADF      EBADF      ELOOP      EBADF      EBADF      ENOENT     ENOTDIR
        ftruncate                EINVAL     EINVAL     EINVAL     EINVAL     ELOOP      EINVAL     EINVAL     ENOENT     ENOTDIR
        ftruncate O_RDWR         EISDIR     EISDIR     EISDIR     EROFS      ELOOP      EISDIR     ok         ENOENT     ENOTDIR
        fallocate O_RDWR         EISDIR     EISDIR     EISDIR     EROFS      ELOOP      EISDIR     EOPNOTSUPP ENOENT     ENOTDIR
        fchmod                   EROFS      EROFS      EROFS      EROFS      ELOOP      EROFS      ok         ENOENT     ENOTDIR
        fsync                    ok         ok         ok         ok         ELOOP      ok         ok         ENOENT     ENOTDIR
        flock                    ok         ok         ok         ok         ELOOP      ok         ok         ENOENT     ENOTDIR
        fcntl F_RDLCK            ok         ok         ok         ok         ELOOP      ok         ok         ENOENT     ENOTDIR
        fcntl F_WRLCK            EBADF      EBADF      EBADF      EBADF      ELOOP      EBADF      EBADF      ENOENT     ENOTDIR
        lseek SEEK_DATA          ENXIO      ENXIO      ENXIO      ok         ELOOP      ENXIO      ok         ENOENT     ENOTDIR
        lseek SEEK_HOLE          ENXIO      ENXIO      ENXIO      ok         ELOOP      ENXIO      ok         ENOENT     ENOTDIR
        lseek to -1              EINVAL     EINVAL     EINVAL     EINVAL     ELOOP      EINVAL     EINVAL     ENOENT     ENOTDIR
        ioctl                    ENOTTY     ENOTTY     ENOTTY     ENOTTY     ELOOP      ENOTTY     ENOTTY     ENOENT     ENOTDIR
        fcntl F_WRLCK O_RDWR     EISDIR     EISDIR     EISDIR     EROFS      ELOOP      EISDIR     ok         ENOENT     ENOTDIR
        mmap MAP_PRIVATE         ENODEV     ENODEV     ENODEV     ok         ELOOP      ENODEV     ok         ENOENT     ENOTDIR
        list                     ok         ok         ok         ENOTDIR    ELOOP      ok         ENOTDIR    ENOENT     ENOTDIR
        mkdir                    EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EROFS      ENOTDIR
        rmdir                    EBUSY      EROFS      ok         ENOTDIR    ENOTDIR    ENOTDIR    ENOTDIR    ENOENT     ENOTDIR
        unlink                   EISDIR     EISDIR     EISDIR     EROFS      EROFS      EROFS      ok         ENOENT     ENOTDIR
        symlink                  EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EPERM      ENOTDIR
        mkfifo                   EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EPERM      ENOTDIR
        mknod                    EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EPERM      ENOTDIR
        link from                EPERM      EPERM      EPERM      EPERM      EPERM      EPERM      EPERM      ENOENT     ENOTDIR
        rename beside            EBUSY      EROFS      ok         EROFS      EROFS      ENOTDIR    ok         ENOENT     ENOTDIR
        rename beside NOREPLACE  EBUSY      EROFS      ok         EROFS      EROFS      ENOTDIR    ok         ENOENT     ENOTDIR
        rename beside WHITEOUT   EBUSY      EINVAL     EINVAL     EINVAL     EINVAL     EINVAL     EINVAL     ENOENT     ENOTDIR
        rename to itself         ok         ok         ok         ok         ok         ok         ok         ENOENT     ENOTDIR
        rename to restore/       EXDEV      EROFS      EXDEV      EROFS      EROFS      EXDEV      ok         ENOENT     ENOTDIR
        rename to safety/        EXDEV      EROFS      EXDEV      EROFS      EROFS      EXDEV      EROFS      ENOENT     ENOTDIR
        rename over a file       EXDEV      ENOTDIR    ENOTDIR    EROFS      EROFS      EXDEV      EROFS      ENOENT     ENOTDIR
        rename over a backup     EXDEV      EROFS      EEXIST     EISDIR     EISDIR     EISDIR     EISDIR     ENOENT     ENOTDIR
        rename over NOREPLACE    EXDEV      EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     EEXIST     ENOENT     ENOTDIR
        rename EXCHANGE          EXDEV      EINVAL     EINVAL     EINVAL     EINVAL     EINVAL     EINVAL     ENOENT     ENOTDIR
        truncate to 0            EISDIR     EISDIR     EISDIR     EROFS      ELOOP      EISDIR     ok         ENOENT     ENOTDIR
        truncate as it is        EISDIR     EISDIR     EISDIR     EROFS      ELOOP      EISDIR     ok         ENOENT     ENOTDIR
        chmod                    EROFS      EROFS      EROFS      EROFS      ELOOP      EROFS      ok         ENOENT     ENOTDIR
        lchown as it is          EROFS      EROFS      EROFS      EROFS      EROFS      EROFS      ok         ENOENT     ENOTDIR
        utimensat                EROFS      EROFS      EROFS      EROFS      EROFS      EROFS      ok         ENOENT     ENOTDIR
        utimensat now            EROFS      EROFS      EROFS      EROFS      EROFS      EROFS      ok         ENOENT     ENOTDIR
        listxattr                ok         ok         ok         ok         ELOOP      ok         ok         ENOENT     ENOTDIR
        getxattr absent          ENODATA    ENODATA    ENODATA    ENODATA    ELOOP      ENODATA    ENODATA    ENOENT     ENOTDIR
        getxattr security        EOPNOTSUPP EOPNOTSUPP EOPNOTSUPP EOPNOTSUPP ELOOP      EOPNOTSUPP EOPNOTSUPP ENOENT     ENOTDIR
        getxattr acl             EOPNOTSUPP EOPNOTSUPP EOPNOTSUPP EOPNOTSUPP ELOOP      EOPNOTSUPP EOPNOTSUPP ENOENT     ENOTDIR
        setxattr                 EROFS      EROFS      EROFS      EROFS      ELOOP      EROFS      EOPNOTSUPP ENOENT     ENOTDIR
        setxattr security        EOPNOTSUPP EOPNOTSUPP EOPNOTSUPP EOPNOTSUPP ELOOP      EOPNOTSUPP EOPNOTSUPP ENOENT     ENOTDIR
        removexattr              EROFS      EROFS      EROFS      EROFS      ELOOP      EROFS      ENODATA    ENOENT     ENOTDIR
        """
}
