import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Rows of the requirements for photo archives, each named by its number.
struct ArchiveRowTests {
    private static let metadata = """
        {"version":2,"exportDate":1700000000000,"appVersion":"1","format":"ZIP",
         "categories":[{"id":1,"name":"a","displayName":"A","position":0,"createdAt":1}],
         "photos":[{"id":1,"path":"photos/one.jpg","categoryId":1,"name":"one","createdAt":1},
                   {"id":2,"path":"photos/two.jpg","categoryId":1,"name":"two","createdAt":2}],
         "settings":{"isDarkMode":false,"securitySettings":
                     {"hasPIN":false,"hasPattern":false,"kidSafeModeEnabled":false,"deleteProtectionEnabled":false}},
         "photoManifest":[
           {"photoId":1,"originalPath":"photos/one.jpg","zipEntryName":"photos/1_one.jpg","fileName":"1_one.jpg","fileSize":3,
            "checksum":"f97c5d29941bfb1b2fdab0874906ab82"},
           {"photoId":2,"originalPath":"photos/two.jpg","zipEntryName":"photos/2_two.jpg","fileName":"2_two.jpg","fileSize":3}]}
        """

    private static func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app smilepile --store $S >/dev/null")
        return sandbox
    }

    /// Packs `$R/a.zip` as a phone does.
    private static func pack(_ sandbox: Sandbox, _ changes: (String) -> String = { $0 }) throws {
        let changed = changes(metadata)
        try sandbox.sh("rm -rf $R/a; mkdir -p $R/a/photos; cd $R/a; printf one > photos/1_one.jpg; printf two > photos/2_two.jpg")
        try sandbox.write(changed, to: "a/metadata.json")
        try sandbox.sh("cd $R/a; rm -f ../a.zip; zip -qr ../a.zip metadata.json photos")
    }

    @Test func `EXP-06: an archive of the live data has size and MD5 of photos that no backup has yet`() throws {
        let sandbox = try Self.sandbox()
        try Self.pack(sandbox)
        try sandbox.sh("backupfs restore $R/a.zip --yes --store $S >/dev/null; ls $S/repository/snapshots | wc -l")
        // One was already in a safety backup and differs now; one is new.
        try sandbox.sh("backupfs backup --store $S >/dev/null; printf 'another' > $S/app/photos/one.jpg")
        for form in ["zip", "tar"] {
            try sandbox.sh("backupfs export --\(form) -o $R/live.\(form) --store $S >/dev/null; rm -rf $R/out; mkdir $R/out")
            try sandbox.sh(form == "zip" ? "unzip -q $R/live.zip -d $R/out" : "tar -xf $R/live.tar -C $R/out")
            let manifest = "jq -r '.photoManifest[] | \"\\(.checksum)  \\(.zipEntryName)\"' $R/out/metadata.json"
            #expect(try sandbox.sh("cd $R/out; \(manifest) | tee $R/sums | wc -l; md5sum --quiet -c $R/sums") == "2")
            let sizes = "jq -r '.photoManifest[] | \"\\(.fileSize) \\(.zipEntryName)\"' $R/out/metadata.json | sort"
            #expect(try sandbox.sh("cd $R/out; diff <(\(sizes)) <(find photos -type f -printf '%s %p\\n' | sort)") == "")
        }
        // A restore detects bytes that differ from the manifest.
        try sandbox.sh("cd $R/out; printf 'anothes' > photos/$(ls photos | head -1); rm -f ../bad.zip; zip -qr ../bad.zip .")
        let refused = try sandbox.run("backupfs restore $R/bad.zip --yes --store $S")
        #expect(refused.exitCode == 1 && refused.errors.contains("the MD5 of"), "\(refused)")
    }

    /// Its size is reported before a photo is read, and is right.
    @Test func `EXP-06: live/archive.zip and archive.tar have them, too`() throws {
        let sandbox = try Self.sandbox()
        try Self.pack(sandbox)
        try sandbox.sh("backupfs restore $R/a.zip --yes --store $S >/dev/null; backupfs backup --store $S >/dev/null")
        try sandbox.sh("printf 'another' > $S/app/photos/one.jpg")
        let store = try Store.open(sandbox.storePath)
        let view = try LiveData(store: store).view()
        for (name, unpack) in [("archive.zip", "unzip -q"), ("archive.tar", "tar -xf")] {
            let entry = try #require(try view.entry(at: [FileName(name)]))
            let table = try entry.content.table()
            #expect(table.size == entry.size)
            var bytes = [UInt8](repeating: 0, count: Int(table.size))
            let count = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
                try store.repository.read(table, at: 0, into: buffer)
            }
            #expect(count == bytes.count)
            try FileSystem.writeFileAtomically(sandbox(name), bytes)
            try sandbox.sh("rm -rf $R/out; mkdir $R/out; cd $R/out; \(unpack) $R/\(name)")
            let manifest = "jq -r '.photoManifest[] | \"\\(.checksum)  \\(.zipEntryName)\"' $R/out/metadata.json"
            #expect(try sandbox.sh("cd $R/out; \(manifest) > $R/sums; wc -l < $R/sums; md5sum --quiet -c $R/sums") == "2")
        }
        try sandbox.sh("unzip -tq $R/archive.zip; backupfs restore $R/archive.zip --yes --store $S")
    }

    @Test func `VAL-01: faults of files are reported together with faults of records`() throws {
        let sandbox = try Self.sandbox()
        try Self.pack(sandbox) {
            $0.replacing("\"categoryId\":1,\"name\":\"two\"", with: "\"categoryId\":99,\"name\":\"two\"").replacing(
                "\"fileName\":\"2_two.jpg\",\"fileSize\":3", with: "\"fileName\":\"2_two.jpg\",\"fileSize\":4"
            ).replacing("f97c5d29941bfb1b2fdab0874906ab82", with: "00000000000000000000000000000000")
        }
        let before = try sandbox.sh("sqlite3 $S/app/database.sqlite .dump | sha256sum; find $S/app | sort")
        let refused = try sandbox.run("backupfs restore $R/a.zip --yes --store $S")
        #expect(refused.exitCode == 1)
        for fault in [
            "photo 2 refers to unknown category 99", "the MD5 of photos/1_one.jpg of", "has 3 bytes, the export says 4",
        ] {
            #expect(refused.errors.contains(fault), "\(fault): \(refused.errors)")
        }
        #expect(try sandbox.sh("jq -c '[.restoreError, (.errors | length)]' $S/restore/last.json") == #"["validationFailed",3]"#)
        #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite .dump | sha256sum; find $S/app | sort") == before)
    }

    @Test func `ZIP-06, ERR-10: an archive that cannot be unpacked says "Failed to extract backup", and why`() throws {
        let sandbox = try Self.sandbox()
        try Self.pack(sandbox)
        let failed = try sandbox.run(
            "backupfs restore $R/a.zip --yes --store $S", ["BACKUPFS_FAULT": "restore.extracting=fail"])
        #expect(failed.exitCode == 1)
        #expect(failed.errors.contains("Failed to extract backup: an injected fault at restore.extracting"), "\(failed)")
        #expect(
            try sandbox.sh("jq -r '.result, .restoreError, .message' $S/restore/last.json")
                == "failed\nextractionFailed\nFailed to extract backup: an injected fault at restore.extracting")
        #expect(try sandbox.sh("grep -c '^a.zip: not restored. Failed to extract backup: ' $S/restore/last.txt") == "1")
        #expect(try sandbox.sh("ls -A $S/app/photos; ls -A $S/app | grep -c staging || true") == "0")
    }

    @Test func `ZIP-10: names with backslashes are refused from Windows, and reported from elsewhere`() throws {
        let sandbox = try Self.sandbox()
        try Self.pack(sandbox)
        let script = """
            import sys, zipfile
            source, target, system = sys.argv[1], sys.argv[2], int(sys.argv[3])
            with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
                for each in old.infolist():
                    new.writestr(each, old.read(each))
                more = zipfile.ZipInfo("extra")
                more.filename, more.create_system = "photos\\\\..\\\\..\\\\evil.jpg", system
                new.writestr(more, b"evil")
            """
        try sandbox.write(script, to: "pack.py")
        try sandbox.sh("python3 $R/pack.py $R/a.zip $R/windows.zip 0; python3 $R/pack.py $R/a.zip $R/unix.zip 3")
        let windows = try sandbox.run("backupfs restore $R/windows.zip --yes --store $S")
        #expect(windows.exitCode == 1 && windows.errors.contains("contains a backslash"), "\(windows)")
        // On the system that packed it, it is an ordinary character: nothing escapes the folder, and nothing is dropped silently.
        let unix = try sandbox.run("backupfs restore $R/unix.zip --yes --store $S")
        #expect(unix.exitCode == 0 && unix.output.contains("1 file of the archive is not restored"), "\(unix)")
        #expect(try sandbox.sh("find $R -name '*evil*' | wc -l; ls $S/app/photos") == "0\none.jpg\ntwo.jpg")
    }

    @Test func `RST-11: the result has the app's own names`() throws {
        let sandbox = try Self.sandbox()
        try Self.pack(sandbox)
        try sandbox.sh("backupfs restore $R/a.zip --yes --store $S >/dev/null")
        let members =
            "[.success, .categoriesImported, .photosImported, .photosSkipped, .photoFilesRestored, .mediaFilesRestored, .restoreError]"
        #expect(try sandbox.sh("jq -c '\(members)' $S/restore/last.json") == "[true,1,2,0,2,2,null]")
        try sandbox.sh("backupfs restore $R/a.zip --strategy skip --yes --store $S >/dev/null")
        #expect(try sandbox.sh("jq -c '\(members)' $S/restore/last.json") == "[true,0,0,2,0,0,null]")
    }

    /// Bytes that are proven wrong are never restored; the rest is, on demand (decision 39).
    @Test func `RST-02: damaged photos are left out on demand, and settings by their own option`() throws {
        let sandbox = try Self.sandbox()
        try Self.pack(sandbox) {
            $0.replacing("f97c5d29941bfb1b2fdab0874906ab82", with: "00000000000000000000000000000000").replacing(
                "\"isDarkMode\":false", with: "\"isDarkMode\":true")
        }
        #expect(try sandbox.run("backupfs restore $R/a.zip --yes --store $S").exitCode == 1)
        let rest = try sandbox.run("backupfs restore $R/a.zip --allow-damaged --no-settings --yes --store $S")
        #expect(rest.exitCode == 3, "\(rest)")
        #expect(
            try sandbox.sh("ls $S/app/photos; backupfs export --json -o - --store $S | jq .settings.isDarkMode")
                == "two.jpg\nfalse")
    }
}
