import Foundation
import TestSupport
import Testing

/// The metadata kept with media files (decision 40): extended attributes, hard links, holes and, as root, owners. Everything is
/// compared with the output of independent programs: getfattr, stat, du, and Python's os module.
@Suite(.enabled(if: Machine.isRoot)) struct MediaMetadataTests {
    static let readerPath = "\(Machine.projectPath)/Tests/BackupRepositoryTests/Fixtures/read_repository.py"
    private static let reader = "python3 -B \(readerPath)"

    /// A store with a media folder at `$R/media` that belongs to user 1234.
    private static func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox(onDisk: true)
        try sandbox.sh(
            """
            sqlite3 $R/app.db 'create table t(id integer primary key, x text)'; mkdir $R/media; chown 1234:1234 $R/media
            backupfs init --store $S --database $R/app.db --media $R/media --repository $R/r
            """)
        try sandbox.write(describe, to: "describe.py")
        return sandbox
    }

    /// All metadata of a tree, one line per entry. Hard links are named by the first path of the same inode.
    static let describe = """
        import hashlib, os, stat, sys
        root = os.fsencode(sys.argv[1]); first = {}
        paths = [b'.']
        for folder, folders, files in os.walk(root):
            paths += [os.path.relpath(os.path.join(folder, name), root) for name in folders + files]
        for path in sorted(paths):
            full = os.path.join(root, path); s = os.lstat(full)
            kind = stat.S_IFMT(s.st_mode)
            names = [] if kind == stat.S_IFLNK else sorted(n for n in os.listxattr(full, follow_symlinks=False))
            attributes = [(n, os.getxattr(full, n).hex()) for n in names]
            what = os.readlink(full) if kind == stat.S_IFLNK else b''
            if kind == stat.S_IFREG:
                what = hashlib.sha256(open(full, 'rb').read()).hexdigest(), s.st_mtime_ns, s.st_size
            link = first.setdefault((s.st_dev, s.st_ino), path) if kind == stat.S_IFREG else b''
            mode = oct(s.st_mode & 0o1777) if path != b'.' and kind != stat.S_IFLNK else ''
            print(path, oct(kind), mode, s.st_uid, s.st_gid, what, link, attributes)
        """

    private static let fill = """
        cd $R/media; mkdir folder shut; echo one > one.jpg; echo two > folder/two; echo shut > shut/x
        setfattr -n user.comment -v 'a b' one.jpg; setfattr -n user.binary -v 0x00ff000a one.jpg; setfattr -n user.empty one.jpg
        setfattr -n user.folder -v yes folder; setfattr -n user.tag -v t shut/x
        python3 -c "import os; os.setxattr('folder/two', 'security.capability', bytes.fromhex('0100000200040000000000000000000000000000'))"
        python3 -c "import os; os.setxattr('one.jpg', 'system.posix_acl_access', bytes.fromhex('0200000001000600ffffffff02000600d204000004000400ffffffff10000600ffffffff20000400ffffffff'))"
        python3 -c "import os; os.setxattr('folder', 'system.posix_acl_default', bytes.fromhex('0200000001000700ffffffff04000500ffffffff20000500ffffffff'))"
        ln one.jpg folder/second-name; ln one.jpg third; ln -s nowhere link
        python3 -c "f=open('sparse','wb'); f.write(b'a'*5000); f.seek(50_000_000); f.write(b'b'); f.truncate(64_000_000)"
        chown -R 1234:1234 .; chown 0:7 folder/two; chown -h 5:6 link; chown 99:98 shut
        python3 -c "import os; os.setxattr('folder/two', 'security.capability', bytes.fromhex('0100000200040000000000000000000000000000'))"
        chmod 400 shut/x; chmod 555 shut; touch -d '2024-01-02 03:04:05.123456789' one.jpg sparse shut
        """

    private static func state(_ sandbox: Sandbox, _ folder: String) throws -> String {
        try sandbox.sh("python3 $R/describe.py \(folder)")
    }

    @Test func `files come back into a folder with all that is kept of them`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(Self.fill)
        let before = try Self.state(sandbox, "$R/media")
        try sandbox.sh("backupfs backup --label a --store $S; backupfs restore a --target $R/out --store $S")
        #expect(try Self.state(sandbox, "$R/out/media") == before)
        let attributes = "getfattr -h -R -d -m- -e hex . 2>/dev/null || true"
        #expect(try sandbox.sh("cd $R/media; \(attributes)") == sandbox.sh("cd $R/out/media; \(attributes)"))
        try sandbox.sh("diff -r --no-dereference $R/media $R/out/media")
        // A hole takes no space in the repository, nor on the disk that it is restored to.
        #expect(try #require(Int(try sandbox.sh("du -k --apparent-size -s $R/r | cut -f1"))) < 2_000)
        #expect(try #require(Int(try sandbox.sh("du -k $R/out/media/sparse | cut -f1"))) < 200)
        try sandbox.sh("backupfs verify a --store $S; backupfs check --read-data --store $S")
    }

    @Test(arguments: ["a", "$R/archive.tar"]) func `files come back in place with all that is kept of them`(source: String) throws
    {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(Self.fill)
        let before = try Self.state(sandbox, "$R/media")
        try sandbox.sh("backupfs backup --label a --store $S; backupfs export a --tar --output $R/archive.tar --store $S")
        try sandbox.sh("chmod -R u+w $R/media; rm -r $R/media/*; echo other > $R/media/one.jpg; chown -R 1234:1234 $R/media")
        let restore = try sandbox.run("backupfs restore \(source) --yes --store $S")
        #expect(restore.exitCode == 0, "\(restore)")
        // Restored files are writable for their owner, and folders accessible, as always (Docs/reference/restore.md).
        let expected = before.replacingOccurrences(of: "0o100000 0o400", with: "0o100000 0o600").replacingOccurrences(
            of: "0o40000 0o555", with: "0o40000 0o755")
        #expect(try Self.state(sandbox, "$R/media") == expected)
        #expect(try #require(Int(try sandbox.sh("du -k $R/media/sparse | cut -f1"))) < 200)
    }

    @Test func `the independent reader sees what is kept, and other folders stay as they were`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            "cd $R/media; mkdir plain; echo x > plain/x; chown -R 1234:1234 .; backupfs backup --label plain --store $S")
        // None of it, so nothing that an older program does not know: version 1 everywhere.
        #expect(try sandbox.sh("\(Self.reader) metadata $R/r plain") == "")
        try sandbox.sh(Self.fill)
        try sandbox.sh("backupfs backup --label a --store $S")
        let inode = try sandbox.sh("stat -c %i $R/media/one.jpg")
        let lines = try sandbox.sh("\(Self.reader) metadata $R/r a").split(separator: "\n").map(String.init)
        let acl = "0200000001000600ffffffff02000600d204000004000400ffffffff10000600ffffffff20000400ffffffff"
        let one = """
            "attributes": {"system.posix_acl_access": "\(acl)", "user.binary": "00ff000a", "user.comment": "612062", "user.empty": ""}, "link": [0, \(inode)]
            """
        #expect(lines.contains("{\(one), \"path\": \"media/one.jpg\"}"), "\(lines)")
        #expect(lines.contains("{\(one), \"path\": \"media/folder/second-name\"}"), "\(lines)")
        #expect(lines.contains(#"{"owner": [5, 6], "path": "media/link"}"#), "\(lines)")
        #expect(lines.contains(#"{"owner": [99, 98], "path": "media/shut"}"#), "\(lines)")
        let capability = "0100000200040000000000000000000000000000"
        #expect(
            lines.contains(
                #"{"attributes": {"security.capability": "\#(capability)"}, "owner": [0, 7], "path": "media/folder/two"}"#),
            "\(lines)")
        #expect(lines.contains { $0.contains("\"holes\": ") && $0.hasSuffix("\"path\": \"media/sparse\"}") }, "\(lines)")
        #expect(lines.count == 9 && !lines.contains { $0.contains("plain") }, "\(lines)")
        try sandbox.sh("\(Self.reader) restore $R/r a $R/read; diff -r --no-dereference $R/media $R/read/media")
    }

    @Test func `changed attributes and owners are noticed by the next backup, and shown by diff`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("\(Self.fill)\nwait_settled $R/media; backupfs backup --label a --store $S")
        try sandbox.sh("cd $R/media; setfattr -n user.comment -v other one.jpg; chown 77 sparse; setfattr -x user.tag shut/x")
        try sandbox.sh("backupfs backup --label b --store $S; backupfs restore b --target $R/out --store $S")
        #expect(try Self.state(sandbox, "$R/out/media") == Self.state(sandbox, "$R/media"))
        let paths = try sandbox.sh("backupfs diff a b --json --store $S | jq -r '.. | .path? // empty' | sort -u")
        #expect(paths == "media/folder/second-name\nmedia/one.jpg\nmedia/shut/x\nmedia/sparse\nmedia/third")
        // Unchanged files are taken over with all their metadata.
        try sandbox.sh("wait_settled $R/media; backupfs backup --label c --store $S; backupfs backup --label d --store $S")
        #expect(try sandbox.sh("backupfs diff c d --json --store $S | jq -r '.. | .path? // empty'") == "")
        try sandbox.sh("backupfs restore d --target $R/d --store $S")
        #expect(try Self.state(sandbox, "$R/d/media") == Self.state(sandbox, "$R/media"))
    }

    /// The owner of entries that name none is in the record, and must not change for entries that are taken over.
    @Test func `a media folder that gets another owner gives its files none`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            "\(Self.fill)\nwait_settled $R/media; backupfs backup --label a --store $S; chown 4321:4321 $R/media; echo new > $R/media/new"
        )
        try sandbox.sh("backupfs backup --label b --store $S; backupfs restore b --target $R/out --store $S")
        #expect(try Self.state(sandbox, "$R/out/media") == Self.state(sandbox, "$R/media"))
    }

    /// - Parameter folder: the owner of the media folder in the second backup; the files always have 1234:1234.
    @Test(arguments: [("a", "0:1234"), ("b", "0:1234"), ("b", "4321:4321")])
    func `a media folder of another owner gives restored files none`(backup: String, folder: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            cd $R/media; mkdir sub; echo one > one.jpg; echo two > sub/two; chown -R 1234:1234 .; backupfs backup --label a --store $S
            chown \(folder) .; backupfs backup --label b --store $S; echo changed > one.jpg
            """)
        #expect(try sandbox.run("backupfs restore \(backup) --yes --store $S").exitCode == 0)
        let owners = try sandbox.sh("cd $R/media; stat -c '%u:%g %n' . one.jpg sub sub/two")
        #expect(owners == "\(folder) .\n1234:1234 one.jpg\n1234:1234 sub\n1234:1234 sub/two")
    }

    /// As on another machine, where the app has another user ID.
    @Test func `restored files get the owner that the media folder has by now`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            cd $R/media; echo one > one.jpg; chown 1234:1234 one.jpg; backupfs backup --label a --store $S
            rm one.jpg; chown 2222:2222 .
            """)
        #expect(try sandbox.run("backupfs restore a --yes --store $S").exitCode == 0)
        #expect(try sandbox.sh("stat -c '%u:%g' $R/media $R/media/one.jpg") == "2222:2222\n2222:2222")
    }

    @Test(arguments: [("0:0", "1234:7"), ("1234:100", "1234:7"), ("555:556", "555:556")])
    func `a media folder that is lost gets back what the backup has of it`(parent: String, folder: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            rm -r $S; mkdir $R/p; chown \(parent) $R/p; mkdir $R/p/media; chmod 1751 $R/p/media; echo one > $R/p/media/one.jpg
            setfattr -n user.album -v holidays $R/p/media; chown 1234:7 $R/p/media $R/p/media/one.jpg
            backupfs init --store $S --database $R/app.db --media $R/p/media --repository $R/q; backupfs backup --label a --store $S
            rm -r $R/p/media
            """)
        #expect(try sandbox.run("backupfs restore a --yes --store $S").exitCode == 0)
        let state = try sandbox.sh(
            "cd $R/p/media; stat -c '%a %u:%g %n' .; stat -c '%u:%g %n' one.jpg; getfattr --only-values -n user.album .")
        #expect(state == "1751 \(folder) .\n\(folder) one.jpg\nholidays")
    }

    @Test(arguments: ["replace", "target"]) func `the sticky bit of folders comes back`(way: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("mkdir $R/media/drop; chmod 1777 $R/media/drop; : > $R/media/drop/x; backupfs backup --label a --store $S")
        if way == "replace" {
            try sandbox.sh("rm -r $R/media/drop; backupfs restore a --yes --store $S")
            #expect(try sandbox.sh("stat -c %a $R/media/drop") == "1777")
        } else {
            try sandbox.sh("backupfs restore a --target $R/out --store $S")
            #expect(try sandbox.sh("stat -c %a $R/out/media/drop") == "1777")
        }
    }

    @Test(arguments: [
        ("setfattr -n user.comment -v new folder", "media/folder/"), ("chown 9 folder", "media/folder/"),
        ("setfattr -n user.comment -v new .", "media/"),
        ("rm b; ln a b", "media/a\nmedia/b"), ("rm two; cp -p one two", "media/one\nmedia/two"),
        ("rm two c; ln one c; cp -p b two; ln two d2; rm d2", "media/c\nmedia/two"),
    ])
    func `diff tells what has changed beside the bytes`(change: String, paths: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            cd $R/media; mkdir folder; echo x > folder/x; for name in a b c one three; do echo same > $name; done; ln one two; ln three four
            touch -d 2024-01-01 a b c one three; backupfs backup --label a --store $S; backupfs diff a a --store $S
            \(change); backupfs backup --label b --store $S
            """)
        let told = try sandbox.sh("backupfs diff a b --json --store $S | jq -r '.. | .path? // empty' | sort -u")
        #expect(told == paths)
        #expect(try sandbox.sh("backupfs diff a b --store $S").contains(String(paths.split(separator: "\n")[0])))
        // The same links with other inodes.
        try sandbox.sh("backupfs restore b --yes --store $S; wait_settled $R/media; backupfs backup --label c --store $S")
        #expect(try sandbox.sh("backupfs diff b c --json --store $S | jq -r '.. | .path? // empty' | grep media || true") == "")
    }

    @Test func `diff tells a name that is a link of another file now, and none whose other names lie elsewhere`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            cd $R/media; mkdir d1 d2 d3 $R/elsewhere; echo same > d1/a; ln d1/a d1/a2; ln d1/a d2/b; echo same > d3/e; ln d3/e d3/f; echo alone > solo
            ln solo $R/elsewhere/solo; touch -d 2024-01-01 d1/a d3/e solo; backupfs backup --label one --store $S
            ln -f d3/e d2/b; backupfs backup --label two --store $S; rm $R/elsewhere/solo; touch -d 2024-01-02 d2; backupfs backup --label three --store $S
            """)
        let paths = "jq -r '.. | .path? // empty' | grep media || true"
        #expect(try sandbox.sh("backupfs diff one two --json --store $S | \(paths)") == "media/d2/b")
        #expect(try sandbox.sh("backupfs diff two three --json --store $S | \(paths)") == "")
        try sandbox.sh("backupfs restore three --yes --store $S; wait_settled $R/media; backupfs backup --label four --store $S")
        #expect(try sandbox.sh("backupfs diff three four --json --store $S | \(paths)") == "")
        #expect(try sandbox.sh("backupfs diff one four --json --store $S | \(paths)") == "media/d2/b")
    }

    /// As when another user's file was put there by hand.
    @Test func `one file of the owner of the backup does not decide whose the restored files are`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            cd $R/media; echo one > one.jpg; echo two > two.jpg; chown 1234:1234 *; backupfs backup --label a --store $S
            chown -R 2222:2222 .; echo mine > mine; chown 1234:1234 mine; backupfs restore a --yes --store $S
            """)
        #expect(try sandbox.sh("stat -c '%u:%g' $R/media/one.jpg $R/media/two.jpg") == "2222:2222\n2222:2222")
    }

    @Test func `the mount shows the attributes of users beside its own`() throws {
        try Machine.requireFUSE()
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(Self.fill)
        try sandbox.sh(
            """
            cd $R/media; setfattr -n user.checksum.sha256 -v wrong one.jpg; setfattr -n user.backupfs.x -v wrong one.jpg
            backupfs backup --label a --store $S; mkdir $R/m; backupfs mount $R/m --store $S
            """)
        defer { _ = try? sandbox.run("backupfs umount $R/m") }
        let file = "$R/m/snapshots/a/media/one.jpg"
        #expect(try sandbox.sh("getfattr --only-values -n user.comment \(file)") == "a b")
        #expect(try sandbox.sh("getfattr -e hex --absolute-names -n user.binary \(file) | grep =") == "user.binary=0x00ff000a")
        #expect(
            try sandbox.sh("getfattr --only-values -n user.checksum.sha256 \(file)")
                == sandbox.sh("sha256sum < $R/media/one.jpg | cut -d' ' -f1"))
        let names = try sandbox.sh("getfattr --absolute-names -m- \(file) | grep user | sort | tr '\\n' ' '")
        #expect(
            names
                == "user.binary user.checksum.crc32 user.checksum.md5 user.checksum.sha1 user.checksum.sha256 user.comment user.empty user.mime_type "
        )
        #expect(try sandbox.sh("getfattr --only-values -n user.folder $R/m/snapshots/a/media/folder") == "yes")
    }

    /// A backup of a program that did not collect attributes: they are collected from unchanged files, which are not read again.
    @Test func `the first backup after an update asks unchanged files`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("cd $R/media; echo x > x; ln x y; setfattr -n user.comment -v old x; chown 55 x; wait_settled $R/media")
        try sandbox.sh("backupfs backup --label a --store $S")
        let forget =
            "python3 -B \(Machine.projectPath)/Tests/BackupRepositoryTests/Fixtures/forge_repository.py without-metadata $R/r a"
        try sandbox.sh(forget)
        #expect(try sandbox.sh("\(Self.reader) metadata $R/r a") == "")
        let backup = try sandbox.sh("backupfs backup --label b --store $S --json | tail -1")
        #expect(backup.contains("\"media_bytes_read\":0") || !backup.contains("media_bytes_read"), "\(backup)")
        try sandbox.sh("backupfs restore b --target $R/out --store $S")
        #expect(try Self.state(sandbox, "$R/out/media") == Self.state(sandbox, "$R/media"))
    }

    /// A user without the right to set an attribute gets the file without it, and a notice; everything else comes back, even for
    /// read-only files.
    @Test func `an ordinary user gets what a user can have`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            cd $R/media; mkdir shut; echo x > x; echo y > y; ln y z; setfattr -n user.a -v b x; setfattr -n user.a -v y y
            setfattr -n user.d -v d shut; chown -R nobody:nogroup $R; chmod 444 x; chmod 400 y; chmod 555 shut
            python3 -c "import os; os.setxattr('x', 'security.capability', bytes.fromhex('0100000200040000000000000000000000000000'))"
            cp -L $R/bin/backupfs $R/program
            """)
        let before = try Self.state(sandbox, "$R/media")
        let user = "HOME=$R setpriv --reuid=nobody --regid=nogroup --clear-groups $R/program"
        try sandbox.sh("\(user) backup --label a --store $S")
        let lacking = "1 file or folder lacks extended attributes, or its owner: media/x: could not set the extended attributes"
        let restore = try sandbox.run("\(user) restore a --target $R/out --store $S")
        #expect(restore.exitCode == 0 && restore.errors.contains(lacking), "\(restore)")
        let withoutCapability = before.replacing(#/\('security.capability', '[0-9a-f]+'\), /#, with: "")
        #expect(try Self.state(sandbox, "$R/out/media") == withoutCapability)
        let verify = try sandbox.run("\(user) verify a --store $S")
        #expect(verify.exitCode == 0 && (verify.output + verify.errors).contains(lacking), "\(verify)")
        // A file that is there with all of its attributes would stay.
        let inPlace = try sandbox.run("rm -f $R/media/x; \(user) restore a --yes --store $S")
        #expect(inPlace.exitCode == 0 && inPlace.output.contains("1 media file lacks extended attributes"), "\(inPlace)")
    }

    /// More than is kept: the file is backed up, and the backup reports what it lacks.
    @Test func `too many attributes keep no file from being backed up`() throws {
        let sandbox = try Self.makeSandbox()
        let made = try sandbox.run(
            "cd $R/media; echo x > x; for i in 1 2 3; do python3 -c \"import os; os.setxattr('x', 'user.$i$i', bytes(60000))\" || exit 9; done"
        )
        // Few file systems accept this many (tmpfs and XFS do).
        guard made.exitCode == 0 else { return }
        let backup = try sandbox.run("backupfs backup --label a --store $S")
        #expect(backup.exitCode == 0 && backup.errors.contains("lacks the extended attributes of 1 file: x: "), "\(backup)")
        #expect(try sandbox.sh("backupfs restore a --target $R/out --store $S; cat $R/out/media/x") == "x")
    }
}

/// Trees of files with any mix of metadata, which an independent program generates from a seed, and every kind of restore.
@Suite(.enabled(if: Machine.isRoot), .rotating(oneIn: 3)) struct GeneratedMetadataTests {
    /// Prints nothing; creates a tree in the folder given second, from the seed given first. With a third argument it changes an
    /// old tree.
    private static let generate = """
        import os, random, sys
        number, root = int(sys.argv[1]), sys.argv[2]
        random.seed(number); os.chdir(root)
        folders, files = ['.'], []
        def bytes_of(limit): return random.randbytes(random.choice([0, 1, 10, 70, 1000, random.randrange(limit)]))
        def attributes(path, is_folder):
            for _ in range(random.choice([0, 0, 0, 1, 2, 4])):
                name = 'user.' + ''.join(random.choice('abcd. -Ж') for _ in range(random.randrange(1, 20)))
                os.setxattr(path, name, random.randbytes(random.choice([0, 1, 9, 300])))
            if random.random() < 0.1:
                acl = '0200000001000700ffffffff02000400%02x00000004000500ffffffff10000500ffffffff20000400ffffffff' % random.randrange(256)
                os.setxattr(path, 'system.posix_acl_access', bytes.fromhex(acl))
                if is_folder: os.setxattr(path, 'system.posix_acl_default', bytes.fromhex(acl))
        def owner(path):
            if random.random() < 0.3: os.chown(path, random.choice([0, 7, 1000, 4294967290]), random.choice([0, 8, 1234]), follow_symlinks=False)
            else: os.chown(path, 1234, 1234, follow_symlinks=False)
        for n in range(150):
            folder = random.choice(folders); path = os.path.join(os.fsencode(folder), b'%d' % n + random.choice([b'', b'\\xff\\n', b' x']))
            kind = random.random()
            if kind < 0.15: os.mkdir(path); folders.append(path)
            elif kind < 0.25: os.symlink(random.choice([b'a', b'/nowhere', b'x' * 200]), path); owner(path)
            elif kind < 0.45 and files: os.link(random.choice(files), path)
            else:
                with open(path, 'wb') as file:
                    file.write(bytes_of(200_000))
                    if random.random() < 0.3:
                        for _ in range(random.randrange(1, 5)):
                            file.seek(random.randrange(3_000_000), 1); file.write(bytes_of(20_000))
                        if random.random() < 0.5: file.truncate(file.tell() + random.randrange(2_000_000))
                files.append(path); owner(path); attributes(path, False)
                if random.random() < 0.2: os.setxattr(path, 'security.capability', bytes.fromhex('0100000200%02x0000000000000000000000000000' % random.randrange(256)))
                os.chmod(path, random.choice([0o600, 0o640, 0o400, 0o777]))
                os.utime(path, ns=(0, random.randrange(2_000_000_000_000_000_000)))
        for path in folders[1:]:
            owner(path); attributes(path, True)
        """

    @Test(arguments: Rounds.part(of: Array(1...8), oneIn: 8))
    func `generated trees come back with all that is kept of them`(number: Int) throws {
        try Self.check(number)
    }

    @Test(.enabled(if: PropertyPlan.isWanted, "only `make property` runs it"))
    func `generated trees, for as long as one likes`() throws {
        let count = try PropertyPlan.forEachNumber { try Self.check($0) }
        print("property: \(count) trees")
    }

    private static func check(_ number: Int) throws {
        let sandbox = try Sandbox(onDisk: true)
        try sandbox.sh(
            """
            sqlite3 $R/app.db 'create table t(id integer primary key, x text)'; mkdir $R/media; chown 1234:1234 $R/media
            backupfs init --store $S --database $R/app.db --media $R/media --repository $R/r
            """)
        try sandbox.write(MediaMetadataTests.describe, to: "describe.py")
        try sandbox.write(generate, to: "generate.py")
        try sandbox.sh("python3 $R/generate.py \(number) $R/media; backupfs backup --label a --store $S")
        let first = try sandbox.sh("python3 $R/describe.py $R/media")
        let kibibytes = try sandbox.sh("du -sk $R/media | cut -f1")
        // A second tree beside it; the files of the first are unchanged, as when they are taken over.
        try sandbox.sh(
            "wait_settled $R/media; mkdir $R/media/more; python3 $R/generate.py \(number + 100) $R/media/more; backupfs backup --label b --store $S"
        )
        let second = try sandbox.sh("python3 $R/describe.py $R/media")
        for (name, expected) in [("a", first), ("b", second)] {
            try sandbox.sh("backupfs restore \(name) --target $R/\(name) --store $S; backupfs verify \(name) --store $S")
            #expect(try sandbox.sh("python3 $R/describe.py $R/\(name)/media") == expected, "\(number)")
        }
        #expect(
            try sandbox.sh(
                "python3 -B \(MediaMetadataTests.readerPath) restore $R/r a $R/read; diff -r --no-dereference $R/a/media $R/read/media"
            ) == "")
        // About the same space as before: file systems differ in blocks for attributes.
        let restored = try #require(Int(try sandbox.sh("du -sk $R/a/media | cut -f1")))
        #expect(restored <= (try #require(Int(kibibytes))) + 400, "\(restored) \(kibibytes)")
        try sandbox.sh("backupfs check --read-data --store $S")
        // In place, through an archive on top of the repository. Modes are open there, as always.
        try sandbox.sh("rm -r $R/media/*; backupfs restore a --yes --store $S")
        let open = { (text: String) in text.replacing(#/ (0o100000|0o40000) 0o[0-7]+ /#) { " \($0.output.1) " } }
        #expect(open(try sandbox.sh("python3 $R/describe.py $R/media")) == open(first), "\(number)")
    }
}
