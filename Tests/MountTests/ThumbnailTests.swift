import SystemIO
import TestSupport
import Testing

/// `backupfs thumbnails`: what file managers then find in the user's cache, by their own library, GIO.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ThumbnailTests {
    /// Two photos of other sizes and colours, a file that is no photo, one that cannot be decoded, and names that are hard to
    /// write in an address.
    private static func makeLibrary(in sandbox: Sandbox) throws {
        sandbox.variables["XDG_CACHE_HOME"] = sandbox("cache")
        try sandbox.sh(
            #"""
            mkdir -p $R/Photos/trip "$R/Photos/$(printf 'caf\303\251 100%% #1; [a]')"; cd $R/Photos
            vips gaussnoise $R/noise.v 1600 1200; vips cast $R/noise.v $R/grey.v uchar; vips copy $R/grey.v trip/IMG_1.jpg
            vips black $R/black.v 300 200 --bands 3; vips linear $R/black.v $R/red.v '1 1 1' '200 20 20' --uchar; vips copy $R/red.v red.jpg
            cp red.jpg "$(printf 'caf\303\251 100%% #1; [a]')/x y+z=$&'()*,:@~!?.jpg"; cp red.jpg "$(printf 'bad\377.jpg')"
            printf 'no photo' > notes.txt; printf '\377\330\377\340 no picture' > broken.jpg
            find . -type f -exec touch -d '2025-01-02 03:04:05.678 UTC' {} +
            backupfs init --store $S --app photo-library --media $R/Photos >/dev/null; wait_settled $R/Photos
            """#)
    }

    /// What GIO says of a file's thumbnail.
    private static let gio = #"""
        gio_says() { gio info -a 'thumbnail::*' "$1" | sed -n 's/^  thumbnail::\(path\|path-normal\|path-large\|is-valid\|is-valid-normal\|is-valid-large\): //p' | sed "s,$XDG_CACHE_HOME/,,"; }

        """#

    @Test func `GIO finds the thumbnails of live photos and of those in backups, whatever their names`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.sh("mkdir $M/snapshots/one")
            for (folder, path) in [
                ("live", "$M/live/media"), ("snapshots", "$M/snapshots/one"), ("latest", "$M/snapshots/latest/media/"),
            ] {
                #expect(
                    try sandbox.sh("backupfs thumbnails \(path)") == """
                        Made the thumbnails of 4 photos.
                        No backup has a thumbnail of 1 photo as it is there.
                        """, "\(folder)")
                #expect(
                    try sandbox.sh("backupfs thumbnails \(path)") == """
                        Made the thumbnails of 0 photos.
                        The thumbnails of 4 photos were there already.
                        No backup has a thumbnail of 1 photo as it is there.
                        """, "\(folder)")
            }
            for folder in ["$M/live/media", "$M/snapshots/one/media", "$M/snapshots/latest/media"] {
                let valid = try sandbox.sh(
                    Self.gio
                        + "cd \(folder); find . -name '*.jpg' -print0 | LC_ALL=C sort -z | while IFS= read -r -d '' f; do gio_says \"$PWD/$f\" | grep -c TRUE || true; done"
                )
                // The second one is broken.jpg.
                #expect(
                    valid.split(separator: "\n").map { $0 == "0" } == [false, true, false, false, false], "\(folder): \(valid)")
            }
            // The files, by other programs.
            #expect(
                try sandbox.sh(
                    "cd $R/cache/thumbnails; ls; ls large | wc -l; ls normal | wc -l; find . -type f ! -name '????????????????????????????????.png'"
                ) == "large\nnormal\n12\n12")
            #expect(
                try sandbox.sh("find $R/cache -printf '%y %m\n' | sort | uniq -c | awk '{print $1, $2, $3}'")
                    == "4 d 700\n24 f 600")
            let name = "$(printf 'file://%s' $M/snapshots/one/media/trip/IMG_1.jpg | md5sum | cut -c1-32).png"
            #expect(
                try sandbox.sh(
                    "exiftool -s -s -s -p '$ImageSize $ThumbURI $ThumbMTime $ThumbSize $ThumbMimetype $Software' $R/cache/thumbnails/large/\(name)"
                )
                .contains("256x192 file://"))
            try sandbox.unmount()
        }
    }

    @Test func `no photo is read, and the pictures are those of the backup`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount(options: "--log-level trace")
            try sandbox.sh("mkdir $M/snapshots/one")
            // Of a live photo, the bytes are others, and it looks unchanged: one that is read gives no picture.
            try sandbox.sh(
                "cp -p $R/Photos/red.jpg $R/red.jpg; head -c $(stat -c %s $R/red.jpg) /dev/zero > $R/Photos/red.jpg; touch -r $R/red.jpg $R/Photos/red.jpg; wait_settled $R/Photos"
            )
            // The files of the backup's media folder that were opened or read. jq would round their numbers.
            let opened = """
                find $M/snapshots/one/media -type f -printf '%i\\n' | sort > $R/photos
                grep '"phase":"\\(open\\|read\\)"' $S/backupfs.log | sed 's/.*"inode":\\([0-9]*\\).*/\\1/' | sort -u | comm -12 - $R/photos | wc -l
                """
            try sandbox.sh("backupfs thumbnails $M/live/media $M/snapshots/one/media")
            #expect(try sandbox.sh(opened) == "0")
            try sandbox.sh("cat $M/snapshots/one/media/red.jpg > /dev/null")
            #expect(try sandbox.sh(opened) == "1")
            for folder in ["$M/live/media", "$M/snapshots/one/media"] {
                for (size, shape) in [("normal", "128 86"), ("large", "256 171")] {
                    #expect(
                        try sandbox.sh(
                            """
                            file=$R/cache/thumbnails/\(size)/$(printf 'file://%s' \(folder)/red.jpg | md5sum | cut -c1-32).png
                            echo $(vipsheader -f width $file) $(vipsheader -f height $file); vips getpoint $file 60 40
                            """
                        ).split(separator: "\n").first.map(String.init) == shape)
                }
            }
            try sandbox.unmount()
        }
    }

    @Test func `a photo that has changed gets no thumbnail of what it was`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.sh(
                """
                mkdir $M/snapshots/one; cd $R/Photos; cp -p trip/IMG_1.jpg red.jpg; vips copy $R/red.v new.jpg; touch trip/IMG_1.jpg
                wait_until 'test $(stat -c %s $M/live/media/red.jpg) = $(stat -c %s red.jpg)'
                """)
            #expect(
                try sandbox.sh(
                    "backupfs thumbnails --json $M/live/media | jq -r 'select(.message_type == \"thumbnail\") | .status + \" \" + (.file | split(\"/\") | last)' | grep -v bad | sort"
                )
                    == """
                    made x y+z=$&'()*,:@~!?.jpg
                    without_thumbnail IMG_1.jpg
                    without_thumbnail broken.jpg
                    without_thumbnail new.jpg
                    without_thumbnail red.jpg
                    """)
            // The next backup has them; what is in the cache of the same address is replaced.
            try sandbox.sh("cd $R/Photos; wait_settled .; mkdir $M/snapshots/two")
            #expect(
                try sandbox.sh("backupfs thumbnails --json $M/live/media | tail -n 1")
                    == #"{"message_type":"summary","made":3,"current":2,"without_thumbnail":1,"failed":0,"version":1}"#)
            // One that a power cut has left without its end, and one of another state of the file.
            try sandbox.sh(
                """
                cd $R/cache/thumbnails/large; truncate -s -5 $(ls | head -n 1); truncate -s 0 $(ls | tail -n 1)
                """)
            #expect(
                try sandbox.sh("backupfs thumbnails --json $M/live/media | tail -n 1")
                    == #"{"message_type":"summary","made":2,"current":3,"without_thumbnail":1,"failed":0,"version":1}"#)
            try sandbox.sh(
                "touch -d '2020-01-01 00:00:00 UTC' $R/Photos/new.jpg; wait_settled $R/Photos; mkdir $M/snapshots/three")
            #expect(
                try sandbox.sh(
                    "backupfs thumbnails --json $M/live/media/new.jpg | jq -r 'select(.message_type == \"thumbnail\").status'; "
                        + Self.gio
                        + "gio_says $M/live/media/new.jpg | grep -c FALSE || true")
                    == "made\n0")
            try sandbox.unmount()
        }
    }

    @Test func `links to photos get thumbnails under their own names, and the current folder is as the shell shows it`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.sh("mkdir $M/snapshots/one; backupfs thumbnails $M/snapshots/one/photos/by-date")
            let link = "$M/snapshots/one/photos/by-date/2025/01/02/red.jpg"
            #expect(try sandbox.sh(Self.gio + "gio_says \(link) | grep -c TRUE") != "0")
            try sandbox.sh("ln -s $M/live $R/now; cd $R/now/media/trip; backupfs thumbnails .")
            #expect(
                try sandbox.sh(
                    Self.gio
                        + "gio_says $R/now/media/trip/IMG_1.jpg | grep -c TRUE; gio_says $M/live/media/trip/IMG_1.jpg | grep -c TRUE || true"
                ) != "0\n0")
            try sandbox.unmount()
        }
    }

    @Test func `what is in no mount, and a cache that cannot be written, are errors`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.sh("mkdir $M/snapshots/one")
            try sandbox.fails(
                "backupfs thumbnails $R/Photos", saying: "is not in a folder that backupfs is mounted on", exitCode: 1)
            try sandbox.fails("backupfs thumbnails $M/live/media/none", saying: "there is no such file or folder", exitCode: 1)
            try sandbox.fails("backupfs thumbnails $M", saying: "these are not the photos of one backup", exitCode: 1)
            try sandbox.fails("backupfs thumbnails $M/snapshots", saying: "these are not the photos of one backup", exitCode: 1)
            #expect(try sandbox.sh("ls $R/cache 2>&1 | grep -c thumbnails || true") == "0")
            try sandbox.fails(
                "XDG_CACHE_HOME=$M/live backupfs thumbnails $M/live/media", saying: "Read-only file system", exitCode: 1)
            if Machine.isRoot {
                try sandbox.fails(
                    "mkdir $R/theirs; chown 1000 $R/theirs; XDG_CACHE_HOME=$R/theirs backupfs thumbnails $M/live/media",
                    saying: "belongs to another user", exitCode: 1)
                // A full disk: nothing half-written remains, and what is there is whole.
                let full = try sandbox.runInNamespace(
                    """
                    mkdir $R/small; mount -t tmpfs -o size=40k none $R/small; export XDG_CACHE_HOME=$R/small
                    backupfs thumbnails $M/live/media && echo succeeded || echo "exit $?"
                    cd $R/small/thumbnails; find . -name '.*' -type f | wc -l; find . -name '*.png' | while read f; do vips avg $f > /dev/null || echo "$f is damaged"; done
                    """)
                #expect(full.text.contains("exit 3\n0\n") && !full.text.contains("damaged"), "\(full.text)")
                #expect(full.text.contains("No space left on device"), "\(full.text)")
            }
            try sandbox.unmount()
        }
    }
}
