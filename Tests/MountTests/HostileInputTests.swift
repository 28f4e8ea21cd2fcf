import TestSupport
import Testing

/// Damaged, foreign and malicious files: rejected as a whole, with the right error, and nothing changes.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct HostileInputTests {
    private static let invalidFormat = "Invalid file format. Please select a valid backup file."
    private static let corrupted = "This backup file is corrupted and cannot be restored."

    /// - Parameter make: a script that creates `$R/bad`, with `$M/snapshots/one` available.
    private func check(_ cases: [(make: String, words: String, message: String)]) throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("mkdir $M/snapshots/one")
            let before = try sandbox.state()
            for (make, words, message) in cases {
                try sandbox.sh(make)
                try sandbox.fails("cp $R/bad $M/restore/", saying: words, exitCode: 1)
                let said = try sandbox.report(".message")
                #expect(said.hasPrefix(message), "\(make)")
                #expect(try sandbox.sh("cat $M/restore/last.txt").contains(message), "\(make)")
                try sandbox.sh("rm $M/restore/bad")
            }
            #expect(try sandbox.state() == before)
            #expect(try sandbox.names("safety") == [])
            #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
            #expect(try sandbox.sh("find $R $S ! -path '*/tmp/*' -name 'evil*' ! -path $R/evil.py") == "")
        }
    }

    @Test func `what is no backup at all`() throws {
        try check([
            (": > $R/bad; echo > $R/bad", "Invalid argument", Self.invalidFormat),
            ("head -c 100000 /dev/urandom | tr -d '{[PS \\n\\t\\r' > $R/bad", "Invalid argument", Self.invalidFormat),
            ("echo hello > $R/bad", "Invalid argument", Self.invalidFormat),
            ("head -c -2 $R/old.json > $R/bad", "Invalid argument", Self.invalidFormat),
            ("head -c 700 $R/old.json > $R/bad", "Invalid argument", Self.invalidFormat),
            ("cat $R/old.json $R/old.json > $R/bad", "Invalid argument", Self.invalidFormat),
            ("echo '[]' > $R/bad", "Invalid argument", Self.invalidFormat),
            ("echo '{}' > $R/bad", "Invalid argument", "Import failed: missing field metadata"),
            (
                "sed 's/\"name\": \"Tesla Model 3\",/\"name\": \"Tesla Model 3\",,/' $R/old.json > $R/bad", "Invalid argument",
                Self.invalidFormat
            ),
            ("sed 's/\"carId\": 1$/\"carId\": 1,/' $R/old.json > $R/bad", "Invalid argument", Self.invalidFormat),
            ("sed 's/\"carId\": 1$/\"carId\": 01/' $R/old.json > $R/bad", "Invalid argument", Self.invalidFormat),
            ("sed 's/\"carId\": 1$/\"carId\": 1, \"carId\": 1/' $R/old.json > $R/bad", "Invalid argument", ""),
            ("sed 's/\"cars\"/\"expenses\": [], \"cars\"/' $R/old.json > $R/bad", "Invalid argument", ""),
            ("iconv -t utf-16 $R/old.json > $R/bad", "Invalid argument", Self.invalidFormat),
            ("sed 's/Tesla/Te\\xffsla/' $R/old.json > $R/bad", "Invalid argument", Self.invalidFormat),
            ("sed 's/Tesla/Te\\\\ud800sla/' $R/old.json > $R/bad", "Invalid argument", Self.invalidFormat),
            ("{ echo '{\"a\":'; head -c 200000 /dev/zero | tr '\\0' '['; } > $R/bad", "Invalid argument", Self.invalidFormat),
            (
                """
                { printf '{"a":'; head -c 200000 /dev/zero | tr '\\0' '['; head -c 200000 /dev/zero | tr '\\0' ']'; echo '}'
                } > $R/bad
                """,
                "Invalid argument", Self.invalidFormat
            ),
            (
                "printf '{\"version\": 1, \"entries\": [], \"goals\": []}' > $R/bad", "Invalid argument",
                "Import failed: missing field metadata"
            ),
        ])
    }

    @Test func `ZIP-05: damaged archives and databases`() throws {
        let archive = "$M/snapshots/one/archive.zip"
        let database = "$M/snapshots/one/database.sqlite"
        func flipped(_ source: String, at position: String) -> String {
            """
            cp \(source) $R/bad
            python3 -c "import sys; f=open('$R/bad','r+b'); d=f.read(); p=\(position); f.seek(p); f.write(bytes([d[p]^0x55]))"
            """
        }
        try check([
            ("head -c -1 \(archive) > $R/bad", "Bad message", Self.corrupted),
            ("head -c 5000 \(archive) > $R/bad", "Bad message", Self.corrupted),
            ("head -c 4 \(archive) > $R/bad", "Bad message", Self.corrupted),
            ("tail -c +31 \(archive) > $R/bad", "Invalid argument", Self.invalidFormat),
            (flipped(archive, at: "len(d)//2"), "Bad message", Self.corrupted),
            (flipped(archive, at: "d.index(b'PK\\x01\\x02')+16"), "Bad message", Self.corrupted),
            (flipped(archive, at: "len(d)-6"), "Bad message", Self.corrupted),
            ("{ cat \(archive); echo more; } > $R/bad", "Bad message", Self.corrupted),
            ("head -c 20000 \(database) > $R/bad", "Bad message", Self.corrupted),
            ("head -c 50 \(database) > $R/bad", "Bad message", Self.corrupted),
            ("{ head -c 16 \(database); head -c 50000 /dev/urandom; } > $R/bad", "Bad message", Self.corrupted),
            ("rm $R/bad; sqlite3 $R/bad 'create table photos(id)'", "Invalid argument", "Import failed: there is no table"),
            (
                """
                rm $R/bad; cp \(database) $R/bad; chmod 600 $R/bad
                sqlite3 $R/bad 'update expenses set car_id = 4711 where id = 3'
                """,
                "Invalid argument",
                "Import failed: expense 3 refers to unknown car 4711"
            ),
            (
                "rm $R/bad; sqlite3 $R/bad 'create view cars as select 1 as id; create table expenses(id)'", "Invalid argument",
                "Import failed: there is no table"
            ),
        ])
    }

    /// Writes `$R/bad` with Python's zipfile, which does not check its input.
    private static func craft(_ body: String) -> String {
        """
        cat > $R/tmp/craft.py <<'END'
        import os, zipfile, io
        R = os.environ["R"]
        export = open(R + "/old.json", "rb").read()
        with zipfile.ZipFile(R + "/bad", "w", zipfile.ZIP_DEFLATED) as z:
        \(body.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n"))
        END
        rm -f $R/bad; python3 -W ignore $R/tmp/craft.py
        """
    }

    @Test func `malicious archives`() throws {
        // Our own archives may have links in their media, but no file may be behind a link.
        let link =
            """
            i = zipfile.ZipInfo('media/link'); i.create_system = 3; i.external_attr = 0o120777 << 16
            z.writestr(i, '/etc/passwd')
            """
        let bomb = "with z.open('media/bomb', 'w') as f:\n    for i in range(300): f.write(bytes(1 << 20))"
        try check([
            (
                Self.craft("z.writestr('export.json', export); z.writestr('../evil1', b'x')"), "Invalid argument",
                "Import failed: The entry \"../evil1\""
            ),
            (
                Self.craft("z.writestr('export.json', export); z.writestr('media/../../evil2', b'x')"), "Invalid argument",
                "Import failed: The entry"
            ),
            (
                Self.craft("z.writestr('export.json', export); z.writestr('/tmp/evil3', b'x')"), "Invalid argument",
                "Import failed: The entry"
            ),
            (
                Self.craft(
                    """
                    z.writestr('export.json', export); i = zipfile.ZipInfo('a'); i.create_system = 0
                    i.filename = 'media\\\\evil4'; z.writestr(i, b'x')
                    """
                ), "Invalid argument", "Import failed: The name"
            ),
            (
                Self.craft("z.writestr('export.json', export); \(link); z.writestr('media/link/evil5', b'x')"),
                "Invalid argument", "Import failed:"
            ),
            (
                Self.craft("z.writestr('export.json', export); z.writestr('export.json', export)"), "Invalid argument",
                "Import failed: The archive has two"
            ),
            (Self.craft("z.writestr('export.json', export)\n\(bomb)"), "File too large", "Import failed: The archive"),
            (
                Self.craft("z.writestr('metadata.json', b'{\"version\": 2}'); z.writestr('photos/1_a.jpg', b'x')"),
                "Invalid argument", "Import failed: the archive has no export.json"
            ),
            (Self.craft("pass"), "Invalid argument", "Import failed: the archive has no export.json"),
            (Self.craft("z.writestr('export.json', export[:-50])"), "Invalid argument", Self.invalidFormat),
            (
                Self.craft("z.writestr('export.json', export); z.writestr('SHA256SUMS', b'0' * 64 + b'  export.json\\n')"),
                "Bad message", Self.corrupted
            ),
        ])
    }

    @Test func `archives that other programs made are taken`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("mkdir $R/top; cp $R/old.json $R/top/export.json; touch $R/top/note.txt")
            var makers = [
                "cd $R/top; python3 -m zipfile -c $R/made.zip export.json", "cd $R; python3 -m zipfile -c $R/made.zip top",
            ]
            if Machine.hasTool("zip") {
                makers += ["cd $R/top; zip -q $R/made.zip export.json", "cd $R; zip -qr $R/made.zip top"]
            }
            if Machine.hasTool("7z") { makers.append("cd $R/top; 7z a -tzip -bso0 -bsp0 $R/made.zip export.json") }
            if Machine.hasTool("bsdtar") { makers.append("cd $R; bsdtar --format zip -cf $R/made.zip top") }
            if Machine.hasTool("jar") { makers.append("cd $R/top; jar cMf $R/made.zip export.json") }
            for maker in makers {
                try sandbox.write(SampleDocument.variant("before"), to: "other.json")
                try sandbox.sh("rm -f $R/made.zip; cp $R/other.json $M/restore/; \(maker); cp $R/made.zip $M/restore/")
                #expect(try sandbox.sh("jq -r '.cars[0].name' $M/live/export.json") == "Tesla Model 3", "\(maker)")
            }
        }
    }
}
