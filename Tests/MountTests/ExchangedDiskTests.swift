import TestSupport
import Testing

/// A mount continues while a disk is removed and another one appears at the same place.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct ExchangedDiskTests {
    @Test(arguments: [false, true])
    func `a mount writes nothing into another repository at the same path`(isEncrypted: Bool) throws {
        try Sandbox.use { sandbox in
            let options = isEncrypted ? "--encrypt --password-file $R/password" : ""
            try sandbox.sh(
                """
                echo secret > $R/password; mkdir $R/other
                sqlite3 $R/app.db 'create table t(id integer primary key, x text); insert into t(x) values ("canary")'
                backupfs init --store $S --database $R/app.db --repository $R/disk; backupfs backup --label one --store $S
                backupfs init --store $R/other/store --sample --repository $R/disk2 \(options)
                BACKUPFS_PASSWORD_FILE=$R/password backupfs backup --label two --store $R/other/store
                """)
            try sandbox.mount()
            try sandbox.sh(
                """
                mv $R/disk $R/away; mv $R/disk2 $R/disk; sqlite3 $R/app.db 'insert into t(x) values ("canary 2")'
                (cd $R/disk; find . -type f -not -name 'catalog*' -not -name '*.lock' -not -name lock | sort | xargs sha256sum) > $R/before
                """)
            for change in ["mkdir $M/snapshots/three", "mv $M/snapshots/one $M/snapshots/four", "rmdir $M/snapshots/one"] {
                let refused = try sandbox.run(change)
                #expect(refused.exitCode != 0, "\(change)")
            }
            try sandbox.sh(
                """
                (cd $R/disk; find . -type f -not -name 'catalog*' -not -name '*.lock' -not -name lock | sort | xargs sha256sum) > $R/after
                diff $R/before $R/after; ! grep -r canary $R/disk
                mv $R/disk $R/disk2; mv $R/away $R/disk
                """)
            // The right disk is back.
            try sandbox.sh("mkdir $M/snapshots/three; ls $M/snapshots | paste -sd' '")
            try sandbox.unmount()
            #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq -r 'map(.name) | join(\" \")'") == "one three")
            for store in ["$S", "$R/other/store"] {
                try sandbox.sh("BACKUPFS_PASSWORD_FILE=$R/password backupfs check --read-data --store \(store)")
            }
        }
    }
}
