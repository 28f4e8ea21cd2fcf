import TestSupport
import Testing

/// A restore that replaces the media writes only the files that differ: the others stay the files that they are (finding U-B7).
struct UnchangedMediaTests {
    /// A diary with files of all kinds; `$R/original` is a copy of its media.
    private static func makeSandbox(_ more: String = "") throws -> Sandbox {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            cd $S/app/photos; mkdir -p deep/er; for i in $(seq 20); do head -c 5000 /dev/urandom > deep/$i.jpg; cp deep/$i.jpg deep/er/$i.png; done
            head -c 700000 /dev/urandom > top.jpg; : > empty; ln -s top.jpg link; printf secret > deep/closed; chmod 400 deep/closed
            touch -d '2021-02-03 04:05:06.123456789' deep/1.jpg; \(more)
            cp -a $S/app/photos $R/original; touch -r $S/app/photos $R/original
            """)
        return sandbox
    }

    /// A diary whose media are on a disk in memory, `$R/disk`.
    /// - Returns: `nil` where none can be mounted.
    private static func makeDiskInMemory(_ options: String = "") throws -> Sandbox? {
        let sandbox = try Sandbox()
        guard try sandbox.run("mkdir $R/disk; mount -t tmpfs \(options) tmpfs $R/disk").exitCode == 0 else { return nil }
        try sandbox.write(PhotoDiary.definition, to: "diary.yaml")
        try sandbox.sh(
            """
            backupfs init --store $S --app $R/diary.yaml >/dev/null
            rm -r $S/app/photos; mkdir $R/disk/photos; ln -s $R/disk/photos $S/app/photos
            """)
        return sandbox
    }

    /// The inode of each file, by its path.
    private static let inodes = "cd $S/app/photos; find . -type f -printf '%P %i\\n' | sort"
    /// Content, kinds, modes, owners, times, links and attributes of all media, compared with those of `$R/original`.
    /// - Parameter times: an option for how they are compared.
    private static func differences(times: String = "") -> String {
        "rsync \(times) -naciX -AH --numeric-ids --delete $R/original/ $S/app/photos/ | { grep -v ' [.]/$' || true; }; find $S/app/photos -links +1 -type f -printf '%P linked\\n'"
    }

    private static func expectRestored(_ sandbox: Sandbox, _ comment: String = "", times: String = "") throws {
        let differences = try sandbox.sh(differences(times: times))
        #expect(differences == "", "\(comment)")
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "", "\(comment)")
    }

    /// The paths of files that are the same as before.
    private static func kept(_ sandbox: Sandbox) throws -> Set<String> {
        Set(
            try sandbox.sh("(\(inodes)) > $R/after; comm -12 $R/before $R/after | cut -d' ' -f1").split(separator: "\n").map {
                String($0)
            })
    }

    private static let unchanged = Set(
        (1...20).flatMap { ["deep/\($0).jpg", "deep/er/\($0).png"] } + ["top.jpg", "deep/closed", "one.jpg", "2024/two.jpg"])

    @Test(arguments: ["one", "$R/one.zip", "$R/one.tar"])
    func `U-B7: only files that differ are written`(source: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            backupfs backup --label one --store $S; backupfs export one --zip -o $R/one.zip --store $S; backupfs export one --tar -o $R/one.tar --store $S
            cd $S/app/photos; rm deep/2.jpg; printf changed > deep/3.jpg; mv deep/4.jpg deep/moved.jpg; rm -r 2024; printf new > new.jpg
            # The same size and time.
            touch -r deep/5.jpg $R/time; printf XXXX | dd of=deep/5.jpg conv=notrunc status=none; touch -r $R/time deep/5.jpg
            (\(Self.inodes)) > $R/before; backupfs restore \(source) --yes --store $S
            """)
        // What comes from a ZIP archive has whole seconds; what stays has its own.
        try Self.expectRestored(sandbox, times: source.hasSuffix("zip") ? "--modify-window=1" : "")
        let kept = try Self.kept(sandbox)
        #expect(kept.isSuperset(of: Self.unchanged.subtracting(["2024/two.jpg"] + (2...5).map { "deep/\($0).jpg" })), "\(kept)")
        #expect(kept.isDisjoint(with: ["deep/2.jpg", "deep/3.jpg", "deep/4.jpg", "deep/5.jpg", "new.jpg"]), "\(kept)")
        // What was replaced is in the safety backup, and can come back.
        try sandbox.sh("backupfs undo --yes --store $S")
        #expect(
            try sandbox.sh("cd $S/app/photos; head -c 4 deep/5.jpg; cat deep/3.jpg new.jpg; [ ! -e deep/2.jpg ]")
                == "XXXXchangednew")
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }

    @Test func `U-B7: an archive of another store is compared by its bytes`() throws {
        let (sandbox, other) = (try Self.makeSandbox(), try Sandbox())
        // A ZIP archive has whole seconds.
        try sandbox.sh("find $S/app/photos -exec touch -h -d 2024-05-06T07:08:09 {} +; backupfs backup --label one --store $S")
        try sandbox.sh(
            "backupfs export one --zip -o '\(other("a.zip"))' --store $S; cp -a $S/app/photos '\(other.path)/original'")
        _ = try other.makeDiary()
        try other.sh(
            """
            rm -r $S/app/photos; cp -a $R/original $S/app/photos; cd $S/app/photos; rm deep/2.jpg; touch -r deep/3.jpg $R/time
            printf XXXX | dd of=deep/3.jpg conv=notrunc status=none; touch -r $R/time deep/3.jpg; chmod 600 $R/original/deep/closed deep/closed
            (\(Self.inodes)) > $R/before; backupfs restore $R/a.zip --yes --store $S
            """)
        try Self.expectRestored(other)
        let kept = try Self.kept(other)
        #expect(kept.count > 35 && kept.isDisjoint(with: ["deep/2.jpg", "deep/3.jpg"]), "\(kept)")
    }

    /// Each of these changes is undone, and must not reach a file that stays.
    @Test(arguments: [
        "chmod 4755 deep/1.jpg", "touch deep/1.jpg", "setfattr -n user.note -v other deep/1.jpg",
        "setfattr -x user.note deep/2.jpg",
        "chown 12345 deep/1.jpg", "chgrp 12345 deep/1.jpg", "ln deep/1.jpg deep/second", "ln deep/1.jpg $R/outside",
        "rm deep/1.jpg; cp -p deep/er/1.png deep/1.jpg", "rm deep/1.jpg; ln -s er/1.png deep/1.jpg",
        "rm deep/1.jpg; mkdir deep/1.jpg",
        "rm -r deep/er; ln -s .. deep/er", "mv deep/1.jpg x; mv deep/3.jpg deep/1.jpg; mv x deep/3.jpg",
        "truncate -s 10 deep/1.jpg", "mv deep other; mkdir deep",
    ])
    func `U-B7: a file with other metadata, or another one in its place, does not stay`(change: String) throws {
        guard Machine.isRoot || !change.hasPrefix("ch") else { return }
        let sandbox = try Self.makeSandbox("setfattr -n user.note -v mine deep/2.jpg")
        try sandbox.sh(
            "backupfs backup --label one --store $S; cd $S/app/photos; \(change); backupfs restore one --yes --store $S")
        // A file that is written gets a mode with which its owner can write.
        if change.hasPrefix("mv deep ") { try sandbox.sh("chmod 600 $R/original/deep/closed") }
        try Self.expectRestored(sandbox, change)
        if change.hasSuffix("outside") {
            #expect(try sandbox.sh("cmp $R/outside $S/app/photos/deep/1.jpg; stat -c %h $R/outside") == "1")
        }
    }

    @Test func `U-B7: names of one file, databases and what is beside them come as before`() throws {
        let sandbox = try Self.makeSandbox(
            """
            ln deep/1.jpg deep/other-name; sqlite3 x.db 'pragma journal_mode=wal; create table t(a); insert into t values(1)' >/dev/null
            printf data > odd; printf log > odd-wal; truncate -s 3M sparse; printf end >> sparse
            """)
        try sandbox.sh(
            """
            backupfs backup --label one --store $S; cd $S/app/photos; rm odd-wal; printf other > deep/3.jpg-journal
            backupfs restore one --yes --store $S
            """)
        #expect(
            try sandbox.sh(
                """
                cd $S/app/photos; rsync -naciX -AH --delete --exclude x.db $R/original/ . | { grep -v ' [.]/$' || true; }; stat -c %h deep/1.jpg
                sqlite3 x.db 'pragma integrity_check; select a from t'; find . -name '*journal'
                """) == "2\nok\n1")
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }

    /// A file that a program may write to has no settled content, and one that cannot get another name has to be written.
    @Test func `U-B7: an open file, a mapped one, one that cannot be moved and a database are written`() throws {
        let sandbox = try Self.makeSandbox(
            "printf 'no header' > deep/x.db; printf 'no header' > deep/y.SQLite3; printf late > deep/z")
        let result = try sandbox.run(
            """
            backupfs backup --label one --store $S; (\(Self.inodes)) > $R/before; cd $S/app/photos
            python3 -c 'import mmap, os, sys, time
            one = open("deep/1.jpg", "r+b"); two = open("deep/2.jpg", "r+b"); map = mmap.mmap(two.fileno(), 0); two.close()
            open(sys.argv[1], "w").close()
            while os.path.exists(sys.argv[1]): time.sleep(0.01)
            map[0:4] = b"LATE"; one.write(b"LATE"); one.close(); map.flush()' $R/open & program=$!
            wait_until [ -e $R/open ]; touch $R/pause; chattr +i deep/3.jpg 2>/dev/null
            BACKUPFS_FAULT=restore.media-linked=pause:$R/pause backupfs restore one --yes --store $S > $R/told 2>&1 & restore=$!
            wait_paused $R/pause $restore; chattr -i deep/3.jpg 2>/dev/null; printf log > deep/z-wal
            rm $R/open; wait $program; rm $R/pause; wait $restore; cat $R/told >&2
            """)
        #expect(result.exitCode == 0, "\(result)")
        try Self.expectRestored(sandbox)
        let kept = try Self.kept(sandbox)
        #expect(kept.isDisjoint(with: ["deep/1.jpg", "deep/2.jpg", "deep/x.db", "deep/y.SQLite3", "deep/z"]), "\(kept)")
        #expect(kept.isSuperset(of: (4...20).map { "deep/\($0).jpg" }), "\(kept)")
        // What was written is in the files that were replaced.
        #expect(
            try sandbox.sh("cd $S/app/photos-kept-*/deep; head -c 4 1.jpg; head -c 4 2.jpg; cat z z-wal") == "LATELATElatelog")
    }

    /// A program writes into files that would stay.
    @Test(arguments: [
        "restore.media-linked", "restore.media-staged", "restore.journal-written", "restore.transaction-begun",
    ])
    func `U-B7: what a program writes meanwhile is not restored, and is kept`(point: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("backupfs backup --label one --store $S; printf new > $S/app/photos/new.jpg")
        let result = try sandbox.run(
            """
            touch $R/pause; BACKUPFS_FAULT=\(point)=pause:$R/pause backupfs restore one --yes --store $S > $R/out 2>&1 & restore=$!
            wait_paused $R/pause $restore
            cd $S/app/photos; printf LATE | dd of=deep/1.jpg conv=notrunc status=none; touch -r $R/original/deep/1.jpg deep/1.jpg
            printf LATER >> top.jpg; printf EVEN > deep/er/2.png; rm deep/er/3.png; mv deep/4.jpg deep/elsewhere
            rm $R/pause; wait $restore
            """)
        #expect(result.exitCode == 0, "\(result)")
        #expect(try sandbox.sh(Self.differences()) == "")
        #expect(
            try sandbox.sh(
                """
                cd $S/app/photos-kept-*; head -c 4 deep/1.jpg; tail -c 5 top.jpg; cat deep/er/2.png
                cmp deep/elsewhere $R/original/deep/4.jpg; find . -type f | sort | tr '\\n' ' '
                """) == "LATELATEREVEN./deep/1.jpg ./deep/elsewhere ./deep/er/2.png ./top.jpg ")
    }

    /// A store into a page that is dirty already changes no time there.
    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: a disk in memory needs root to mount it"))
    func `on tmpfs, what a program stores into a mapped file that is replaced is kept`() throws {
        guard let sandbox = try Self.makeDiskInMemory() else { return }
        defer { _ = try? sandbox.run("umount -l $R/disk") }
        try sandbox.sh(
            """
            cd $R/disk/photos; head -c 5000 /dev/urandom > 1.jpg; backupfs backup --label one --store $S
            python3 -c 'import mmap, os, sys, time
            map = mmap.mmap(os.open("1.jpg", os.O_RDWR), 0); map[0:4] = b"EDIT"
            open(sys.argv[1], "w").close()
            while os.path.exists(sys.argv[1]): time.sleep(0.01)
            map[0:4] = b"LATE"' $R/open & program=$!
            wait_until [ -e $R/open ]; touch $R/pause
            BACKUPFS_FAULT=restore.journal-written=pause:$R/pause backupfs restore one --yes --store $S > $R/told 2>&1 & restore=$!
            wait_paused $R/pause $restore; rm $R/open; wait $program; rm $R/pause; wait $restore
            """)
        #expect(
            try sandbox.sh("head -c 4 $R/disk/photos-kept-*/1.jpg; cd $R/disk/photos; head -c 4 1.jpg | grep -c LATE || true")
                == "LATE0")
    }

    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: a small disk needs root to mount it"))
    func `U-B7: a restore needs the room of what differs`() throws {
        guard let sandbox = try Self.makeDiskInMemory("-o size=60m") else { return }
        defer { _ = try? sandbox.run("umount -l $R/disk") }
        try sandbox.sh(
            """
            cd $R/disk/photos; for i in $(seq 40); do head -c 1000000 /dev/urandom > $i.jpg; done; cp -a $R/disk/photos $R/original
            backupfs backup --label one --store $S; rm 1.jpg 2.jpg 3.jpg; head -c 2000000 /dev/urandom > new.jpg
            [ $(stat -f -c '%a' .) -lt $((25000000 / 4096)) ]
            """)
        // 40 MB of media, with 20 MB free: once by replacing, once by merging into what is there.
        try sandbox.sh("backupfs restore one --yes --store $S")
        #expect(
            try sandbox.sh("rsync -nac --delete $R/original/ $R/disk/photos/; diff -r $R/original $R/disk/photos; ls -A $R/disk")
                == "photos")
        // When what differs does not fit, nothing is changed.
        try sandbox.sh(
            "cd $R/disk/photos; head -c 15000000 /dev/zero > ballast; rm [1-9].jpg; ls -l --time-style=full-iso > $R/list")
        let result = try sandbox.run("head -c 11000000 /dev/zero > $R/disk/ballast; backupfs restore one --yes --store $S")
        #expect(result.exitCode == 1 && result.errors.contains("nothing was changed"), "\(result)")
        try sandbox.sh(
            "cd $R/disk/photos; ls -l --time-style=full-iso | cmp $R/list; rm ballast ../ballast; backupfs restore one --yes --store $S"
        )
        #expect(try sandbox.sh("diff -r $R/original $R/disk/photos") == "")
    }

    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: another file system needs root to mount it"))
    func `U-B7: without hard links all files are written, as before`() throws {
        let sandbox = try Self.makeSandbox("rm link; chmod -R u=rwX,go=rX .; chown -R root:root .")
        guard
            try sandbox.run(
                """
                truncate -s 64M $R/image; mkfs.vfat $R/image > /dev/null || exit 1
                mount -o loop $R/image $S/app/photos && cp -r --preserve=timestamps $R/original/. $S/app/photos
                """
            ).exitCode == 0
        else { return }
        defer { _ = try? sandbox.run("umount -l $S/app/photos") }
        try sandbox.sh(
            """
            backupfs backup --label one --store $S; cd $S/app/photos; rm deep/1.jpg; printf changed > deep/2.jpg; cd /
            backupfs restore one --yes --store $S; diff -r $R/original $S/app/photos
            """)
        #expect(try sandbox.sh("find $S/app -name '.backupfs*'; ls $S/app") == "database.sqlite\nphotos")
    }
}
