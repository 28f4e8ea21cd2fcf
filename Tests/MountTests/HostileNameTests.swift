import TestSupport
import Testing

/// Names that break careless programs: they survive every way out, and back, byte for byte.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct HostileNameTests {
    /// Creates a file for each name, each with different content, some below a folder with such a name, and a link to such a
    /// name.
    private static let make = """
        import os
        P = os.environ["P"].encode()
        names = [
            b"new\\nline", b"\\nfirst", b"invalid-\\xff\\xfe", b"\\xc3", b"\\xf0\\x9f\\x98", b"n" * 255, ("\\u00e9" * 127 + "x").encode(),
            b"-rf", b"--help", b"-", b"control\\x01\\x1b[31m\\x7f", b"tab\\tx", b"return\\r", b"trailing ", b" leading", b"dot.", b"...",
            b"back\\\\slash", b"\\\\n", b"\\\\", b"quote'\\"`$(x)", "emoji \\U0001f697\\U0001f468\\u200d\\U0001f469".encode(), b".hidden",
            b"~", b"#x#", b"CON", b"a:b*c?<>|", "e\\u0301".encode(), "\\u00e9".encode(), "\\u202egpj.exe".encode(), b"%41%00", b"*",
            b"[a-z]", b"{}", b";", b"two  spaces", b"=", b"@x", b"CACHEDIR.TAG", b"SHA256SUMS",
        ]
        for number, name in enumerate(names):
            with open(P + b"/" + name, "wb") as file: file.write(b"%d " % number + name)
        folder = P + b"/folder\\n\\xff/-sub \\\\"
        os.makedirs(folder)
        with open(folder + b"/\\xfe\\n", "wb") as file: file.write(b"deep")
        os.symlink(b"invalid-\\xff\\xfe", P + b"/link\\n\\xff")
        os.symlink(b"../\\xfe\\n -x", folder + b"/dangling")
        """

    /// Runs a test with the backup `one` of photos with such names.
    private func withBackup(_ body: (Sandbox) throws -> Void) throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.write(Self.make, to: "make.py")
            // rsync leaves a time unchanged when the second is the same.
            try sandbox.sh(
                """
                python3 $R/make.py; chmod -R u=rwX,go= $P; find $P -exec touch -h -d '2024-05-06 07:08:09.123456789' {} +
                mkdir $M/snapshots/one
                """)
            try body(sandbox)
        }
    }

    @Test func `they are shown, read, copied and checked as they are`() throws {
        try withBackup { sandbox in
            let source = try sandbox.sh("cd $P; \(PhotoDiary.describe)")
            #expect(try sandbox.sh("cd $P; find . -type f -printf x") == String(repeating: "x", count: 44))
            for folder in ["$M/snapshots/one/media", "$M/live/media"] {
                #expect(try sandbox.sh("cd \(folder); \(PhotoDiary.describe)") == source, "\(folder)")
            }
            try sandbox.sh("cp -a $M/snapshots/one $R/cp; rsync -aHAX $M/snapshots/one/ $R/rsync/; cp -a $M/live $R/live")
            for copy in ["cp", "rsync", "live"] {
                #expect(try sandbox.sh("cd $R/\(copy)/media; \(PhotoDiary.describe)") == source, "\(copy)")
                try sandbox.sh("cd $R/\(copy); sha256sum --quiet --strict -c SHA256SUMS")
            }
            #expect(try sandbox.sh("rsync -aHAXi $M/snapshots/one/ $R/rsync/") == "")
            // 44 photos, export.json, database.sqlite, manifest.json, changes.json, schema.json, data/photos.json.
            for (list, tool) in [("SHA256SUMS", "sha256sum"), ("MD5SUMS", "md5sum")] {
                #expect(try sandbox.sh("cd $M/snapshots/one; wc -l < \(list); \(tool) --quiet --strict -c \(list)") == "50")
            }
            // Attributes are found by such a name too; a name that is too long is an error.
            #expect(
                try sandbox.sh("getfattr --only-values -n user.checksum.md5 -- $M/snapshots/one/media/$'invalid-\\xff\\xfe'")
                    == sandbox.sh("md5sum < $P/$'invalid-\\xff\\xfe' | cut -d' ' -f1"))
            try sandbox.fails("cat $M/snapshots/one/media/$(printf 'n%.0s' $(seq 256))", saying: "File name too long")
        }
    }

    @Test func `the archives have them, for Python, bsdtar and GNU tar`() throws {
        try withBackup { sandbox in
            try sandbox.write(Self.compare, to: "compare.py")
            #expect(try sandbox.sh("python3 $R/compare.py") == "fine")
            // libarchive merges the two names that Unicode considers equal.
            let compare = "diff -r --no-dereference -x $'e\\xcc\\x81' -x $'\\xc3\\xa9' media $P"
            try sandbox.sh(
                "mkdir $R/tar; cd $R/tar; tar --warning=no-unknown-keyword -xf $M/snapshots/one/archive.tar; diff -r --no-dereference media $P"
            )
            guard Machine.hasTool("bsdtar") else { return }
            for kind in ["zip", "tar"] {
                try sandbox.sh(
                    "mkdir $R/bsdtar-\(kind); cd $R/bsdtar-\(kind); bsdtar -xf $M/snapshots/one/archive.\(kind); \(compare)")
            }
        }
    }

    /// Compares the archives' contents, as read by Python, with the photos.
    private static let compare = """
        import os, tarfile, zipfile
        M, P = os.environ["M"], os.environ["P"].encode()
        wanted = {}
        for folder, folders, files in os.walk(P):
            for name in folders + files:
                path = os.path.join(folder, name)
                key = path[len(P) + 1:]
                if os.path.islink(path): wanted[key] = ("link", os.readlink(path))
                elif os.path.isdir(path): wanted[key] = ("folder", b"")
                else: wanted[key] = ("file", open(path, "rb").read())
        def differences(found): return {name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)}

        for place in ("snapshots/one", "live"):
            found = {}
            with tarfile.open(f"{M}/{place}/archive.tar", encoding="utf-8", errors="surrogateescape") as archive:
                for member in archive:
                    name = os.fsencode(member.name)
                    if not name.startswith(b"media/"): continue
                    if member.issym(): found[name[6:]] = ("link", os.fsencode(member.linkname))
                    elif member.isdir(): found[name[6:].rstrip(b"/")] = ("folder", b"")
                    else: found[name[6:]] = ("file", archive.extractfile(member).read())
            assert found == wanted, (place, "tar", differences(found))
            found = {}
            with zipfile.ZipFile(f"{M}/{place}/archive.zip") as archive:
                for entry in archive.infolist():
                    name = entry.orig_filename.encode("utf-8" if entry.flag_bits & 0x800 else "cp437")
                    if not name.startswith(b"media/") or name == b"media/": continue
                    kind = {0o120000: "link", 0o040000: "folder"}.get(entry.external_attr >> 16 & 0o170000, "file")
                    found[name[6:].rstrip(b"/") if kind == "folder" else name[6:]] = (kind, archive.read(entry))
            assert found == wanted, (place, "zip", differences(found))
        print("fine")
        """

    @Test func `a restore brings them back, through the drop folder and into a folder`() throws {
        try withBackup { sandbox in
            let files = try sandbox.sh("cd $P; \(PhotoDiary.describeInSeconds)")
            try sandbox.sh("find $P -mindepth 1 -delete; printf new > $P/new.jpg; cp $M/snapshots/one/archive.zip $M/restore/")
            #expect(try sandbox.sh("cd $P; \(PhotoDiary.describeInSeconds)") == files)
            try sandbox.sh("backupfs restore one --store $S --target $R/target; diff -r --no-dereference $R/target/media $P")
            #expect(try sandbox.sh("cd $R/target/media; \(PhotoDiary.describeInSeconds)") == files)
        }
    }

    @Test func `backups may have such names if they are UTF-8 without control characters`() throws {
        try PhotoDiary.withMount { sandbox in
            let long = String(repeating: "n", count: 255)
            let names = [
                "-rf", "trailing ", " leading", #"back\slash"#, #"quote'"`$(x)"#, "emoji 🚗👨‍👩‍👧", "*", "#x#", "a:b?<>|", long,
            ]
            for name in names {
                sandbox.variables["NAME"] = name
                try sandbox.sh(
                    """
                    mkdir -- "$M/snapshots/$NAME"; cd -- "$M/snapshots/$NAME"; sha256sum --quiet --strict -c SHA256SUMS
                    test "$(readlink $M/snapshots/latest)" = "$NAME"; cmp "$M/snapshots/$NAME/export.json" export.json
                    """)
            }
            #expect(try Set(sandbox.names("snapshots")) == Set(names + ["latest"]))
            try sandbox.remount()
            #expect(try Set(sandbox.names("snapshots")) == Set(names + ["latest"]))
            for name in [#"$'new\nline'"#, #"$'invalid-\xff'"#, #"$'\x7f'"#, "'.hidden'"] {
                try sandbox.fails("mkdir -- $M/snapshots/\(name)", saying: "Operation not permitted")
            }
            try sandbox.fails("mkdir $M/snapshots/\(long)n", saying: "File name too long")
            for name in names { try sandbox.sh("rmdir -- \"$M/snapshots/$NAME\"", ["NAME": name]) }
            #expect(try sandbox.names("snapshots") == [])
        }
    }
}
