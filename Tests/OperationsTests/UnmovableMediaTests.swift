import TestSupport
import Testing

@testable import Operations

/// Media that can be read but not moved: a restore detects that before it changes anything. The mounts disappear with their
/// namespace.
@Suite(.enabled(if: Machine.isRoot && Machine.hasTool("setpriv"), "NOT TESTED: files of other users need root and setpriv"))
struct UnmovableMediaTests {
    private static let user = "setpriv --reuid=65534 --regid=65534 --clear-groups"

    /// A diary of an ordinary user, with an archive of its first state and a different state since.
    private static func prepare(owner: Int = 65534) throws -> Sandbox {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            backupfs backup --label one --store $S; printf other > $S/app/photos/one.jpg; printf mine > $S/app/photos/mine.jpg
            cp --remove-destination $(readlink -f $R/bin/backupfs) $R/bin/backupfs; chown -R \(owner):\(owner) $R; chmod 755 $R $R/bin/*
            """)
        return sandbox
    }

    @Test(arguments: [
        // The media folder belongs to the app.
        "chown 0:0 $S/app/photos; chmod 755 $S/app/photos",
        // A folder in it belongs to the app.
        "chown -R 0:0 $S/app/photos/2024; chmod -R go+rX $S/app/photos/2024",
        // Only owners may move entries in it.
        "chown 0:0 $S/app/photos $S/app/photos/*.jpg; chmod 1777 $S/app/photos; chmod go+r $S/app/photos/*.jpg",
    ])
    func `R-A2: an ordinary user who may read the media and not move them is refused, and nothing is changed`(
        obstacle: String
    ) throws {
        let sandbox = try Self.prepare()
        try sandbox.sh(obstacle)
        let old = try sandbox.sh(PhotoDiary.describe)
        let result = try sandbox.run("\(Self.user) backupfs restore one --yes --store $S")
        #expect(result.exitCode == 1, "\(result)")
        #expect(result.errors.contains("Nothing was changed"), "\(result)")
        #expect(try sandbox.sh(PhotoDiary.describe) == old)
        #expect(try sandbox.sh("\(PhotoDiary.leftovers); ls $S/repository/snapshots | wc -l") == "1")
        try sandbox.sh("\(Self.user) backupfs backup --label two --store $S")
        // Records alone can be restored.
        try sandbox.sh(
            "\(Self.user) backupfs export one --json -o $R/one.json --store $S; \(Self.user) backupfs restore $R/one.json --yes --store $S"
        )
    }

    @Test(arguments: ["chattr +i $S/app/photos/one.jpg", "chattr +a $S/app/photos", "chattr +i $S/app/photos/2024"])
    func `R-A2: attributes that forbid moving refuse the restore, for root as well`(obstacle: String) throws {
        let sandbox = try Self.prepare(owner: 0)
        let old = try sandbox.sh(PhotoDiary.describe)
        let result = try sandbox.run(
            """
            \(obstacle) || exit 77; backupfs restore one --yes --store $S; status=$?
            chattr -R -i -a $S/app/photos; exit $status
            """)
        // A file system without such attributes has no such obstacle.
        if result.exitCode == 77 { return }
        #expect(result.exitCode == 1, "\(result)")
        #expect(result.errors.contains("Nothing was changed"), "\(result)")
        #expect(try sandbox.sh(PhotoDiary.describe) == old)
        #expect(try sandbox.sh("\(PhotoDiary.leftovers); ls $S/repository/snapshots | wc -l") == "1")
        try sandbox.sh("backupfs restore one --yes --store $S")
    }

    /// Detected only by trying: a bind mount of a file.
    @Test func `R-A6: a mount on a file among the media refuses the restore`() throws {
        let sandbox = try Self.prepare(owner: 0)
        let result = try sandbox.runInNamespace(
            """
            printf precious > $R/precious
            mount --bind $R/precious $S/app/photos/2024/two.jpg
            backupfs restore one --yes --store $S; echo "exit $?"; cat $S/app/photos/2024/two.jpg $S/app/photos/one.jpg
            """)
        #expect(result.output == "exit 1\npreciousother", "\(result)")
        #expect(result.errors.contains("something is mounted"))
    }

    /// overlayfs cannot rename a folder of a lower layer.
    @Test(arguments: ["photos", "app"])
    func `R-A2: folders that cannot be renamed are exchanged file by file`(overlaid: String) throws {
        let sandbox = try Self.prepare(owner: 0)
        let place = overlaid == "photos" ? "app/photos" : "app"
        let result = try sandbox.runInNamespace(
            """
            mkdir $R/t; mount -t tmpfs none $R/t; mkdir $R/t/upper $R/t/work
            mount -t overlay overlay -o lowerdir=$S/\(place),upperdir=$R/t/upper,workdir=$R/t/work,redirect_dir=off $S/\(place) || exit 77
            python3 -c "import os; os.rename('$S/app/photos/2024', '$S/app/photos/x')" 2>&1 | grep -o 'cross-device'
            backupfs restore one --yes --store $S >/dev/null; echo "exit $?"
            cat $S/app/photos/one.jpg; echo; (cd $S/app/photos; find . -type f | sort | tr '\\n' ' '; stat -c %a 2024/summer)
            backupfs backup --store $S >/dev/null; echo "exit $?"
            mkdir $S/app/photos/2024/late; printf late > $S/app/photos/2024/late/l.jpg
            BACKUPFS_FAULT=restore.media-emptied backupfs restore one --yes --store $S >/dev/null 2>&1
            backupfs status --store $S >/dev/null; (cd $S/app/photos; find . -type f | sort | tr '\\n' ' ')
            \(PhotoDiary.leftovers)
            """)
        if result.exitCode == 77 { return }
        #expect(
            result.output == """
                cross-device
                exit 0
                one
                ./2024/summer/three.jpg ./2024/two.jpg ./one.jpg 750
                exit 0
                ./2024/summer/three.jpg ./2024/two.jpg ./one.jpg 
                """, "\(result)")
    }

    /// The test rename of such a folder uses a file of the program: one of the app's may be a database in use.
    @Test func `a refused restore leaves the log of a database in a folder that cannot be renamed`() throws {
        let sandbox = try Self.prepare(owner: 0)
        let result = try sandbox.runInNamespace(
            """
            mkdir $S/app/photos/db; sqlite3 $S/app/photos/db/a.db 'pragma journal_mode = wal; create table t(a); insert into t values (1)' >/dev/null
            mkdir $R/t; mount -t tmpfs none $R/t; mkdir $R/t/upper $R/t/work
            mount -t overlay overlay -o lowerdir=$S/app,upperdir=$R/t/upper,workdir=$R/t/work,redirect_dir=off $S/app || exit 77
            mkfifo $R/in; sqlite3 $S/app/photos/db/a.db < $R/in >/dev/null & app=$!; exec 4> $R/in
            printf "insert into t values (2);\\n.shell touch $R/written\\n" >&4
            wait_until [ -e $R/written ]
            \(LogNameTests.refusedRestore)
            BACKUPFS_FAULT=restore.probe-file-moved:2 backupfs restore one --yes --store $S >/dev/null 2>&1; backupfs status --store $S >/dev/null
            kill -9 $app; ls -A $S/app | grep -v sqlite-; ls -A $S/app/photos/db; sqlite3 $S/app/photos/db/a.db 'select count(*) from t'
            """)
        if result.exitCode == 77 { return }
        #expect(
            result.output.hasSuffix(
                "exit 13\ndatabase.sqlite\nphotos\na.db\na.db-shm\na.db-wal\n2\n"), "\(result)")
    }
}
