import TestSupport
import Testing

/// The results of stat(2) and statvfs(2), as promised in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct AttributeSemanticsTests {
    /// Backups, a safety backup and dropped files, so that no folder is empty.
    static let fill = """
        mkdir $M/snapshots/one; cp $M/snapshots/one/archive.zip $R/a.zip; cp $R/a.zip $M/restore/a.zip
        cp $M/snapshots/one/export.json $R/e.json; cp $R/e.json $M/restore/preview/e.json; mkdir $M/snapshots/two
        """

    @Test func `S6: sizes are exact before a file is opened`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("ln -s 2024/two.jpg $P/link; \(Self.fill)")
            let result = try sandbox.python(
                #"""
                sizes = {path: os.lstat(path) for path in everything()}
                count = 0
                for path, told in sizes.items():
                    if stat.S_ISREG(told.st_mode):
                        count += 1
                        if len(read(path)) != told.st_size and path != "./status.json": print("size", path, told.st_size)
                    elif stat.S_ISDIR(told.st_mode):
                        if told.st_size != 0: print("folder", path, told.st_size)
                    elif told.st_size != len(os.fsencode(os.readlink(path))): print("link", path, told.st_size)
                print(count > 40, {os.path.splitext(path)[1] for path in sizes} >= {".zip", ".tar", ".json", ".sqlite", ".jpg", ".txt", ""})
                print(os.lstat("live/media/link").st_size, os.stat("live/media/2024/summer/three.jpg").st_size)
                """#)
            #expect(result == "True True\n12 300000")
        }
    }

    @Test func `S7: blocks are the size in units of 512 bytes`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(Self.fill)
            let result = try sandbox.python(
                #"""
                print(all(s.st_blocks == (s.st_size + 511) // 512 and s.st_blksize == 4096 for s in map(os.lstat, everything())))
                photo = os.stat("snapshots/one/media/2024/summer/three.jpg")
                print(photo.st_blocks, os.stat("live/media/one.jpg").st_blocks, os.stat("snapshots").st_blocks)
                """#)
            #expect(result == "True\n586 1 0")
        }
    }

    @Test func `S8: everything has one link`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(Self.fill)
            #expect(
                try sandbox.python("print({os.lstat(path).st_nlink for path in everything()}, os.stat('.').st_nlink)") == "{1} 1")
        }
    }

    @Test func `S9: inode numbers stay, differ, and are the same in listings`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(Self.fill + "; rm $M/restore/a.zip $M/restore/preview/e.json")
            let script = #"""
                listed = []
                def walk(folder):
                    for entry in os.scandir(folder):
                        told = entry.inode()
                        if told != os.lstat(entry.path).st_ino: print("differs", entry.path)
                        listed.append((entry.path.replace("renamed", "one"), told))
                        if entry.is_dir(follow_symlinks=False): walk(entry.path)
                walk(".")
                if len({number for _, number in listed}) != len(listed): print("not unique")
                print(os.stat(".").st_ino, sorted(listed))
                """#
            let before = try sandbox.python(script)
            #expect(before.hasPrefix("1 [('./README.txt', "))
            try sandbox.remount()
            #expect(try sandbox.python(script) == before)
            try sandbox.sh("mv $M/snapshots/one $M/snapshots/renamed")
            #expect(try sandbox.python(script) == before)
        }
    }

    @Test func `S10: one time for each file, which reading does not change`() throws {
        try Sandbox.use { sandbox in
            try PhotoDiary.setUp(sandbox)
            try sandbox.mount(Sandbox.fixedClock)
            try sandbox.sh("mkdir $M/snapshots/one $M/snapshots/two")
            let result = try sandbox.python(
                #"""
                def times():
                    return {path: (s.st_mtime_ns, s.st_ctime_ns, s.st_atime_ns) for path in everything() for s in [os.lstat(path)]}
                before = times()
                print(all(len(set(each)) == 1 for each in before.values()))
                for path in before:
                    if is_file(path): read(path)
                    elif os.path.isdir(path): os.listdir(path)
                print(times() == before)
                print({before[path][0] for path in before if path.startswith("./snapshots/one/") and "media" not in path})
                for name in ("one.jpg", "2024", "2024/summer/three.jpg"):
                    print(before["./snapshots/one/media/" + name][0], os.stat("live/media/" + name).st_mtime_ns)
                """#)
            #expect(
                result == """
                    True
                    True
                    {1768141800000000000}
                    1672531200000000000 1672531200000000000
                    1722474123000000000 1722474123000000000
                    1719837296789000000 1719837296789000000
                    """)
            try sandbox.unmount()
        }
    }

    @Test func `S11: modes are 0600 and 0700, or 0644, 0755 and the media files' own`() throws {
        try PhotoDiary.withMount { sandbox in
            let script = #"""
                os.path.exists("snapshots/one") or os.mkdir("snapshots/one")
                modes = {}
                for path in everything():
                    kind = "media" if "/media" in path else "folder" if os.path.isdir(path) else "file"
                    if not os.path.islink(path): modes.setdefault(kind, set()).add(oct(os.lstat(path).st_mode & 0o7777))
                print(modes["folder"], modes["file"], oct(os.stat("snapshots/one/media/one.jpg").st_mode),
                    oct(os.stat("live/media/one.jpg").st_mode), oct(os.lstat("snapshots/latest").st_mode))
                """#
            #expect(try sandbox.python(script) == "{'0o700'} {'0o600'} 0o100600 0o100600 0o120777")
            guard Machine.isRoot else { return }
            try sandbox.unmount()
            try sandbox.mount(options: "-o allow_other")
            #expect(try sandbox.python(script) == "{'0o755'} {'0o644'} 0o100640 0o100640 0o120777")
        }
    }

    @Test func `S12: owner and group are those of the user who mounted, or uid= and gid=`() throws {
        try PhotoDiary.withMount { sandbox in
            let script = #"""
                os.path.exists("snapshots/one") or os.mkdir("snapshots/one")
                owners = {(s.st_uid, s.st_gid) for s in map(os.lstat, [".", *everything()])}
                print(owners == {(os.getuid(), os.getgid())} or owners)
                """#
            #expect(try sandbox.python(script) == "True")
            guard Machine.isRoot else { return }
            try sandbox.unmount()
            try sandbox.mount(options: "-o uid=1234,gid=5678")
            #expect(try sandbox.python(script) == "{(1234, 5678)}")
        }
    }

    @Test func `S13: what its mode allows and the mount refuses to all is EROFS`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(Self.fill)
            let result = try sandbox.python(
                #"""
                places = [path for path in everything() if not os.path.islink(path) and not path.startswith("./control/")]
                print(all(os.access(path, os.R_OK | os.W_OK) for path in places), len(places) > 40)
                print({code(opened(os.O_WRONLY), path) for path in places if is_file(path) and path not in
                    ("./restore/a.zip", "./restore/preview/e.json")})
                """#)
            #expect(result == "True True\n{'EROFS'}")
        }
    }

    @Test func `S49: statvfs tells the disk of the store`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                os.mkdir("snapshots/one")
                disk = os.statvfs(S)
                for place in (".", "live", "snapshots/one/export.json", "restore"):
                    told = os.statvfs(place)
                    print(told.f_namemax, told.f_blocks * told.f_frsize == disk.f_blocks * disk.f_frsize, told.f_files == disk.f_files,
                        abs(told.f_bavail * told.f_frsize - disk.f_bavail * disk.f_frsize) < disk.f_blocks * disk.f_frsize // 4)
                """#)
            #expect(result == Array(repeating: "255 True True True", count: 4).joined(separator: "\n"))
        }
    }
}
