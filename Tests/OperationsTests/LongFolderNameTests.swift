import TestSupport
import Testing

@testable import Operations

/// A media folder whose name is almost as long as possible: the folder for what a restore keeps is named after it.
struct LongFolderNameTests {
    private static func prepare() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            media=$R/$(printf 'ü%.0s' $(seq 125)); mkdir "$media"; ln -s "$media" $R/media; printf one > $R/media/one.jpg; mkdir $R/media/2024
            sqlite3 $R/app.db 'create table t(id integer primary key)'
            backupfs init --store $S --database $R/app.db --media "$media" >/dev/null; backupfs backup --label one --store $S >/dev/null
            """)
        return sandbox
    }

    @Test func `a restore keeps what is in no backup, and the next one goes on`() throws {
        let sandbox = try Self.prepare()
        let result = try sandbox.run(
            """
            touch $R/pause; BACKUPFS_FAULT=restore.safety-made=pause:$R/pause backupfs restore one --yes --store $S >/dev/null & restore=$!
            wait_paused $R/pause $restore
            printf late > $R/media/late.jpg; rm $R/pause; wait $restore; echo "exit $?"
            cat "$(jq -r .keptMedia $S/restore/last.json)/late.jpg"; echo; ls $R/media; find $R -name '.backupfs*'
            backupfs restore one --yes --store $S >/dev/null; echo "exit $?"
            """)
        #expect(result.output == "exit 0\nlate\n2024\none.jpg\nexit 0\n", "\(result)")
    }

    @Test func `a cancelled restore that keeps something does not block the store`() throws {
        let sandbox = try Self.prepare()
        let result = try sandbox.run(
            """
            touch $R/pause; BACKUPFS_FAULT=restore.folder-tried=pause:$R/pause backupfs restore one --yes --store $S >/dev/null 2>&1 & restore=$!
            wait_paused $R/pause $restore
            printf mine > $R/media/2024; kill -TERM $restore; rm $R/pause; wait $restore; echo "exit $?"
            cat "$(jq -r .keptMedia $S/restore/last.json)/2024"; echo; find $R -name '.backupfs*'; backupfs backup --store $S >/dev/null; echo "exit $?"
            """)
        #expect(result.output == "exit 130\nmine\nexit 0\n", "\(result)")
    }
}
