import TestSupport
import Testing

/// A restore checks for the space that it and its safety backup need before it changes anything.
@Suite(.enabled(if: Machine.isRoot, "NOT TESTED: a full disk needs root to mount a small one"))
struct SpaceForRestoreTests {
    /// 10,000 files of 100 bytes need 40 MB, not 1 MB.
    @Test func `R-A14: many small files need a block each`() throws {
        let sandbox = try Sandbox()
        guard try sandbox.run("mkdir $R/disk; mount -t tmpfs -o size=60m tmpfs $R/disk").exitCode == 0 else { return }
        defer { _ = try? sandbox.run("umount -l $R/disk") }
        let store = ["S": sandbox("disk/store")]
        try sandbox.write(PhotoDiary.definition, to: "diary.yaml")
        try sandbox.sh(
            """
            backupfs init --store $S --app $R/diary.yaml >/dev/null
            mkdir -p $R/media; cd $R/media; python3 -c "for i in range(10000): open(str(i), 'w').write('x' * 100)"; cd ..
            echo '{"metadata": {"createdAt": "2026-01-11T14:30:00Z", "appVersion": "1.0", "schemaVersion": 1}, "photos": []}' > export.json
            zip -qr many.zip export.json media; head -c 30000000 /dev/zero > $R/disk/ballast
            """, store)
        let result = try sandbox.run("backupfs restore $R/many.zip --yes --store $S", store)
        #expect(result.exitCode == 1 && result.errors.contains("nothing was changed"), "\(result)")
        #expect(try sandbox.sh("ls -A $S/repository/snapshots | wc -l", store) == "0")
        try sandbox.sh("rm $R/disk/ballast; backupfs restore $R/many.zip --yes --store $S; ls $S/app/photos | wc -l", store)
    }

    /// The staged files are removed first: the database on the same disk can then be written again.
    @Test func `R-A14: a disk that staging has filled is free again, and the store opens`() throws {
        let sandbox = try Sandbox()
        guard try sandbox.run("mkdir $R/disk; mount -t tmpfs -o size=60m tmpfs $R/disk").exitCode == 0 else { return }
        defer { _ = try? sandbox.run("umount -l $R/disk") }
        let store = ["S": sandbox("disk/store")]
        try sandbox.write(PhotoDiary.definition, to: "diary.yaml")
        try sandbox.sh(
            """
            backupfs init --store $S --app $R/diary.yaml >/dev/null
            mkdir -p $R/media; cd $R/media; for i in 1 2 3; do head -c 10000000 /dev/urandom > $i; done; cd ..
            echo '{"metadata": {"createdAt": "2026-01-11T14:30:00Z", "appVersion": "1.0", "schemaVersion": 1}, "photos": []}' > export.json
            zip -qr large.zip export.json media
            """, store)
        // The disk fills up after the safety backup was made.
        let result = try sandbox.run(
            """
            touch $R/pause; BACKUPFS_FAULT=restore.safety-made=pause:$R/pause backupfs restore $R/large.zip --yes --store $S & restore=$!
            wait_paused $R/pause $restore
            head -c 40000000 /dev/zero > $R/disk/ballast; rm $R/pause; wait $restore; echo "exit $?"
            # Not a page is left for a log.
            head -c 60000000 /dev/zero >> $R/disk/ballast2; ls -A $S/app | grep -v -e -wal -e -shm
            backupfs snapshots --store $S >/dev/null && echo open
            """, store)
        #expect(result.output == "exit 1\ndatabase.sqlite\nphotos\nopen\n", "\(result)")
    }

    @Test func `too little space for the media or for the safety backup is told before anything is made`() throws {
        let sandbox = try Sandbox()
        // Not testable where mounting is not permitted.
        guard try sandbox.run("mkdir $R/disk; mount -t tmpfs -o size=60m tmpfs $R/disk").exitCode == 0 else { return }
        defer { _ = try? sandbox.run("umount -l $R/disk") }
        let store = ["S": sandbox("disk/store")]
        try sandbox.write(PhotoDiary.definition, to: "diary.yaml")
        try sandbox.sh("backupfs init --store $S --app $R/diary.yaml >/dev/null", store)
        try sandbox.sh(PhotoDiary.fill, store)
        try sandbox.sh(
            """
            head -c 12000000 /dev/urandom > $S/app/photos/large.jpg; backupfs export --zip --store $S --output $R/a.zip >/dev/null
            # Another file, of another size: one that is the same would stay.
            head -c 12000001 /dev/urandom > $S/app/photos/large.jpg
            """, store)
        // 12 MB for the new media, 12 MB for the backup of the old ones, and some for the records.
        for (ballast, isEnough) in [(40, false), (26, false), (10, true)] {
            try sandbox.sh("head -c \(ballast)000000 /dev/zero > $R/disk/ballast")
            let state = try sandbox.sh(PhotoDiary.describe, store)
            let result = try sandbox.run("backupfs restore $R/a.zip --yes --store $S", store)
            if isEnough {
                #expect(result.exitCode == 0, "\(ballast) MB: \(result)")
                continue
            }
            #expect(result.exitCode == 1)
            let told =
                ballast == 40 ? "the archive unpacks to 12" : "the restore and the safety backup before it need"
            #expect(
                result.errors.contains(told) && result.errors.contains("nothing was changed"),
                "\(ballast) MB: \(result.errors)")
            #expect(try sandbox.sh("ls -A $S/repository/snapshots | wc -l", store) == "0")
            #expect(try sandbox.sh(PhotoDiary.describe, store) == state)
            #expect(try sandbox.sh(PhotoDiary.leftovers, store) == "")
        }
    }

    /// A diary on a small disk whose restore pauses when the data is new and the replaced files still fill the disk.
    private static func filling(_ meanwhile: String, _ afterwards: String) throws -> Job.Result? {
        let sandbox = try Sandbox()
        guard try sandbox.run("mkdir $R/disk; mount -t tmpfs -o size=60m,nr_inodes=2000 tmpfs $R/disk").exitCode == 0 else {
            return nil
        }
        defer { _ = try? sandbox.run("umount -l $R/disk") }
        let store = ["S": sandbox("disk/store")]
        try sandbox.write(PhotoDiary.definition, to: "diary.yaml")
        try sandbox.sh("backupfs init --store $S --app $R/diary.yaml >/dev/null", store)
        try sandbox.sh(PhotoDiary.fill, store)
        try sandbox.sh(
            """
            backupfs backup --label one --store $S; cd $S/app/photos; printf other > one.jpg; mkdir zoo; head -c 9000000 /dev/urandom > zoo/large.jpg
            """, store)
        return try sandbox.run(
            """
            touch $R/pause; BACKUPFS_FAULT=restore.marker-removed=pause:$R/pause backupfs restore one --yes --store $S >$R/told 2>&1 & restore=$!
            wait_paused $R/pause $restore
            cd $S/app/.backupfs-staging-*/old; mkdir -p 0a/bb; printf late > 0a/bb/late.jpg; cd $S
            \(meanwhile)
            rm $R/pause; wait $restore; echo "exit $?"; cat $R/told >&2
            \(afterwards)
            """, store)
    }

    @Test func `R-A14: a disk that is full when a restore clears up gets its space back, and what is in no backup is kept`()
        throws
    {
        let result = try Self.filling(
            // No further file or folder can be created.
            "head -c 60000000 /dev/zero > $R/disk/ballast; i=0; while : 2>/dev/null >$R/disk/empty$i; do i=$((i + 1)); done",
            """
            cat $S/app/photos-kept-*/0a/bb/late.jpg; echo; cat $S/app/photos/one.jpg; echo; find $R/disk -name large.jpg
            find $S/app -name '.backupfs*'; ls $S/app/photos-kept-*; rm $R/disk/ballast $R/disk/empty*; backupfs backup --store $S >/dev/null; echo "exit $?"
            """)
        guard let result else { return }
        #expect(result.output == "exit 0\nlate\none\n0a\nexit 0\n", "\(result)")
        #expect(!result.errors.contains("nothing was changed") && !result.errors.contains("not finished"), "\(result)")
    }

    @Test func `R-A14: what cannot be removed when a restore clears up is kept, and the restore is done`() throws {
        let result = try Self.filling(
            "chattr +i $S/app/.backupfs-staging-*/old/zoo/large.jpg || exit 77",
            """
            jq -r .result $S/restore/last.json; ls $S/app/photos-kept-*; chattr -i $S/app/photos-kept-*/zoo/large.jpg
            find $S/app -name '.backupfs*'; backupfs backup --store $S >/dev/null; echo "exit $?"; backupfs restore one --yes --store $S >/dev/null; echo "exit $?"
            """)
        guard let result, result.exitCode != 77 else { return }
        #expect(result.output == "exit 0\nsuccess\n0a\nzoo\nexit 0\nexit 0\n", "\(result)")
    }
}
