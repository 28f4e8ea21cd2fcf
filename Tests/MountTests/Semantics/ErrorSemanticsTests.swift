import TestSupport
import Testing

/// Which call fails with which errno where, as promised in `Docs/reference/semantics.md`. `ErrnoTableTests` has the whole table.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ErrorSemanticsTests {
    @Test func `S50: where nothing can be changed every change is EROFS`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("\(AttributeSemanticsTests.fill); rm $M/restore/a.zip $M/restore/preview/e.json")
            let result = try sandbox.python(
                #"""
                paths = [path for path in everything() if not os.path.islink(path) and not path.startswith("./control/")]
                files = [path for path in paths if is_file(path)]
                folders = [path for path in paths if not is_file(path)]
                backups = ["./snapshots/one", "./snapshots/two"]
                drops = ["./restore"] + ["./restore/" + name for name in ("preview", "replace", "merge", "skip")]
                print({code(opened(flags), path) for path in files for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC,
                    os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_CREAT)})
                print({code(call, path) for path in files for call in (os.unlink, lambda path: os.truncate(path, 0),
                    lambda path: os.truncate(path, os.stat(path).st_size))})
                print({code(call, path) for path in paths for call in (lambda path: os.chmod(path, 0o600), os.utime,
                    lambda path: os.chown(path, os.getuid(), os.getgid()), lambda path: os.utime(path, (1, 1)))})
                print({code(os.rmdir, path) for path in folders if path not in backups},
                    {code(os.rename, path, os.path.dirname(path) + "/x") for path in paths if path not in backups})
                print({code(os.mkdir, path + "/x") for path in folders if path not in ["./snapshots", *drops]},
                    {code(opened(os.O_WRONLY | os.O_CREAT), path + "/x") for path in folders if path not in
                        ["./snapshots", *drops]})
                """#)
            #expect(result == "{'EROFS'}\n{'EROFS'}\n{'EROFS'}\n{'EROFS'} {'EROFS'}\n{'EROFS'} {'EROFS'}")
        }
    }

    @Test func `S51: there are no links, devices and pipes to be made`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(AttributeSemanticsTests.fill)
            let result = try sandbox.python(
                #"""
                folders = [".", *(path for path in everything() if os.path.isdir(path) and not os.path.islink(path))]
                calls = [os.mkfifo, lambda path: os.symlink("target", path), lambda path: os.link("README.txt", path),
                    lambda path: os.link("restore/a.zip", path), lambda path: os.mknod(path, stat.S_IFREG | 0o600),
                    lambda path: os.mknod(path, stat.S_IFSOCK | 0o600)]
                print(len(folders) > 15, {code(call, folder + "/x") for folder in folders for call in calls})
                """#)
            #expect(result == "True {'EPERM'}")
        }
    }

    @Test func `S52: a file is not a folder, nor a folder a file`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("ln -s one.jpg $P/link; \(AttributeSemanticsTests.fill)")
            let result = try sandbox.python(
                #"""
                links = [path for path in everything() if os.path.islink(path)]
                paths = [path for path in everything() if not os.path.islink(path) and not path.startswith("./control/")]
                files = [path for path in paths if is_file(path)]
                folders = [".", *(path for path in paths if not is_file(path))]
                def say(call, *groups): print([sorted({code(call, path) for path in group}) for group in groups])
                say(opened(os.O_RDONLY, lambda file: os.read(file, 1)), folders, files)
                say(opened(os.O_WRONLY), folders)
                say(os.listdir, folders, files)
                say(opened(os.O_RDONLY | os.O_DIRECTORY), folders, files)
                say(opened(os.O_RDONLY | os.O_CREAT | os.O_EXCL), folders, files, links)
                say(opened(os.O_RDONLY | os.O_NOFOLLOW), links, files)
                say(opened(os.O_WRONLY | os.O_TMPFILE), folders)
                say(os.readlink, folders, files, links)
                """#)
            #expect(
                result == """
                    [['EISDIR'], ['ok']]
                    [['EISDIR']]
                    [['ok'], ['ENOTDIR']]
                    [['ok'], ['ENOTDIR']]
                    [['EEXIST'], ['EEXIST'], ['EEXIST']]
                    [['ELOOP'], ['ok']]
                    [['EOPNOTSUPP']]
                    [['EINVAL'], ['EINVAL'], ['ok']]
                    """)
        }
    }

    @Test func `S53: fsync of what is open to read succeeds`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(AttributeSemanticsTests.fill)
            let result = try sandbox.python(
                #"""
                paths = [".", *everything()]
                print({code(opened(os.O_RDONLY, call), path) for path in paths for call in (os.fsync, os.fdatasync)})
                print(code(opened(os.O_RDONLY, lambda file: call("syncfs", file)), "."), subprocess.run(["sync", "-f", "snapshots"]).returncode)
                """#)
            #expect(result == "{'ok'}\nok 0")
        }
    }
}
