import SystemIO
import TestSupport
import Testing

/// The photos of an app in the mounted tree, and what backups keep of them.
@Suite struct PhotoTreeTests {
    /// A library of five files, of which three are photos, and two of these have the same bytes.
    private static func makeLibrary(in sandbox: Sandbox) throws {
        try sandbox.sh(
            """
            mkdir -p $R/Photos/trip; cd $R/Photos
            vips black $R/black.v 300 200; vips copy $R/black.v trip/IMG_1.jpg; cp trip/IMG_1.jpg $R/plain.jpg
            exiftool -q -overwrite_original -DateTimeOriginal='2024:06:30 23:59:00' -OffsetTimeOriginal=+09:00 -Make=Canon \
              -Model='Canon EOS R5' -GPSLatitude=33.5 -GPSLatitudeRef=S -GPSLongitude=70.25 -GPSLongitudeRef=W -Rating=4 trip/IMG_1.jpg
            cp trip/IMG_1.jpg copy.jpg; cp $R/plain.jpg plain.jpg; printf 'no photo' > notes.txt
            printf '\\377\\330\\377\\340 no picture' > broken.jpg
            touch -d '2025-01-02 03:04:05 UTC' *.jpg trip/*.jpg
            backupfs init --store $S --app photo-library --media $R/Photos >/dev/null; wait_settled $R/Photos
            """)
    }

    @Test func `FPH-05: photos are shown by date and camera, with what they say of themselves`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.sh("mkdir $M/snapshots/one")
            let expected = """
                by-camera/Canon EOS R5/2024/06/IMG_1.jpg
                by-camera/Canon EOS R5/2024/06/copy.jpg
                by-camera/unknown/2025/01/broken.jpg
                by-camera/unknown/2025/01/plain.jpg
                by-date/2024/06/30/IMG_1.jpg
                by-date/2024/06/30/copy.jpg
                by-date/2025/01/02/broken.jpg
                by-date/2025/01/02/plain.jpg
                """
            for folder in ["$M/snapshots/one/photos", "$M/photos"] {
                #expect(try sandbox.sh("cd \(folder); find by-* -type l | LC_ALL=C sort") == expected)
                #expect(
                    try sandbox.sh(
                        "cd \(folder)/by-date/2024/06/30; md5sum < IMG_1.jpg; readlink -e IMG_1.jpg | grep -c media/trip/")
                        == sandbox.sh("md5sum < $R/Photos/trip/IMG_1.jpg; echo 1"))
                #expect(
                    try sandbox.sh("ls \(folder)/duplicates/$(md5sum < $R/Photos/copy.jpg | cut -c1-32)") == "IMG_1.jpg\ncopy.jpg"
                )
            }
            #expect(
                try sandbox.sh("getfattr -d -m user.photo $M/snapshots/one/media/trip/IMG_1.jpg | grep -v -e '^#' -e md5")
                    == """
                    user.photo.camera="Canon EOS R5"
                    user.photo.gps="-33.5,-70.25"
                    user.photo.height="200"
                    user.photo.rating="4"
                    user.photo.taken="2024-06-30T23:59:00+09:00"
                    user.photo.width="300"
                    """)
            #expect(
                try sandbox.sh("getfattr --only-values -n user.photo.taken $M/live/media/trip/IMG_1.jpg")
                    == "2024-06-30T23:59:00+09:00")
            #expect(try sandbox.sh("getfattr -d -m user.photo $M/snapshots/one/media/notes.txt") == "")
            #expect(
                try sandbox.sh("cd $M/snapshots/one; find metadata thumbnails -type f | LC_ALL=C sort") == """
                    metadata/broken.jpg.json
                    metadata/copy.jpg.json
                    metadata/plain.jpg.json
                    metadata/trip/IMG_1.jpg.json
                    thumbnails/copy.jpg.jpg
                    thumbnails/plain.jpg.jpg
                    thumbnails/trip/IMG_1.jpg.jpg
                    """)
            // STR-07: the sidecar has every tag. STR-03: a photo that cannot be read keeps its bytes and has no fields.
            #expect(
                try sandbox.sh(
                    "cd $M/snapshots/one; jq -c '[.date_taken,.gps_longitude,(.tags|map(select(.key==\"Exif.Image.Model\").value)|.[0])]' metadata/trip/*.json; jq -c '[.status,.reason]' metadata/broken.jpg.json; jq -r .path photos.jsonl"
                ) == """
                    ["2024-06-30T23:59:00+09:00",-70.25,"Canon EOS R5"]
                    ["unreadable","damaged"]
                    broken.jpg
                    copy.jpg
                    plain.jpg
                    trip/IMG_1.jpg
                    """)
            #expect(try sandbox.sh("exiftool -s3 -ImageSize $M/snapshots/one/thumbnails/trip/IMG_1.jpg.jpg") == "256x171")
            try sandbox.sh("cd $M/snapshots/one; sha256sum --quiet --strict -c SHA256SUMS")
            // A new photo is there at the next look.
            try sandbox.sh("cp -p $R/Photos/plain.jpg $R/Photos/new.jpg; wait_until test -e $M/photos/by-date/2025/01/02/new.jpg")
            try sandbox.fails("touch $M/photos/by-date/x", saying: "Read-only file system", exitCode: 1)
            try sandbox.unmount()
        }
    }

    @Test func `what was read once is not read again, and nothing is lost without the helper`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            // A program without the helper: whatever it stores of photos it has from an earlier backup.
            try sandbox.sh(
                """
                mkdir $R/alone; cp \(Machine.binaryPath()) $R/alone/backupfs; backupfs backup --store $S --label one >/dev/null
                wait_settled $R/Photos; mv $R/Photos/trip $R/Photos/journey; mv $R/Photos/plain.jpg $R/Photos/renamed.jpg
                $R/alone/backupfs backup --store $S --label two > $R/two.txt 2>&1; backupfs restore two --store $S --target $R/two >/dev/null
                """)
            #expect(try sandbox.sh("cat $R/two.txt") == "two")
            #expect(
                try sandbox.sh(
                    "cd $R/two; find metadata thumbnails -type f | LC_ALL=C sort; jq -r '[.path,.status]|@tsv' photos.jsonl")
                        == """
                        metadata/broken.jpg.json
                        metadata/copy.jpg.json
                        metadata/journey/IMG_1.jpg.json
                        metadata/renamed.jpg.json
                        thumbnails/copy.jpg.jpg
                        thumbnails/journey/IMG_1.jpg.jpg
                        thumbnails/renamed.jpg.jpg
                        broken.jpg\tunreadable
                        copy.jpg\tread
                        journey/IMG_1.jpg\tread
                        renamed.jpg\tread
                        """)
            // A new photo is stored without its fields, the user is informed, and the next backup with the helper has them.
            try sandbox.sh(
                "vips invert $R/black.v $R/Photos/new.jpg; $R/alone/backupfs backup --store $S --label three > $R/three.txt 2>&1")
            let three = try sandbox.sh("cat $R/three.txt")
            #expect(three.contains("the backup has no thumbnails of new photos"))
            #expect(
                try sandbox.sh(
                    "cmp $R/Photos/new.jpg <(backupfs restore three --store $S --target $R/three >/dev/null; cat $R/three/media/new.jpg)"
                ) == "")
            #expect(try sandbox.sh("jq -r 'select(.path==\"new.jpg\").status' $R/three/photos.jsonl") == "unread")
            try sandbox.sh(
                "backupfs backup --store $S --label four >/dev/null; backupfs restore four --store $S --target $R/four >/dev/null"
            )
            #expect(
                try sandbox.sh(
                    "jq -r 'select(.path==\"new.jpg\").status' $R/four/photos.jsonl; ls $R/four/thumbnails | grep -c new")
                    == "read\n1")
        }
    }

    /// ProRes has no decoder here, which is no failure of the backup.
    @Test func `a clip has the thumbnail of its first frame`() throws {
        let clips = "\(FileSystem.parentPath(FileSystem.parentPath(#filePath)))/PhotoDataTests/Clips"
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                mkdir $R/Photos; cp "\(clips)/h264-right.mp4" $R/Photos/clip.mp4; cp "\(clips)/prores.mov" $R/Photos/other.mov
                backupfs init --store $S --app photo-library --media $R/Photos >/dev/null; wait_settled $R/Photos
                backupfs backup --store $S --label one >/dev/null; backupfs restore one --store $S --target $R/one >/dev/null
                """)
            #expect(try sandbox.sh("ls $R/one/thumbnails") == "clip.mp4.jpg")
            #expect(try sandbox.sh("exiftool -s3 -ImageSize $R/one/thumbnails/clip.mp4.jpg") == "48x64")
            #expect(
                try sandbox.sh("jq -r '[.path,.status,.thumbnail]|@tsv' $R/one/photos.jsonl")
                    == "clip.mp4\tread\ttrue\nother.mov\tread\tfalse")
        }
    }

    @Test func `a backup without thumbnails does not hold much less than one with them`() throws {
        try Sandbox.use { sandbox in
            let output = try sandbox.sh(
                """
                make_photos() { for i in $(seq 8); do vips black $R/b.v $(($1 + i)) 20; vips copy $R/b.v $R/Photos/$i.jpg; done; wait_settled $R/Photos; }
                mkdir $R/Photos $R/alone; cp \(Machine.binaryPath()) $R/alone/backupfs; make_photos 20
                backupfs init --store $S --app photo-library --media $R/Photos >/dev/null; backupfs backup --store $S --label one
                make_photos 40; $R/alone/backupfs backup --store $S --label two 2>&1
                """)
            #expect(
                output.contains("the backup has no thumbnails of new photos") && !output.contains("holds much less"), "\(output)")
            #expect(
                try sandbox.sh(
                    "for b in one two; do backupfs restore $b --store $S --target $R/$b >/dev/null; ls $R/$b | grep -c thumbnails || true; done"
                ) == "1\n0")
        }
    }

    @Test func `names that cannot have a companion beside them get that of the content`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.sh(
                """
                cd $R/Photos; long=$(printf 'x%.0s' $(seq 1 250)).jpg; cp plain.jpg $long; mkdir copy.jpg.json copy.jpg.jpg
                cp plain.jpg copy.jpg.json/inner.jpg; cp plain.jpg copy.jpg.jpg/inner.jpg; cp plain.jpg "$(printf 'a\\377.jpg')"
                backupfs backup --store $S --label one >/dev/null
                """)
            try sandbox.mount()
            #expect(
                try sandbox.sh(
                    "cd $M/snapshots/one; plain=$(md5sum < media/plain.jpg | cut -c1-32) copy=$(md5sum < media/copy.jpg | cut -c1-32); ls metadata | sed \"s/$plain/PLAIN/; s/$copy/COPY/\" | LC_ALL=C sort; ls thumbnails | sed \"s/$plain/PLAIN/; s/$copy/COPY/\" | LC_ALL=C sort; ls thumbnails/copy.jpg.jpg"
                ) == """
                    COPY.json
                    PLAIN.json
                    a\u{FFFD}.jpg.json
                    broken.jpg.json
                    copy.jpg.jpg
                    copy.jpg.json
                    plain.jpg.json
                    trip
                    COPY.jpg
                    PLAIN.jpg
                    a\u{FFFD}.jpg.jpg
                    copy.jpg.jpg
                    copy.jpg.json
                    plain.jpg.jpg
                    trip
                    inner.jpg.jpg
                    """)
            // Each is found again by the next backup, although the helper is missing.
            try sandbox.sh(
                "mkdir $R/alone; cp \(Machine.binaryPath()) $R/alone/backupfs; rm $R/Photos/notes.txt; $R/alone/backupfs backup --store $S --label two 2>&1 >/dev/null | tee $R/two.txt"
            )
            #expect(
                try sandbox.sh(
                    "cat $R/two.txt; jq -r .status $M/snapshots/two/photos.jsonl | sort | uniq -c | awk '{print $1,$2}'")
                    == "7 read\n1 unreadable")
            #expect(
                try sandbox.sh("cat \"$(find $M/snapshots/two/photos/by-date -name 'a*')\" | md5sum | cut -c1-32")
                    == sandbox.sh("md5sum < $R/Photos/plain.jpg | cut -c1-32"))
            try sandbox.unmount()
        }
    }

    @Test func `a backup folder that was packed again brings back the media, not the views of them`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.sh(
                """
                mkdir $M/snapshots/one; cp -r $M/snapshots/one $R/unpacked; cd $R/unpacked; rm archive.*; zip -qr ../again.zip .
                find $R/Photos -type f | LC_ALL=C sort > $R/before; rm -r $R/Photos/*; cp $R/again.zip $M/restore/
                """)
            #expect(
                try sandbox.sh(
                    "find $R/Photos -type f | LC_ALL=C sort | diff - $R/before && jq -c '[.success,.warnings]' $M/restore/last.json"
                )
                    == "[true,[]]")
            // Without the list as well: in the app's own archives, the media are in photos/.
            try sandbox.sh("cd $R/unpacked; zip -qr ../part.zip export.json media photos; cp ../part.zip $M/restore/")
            #expect(
                try sandbox.sh(
                    "find $R/Photos -type f | LC_ALL=C sort | diff - $R/before && jq -c '[.file,.success,.mediaFilesRestored]' $M/restore/last.json"
                )
                    == #"["part.zip",true,5]"#)
            try sandbox.unmount()
        }
    }

    @Test func `stars are kept in backups, and come back from them`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.sh(
                """
                cd $R/Photos; backupfs star trip/IMG_1.jpg plain.jpg --store $S >/dev/null; mkdir $M/snapshots/one
                backupfs unstar plain.jpg --store $S >/dev/null; mkdir $M/snapshots/two
                """)
            #expect(
                try sandbox.sh(
                    "cd $M/snapshots; for b in one two; do ls $b/photos/starred; done; readlink one/photos/starred/plain.jpg; md5sum < one/photos/starred/plain.jpg"
                )
                    == sandbox.sh(
                        "printf 'IMG_1.jpg\\nplain.jpg\\nIMG_1.jpg\\n../../media/plain.jpg\\n'; md5sum < $R/Photos/plain.jpg"))
            #expect(
                try sandbox.sh("jq -r 'select(.starred).path' $M/snapshots/one/photos.jsonl") == "plain.jpg\ntrip/IMG_1.jpg")
            try sandbox.fails("touch $M/snapshots/one/photos/starred/x", saying: "Read-only file system", exitCode: 1)
            // The store's own list of stars is lost.
            try sandbox.sh("rm -r $S/photos; backupfs star --from-backup one --store $S >/dev/null")
            let list = "backupfs star --list --store $S --json | jq -r '.[].path'"
            #expect(try sandbox.sh(list) == "plain.jpg\ntrip/IMG_1.jpg")
            // A photo that is gone is named; the others are starred.
            let result = try sandbox.run(
                "rm -r $S/photos $R/Photos/trip; backupfs star --from-backup one --store $S; echo $?; \(list)")
            #expect(result.output.hasSuffix("\n1\nplain.jpg\n"), "\(result)")
            #expect(
                result.errors.contains("some photos that had a star are not in the media folder")
                    && result.errors.contains("trip/IMG_1.jpg"), "\(result.errors)")
            // A damaged star costs itself, and the backup says so.
            try sandbox.sh("for f in $S/photos/queue/*.json; do echo x > $f; done")
            let damaged = try sandbox.run("backupfs backup --label three --store $S")
            #expect(damaged.exitCode == 0 && damaged.errors.contains("the backup lacks stars of photos"), "\(damaged)")
            try sandbox.unmount()
        }
    }

    @Test func `stars alone are a change, of which a scheduled backup is made`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            // A schedule that is new begins with the next day.
            let steps = [
                ("true", 0), ("true", 1), ("true", 1), ("backupfs star plain.jpg --store $S", 2), ("true", 2),
                ("backupfs unstar plain.jpg --store $S", 3), ("true", 3),
            ]
            for (day, (step, count)) in zip(1..., steps) {
                let found = try sandbox.sh(
                    """
                    cd $R/Photos; \(step) >/dev/null; export BACKUPFS_NOW=$(date -u -d '\(day) days 14:30' +%FT%TZ)
                    BACKUPFS_SCHEDULE=daily backupfs backup --if-due --store $S >/dev/null; backupfs snapshots --json --store $S | jq length
                    """)
                #expect(found == "\(count)", "\(day): \(step)")
            }
        }
    }

    @Test func `STR-13: photos are starred by links and by an attribute`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.sh("mkdir $R/bucket; backupfs remote add pictures $R/bucket --kind photos --store $S >/dev/null")
            try sandbox.mount()
            try sandbox.sh(
                """
                cd $M; ln -s ../../live/media/trip/IMG_1.jpg photos/starred/; ln live/media/plain.jpg photos/starred/
                setfattr -n user.backupfs.starred -v 1 live/media/copy.jpg
                """)
            #expect(
                try sandbox.sh("cd $M/photos/starred; ls; readlink *; md5sum < plain.jpg")
                    == sandbox.sh(
                        """
                        printf 'IMG_1.jpg\\ncopy.jpg\\nplain.jpg\\n../../live/media/trip/IMG_1.jpg\\n../../live/media/copy.jpg\\n../../live/media/plain.jpg\\n'
                        md5sum < $R/Photos/plain.jpg
                        """))
            // The mounted store uploads them; two of the three have the same bytes.
            try sandbox.sh(
                "for f in trip/IMG_1 copy plain; do wait_until \"getfattr --only-values -n user.backupfs.status $M/live/media/$f.jpg | grep -qx uploaded\"; done; wait_until test -s $M/photos/catalog.jsonl"
            )
            #expect(
                try sandbox.sh(
                    "cd $R/bucket/photos; find . -name '*.jpg' | sort; jq -r .md5 ../catalog/catalog.jsonl | sort | wc -l")
                    == sandbox.sh(
                        """
                        taken=$(md5sum < $R/Photos/copy.jpg | cut -c1-32) plain=$(md5sum < $R/Photos/plain.jpg | cut -c1-32)
                        (echo ./2024/06/$taken.jpg; find $R/bucket/photos -name $plain.jpg | sed "s|$R/bucket/photos|.|") | sort; echo 2
                        """))
            try sandbox.sh("cd $M; rm photos/starred/plain.jpg; setfattr -x user.backupfs.starred live/media/copy.jpg")
            #expect(try sandbox.sh("ls $M/photos/starred; ls $M/photos/queue") == "IMG_1.jpg")
            try sandbox.fails("ln -s /etc/passwd $M/photos/starred/passwd", saying: "Invalid argument", exitCode: 1)
            try sandbox.fails(
                "ln -s ../../live/media/plain.jpg $M/photos/starred/other.jpg", saying: "Invalid argument", exitCode: 1)
            try sandbox.fails("ln -s ../../live/media/none.jpg $M/photos/starred/none.jpg", saying: "No such file", exitCode: 1)
            try sandbox.fails(
                "ln -s x $M/snapshots/x; ln $M/README.txt $M/restore/x", saying: "Operation not permitted", exitCode: 1)
            try sandbox.fails(
                "setfattr -n user.backupfs.starred -v 2 $M/live/media/plain.jpg", saying: "Invalid argument", exitCode: 1)
            try sandbox.unmount()
        }
    }
}
