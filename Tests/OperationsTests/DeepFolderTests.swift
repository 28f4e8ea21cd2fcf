import TestSupport
import Testing

/// R-B7: nested folders, deeper than any stack allows. (1,000 levels ended the program.)
struct DeepFolderTests {
    @Test(arguments: [200, 10_000])
    func `R-B7: what lies too deep is left out of the backup and named, and a restore that would replace it is refused`(
        levels: Int
    ) throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir -p $R/Photos/a; printf one > $R/Photos/a/one.jpg
            backupfs init --store $S --app photo-library --media $R/Photos; backupfs backup --label whole --store $S
            python3 - <<'P'
            import os
            os.chdir(os.environ['R'] + '/Photos')
            for level in range(\(levels)): os.mkdir('d'); os.chdir('d')
            open('leaf.jpg', 'w').write('leaf')
            P
            """)
        let result = try sandbox.run("backupfs backup --label deep --store $S")
        #expect(result.exitCode == 3, "\(result)")
        #expect(result.errors.contains("the folder is inside more than 128 others"), "\(result.errors.prefix(500))")
        let refused = try sandbox.run("backupfs restore whole --yes --store $S")
        #expect(refused.exitCode == 1 && refused.errors.contains("the folder is inside more than 128 others"), "\(refused)")
        #expect(
            try sandbox.sh(
                "cat $R/Photos/a/one.jpg; backupfs export --store $S --json -o - | jq -r '.photos[].path' | tr '\\n' ' '")
                == "onea/one.jpg ")
        // Files of a deep tree that no longer exists come back.
        try sandbox.sh(
            "rm -rf $R/Photos/d; printf two > $R/Photos/a/one.jpg; backupfs restore deep --yes --store $S || [ $? = 3 ]")
        #expect(try sandbox.sh("cat $R/Photos/a/one.jpg; find $R/Photos -type d | wc -l") == "one130")
    }

    /// Foreign archives may not have such paths; a disk may.
    @Test func `a file whose path has 30,000 bytes comes back by name and by undo`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir -p $R/Photos; printf one > $R/Photos/one.jpg; sqlite3 $R/a.db 'create table t(a)'
            backupfs init --store $S --database $R/a.db --media $R/Photos; backupfs backup --label first --store $S
            python3 - <<'P'
            import os
            os.chdir(os.environ['R'] + '/Photos')
            for level in range(120): os.mkdir('d' * 250); os.chdir('d' * 250)
            open('leaf.jpg', 'w').write('leaf')
            P
            backupfs backup --label deep --store $S; backupfs verify deep --store $S; backupfs restore first --yes --store $S
            """)
        let content = """
            python3 - <<'P'
            import os
            os.chdir(os.environ['R'] + '/Photos')
            for level in range(120):
                if os.path.isdir('d' * 250): os.chdir('d' * 250)
            print(','.join(os.listdir('.')))
            P
            """
        #expect(try sandbox.sh(content) == "one.jpg")
        let safety = try sandbox.sh("jq -r .safetyBackup $S/restore/last.json")
        try sandbox.sh("backupfs restore \(safety) --yes --store $S")
        #expect(try sandbox.sh(content) == "leaf.jpg")
        try sandbox.sh("backupfs restore first --yes --store $S; backupfs restore deep --yes --store $S")
        #expect(try sandbox.sh(content) == "leaf.jpg")
        // The archive is recognized by its bytes.
        try sandbox.sh(
            "backupfs restore first --yes --store $S; backupfs export deep --zip -o $R/deep.zip --store $S; backupfs restore $R/deep.zip --yes --store $S"
        )
        #expect(try sandbox.sh(content) == "leaf.jpg")
    }
}
