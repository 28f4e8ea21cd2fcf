import TestSupport
import Testing

/// The errno of every call that takes a name, for every kind of folder and every kind of name.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ErrnoNameTests {
    @Test func `calls that make something of a name`() throws {
        try ErrnoTableTests.mounted { sandbox in
            let table = try sandbox.python(Self.callsOnNames)
            let expected = Self.answersOfNames.split(separator: "\n")
            for (line, told) in zip(expected, table.split(separator: "\n")) { #expect(told == line) }
            #expect(table.split(separator: "\n").count == expected.count)
            #expect(try sandbox.names("snapshots") == ["latest", "one", "two"])
        }
    }

    private static let callsOnNames = #"""
        folders = {
            "read-only": [".", "live", "live/data", "live/media", "snapshots/one", "snapshots/one/data", "snapshots/one/media", "exports", "safety"],
            "snapshots": ["snapshots"],
            "restore": ["restore"],
            "preview": ["restore/preview"],
            "file": ["README.txt", "snapshots/one/export.json"],
            "absent": ["absent", "live/absent"],
        }
        names = {"new": "new", "hidden": ".new", "not UTF-8": b"a\xff", "newline": "a\nb", "too long": "n" * 256, ".Trash": ".Trash-0",
            "reserved": "last.txt", "preview's": "x.preview.txt"}
        calls = {
            "stat": os.stat,
            "O_WRONLY|O_CREAT": opened(os.O_WRONLY | os.O_CREAT),
            "O_CREAT|O_EXCL": opened(os.O_RDWR | os.O_CREAT | os.O_EXCL),
            "mkdir": os.mkdir,
            "rmdir": os.rmdir,
            "unlink": os.unlink,
            "mkfifo": os.mkfifo,
            "mknod a file": lambda path: os.mknod(path, stat.S_IFREG | 0o600),
            "mknod a socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
            "symlink": lambda path: os.symlink("target", path),
            "link": lambda path: os.link("README.txt", path),
            "rename a file": lambda path: os.rename("README.txt", path),
            "rename a backup": lambda path: os.rename("snapshots/two", path),
            "rename a dropped file": lambda path: os.rename("restore/d.part", path),
        }
        print(f"{str():34}" + "".join(f"{kind:13}" for kind in folders).rstrip())
        open("restore/d.part", "w").close()
        for kind, last in names.items():
            for name, function in calls.items():
                # What a name means matters only to calls that make something of it.
                if kind != "new" and name in ("rmdir", "mkfifo", "mknod a file", "mknod a socket", "symlink", "link"): continue
                cells = []
                for paths in folders.values():
                    answers = {}
                    for folder in paths:
                        path = os.path.join(os.fsencode(folder), os.fsencode(last))
                        answer = code(function, path)
                        answers.setdefault(answer, []).append(folder)
                        if answer != "ok" or name == "stat": continue
                        if name == "rename a backup": os.rename(path, "snapshots/two")
                        elif name == "rename a dropped file": os.rename(path, "restore/d.part")
                        elif name == "mkdir": os.rmdir(path)
                        else: os.unlink(path)
                    cells.append("/".join(answers) if len(answers) == 1 else str(answers))
                print(f'{kind + ": " + name:34}' + "".join(f"{cell:13}" for cell in cells).rstrip())
        """#

    private static let answersOfNames = """
                                          read-only    snapshots    restore      preview      file         absent
        new: stat                         ENOENT       ENOENT       ENOENT       ENOENT       ENOTDIR      ENOENT
        new: O_WRONLY|O_CREAT             EROFS        EPERM        ok           ok           ENOTDIR      ENOENT
        new: O_CREAT|O_EXCL               EROFS        EPERM        ok           ok           ENOTDIR      ENOENT
        new: mkdir                        EROFS        ok           EPERM        EPERM        ENOTDIR      ENOENT
        new: rmdir                        ENOENT       ENOENT       ENOENT       ENOENT       ENOTDIR      ENOENT
        new: unlink                       ENOENT       ENOENT       ENOENT       ENOENT       ENOTDIR      ENOENT
        new: mkfifo                       EPERM        EPERM        EPERM        EPERM        ENOTDIR      ENOENT
        new: mknod a file                 EPERM        EPERM        EPERM        EPERM        ENOTDIR      ENOENT
        new: mknod a socket               EPERM        EPERM        EPERM        EPERM        ENOTDIR      ENOENT
        new: symlink                      EPERM        EPERM        EPERM        EPERM        ENOTDIR      ENOENT
        new: link                         EPERM        EPERM        EPERM        EPERM        ENOTDIR      ENOENT
        new: rename a file                EROFS        EROFS        EROFS        EROFS        ENOTDIR      ENOENT
        new: rename a backup              EXDEV        ok           EXDEV        EXDEV        ENOTDIR      ENOENT
        new: rename a dropped file        EROFS        EROFS        EINVAL       EINVAL       ENOTDIR      ENOENT
        hidden: stat                      ENOENT       ENOENT       ENOENT       ENOENT       ENOTDIR      ENOENT
        hidden: O_WRONLY|O_CREAT          EROFS        EPERM        ok           ok           ENOTDIR      ENOENT
        hidden: O_CREAT|O_EXCL            EROFS        EPERM        ok           ok           ENOTDIR      ENOENT
        hidden: mkdir                     EROFS        EPERM        EPERM        EPERM        ENOTDIR      ENOENT
        hidden: unlink                    ENOENT       ENOENT       ENOENT       ENOENT       ENOTDIR      ENOENT
        hidden: rename a file             EROFS        EROFS        EROFS        EROFS        ENOTDIR      ENOENT
        hidden: rename a backup           EXDEV        EPERM        EXDEV        EXDEV        ENOTDIR      ENOENT
        hidden: rename a dropped file     EROFS        EROFS        ok           ok           ENOTDIR      ENOENT
        not UTF-8: stat                   ENOENT       ENOENT       ENOENT       ENOENT       ENOTDIR      ENOENT
        not UTF-8: O_WRONLY|O_CREAT       EROFS        EPERM        ok           ok           ENOTDIR      ENOENT
        not UTF-8: O_CREAT|O_EXCL         EROFS        EPERM        ok           ok           ENOTDIR      ENOENT
        not UTF-8: mkdir                  EROFS        EPERM        EPERM        EPERM        ENOTDIR      ENOENT
        not UTF-8: unlink                 ENOENT       ENOENT       ENOENT       ENOENT       ENOTDIR      ENOENT
        not UTF-8: rename a file          EROFS        EROFS        EROFS        EROFS        ENOTDIR      ENOENT
        not UTF-8: rename a backup        EXDEV        EPERM        EXDEV        EXDEV        ENOTDIR      ENOENT
        not UTF-8: rename a dropped file  EROFS        EROFS        EINVAL       EINVAL       ENOTDIR      ENOENT
        newline: stat                     ENOENT       ENOENT       ENOENT       ENOENT       ENOTDIR      ENOENT
        newline: O_WRONLY|O_CREAT         EROFS        EPERM        ok           ok           ENOTDIR      ENOENT
        newline: O_CREAT|O_EXCL           EROFS        EPERM        ok           ok           ENOTDIR      ENOENT
        newline: mkdir                    EROFS        EPERM        EPERM        EPERM        ENOTDIR      ENOENT
        newline: unlink                   ENOENT       ENOENT       ENOENT       ENOENT       ENOTDIR      ENOENT
        newline: rename a file            EROFS        EROFS        EROFS        EROFS        ENOTDIR      ENOENT
        newline: rename a backup          EXDEV        EPERM        EXDEV        EXDEV        ENOTDIR      ENOENT
        newline: rename a dropped file    EROFS        EROFS        EINVAL       EINVAL       ENOTDIR      ENOENT
        too long: stat                    ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENOTDIR      ENOENT
        too long: O_WRONLY|O_CREAT        ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENOTDIR      ENOENT
        too long: O_CREAT|O_EXCL          ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENOTDIR      ENOENT
        too long: mkdir                   ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENOTDIR      ENOENT
        too long: unlink                  ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENOTDIR      ENOENT
        too long: rename a file           ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENOTDIR      ENOENT
        too long: rename a backup         ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENOTDIR      ENOENT
        too long: rename a dropped file   ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG ENOTDIR      ENOENT
        .Trash: stat                      ENOENT       ENOENT       ENOENT       ENOENT       ENOTDIR      ENOENT
        .Trash: O_WRONLY|O_CREAT          EROFS        EPERM        EPERM        EPERM        ENOTDIR      ENOENT
        .Trash: O_CREAT|O_EXCL            EROFS        EPERM        EPERM        EPERM        ENOTDIR      ENOENT
        .Trash: mkdir                     EROFS        EPERM        EPERM        EPERM        ENOTDIR      ENOENT
        .Trash: unlink                    ENOENT       ENOENT       ENOENT       ENOENT       ENOTDIR      ENOENT
        .Trash: rename a file             EROFS        EROFS        EROFS        EROFS        ENOTDIR      ENOENT
        .Trash: rename a backup           EXDEV        EPERM        EXDEV        EXDEV        ENOTDIR      ENOENT
        .Trash: rename a dropped file     EROFS        EROFS        EPERM        EPERM        ENOTDIR      ENOENT
        reserved: stat                    ENOENT       ENOENT       ok           ENOENT       ENOTDIR      ENOENT
        reserved: O_WRONLY|O_CREAT        EROFS        EPERM        EROFS        ok           ENOTDIR      ENOENT
        reserved: O_CREAT|O_EXCL          EROFS        EPERM        EEXIST       ok           ENOTDIR      ENOENT
        reserved: mkdir                   EROFS        ok           EEXIST       EPERM        ENOTDIR      ENOENT
        reserved: unlink                  ENOENT       ENOENT       EROFS        ENOENT       ENOTDIR      ENOENT
        reserved: rename a file           EROFS        EROFS        EROFS        EROFS        ENOTDIR      ENOENT
        reserved: rename a backup         EXDEV        ok           ENOTDIR      EXDEV        ENOTDIR      ENOENT
        reserved: rename a dropped file   EROFS        EROFS        EROFS        EINVAL       ENOTDIR      ENOENT
        preview's: stat                   ENOENT       ENOENT       ENOENT       ENOENT       ENOTDIR      ENOENT
        preview's: O_WRONLY|O_CREAT       EROFS        EPERM        ok           EROFS        ENOTDIR      ENOENT
        preview's: O_CREAT|O_EXCL         EROFS        EPERM        ok           EROFS        ENOTDIR      ENOENT
        preview's: mkdir                  EROFS        ok           EPERM        EPERM        ENOTDIR      ENOENT
        preview's: unlink                 ENOENT       ENOENT       ENOENT       ENOENT       ENOTDIR      ENOENT
        preview's: rename a file          EROFS        EROFS        EROFS        EROFS        ENOTDIR      ENOENT
        preview's: rename a backup        EXDEV        ok           EXDEV        EXDEV        ENOTDIR      ENOENT
        preview's: rename a dropped file  EROFS        EROFS        EINVAL       EROFS        ENOTDIR      ENOENT
        """
}
