import TestSupport
import Testing

/// Extended attributes and locks, as promised in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ExtendedAttributeSemanticsTests {
    @Test func `S41: every listed attribute can be read and is true`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(AttributeSemanticsTests.fill + "; backupfs tag one first --store $S >/dev/null 2>&1 || true")
            let result = try sandbox.python(
                #"""
                import zlib
                sorts = {}
                print(*[os.listxattr(path) for path in ("snapshots/one/archive.zip", "live/archive.tar", "live/export.json")])
                for path in everything():
                    if not os.path.islink(path) and os.path.isfile(path): code(os.getxattr, path, "user.checksum.md5")
                for path in [".", *everything()]:
                    if os.path.islink(path): continue
                    values = {name: os.getxattr(path, name) for name in os.listxattr(path)}
                    if any(b"\0" in value or not value.decode() for value in values.values()): print("text", path)
                    if "user.checksum.md5" in values:
                        bytes = read(path)
                        for name in ("md5", "sha1", "sha256"):
                            if hashlib.new(name, bytes).hexdigest().encode() != values["user.checksum." + name]: print(name, path)
                        if b"%08x" % zlib.crc32(bytes) != values["user.checksum.crc32"]: print("crc32", path)
                    top = path.split("/")[1] if "/" in path else path
                    kind = "folder" if os.path.isdir(path) else "file"
                    # The page of a backup changes with its name and the language, so that its checksums are not kept.
                    if top == "snapshots" and path.endswith("/index.html"): kind = "page"
                    sorts.setdefault((top, kind), set()).add(" ".join(sorted(values)))
                checksums = "user.checksum.crc32 user.checksum.md5 user.checksum.sha1 user.checksum.sha256 user.mime_type"
                assert sorts["snapshots", "page"] == {"user.mime_type"}
                for top in ("live", "snapshots", "exports", "safety"): print(top, sorts[top, "file"] == {checksums})
                print(sorts["README.txt", "file"], sorts["restore", "file"], sorts["live", "folder"], sorts[".", "folder"])
                print(sorted(os.listxattr("snapshots")), sorted(os.listxattr("snapshots/two")))
                """#)
            #expect(
                result == """
                    ['user.mime_type'] ['user.mime_type'] ['user.mime_type']
                    live False
                    snapshots True
                    exports True
                    safety True
                    {'user.mime_type'} {'user.mime_type'} {''} {'user.backupfs.process user.backupfs.store'}
                    ['user.backupfs.generation'] ['user.backupfs.app', 'user.backupfs.app-version', 'user.backupfs.created-at', \
                    'user.backupfs.data-size', 'user.backupfs.device', 'user.backupfs.files', 'user.backupfs.pinned', 'user.backupfs.records', \
                    'user.backupfs.schema-version', 'user.backupfs.size', 'user.backupfs.source', 'user.backupfs.state', 'user.backupfs.stored-size']
                    """)
        }
    }

    @Test func `S42: an attribute that is not there is ENODATA, one that no file has EOPNOTSUPP`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(AttributeSemanticsTests.fill)
            let result = try sandbox.python(
                #"""
                absent = ["user.absent", "user.checksum", "user.checksum.md4", "user.backupfs.error"]
                foreign = ["security.selinux", "security.capability", "system.posix_acl_access", "system.posix_acl_default"]
                for names in (absent, foreign):
                    print({code(os.getxattr, path, name) for path in everything() if not os.path.islink(path) for name in names})
                print(code(os.getxattr, "snapshots/one", "user.checksum.md5"), code(os.getxattr, "README.txt", "user.checksum.md5"),
                    code(os.removexattr, "snapshots/one", "security.mine"))
                """#)
            #expect(result == "{'ENODATA'}\n{'EOPNOTSUPP'}\nENODATA ENODATA ENODATA")
        }
    }

    @Test func `S43: a buffer that is too small is ERANGE`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                os.mkdir("snapshots/one")
                def ask(function, *arguments, size):
                    buffer = ctypes.create_string_buffer(b"?" * 200, 200)
                    try: return call(function, *arguments, buffer, ctypes.c_size_t(size)), buffer.raw[:size].rstrip(b"?")
                    except OSError as error: return errno.errorcode[error.errno], buffer.raw == b"?" * 200
                for path in ("snapshots/one/export.json", "snapshots/one/manifest.json"):
                    digest = hashlib.md5(read(path)).hexdigest().encode()
                    for size in (0, 1, 31, 32, 33):
                        count, bytes = ask("getxattr", path, "user.checksum.md5", size=size)
                        print(size, count, bytes == digest or bytes)
                    print([ask("listxattr", path, size=size)[0] for size in (0, 10, 92, 93, 200)])
                """#)
            let lines = "0 32 b''\n1 ERANGE True\n31 ERANGE True\n32 32 True\n33 32 True\n[93, 'ERANGE', 'ERANGE', 93, 93]"
            #expect(result == "\(lines)\n\(lines)")
        }
    }

    @Test func `S44: pinned can be set to 1 and 0`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                os.mkdir("snapshots/one")
                def pin(value, flags=0): return code(os.setxattr, "snapshots/one", "user.backupfs.pinned", value, flags)
                def now(): return os.getxattr("snapshots/one", "user.backupfs.pinned").decode()
                print(now(), pin(b"1"), now(), pin(b"0"), now(), pin(b"1", os.XATTR_REPLACE), now(), pin(b"0", os.XATTR_CREATE), now())
                print([pin(value) for value in (b"", b"2", b"yes", b"1\n", b"10", b"\0")], now())
                print(code(os.removexattr, "snapshots/one", "user.backupfs.pinned"), now())
                """#)
            #expect(
                result == """
                    0 ok 1 ok 0 ok 1 EEXIST 1
                    ['EINVAL', 'EINVAL', 'EINVAL', 'EINVAL', 'EINVAL', 'EINVAL'] 1
                    ok 0
                    """)
        }
    }

    @Test func `S45: no other attribute can be set`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(AttributeSemanticsTests.fill)
            let result = try sandbox.python(
                #"""
                dropped = ["./restore/a.zip", "./restore/preview/e.json"]
                others = [path for path in everything() if path not in dropped and not os.path.islink(path)]
                for paths in (others, dropped):
                    print({code(os.setxattr, path, name, b"1") for path in paths for name in
                            ("user.mine", "user.checksum.md5", "user.mime_type", "user.backupfs.tag")},
                        {code(os.setxattr, path, "security.mine", b"1") for path in paths},
                        {code(os.setxattr, path, "user.absent", b"1", os.XATTR_REPLACE) for path in paths},
                        {code(os.setxattr, path, "user.mime_type", b"1", os.XATTR_CREATE) for path in paths if is_file(path)})
                print({code(os.removexattr, path, name) for path in others for name in ("user.absent", "user.mime_type")})
                """#)
            #expect(
                result == """
                    {'EROFS'} {'EOPNOTSUPP'} {'ENODATA'} {'EEXIST'}
                    {'EOPNOTSUPP'} {'EOPNOTSUPP'} {'ENODATA'} {'EEXIST'}
                    {'EROFS'}
                    """)
        }
    }

    @Test func `S54: locks work among programs`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                os.mkdir("snapshots/one")
                for path in ("README.txt", "live/export.json", "snapshots/one/export.json", "snapshots"):
                    first, second = os.open(path, os.O_RDONLY), os.open(path, os.O_RDONLY)
                    fcntl.flock(first, fcntl.LOCK_EX)
                    print(code(fcntl.flock, second, fcntl.LOCK_SH | fcntl.LOCK_NB), end=" ")
                    fcntl.flock(first, fcntl.LOCK_UN)
                    print(code(fcntl.flock, second, fcntl.LOCK_EX | fcntl.LOCK_NB))
                with open("restore/x.part", "w") as file:
                    fcntl.lockf(file, fcntl.LOCK_EX)
                    script = "import fcntl, sys; fcntl.lockf(open('restore/x.part', 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
                    print(subprocess.run([sys.executable, "-c", script], stderr=subprocess.PIPE).stderr.splitlines()[-1])
                    fcntl.lockf(file, fcntl.LOCK_UN)
                    print(subprocess.run([sys.executable, "-c", script]).returncode)
                """#)
            #expect(
                result == Array(repeating: "EAGAIN ok\n", count: 4).joined()
                    + "b'BlockingIOError: [Errno 11] Resource temporarily unavailable'\n0")
        }
    }
}
