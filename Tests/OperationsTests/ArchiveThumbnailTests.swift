import TestSupport
import Testing

/// The small pictures in SmilePile's archives: squares of 200 pixels, as the app makes them.
@Suite struct ArchiveThumbnailTests {
    /// Two photos, a file that is none, and one that no record names.
    private static func sandbox(_ app: String = "smilepile") throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --app \(app) >/dev/null
            sqlite3 $S/app/database.sqlite "
              INSERT INTO categories VALUES (1,'cars','Cars',0,NULL,NULL,0,5);
              INSERT INTO photos VALUES (1,'photos/wide.jpg',1,'wide',0,1,1,1,1),(2,'photos/tall.png',1,'tall',0,1,1,1,1),
                (3,'photos/none.jpg',1,'none',0,1,1,1,1)"
            cd $S/app/photos
            vips perlin wide.v 640 320 --seed 1 --cell-size 80 --uchar; vips jpegsave wide.v wide.jpg --Q 90
            vips perlin tall.v 300 500 --seed 2 --cell-size 60 --uchar; vips pngsave tall.v tall.png; rm *.v
            printf 'no photo' > none.jpg; cp wide.jpg loose.jpg
            """)
        return sandbox
    }

    private static let pack = "rm -f $R/a.zip; backupfs export latest --zip -o $R/a.zip --store $S >/dev/null"

    @Test func `an archive has the app's thumbnails, and a restore does not take them for photos`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("backupfs backup --label one --store $S; \(Self.pack)")
        #expect(
            try sandbox.sh("unzip -tqq $R/a.zip; unzip -Z1 $R/a.zip") == """
                metadata.json
                photos/loose.jpg
                photos/3_none.jpg
                photos/2_tall.png
                photos/1_wide.jpg
                thumbnails/thumb_1_wide.jpg
                thumbnails/thumb_2_tall.png
                thumbnails/thumb_loose.jpg
                """)
        // Stretched, of the quality that the app takes, and the picture that libvips makes of the photo itself.
        let look = """
            cd $R; rm -rf t; mkdir t; cd t; unzip -q ../a.zip
            for name in 1_wide.jpg 2_tall.png; do
              cp thumbnails/thumb_$name own.jpg; vipsheader -f width own.jpg; vipsheader -f height own.jpg; vipsheader -f vips-loader own.jpg
              vips thumbnail photos/$name theirs.v 200 --height 200 --size force
              vips subtract own.jpg theirs.v difference.v; vips abs difference.v positive.v; vips avg positive.v | cut -d. -f1
            done
            """
        let lines = try sandbox.sh(look).split(separator: "\n").map(String.init)
        #expect(lines.count == 8 && lines[0...2] == ["200", "200", "jpegload"] && lines[4...6] == ["200", "200", "jpegload"])
        for difference in [lines[3], lines[7]] { #expect(try #require(Int(difference)) <= 3) }
        // Another phone takes it, without a warning.
        try sandbox.sh("backupfs init --store $R/other --app smilepile >/dev/null")
        let restored = try sandbox.run(
            "backupfs restore $R/a.zip --yes --json --store $R/other | jq -c 'select(.result) | .warnings'")
        #expect(restored.exitCode == 0 && restored.output == "[]\n", "\(restored)")
        #expect(try sandbox.sh("cd $R/other/app/photos; ls") == "loose.jpg\nnone.jpg\ntall.png\nwide.jpg")
    }

    @Test func `the next backup takes them over, makes those that are new, and forgets those that are gone`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("backupfs backup --label one --store $S; \(Self.pack); cp $R/a.zip $R/one.zip")
        try sandbox.sh(
            """
            cd $S/app/photos; rm loose.jpg; mv wide.jpg moved.jpg; cp tall.png new.png; vips invert tall.png new.png
            sqlite3 $S/app/database.sqlite "UPDATE photos SET path = 'photos/moved.jpg' WHERE id = 1;
              INSERT INTO photos VALUES (4,'photos/new.png',1,'new',0,1,1,1,1)"
            backupfs backup --label two --store $S; \(Self.pack)
            """)
        #expect(
            try sandbox.sh("unzip -Z1 $R/a.zip | grep thumb") == """
                thumbnails/thumb_1_moved.jpg
                thumbnails/thumb_2_tall.png
                thumbnails/thumb_4_new.png
                """)
        #expect(
            try sandbox.sh(
                """
                cd $R; cmp <(unzip -p a.zip thumbnails/thumb_1_moved.jpg) <(unzip -p one.zip thumbnails/thumb_1_wide.jpg)
                cmp <(unzip -p a.zip thumbnails/thumb_2_tall.png) <(unzip -p one.zip thumbnails/thumb_2_tall.png); echo same
                """) == "same")
        #expect(try sandbox.sh("backupfs check --read-data --store $S >/dev/null; echo $?") == "0")
    }

    /// The released app refuses an archive with more members, so that no photo may be lost for a thumbnail.
    @Test(arguments: [("entryLimit", "10000", "7", 0), ("entryLimit", "10000", "8", 3), ("sizeLimitBytes", "1073741824", "9", 0)])
    func `they are left out of an archive that would be too large for the app`(
        key: String, usual: String, limit: String, count: Int
    ) throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs app show smilepile > $R/app.yaml
            sed -i 's/\(key): "\(usual)"/\(key): "\(limit)"/; s/^name: smilepile/name: mine/' $R/app.yaml
            grep -q '\(key): "\(limit)"' $R/app.yaml
            """)
        let own = try Self.sandbox(sandbox("app.yaml"))
        try own.sh("backupfs backup --label one --store $S; \(Self.pack)")
        #expect(try own.sh("unzip -Z1 $R/a.zip | grep -c thumb || true") == "\(count)")
        #expect(try own.sh("unzip -Z1 $R/a.zip | grep -c photos/") == "4")
    }
}
