import TestSupport
import Testing

/// Names that resemble those of a restore's staging files.
struct StagingNameTests {
    @Test func `only a restore's own folder is left out of a backup`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            own=.backupfs-staging-0123456789abcdef0123456789abcdef; cd $S/app/photos
            mkdir -p deep/$own .backupfs-staging-x $own; printf a > deep/$own/a.jpg; printf b > .backupfs-staging-x/b.jpg
            printf c > .backupfs-staging-notes.txt; printf d > $own/d.jpg; backupfs backup --label one --store $S
            """)
        let names = try sandbox.sh(
            "backupfs restore one --target $R/out --store $S >/dev/null; cd $R/out/media; find . -type f | sort")
        #expect(
            names
                == """
                ./.backupfs-staging-notes.txt
                ./.backupfs-staging-x/b.jpg
                ./2024/summer/three.jpg
                ./2024/two.jpg
                ./deep/.backupfs-staging-0123456789abcdef0123456789abcdef/a.jpg
                ./one.jpg
                """)
        // A restore brings them back, and keeps none of them aside.
        try sandbox.sh(
            "rm -r $S/app/photos/deep $S/app/photos/.backupfs-staging-notes.txt; backupfs restore one --yes --store $S")
        #expect(
            try sandbox.sh(
                "cd $S/app; cat photos/deep/.backupfs*/a.jpg photos/.backupfs-staging-notes.txt; find . -name '*-kept-*' | wc -l")
                == "ac0")
    }
}
