import TestSupport
import Testing

/// The built-in apps, as users with a file manager and `cp` use them.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct BuiltInAppTests {
    /// An archive as a phone creates it, at `$R/phone.zip`, and one with a damaged photo, at `$R/damaged.zip`.
    private static let phone = #"""
        mkdir -p $R/phone/photos; cd $R/phone; printf sea > photos/1_sea.jpg; printf tom > photos/9_tom.jpg
        sum=$(md5sum < photos/1_sea.jpg | cut -d' ' -f1)
        cat > metadata.json <<E
        {"version": 2, "exportDate": 1700000000000, "appVersion": "1.2", "format": "ZIP",
         "categories": [{"id": 5, "name": "cars", "displayName": "Autos", "position": 3, "createdAt": 5}],
         "photos": [{"id": 1, "path": "/data/user/0/app/files/photos/1_sea.jpg", "categoryId": 5, "name": "sea", "createdAt": 7},
                    {"id": 9, "path": "/data/user/0/app/files/photos/9_tom.jpg", "categoryId": 5, "name": "tom", "createdAt": 8}],
         "photoManifest": [{"photoId": 1, "originalPath": "x", "zipEntryName": "photos/1_sea.jpg", "fileName": "1_sea.jpg", "fileSize": 3, "checksum": "$sum"},
                           {"photoId": 9, "originalPath": "x", "zipEntryName": "photos/9_tom.jpg", "fileName": "9_tom.jpg", "fileSize": 3}]}
        E
        zip -q ../phone.zip metadata.json photos/*; printf SEA > photos/1_sea.jpg; zip -q ../damaged.zip metadata.json photos/*
        """#

    @Test func `EXP-06, EXP-09, FSP-07: SmilePile's archives are copied in and out`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --app smilepile >/dev/null; \(Self.phone)")
            try sandbox.mount()
            try sandbox.fails("cp $R/damaged.zip $M/restore/", saying: "Bad message", exitCode: 1)
            #expect(
                try sandbox.sh("getfattr --only-values -n user.backupfs.error $M/restore/damaged.zip").contains(
                    "This backup file is corrupted and cannot be restored."))
            #expect(try sandbox.sh("ls $S/app/photos; sqlite3 $S/app/database.sqlite 'SELECT count(*) FROM photos'") == "0")
            try sandbox.sh("cp $R/phone.zip $M/restore/preview/; ls $M/restore/preview")
            #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'SELECT count(*) FROM photos'") == "0")

            try sandbox.sh("cp $R/phone.zip $M/restore/")
            #expect(
                try sandbox.report(
                    "[.strategy, .categoriesImported, .photosImported, .photosSkipped, .mediaFilesRestored] | @json")
                    == #"["replace",1,2,0,2]"#)
            try sandbox.sh("cp $R/phone.zip $M/restore/merge/; cp $R/phone.zip $M/restore/skip/")
            #expect(
                try sandbox.report(
                    "[.strategy, .categoriesImported, .photosImported, .photosSkipped, .mediaFilesRestored] | @json")
                    == #"["skip",0,0,2,0]"#)
            #expect(
                try sandbox.sh("sqlite3 $S/app/database.sqlite 'SELECT id, path FROM photos'")
                    == "1|photos/1_sea.jpg\n9|photos/9_tom.jpg")

            try sandbox.sh("BACKUPFS_NOW=2025-10-01T12:00:00Z mkdir $M/snapshots/one; unzip -tqq $M/snapshots/one/archive.zip")
            #expect(
                try sandbox.sh("unzip -Z1 $M/snapshots/one/archive.zip | sort")
                    == "metadata.json\nphotos/1_sea.jpg\nphotos/9_tom.jpg")
            #expect(
                try sandbox.sh("unzip -p $M/live/archive.zip photos/9_tom.jpg; bsdtar -xOf $M/live/archive.tar photos/1_sea.jpg")
                    == "tomsea")
            #expect(try sandbox.sh("cd $M/exports; ls | grep -cE '^SmilePile_Backup_[0-9]{8}_[0-9]{6}\\.zip$'") == "1")
            try sandbox.sh("cmp $M/exports/SmilePile_Backup_*.zip $M/snapshots/one/archive.zip")
            // For each entry of the manifest: the file has the recorded size and MD5, and so does the file in the mount.
            #expect(
                try sandbox.sh(
                    """
                    unzip -p $M/exports/*.zip metadata.json | jq -r '.photoManifest[]|"\\(.zipEntryName) \\(.fileSize) \\(.checksum)"' | while read name size sum; do
                    [ "$(unzip -p $M/exports/*.zip $name | wc -c) $(unzip -p $M/exports/*.zip $name | md5sum | cut -d' ' -f1)" = "$size $sum" ] && echo $name
                    [ "$(getfattr --only-values -n user.checksum.md5 $M/snapshots/one/media/${name#photos/})" = $sum ] && echo same
                    done
                    """) == "photos/1_sea.jpg\nsame\nphotos/9_tom.jpg\nsame")
            // An export can be restored.
            try sandbox.sh("rm $S/app/photos/*; cp $M/exports/SmilePile_Backup_*.zip $M/restore/")
            #expect(try sandbox.sh("cd $S/app/photos; cat 1_sea.jpg 9_tom.jpg") == "seatom")
            // A folder that a user has unpacked and packed again unchanged.
            try sandbox.sh(
                "cp -r $M/snapshots/one $R/unpacked; cd $R/unpacked; rm archive.*; zip -qr ../again.zip .; rm $S/app/photos/*; cp ../again.zip $M/restore/"
            )
            #expect(try sandbox.sh("cd $S/app/photos; ls; cat 1_sea.jpg 9_tom.jpg") == "1_sea.jpg\n9_tom.jpg\nseatom")
            try sandbox.unmount()
        }
    }

    @Test func `a photo library is seen by name and by content`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                mkdir -p "$R/Photos/a b"; printf one > "$R/Photos/a b/IMG 1.JPG"; printf two > $R/Photos/two.png
                touch -d '2024-06-15 UTC' "$R/Photos/a b/IMG 1.JPG" $R/Photos/two.png
                backupfs init --store $S --app photo-library --media $R/Photos >/dev/null
                """)
            try sandbox.mount()
            try sandbox.sh("mkdir $M/snapshots/one; cd $M/snapshots/one; sha256sum --quiet --strict -c SHA256SUMS")
            #expect(
                try sandbox.sh(
                    "cd $M/snapshots/one/by-key/photos/2024/06; for f in *; do [ ${f%.*} = $(md5sum < $f | cut -d' ' -f1) ] && cat $f && echo; done | sort"
                )
                    == "one\ntwo")
            // In `live/`, a new photo appears in the records within a second.
            try sandbox.sh("printf three > $R/Photos/three.gif; wait_until grep -q three.gif $M/live/export.json")
            #expect(try sandbox.sh("jq -r '.photos[].path' $M/live/export.json") == "a b/IMG 1.JPG\nthree.gif\ntwo.png")
            try sandbox.sh("wait_until jq -e '.records == {photos: 3}' $M/status.json")
            try sandbox.sh("rm -r $R/Photos/*; cp $M/exports/photo_library_*.zip $M/restore/")
            #expect(
                try sandbox.sh("cd $R/Photos; find . -type f | sort; cat */* two.png; stat -c %Y two.png")
                    == "./a b/IMG 1.JPG\n./two.png\nonetwo1718409600")
            try sandbox.fails("cp $M/snapshots/one/export.json $M/restore/", saying: "Invalid argument", exitCode: 1)
            try sandbox.unmount()
        }
    }

    @Test func `KeepTrack adds what is copied in, and every app offers its strategies`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --app keeptrack >/dev/null")
            try sandbox.mount()
            let entry =
                #"{"id":"00000000-0000-4000-8000-00000000000ID","date":789834600,"name":"Tea","amount":1,"units":"cups","goalMet":true}"#
            for number in ["1", "2"] {
                try sandbox.sh(
                    #"echo '{"version":1,"exportDate":0,"entries":[ENTRY],"goals":[],"intakeTypes":[]}' > $R/one.json; cp $R/one.json $M/restore/"#
                        .replacing("ENTRY", with: entry.replacing("ID", with: number)))
            }
            #expect(
                try sandbox.sh("jq -r '.entries[] | .id[-1:] + .date' $M/live/export.json")
                    == "12026-01-11T14:30:00Z\n22026-01-11T14:30:00Z")
            #expect(
                try sandbox.names("restore") == [
                    "LAST RESULT - RESTORED.txt", "README.txt", "last.json", "last.txt", "merge", "one.json", "preview",
                    "replace", "skip",
                ])
            try sandbox.sh("cp $R/one.json $M/restore/replace/")
            #expect(try sandbox.sh("jq -r '.entries | length' $M/live/export.json") == "1")
            try sandbox.fails("cp $R/one.json $M/restore/other/", saying: "", exitCode: 1)
            try sandbox.unmount()
        }
    }
}
