import TestSupport
import Testing

/// A backup that lacks files which were unreadable when it was made, and are readable when it is restored.
@Suite(.enabled(if: Machine.isRoot && Machine.hasTool("setpriv"), "NOT TESTED: files of other users need root and setpriv"))
struct UnreadFilesTests {
    /// A socket belongs to a running program and has no content.
    @Test func `a socket in the media folder is no file that cannot be read`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        let makeSockets = """
            python3 -c "import os, socket; os.chdir('$S/app/photos'); os.makedirs('run', exist_ok=True)
            for name in ('app.sock', 'run/inner.sock'): socket.socket(socket.AF_UNIX).bind(name)"
            """
        try sandbox.sh("backupfs backup --label before --store $S >/dev/null; \(makeSockets)")
        let backup = try sandbox.run("backupfs backup --label one --store $S")
        #expect(backup.exitCode == 0 && backup.errors == "", "\(backup)")
        #expect(try sandbox.sh("backupfs ls one:media --store $S").contains("sock") == false)
        let restore = try sandbox.run("backupfs restore before --yes --store $S")
        #expect(restore.exitCode == 0, "\(restore)")
        // The app still listens there.
        #expect(try sandbox.sh("test -S $S/app/photos/app.sock; ls -d $S/app/*kept* 2>/dev/null || true") == "")
    }

    @Test func `a folder beside the command may have the backup's name`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            "cd $R; backupfs backup --label one --store $S >/dev/null; backupfs restore one --target one --store $S >/dev/null")
        let restore = try sandbox.run("cd $R; backupfs restore one --yes --store $S")
        #expect(restore.exitCode == 0, "\(restore)")
    }

    private static let user = "setpriv --reuid=65534 --regid=65534 --clear-groups"

    @Test func `a restore says what the backup lacks, and keeps what lies there`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir -p $R/m/d; sqlite3 $R/a.db 'create table t(a)'; printf x > $R/m/x.jpg; printf y > $R/m/y.jpg; printf z > $R/m/d/z.jpg
            cp --remove-destination $(readlink -f $R/bin/backupfs) $R/bin/backupfs; chown -R 65534:65534 $R; chmod 755 $R $R/bin/*
            \(Self.user) backupfs init --store $S --database $R/a.db --media $R/m; chmod 0 $R/m/x.jpg $R/m/d
            """)
        #expect(try sandbox.run("\(Self.user) backupfs backup --label A --store $S").exitCode == 3)
        try sandbox.sh("chmod 644 $R/m/x.jpg; chmod 755 $R/m/d; printf Y > $R/m/y.jpg")
        let verified = try sandbox.run("\(Self.user) backupfs verify A --store $S")
        #expect(
            verified.exitCode == 0
                && verified.output.contains("the backup lacks 2 files or folders that could not be read when it was made"),
            "\(verified)")
        let preview = try sandbox.run("\(Self.user) backupfs restore A --dry-run --store $S")
        #expect(preview.exitCode == 0 && preview.output.contains("The backup lacks 2 files or folders"), "\(preview)")
        let result = try sandbox.run("\(Self.user) backupfs restore A --yes --store $S")
        #expect(result.exitCode == 3 && result.output.contains("is in the safety backup, which is pinned"), "\(result)")
        #expect(result.errors.contains("the backup lacks 2 files or folders that could not be read"), "\(result)")
        #expect(
            try sandbox.sh("cat $R/m/y.jpg; grep -c 'lacks 2 files' $S/restore/last.txt")
                == "y1")
        // More restores than the number of safety backups that are kept.
        try sandbox.sh(
            """
            undo=$(jq -r .safetyBackup $S/restore/last.json); printf 1 > $R/m/y.jpg; \(Self.user) backupfs backup --label B --store $S
            for i in 1 2 3 4; do \(Self.user) backupfs restore B --yes --store $S; done
            \(Self.user) backupfs restore $undo --yes --store $S
            """)
        #expect(try sandbox.sh("cat $R/m/x.jpg $R/m/y.jpg $R/m/d/z.jpg") == "xYz")
    }
}
