import Foundation
import SystemIO
import TestSupport
import Testing

/// SmilePile: archives of metadata.json and photos/, as the app on a phone creates and accepts them.
@Suite struct SmilePileTests {
    /// A store with two piles and five photos, one of which is part of the app, and one of which has no file.
    private static func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --app smilepile >/dev/null
            sqlite3 $S/app/database.sqlite "
              INSERT INTO categories VALUES (1,'cars','Cars',0,NULL,'#F44336',1,1700000000123),(2,'family','Family',1,'ic_f','#E91E63',0,5);
              INSERT INTO photos VALUES (1,'photos/beach.jpg',2,'beach.jpg',0,1700000000789,5,640,480),(2,'photos/2_car.jpg',1,'car',0,6,4,1,1),
                (3,'asset.png',1,'asset',1,7,0,0,0),(4,'/data/x/gone.jpg',1,'gone',0,8,0,0,0);
              INSERT INTO app_settings VALUES ('has_pin','true')"
            printf beach > $S/app/photos/beach.jpg; printf car2 > $S/app/photos/2_car.jpg
            touch -d '2020-01-02 03:04:06 UTC' $S/app/photos/*
            """)
        return sandbox
    }

    /// An app may leave a photo of a deleted pile, and write values that the definition does not allow.
    @Test(arguments: [
        "delete from categories where id = 2", "update photos set file_size = -5 where id = 1",
        "update photos set created_at = 'x' where id = 1",
    ])
    func `a restore that replaces can be undone whatever the records were`(change: String) throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("backupfs backup --label monday --store $S >/dev/null 2>&1")
        try sandbox.sh(
            """
            sqlite3 $S/app/database.sqlite "\(change); INSERT INTO photos VALUES (9,'photos/new.jpg',1,'new',0,9,3,1,1)"
            printf new > $S/app/photos/new.jpg
            """)
        let dump = "sqlite3 $S/app/database.sqlite .dump | sort; cd $S/app/photos; sha256sum *"
        let before = try sandbox.sh(dump)
        try sandbox.sh("backupfs restore monday --strategy replace --yes --store $S >/dev/null")
        #expect(try sandbox.sh("ls $S/app/photos").contains("new.jpg") == false)
        let undo = try sandbox.run("backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --store $S")
        #expect(undo.exitCode == 0, "\(undo)")
        #expect(try sandbox.sh(dump) == before)
    }

    /// The current data has no checksums: a backup reads the photos.
    @Test func `a backup differs from the data as it is now in what changed, and not in checksums`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("backupfs backup --label monday --store $S >/dev/null 2>&1")
        let text = try sandbox.sh("backupfs diff monday live --store $S")
        #expect(text == "No differences.")
        try sandbox.sh("printf longer > $S/app/photos/beach.jpg")
        #expect(
            try sandbox.sh("backupfs diff live monday --store $S --json | jq -c .records.photoManifest.changes")
                == #"[{"change":"changed","key":1,"fields":[{"field":"fileSize","old":6,"new":5}]}]"#)
        try sandbox.sh("sqlite3 $S/app/database.sqlite 'update categories set position = 9 where id = 2'")
        let changed = try sandbox.sh("backupfs diff monday live --store $S --json | jq -c '.records | map_values(.changed)'")
        #expect(changed == #"{"categories":1,"photos":0,"photoManifest":1}"#)
    }

    /// A phone's export: other numbers, paths of the phone, and no members with default values.
    private static let phone = """
        {"exportDate":1700000000000,"appVersion":"1.2",
         "categories":[{"id":5,"name":"cars","displayName":"Autos","position":3,"isDefault":true,"createdAt":5},
                       {"id":6,"name":"new","displayName":"New","position":4,"createdAt":6}],
         "photos":[{"id":1,"path":"/data/user/0/app/files/photos/1_sea.jpg","categoryId":5,"name":"sea.jpg","createdAt":7},
                   {"id":11,"path":"/data/user/0/app/cache/tom.jpg","categoryId":6,"name":"tom","createdAt":8,"width":3}],
         "settings":{"isDarkMode":true,"securitySettings":
                     {"hasPIN":false,"hasPattern":true,"kidSafeModeEnabled":true,"deleteProtectionEnabled":true}},
         "photoManifest":[
           {"photoId":1,"originalPath":"/data/user/0/app/files/photos/1_sea.jpg","zipEntryName":"photos/1_sea.jpg","fileName":"1_sea.jpg",
            "fileSize":3,"checksum":"MD5SEA"},
           {"photoId":11,"originalPath":"/data/user/0/app/cache/tom.jpg","zipEntryName":"photos/11_tom.jpg","fileName":"11_tom.jpg","fileSize":3}]}
        """

    /// Packs it as `$R/phone.smilepile`.
    private static func pack(_ sandbox: Sandbox, changing old: String = "", to new: String = "") throws {
        let text = phone.replacing("MD5SEA", with: "2c3e5bdf4c5f1ee3ff07ff2dd1cf5ffe")
        try sandbox.sh(
            "mkdir -p $R/phone/photos; printf sea > $R/phone/photos/1_sea.jpg; printf tom > $R/phone/photos/11_tom.jpg")
        let sum = try sandbox.sh("md5sum < $R/phone/photos/1_sea.jpg | cut -d' ' -f1")
        let whole = text.replacing("2c3e5bdf4c5f1ee3ff07ff2dd1cf5ffe", with: sum)
        let changed = old.isEmpty ? whole : whole.replacing(old, with: new)
        #expect(old.isEmpty || changed != whole)
        try changed.write(toFile: sandbox("phone/metadata.json"), atomically: true, encoding: .utf8)
        try sandbox.sh("cd $R/phone; rm -f ../phone.smilepile; zip -q ../phone.smilepile metadata.json photos/*.jpg")
    }

    private static func rows(_ sandbox: Sandbox, _ sql: String) throws -> String {
        try sandbox.sh("sqlite3 $S/app/database.sqlite \"\(sql)\"")
    }

    @Test func `EXP-04: a photo without its file is reported, and the backup is made`() throws {
        let sandbox = try Self.sandbox()
        let result = try sandbox.run("backupfs backup --store $S --label a")
        #expect(
            result.exitCode == 0 && result.output == "a\n"
                && result.errors
                    == "The app has records of files that are not in its media folder:\n  photo 4: /data/x/gone.jpg\n"
        )
        try sandbox.sh("backupfs restore a --store $S --target $R/files >/dev/null")
        #expect(try sandbox.sh("jq -c '.missing, .unreadable' $R/files/manifest.json") == "[\"photo 4: /data/x/gone.jpg\"]\n[]")
        try sandbox.sh("cp $S/app/photos/beach.jpg $S/app/photos/gone.jpg")
        #expect(
            try sandbox.sh(
                "backupfs backup --store $S --label b --json | jq -c 'select(.message_type == \"summary\") | .missing'")
                == "[]")
    }

    /// Requirements FSP-02, FSP-04, FSP-05, FSP-06, FSP-08, FSP-09, FSP-10, FSP-11, FSP-13, EXP-04, EXP-05, EXP-07, EXP-08.
    @Test func `a backup is the app's own archive, to the letter`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            """
            BACKUPFS_NOW=2025-10-01T12:00:00.123Z backupfs backup --store $S --label a >/dev/null
            cd $R; backupfs export a --store $S --zip -o a.zip >/dev/null; unzip -q a.zip metadata.json; unzip -tq a.zip
            """)
        #expect(
            try sandbox.sh("cd $R; unzip -Z1 a.zip") == """
                metadata.json
                photos/2_car.jpg
                photos/1_beach.jpg
                """)
        #expect(
            try sandbox.sh("jq -c 'keys_unsorted, .version, .exportDate, .appVersion, .format, .settings' $R/metadata.json")
                == """
                ["version","exportDate","appVersion","format","categories","photos","settings","photoManifest"]
                2
                1759320000123
                "unknown"
                "ZIP"
                {"isDarkMode":false,"securitySettings":{"hasPIN":true,"hasPattern":false,"kidSafeModeEnabled":false,"deleteProtectionEnabled":false}}
                """)
        #expect(
            try sandbox.sh("jq -c '.categories[], .photos[0]' $R/metadata.json") == """
                {"id":1,"name":"cars","displayName":"Cars","position":0,"colorHex":"#F44336","isDefault":true,"createdAt":1700000000123}
                {"id":2,"name":"family","displayName":"Family","position":1,"iconResource":"ic_f","colorHex":"#E91E63","isDefault":false,"createdAt":5}
                {"id":1,"path":"photos/beach.jpg","categoryId":2,"name":"beach.jpg","isFromAssets":false,"createdAt":1700000000789,"fileSize":5,"width":640,"height":480}
                """)
        // The photo that is part of the app, and the one without a file, are not in the manifest.
        #expect(
            try sandbox.sh("jq -c '.photoManifest[]' $R/metadata.json") == """
                {"photoId":1,"originalPath":"photos/beach.jpg","zipEntryName":"photos/1_beach.jpg","fileName":"1_beach.jpg","fileSize":5,"checksum":"7193529abbf96dcc058f06d45121d8b1"}
                {"photoId":2,"originalPath":"photos/2_car.jpg","zipEntryName":"photos/2_car.jpg","fileName":"2_car.jpg","fileSize":4,"checksum":"\(try sandbox.sh("printf car2 | md5sum | cut -d' ' -f1"))"}
                """)
        #expect(
            try sandbox.sh("cd $R; backupfs export a --store $S --zip | sed 's/.*\\///'")
                == "SmilePile_Backup_20251001_120000.zip")
    }

    @Test func `FSP-07, FSP-12, FSP-14, EXP-05, RST-09, RST-10: a phone's archive replaces everything but the piles of the app`()
        throws
    {
        let sandbox = try Self.sandbox()
        try Self.pack(sandbox)
        let preview = try sandbox.sh("backupfs restore $R/phone.smilepile --store $S --dry-run --json | jq -c .outcome")
        let report = try sandbox.sh(
            "backupfs restore $R/phone.smilepile --store $S --yes --json | tail -n +1 | jq -c 'select(.result) | .outcome, .success, .categoriesImported, .photosImported, .mediaFilesRestored'"
        )
        #expect(
            preview
                == #"{"categories":{"added":1,"updated":1,"skipped":0,"kept":0,"removed":1},"photos":{"added":2,"updated":0,"skipped":0,"kept":0,"removed":4}}"#
        )
        #expect(report.split(separator: "\n").map(String.init) == [preview, "true", "1", "2", "2"])
        #expect(
            try Self.rows(sandbox, "SELECT * FROM categories; SELECT id, path, category_id, width FROM photos") == """
                1|cars|Autos|3|||1|5
                6|new|New|4|||0|6
                1|photos/1_sea.jpg|1|0
                11|photos/11_tom.jpg|6|3
                """)
        #expect(try sandbox.sh("cd $S/app/photos; ls; cat *") == "11_tom.jpg\n1_sea.jpg\ntomsea")
        // The protection of this device is unchanged.
        #expect(try Self.rows(sandbox, "SELECT * FROM app_settings ORDER BY key") == "has_pin|true\nis_dark_mode|true")
        // They are exported without a second prefix, twice.
        try sandbox.sh("backupfs backup --store $S --label b >/dev/null; backupfs restore b --store $S --yes >/dev/null")
        try sandbox.sh("backupfs backup --store $S --label c >/dev/null")
        #expect(try sandbox.sh("backupfs ls --store $S c:media | sed 's/.*media/media/'").contains("1_sea.jpg"))
        #expect(
            try sandbox.sh("cd $R; backupfs export c --store $S --zip -o c.zip >/dev/null; unzip -Z1 c.zip") == """
                metadata.json
                photos/11_tom.jpg
                photos/1_sea.jpg
                """)
        #expect(
            try sandbox.sh(
                """
                cd $R; backupfs export b --store $S --json -o b.json >/dev/null; backupfs export c --store $S --json -o c.json >/dev/null
                cmp <(jq 'del(.exportDate)' b.json) <(jq 'del(.exportDate)' c.json) && echo same
                """) == "same")
    }

    @Test func `RST-05, RST-08, LOG-08: merge finds piles by their names, and twice changes nothing`() throws {
        let sandbox = try Self.sandbox()
        try Self.pack(sandbox)
        let command =
            "backupfs restore $R/phone.smilepile --store $S --strategy merge --yes --json | jq -c 'select(.result) | .outcome, .warnings'"
        #expect(
            try sandbox.sh(command) == """
                {"categories":{"added":1,"updated":1,"skipped":0,"kept":0,"removed":0},"photos":{"added":2,"updated":0,"skipped":0,"kept":0,"removed":0}}
                ["Updated existing category: Autos"]
                """)
        #expect(
            try Self.rows(sandbox, "SELECT id, name, display_name FROM categories; SELECT id, path, category_id FROM photos")
                == """
                1|cars|Autos
                2|family|Family
                6|new|New
                1|photos/beach.jpg|2
                2|photos/2_car.jpg|1
                3|asset.png|1
                4|/data/x/gone.jpg|1
                11|photos/11_tom.jpg|6
                12|photos/1_sea.jpg|1
                """)
        #expect(
            try sandbox.sh(command) == """
                {"categories":{"added":0,"updated":0,"skipped":2,"kept":0,"removed":0},"photos":{"added":0,"updated":0,"skipped":2,"kept":0,"removed":0}}
                []
                """)
        #expect(try sandbox.sh("cd $S/app/photos; ls") == "11_tom.jpg\n1_sea.jpg\n2_car.jpg\nbeach.jpg")
    }

    @Test func `RST-06, RST-07: skip leaves what is there, and a file of the same name survives`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("printf mine > $S/app/photos/1_sea.jpg")
        try Self.pack(sandbox)
        let command =
            "backupfs restore $R/phone.smilepile --store $S --strategy skip --yes --json | jq -c 'select(.result) | .outcome'"
        #expect(
            try sandbox.sh(command)
                == #"{"categories":{"added":1,"updated":0,"skipped":1,"kept":0,"removed":0},"photos":{"added":2,"updated":0,"skipped":0,"kept":0,"removed":0}}"#
        )
        #expect(try sandbox.sh("cd $S/app/photos; head -c9 1_sea.jpg; cat 1_sea-2.jpg") == "minesea")
        #expect(
            try Self.rows(
                sandbox, "SELECT display_name FROM categories WHERE name = 'cars'; SELECT path FROM photos WHERE id > 10")
                == "Cars\nphotos/11_tom.jpg\nphotos/1_sea-2.jpg")
        #expect(
            try sandbox.sh(command)
                == #"{"categories":{"added":0,"updated":0,"skipped":2,"kept":0,"removed":0},"photos":{"added":0,"updated":0,"skipped":2,"kept":0,"removed":0}}"#
        )
    }

    /// Phones and programs that synchronize folders keep what was deleted for a while, under hidden names.
    @Test func `a photo that is only in a hidden folder is added, and a folder that is gone does not matter`() throws {
        let sandbox = try Self.sandbox()
        try Self.pack(sandbox)
        try sandbox.sh(
            """
            mkdir $S/app/photos/.trash $S/app/photos/closed; printf sea > $S/app/photos/.trash/sea.jpg
            printf tom > $S/app/photos/.trashed-1-tom.jpg; chmod 0 $S/app/photos/closed
            backupfs restore $R/phone.smilepile --store $S --strategy merge --yes >/dev/null; chmod 700 $S/app/photos/closed
            """)
        #expect(try sandbox.sh("cd $S/app/photos; cat 1_sea.jpg 11_tom.jpg") == "seatom")
        #expect(
            try Self.rows(sandbox, "SELECT path FROM photos WHERE id > 10 ORDER BY id") == "photos/11_tom.jpg\nphotos/1_sea.jpg")
    }

    /// Another phone numbers its photos for itself, and calls the same photo by another name.
    @Test(arguments: ["merge", "skip"])
    func `photos of another phone are found by their bytes, and each that is there counts once`(strategy: String) throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            """
            mkdir -p $R/other/photos; cd $R/other
            printf beach > photos/1_strand.jpg; printf beach > photos/2_copy.jpg; printf nova > photos/3_new.jpg
            printf own2 > photos/2_car.jpg; : > photos/5_empty.jpg; : > $S/app/photos/nothing.jpg
            python3 - <<'E'
            import json
            names = {1: "1_strand.jpg", 2: "2_copy.jpg", 3: "3_new.jpg", 4: "2_car.jpg", 5: "5_empty.jpg"}
            path = "/data/user/0/app/files/photos/"
            json.dump({
                "categories": [{"id": 1, "name": "family", "displayName": "F", "position": 0, "createdAt": 1}],
                "photos": [{"id": i, "path": path + n, "categoryId": 1, "name": n, "createdAt": 9} for i, n in names.items()],
                "settings": {"isDarkMode": False, "securitySettings": {"hasPIN": False, "hasPattern": False,
                    "kidSafeModeEnabled": False, "deleteProtectionEnabled": False}},
                "photoManifest": [{"photoId": i, "originalPath": path + n, "zipEntryName": "photos/" + n, "fileName": n,
                    "fileSize": len(open("photos/" + n).read())} for i, n in names.items()]}, open("metadata.json", "w"))
            E
            zip -q ../other.zip metadata.json photos/*
            """)
        let command =
            "backupfs restore $R/other.zip --store $S --strategy \(strategy) --yes --json | jq -c 'select(.result) | .outcome.photos, .mediaFilesRestored'"
        // Of the two with the bytes of beach.jpg one is that photo; the other stays a photo of its own.
        #expect(
            try sandbox.sh(command) == """
                {"added":4,"updated":0,"skipped":1,"kept":0,"removed":0}
                4
                """)
        #expect(
            try sandbox.sh("cd $S/app/photos; for f in *; do echo $f $(cat $f); done") == """
                2_car-2.jpg own2
                2_car.jpg car2
                2_copy.jpg beach
                3_new.jpg nova
                5_empty.jpg
                beach.jpg beach
                nothing.jpg
                """)
        #expect(
            try Self.rows(sandbox, "SELECT path FROM photos WHERE id > 4 ORDER BY path") == """
                photos/2_car-2.jpg
                photos/2_copy.jpg
                photos/3_new.jpg
                photos/5_empty.jpg
                """)
        // Twice changes nothing.
        #expect(
            try sandbox.sh(command) == """
                {"added":0,"updated":0,"skipped":5,"kept":0,"removed":0}
                0
                """)
    }

    @Test(arguments: [
        (
            #""fileSize":3,"checksum""#, #""fileSize":4,"checksum""#,
            "photos/1_sea.jpg of manifest entry 1 has 3 bytes, the export says 4"
        ),
        (#""checksum":""#, #""checksum":"0"#, "the MD5 of photos/1_sea.jpg of manifest entry 1 is not the one in the export"),
        (
            #""zipEntryName":"photos/11"#, #""zipEntryName":"photos/../11"#,
            "manifest entry 11 names photos/../11_tom.jpg, which is not in the media folder"
        ),
        (
            #""zipEntryName":"photos/11"#, #""zipEntryName":"/photos/11"#,
            "manifest entry 11 names /photos/11_tom.jpg, which is not in the media folder"
        ),
        (#""photoId":11"#, #""photoId":12"#, "manifest entry 12 refers to unknown photo 12"),
        (#""categoryId":6"#, #""categoryId":7"#, "photo 11 refers to unknown category 7"),
        (#"{"exportDate""#, #"{"format":"JSON","exportDate""#, #"format "JSON" is not known"#),
        (#"{"exportDate""#, #"{"version":0,"exportDate""#, "This backup is from an incompatible version of the app."),
        (#""categories":["#, #""piles":["#, "missing field categories"),
    ])
    func `FSP-08, VAL-02: an archive that is not what it says changes nothing`(old: String, new: String, message: String) throws {
        let sandbox = try Self.sandbox()
        try Self.pack(sandbox, changing: old, to: new)
        let before = try sandbox.sh("sqlite3 $S/app/database.sqlite .dump | sha256sum; cat $S/app/photos/* | sha256sum")
        let result = try sandbox.run("backupfs restore $R/phone.smilepile --store $S --yes")
        #expect(result.exitCode != 0 && result.errors.contains(message), "\(result.errors)")
        #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite .dump | sha256sum; cat $S/app/photos/* | sha256sum") == before)
    }

    @Test func `a photo that the archive lacks keeps its record, and is reported`() throws {
        let sandbox = try Self.sandbox()
        try Self.pack(sandbox)
        try sandbox.sh("zip -qd $R/phone.smilepile photos/11_tom.jpg")
        #expect(
            try sandbox.sh("backupfs restore $R/phone.smilepile --store $S --yes --json | jq -r 'select(.result) | .warnings[]'")
                == "photos/11_tom.jpg of manifest entry 11 is not in the archive")
        #expect(try Self.rows(sandbox, "SELECT path FROM photos WHERE id = 11") == "/data/user/0/app/cache/tom.jpg")
    }

    @Test func `a damaged photo that the export names is left out, and reported once`() throws {
        let sandbox = try Self.sandbox()
        try Self.pack(sandbox)
        try sandbox.sh(
            "cd $R; zip -q -0 phone.smilepile -d 'photos/11_tom.jpg'; (cd phone; zip -q -0 -X ../phone.smilepile photos/11_tom.jpg); LC_ALL=C sed -i 's/11_tom.jpgtom/11_tom.jpgtim/' phone.smilepile"
        )
        #expect(try sandbox.run("backupfs restore $R/phone.smilepile --yes --store $S").exitCode == 1)
        let result = try sandbox.run("backupfs restore $R/phone.smilepile --yes --allow-damaged --store $S")
        #expect(result.exitCode == 3, "\(result)")
        #expect(try sandbox.sh("jq -c '[.leftOut[] | split(\" \")[0]]' $S/restore/last.json") == "[\"photos/11_tom.jpg\"]")
    }

    /// Requirements ARC-01, ZIP-07, ZIP-11.
    @Test func `archives with a top folder or with data descriptors, and the JSON of version 1, are read`() throws {
        let sandbox = try Self.sandbox()
        try Self.pack(sandbox)
        // As streamed by a phone: sizes follow the data, and everything is in one folder.
        try sandbox.sh(
            """
            cd $R; python3 - <<'E'
            import zipfile
            class Stream:
                def __init__(self, path): self.file = open(path, "wb")
                def write(self, data): return self.file.write(data)
                def flush(self): self.file.flush()
            with zipfile.ZipFile(Stream("streamed.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
                for name in ["metadata.json", "photos/1_sea.jpg", "photos/11_tom.jpg"]:
                    with archive.open("SmilePile/" + name, "w") as out: out.write(open("phone/" + name, "rb").read())
            E
            backupfs restore streamed.zip --store $S --yes >/dev/null
            """)
        #expect(try Self.rows(sandbox, "SELECT id, path FROM photos") == "1|photos/1_sea.jpg\n11|photos/11_tom.jpg")
        try sandbox.sh(
            """
            cd $R; jq 'del(.photoManifest) | .version = 1 | .format = "JSON" | .photos[0].path = "photos/1_sea.jpg"' phone/metadata.json > one.json
            backupfs restore one.json --store $S --yes >/dev/null; backupfs backup --store $S --label d >/dev/null
            """)
        // The files stay in place, and the export has the archive's form again.
        #expect(
            try sandbox.sh("backupfs export d --store $S --json -o - | jq -c '.version, .format, [.photoManifest[].fileName]'")
                == "2\n\"ZIP\"\n[\"1_sea.jpg\"]")
    }
}
