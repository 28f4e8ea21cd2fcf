import Foundation
import TestSupport
import Testing

/// Damaged or missing files: refused, unless the user requests the rest.
struct DamagedRestoreTests {
    /// An archive, from which the script makes `$R/bad`.
    private func withDamaged(_ script: String, _ body: (Sandbox) throws -> Void) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            "backupfs backup --store $S --label one >/dev/null; cd $R; backupfs export one --zip --store $S --output a.zip >/dev/null; backupfs export one --tar --store $S --output a.tar >/dev/null"
        )
        try sandbox.sh("cd $R; \(script)")
        try sandbox.sh("rm $S/app/photos/2024/two.jpg; sqlite3 $S/app/database.sqlite 'delete from photos'")
        try body(sandbox)
    }

    /// Changes a byte where the pattern matches.
    private static func flip(_ file: String, _ pattern: String) -> String {
        """
        python3 - <<'END'
        import re
        data = bytearray(open("\(file)", "rb").read())
        data[re.search(rb"\(pattern)", data, re.DOTALL).end() - 1] ^= 1
        open("bad", "wb").write(data)
        END
        """
    }

    /// Matches the photo's content but not its name.
    private static let content = #"three(?!\.jpg)"#

    static let damages = [
        ("ZIP with a wrong CRC", flip("a.zip", content), "media/2024/summer/three.jpg"),
        ("tar with a wrong SHA-256", flip("a.tar", content), "media/2024/summer/three.jpg"),
        (
            "an archive without a file that it lists",
            "cp a.zip bad.zip; python3 -c \"import zipfile; a = zipfile.ZipFile('a.zip'); b = zipfile.ZipFile('bad', 'w'); [b.writestr(i, a.read(i)) for i in a.infolist() if 'three' not in i.filename]; b.close()\"",
            "media/2024/summer/three.jpg"
        ),
    ]

    @Test(arguments: damages)
    func `it is refused, or the rest is restored and the gaps are reported`(name: String, script: String, path: String) throws {
        try withDamaged(script) { sandbox in
            let state = try sandbox.sh(PhotoDiary.describe)
            let refused = try sandbox.run("backupfs restore $R/bad --yes --store $S")
            #expect(refused.exitCode == 1)
            #expect(refused.errors.contains("This backup file is corrupted and cannot be restored."))
            #expect(try sandbox.sh(PhotoDiary.describe) == state)
            let dry = try sandbox.run("backupfs restore $R/bad --dry-run --allow-damaged --store $S")
            #expect(dry.output.contains("Left out, since it is damaged or missing: \(path)"), "\(dry)")
            #expect(try sandbox.sh(PhotoDiary.describe) == state)
            let result = try sandbox.run("backupfs restore $R/bad --yes --allow-damaged --store $S")
            #expect(result.exitCode == 3, "\(result)")
            #expect(result.output.contains("Left out, since it is damaged or missing: \(path)"))
            #expect(result.errors.contains("1 file was damaged or missing and has been left out"))
            #expect(try sandbox.sh("cd $S/app/photos; cat one.jpg 2024/two.jpg; ls 2024/summer") == "onetwo")
            #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'select count(*) from photos'") == "3")
            let report = try json(Array(sandbox.sh("cat $S/restore/last.json").utf8))
            #expect((report["leftOut"] as? [String])?.count == 1)
            #expect(report["result"] as? String == "success")
        }
    }

    @Test func `records that are damaged are never left out`() throws {
        try withDamaged(Self.flip("a.tar", #"export\.json\x00.*2024/two\.jpg\x22"#)) { sandbox in
            let state = try sandbox.sh(PhotoDiary.describe)
            let result = try sandbox.run("backupfs restore $R/bad --yes --allow-damaged --store $S")
            #expect(result.exitCode == 1)
            #expect(result.errors.contains("This backup file is corrupted and cannot be restored."))
            #expect(try sandbox.sh(PhotoDiary.describe) == state)
        }
    }

    @Test func `a backup whose chunk is damaged gives the rest`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("head -c 500000 /dev/urandom > $S/app/photos/noise.jpg; backupfs backup --store $S --label one >/dev/null")
        try sandbox.sh(
            """
            python3 - <<'END'
            import glob, os
            noise = open(os.environ["S"] + "/app/photos/noise.jpg", "rb").read()
            for path in glob.glob(os.environ["S"] + "/repository/packs/**/*", recursive=True):
                if not os.path.isfile(path): continue
                data = bytearray(open(path, "rb").read())
                at = data.find(noise[1000:1100])
                if at < 0: continue
                data[at] ^= 1
                os.chmod(path, 0o600); open(path, "wb").write(data); break
            else: raise SystemExit("not found")
            END
            rm $S/app/photos/one.jpg
            """)
        let refused = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(refused.exitCode == 1)
        #expect(try sandbox.sh("ls $S/app/photos") == "2024\nnoise.jpg")
        let result = try sandbox.run("backupfs restore one --yes --allow-damaged --store $S")
        #expect(result.exitCode == 3, "\(result)")
        #expect(result.output.contains("Left out, since it is damaged or missing: media/noise.jpg"))
        #expect(try sandbox.sh("ls $S/app/photos") == "2024\none.jpg")
    }

    /// Changes a byte of the repository's copy of the database.
    private static let damageDatabase = """
        python3 - <<'END'
        import glob, os
        noise = open(os.environ["S"] + "/app/database.sqlite", "rb").read()[204900:204964]
        for path in glob.glob(os.environ["S"] + "/repository/packs/**/*", recursive=True):
            if not os.path.isfile(path): continue
            data = bytearray(open(path, "rb").read())
            at = data.find(noise)
            if at < 0: continue
            data[at] ^= 1
            os.chmod(path, 0o600); open(path, "wb").write(data); break
        else: raise SystemExit("not found")
        END
        """

    @Test func `a backup whose database is damaged is restored from its export`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        // Compressed data cannot be located: add noise beside the records, in a table that no collection names.
        try sandbox.sh(
            """
            sqlite3 $S/app/database.sqlite "create table noise (noise blob); insert into noise values (randomblob(400000))"
            backupfs backup --store $S --label one >/dev/null
            backupfs export one --store $S --output $R/a.json >/dev/null
            """)
        try sandbox.sh(Self.damageDatabase)
        try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from photos'")
        let refused = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(refused.exitCode == 1, "\(refused)")
        #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'select count(*) from photos'") == "0")
        let result = try sandbox.run("backupfs restore one --yes --allow-damaged --store $S")
        #expect(result.exitCode == 3, "\(result)")
        #expect(result.output.contains("Left out, since it is damaged or missing: database.sqlite"))
        #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'select count(*) from photos'") == "3")
        try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from photos'")
        let export = try sandbox.run("backupfs restore $R/a.json --yes --store $S")
        #expect(export.exitCode == 0, "\(export)")
        #expect(
            export.output.contains("the database of the backup that the file is of is damaged in the repository"), "\(export)")
        #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'select count(*) from photos'") == "3")
    }

    @Test func `a pipe is restored like a file`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            "backupfs export --zip --store $S --output $R/a.zip >/dev/null; sqlite3 $S/app/database.sqlite 'delete from photos'")
        try sandbox.sh("backupfs restore - --dry-run --store $S < $R/a.zip >/dev/null")
        let unasked = try sandbox.run("cat $R/a.zip | backupfs restore - --store $S")
        #expect(unasked.exitCode == 2)
        try sandbox.sh("cat $R/a.zip | backupfs restore - --yes --store $S >/dev/null")
        #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'select count(*) from photos'") == "3")
        let half = try sandbox.run("head -c 100 $R/a.zip | backupfs restore - --yes --store $S")
        #expect(half.exitCode == 1 && half.errors.contains("standard input: This backup file is corrupted"))
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }

    @Test func `the log has time, result and size, and nothing of the data`() throws {
        try withDamaged(Self.flip("a.zip", Self.content)) { sandbox in
            try sandbox.sh("cp $R/bad $R/my-secret-car.zip")
            try sandbox.sh(
                "backupfs restore $R/my-secret-car.zip --yes --store $S || true; backupfs restore one --yes --store $S >/dev/null"
            )
            let lines = try sandbox.sh("cat $S/backupfs.log").split(separator: "\n")
            let told = try sandbox.sh(
                "jq -c 'select(.op==\"restore\") | [.op,.result,.strategy,.error,.fileKind,.format,.records,.files,.safetyBackup!=null,.fileSize>300,.durationMs>=0]' $S/backupfs.log"
            )
            #expect(
                told == """
                    ["restore","refused","replace","damagedContent","imported",null,null,null,false,true,true]
                    ["restore","ok","replace",null,null,"tar",3,3,true,true,true]
                    """)
            for word in ["secret", "three", "jpg", "first", "sea"] { #expect(!lines.joined().contains(word)) }
        }
    }
}
