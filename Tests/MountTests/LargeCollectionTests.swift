import TestSupport
import Testing

/// Collections of 1 MiB or more, of which a backup records no digests: each way to ask for them gives those of the bytes.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct LargeCollectionTests {
    /// A whole database with a large table and a small one, in which one row changes between two backups.
    private static func withBackups(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                sqlite3 $R/app.db "create table many(id integer primary key, km integer, notes text);
                create table few(id integer primary key, x text); insert into few values (1, 'one'), (2, 'two');
                with recursive n(i) as (select 1 union all select i + 1 from n where i < 16000)
                insert into many select i, i * 7919 % 100003, 'the way from home to work, number ' || i from n"
                backupfs init --store $S --database $R/app.db --repository $R/r; backupfs backup --label one --store $S
                sqlite3 $R/app.db "update many set km = 7 where id = 9000"; backupfs backup --label two --store $S
                """)
            try sandbox.mount()
            try body(sandbox)
            try sandbox.unmount()
        }
    }

    private static let file = "$M/snapshots/two/data/many.json"

    @Test func `attributes, lists and archives have the digests of the bytes`() throws {
        try Self.withBackups { sandbox in
            #expect(try sandbox.sh("stat -c %s \(Self.file)").count == 7)
            // Listed is what costs no read: the digests of the small collection.
            let listed = "getfattr -d --absolute-names -m 'user.checksum' $M/snapshots/two/data"
            #expect(try sandbox.sh("\(listed)/few.json | grep -c checksum.sha256") == "1")
            #expect(try sandbox.sh("\(listed)/many.json | grep -c checksum.sha256 || true") == "0")
            for algorithm in ["md5", "sha1", "sha256"] {
                let told = try sandbox.sh("getfattr --only-values -n user.checksum.\(algorithm) \(Self.file)")
                #expect(try sandbox.sh("\(algorithm)sum < \(Self.file) | cut -d' ' -f1") == told)
            }
            #expect(try sandbox.sh("\(listed)/many.json | grep -c checksum.sha256") == "1")
            let crc32 = try sandbox.sh("getfattr --only-values -n user.checksum.crc32 \(Self.file)")
            #expect(try sandbox.sh("gzip -1c < \(Self.file) | tail -c 8 | head -c 4 | od -An -tx4 | tr -d ' '") == crc32)
            for name in ["one", "two"] {
                let listing = "cd $M/snapshots/\(name); sha256sum --strict -c SHA256SUMS && md5sum --strict -c MD5SUMS"
                #expect(try sandbox.sh(listing).contains("data/many.json: OK"))
                try sandbox.sh("unzip -tq $M/snapshots/\(name)/archive.zip")
                let fromArchive = "unzip -p $M/snapshots/\(name)/archive.zip data/many.json | sha256sum"
                #expect(try sandbox.sh(fromArchive) == sandbox.sh("sha256sum < $M/snapshots/\(name)/data/many.json"))
            }
            // The next mount has them from the catalog.
            try sandbox.remount()
            #expect(try sandbox.sh("\(listed)/many.json | grep -c checksum.sha256") == "1")
        }
    }

    @Test func `find, verify, check, diff and restore take them as any file`() throws {
        try Self.withBackups { sandbox in
            let digest = try sandbox.sh("sha256sum < \(Self.file) | cut -d' ' -f1")
            let found = try sandbox.sh("backupfs find sha256:\(digest) --store $S")
            #expect(found.contains("two") && found.contains("data/many.json") && !found.contains("one"))
            try sandbox.sh("backupfs verify one two --store $S; backupfs check --read-data --store $S")
            let counts = "jq -c '.records | map_values([.added, .changed, .removed])'"
            let changes = try sandbox.sh("\(counts) $M/snapshots/two/changes.json")
            #expect(changes == #"{"few":[0,0,0],"many":[0,1,0]}"#)
            let difference = try sandbox.sh("backupfs diff one two --json --store $S || [ $? -eq 1 ]")
            #expect(difference.contains("9000"))
            try sandbox.sh("backupfs restore two --target $R/out --store $S")
            #expect(try sandbox.sh("sha256sum < $R/out/data/many.json | cut -d' ' -f1") == digest)
            try sandbox.sh("backupfs restore one --yes --store $S")
            let restored = try sandbox.sh("sqlite3 $R/app.db 'select km from many where id = 9000'")
            #expect(restored == "\(9_000 * 7_919 % 100_003)")
        }
    }

    /// A backup of an unchanged database takes the collections from the one before, whichever of both kinds they are.
    @Test func `an unchanged database keeps them`() throws {
        try Self.withBackups { sandbox in
            try sandbox.sh("backupfs backup --label three --store $S; backupfs backup --label four --store $S")
            try sandbox.sh("cmp \(Self.file) $M/snapshots/four/data/many.json")
            let sum = "jq '[.records[] | .added + .changed + .removed] | add'"
            #expect(try sandbox.sh("\(sum) $M/snapshots/four/changes.json") == "0")
            let listing = "cd $M/snapshots/four; sha256sum --strict -c SHA256SUMS"
            #expect(try sandbox.sh(listing).contains("data/many.json: OK"))
            try sandbox.sh("backupfs verify four --store $S")
        }
    }
}
