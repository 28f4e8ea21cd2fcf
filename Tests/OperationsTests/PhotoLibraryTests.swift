import Foundation
import SystemIO
import TestSupport
import Testing

/// A folder of photos as the app.
@Suite struct PhotoLibraryTests {
    private static func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir -p $R/Photos/2024; cd $R/Photos
            printf a > IMG_1.JPG; printf a > copy.jpg; printf b > 2024/x; printf c > 2024-x.PNG
            touch -d '2024-06-30 23:59:59 UTC' IMG_1.JPG copy.jpg; touch -d '1999-12-31 23:00 UTC' 2024/x; touch -d '2024-07-01 00:00 UTC' 2024-x.PNG
            backupfs init --store $S --app photo-library --media $R/Photos >/dev/null
            backupfs backup --store $S --label one >/dev/null
            """)
        return sandbox
    }

    @Test func `FPH-01, FPH-02, FPH-09: files are the records, and are found by their content`() throws {
        let sandbox = try Self.sandbox()
        #expect(
            try sandbox.sh(
                "backupfs export one --store $S --json -o - | jq -c '.photos[]|[.path,.name,.key,.fileSize,.modifiedAt,.md5]'")
                    == """
                    ["2024-x.PNG","2024-x.PNG","photos/2024/07/4a8a08f09d37b73795649038408b5f33.png",1,"2024-07-01T00:00:00Z","4a8a08f09d37b73795649038408b5f33"]
                    ["2024/x","x","photos/1999/12/92eb5ffee6ae2fec3ad71c777531578f.jpg",1,"1999-12-31T23:00:00Z","92eb5ffee6ae2fec3ad71c777531578f"]
                    ["IMG_1.JPG","IMG_1.JPG","photos/2024/06/0cc175b9c0f1b6a831c399e269772661.jpg",1,"2024-06-30T23:59:59Z","0cc175b9c0f1b6a831c399e269772661"]
                    ["copy.jpg","copy.jpg","photos/2024/06/0cc175b9c0f1b6a831c399e269772661.jpg",1,"2024-06-30T23:59:59Z","0cc175b9c0f1b6a831c399e269772661"]
                    """)
        try sandbox.sh("backupfs restore one --store $S --target $R/out >/dev/null")
        #expect(
            try sandbox.sh("cd $R/out; find by-key -type l | sort; md5sum by-key/photos/*/*/* | cut -c1-32") == """
                by-key/photos/1999/12/92eb5ffee6ae2fec3ad71c777531578f.jpg
                by-key/photos/2024/06/0cc175b9c0f1b6a831c399e269772661.jpg
                by-key/photos/2024/07/4a8a08f09d37b73795649038408b5f33.png
                92eb5ffee6ae2fec3ad71c777531578f
                0cc175b9c0f1b6a831c399e269772661
                4a8a08f09d37b73795649038408b5f33
                """)
        // In live data, a file not read since it was written has no checksum yet. (For a file written just before a backup, that
        // is undefined.)
        try sandbox.sh(
            "wait_settled $R/Photos; backupfs backup --store $S --label two >/dev/null; printf new > $R/Photos/new.jpg; sleep 1.1"
        )
        #expect(
            try sandbox.sh("backupfs export --store $S --json -o - | jq -c '[.photos[]|[.name,(.md5|type)]]'")
                == #"[["2024-x.PNG","string"],["x","string"],["IMG_1.JPG","string"],["copy.jpg","string"],["new.jpg","null"]]"#)
        #expect(try sandbox.sh("backupfs status --store $S --json | jq -c .records") == #"{"photos":5}"#)
    }

    @Test func `RST-22: an archive brings the folder back, checked file by file, and an export alone nothing`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            """
            cd $R; backupfs export one --store $S --zip -o one.zip >/dev/null; backupfs export one --store $S --json -o one.json >/dev/null
            printf other > Photos/IMG_1.JPG; printf mine > Photos/mine.jpg; rm Photos/copy.jpg
            """)
        let refused = try sandbox.run("backupfs restore $R/one.json --store $S --yes")
        #expect(refused.exitCode == 1 && refused.errors.contains("the file holds no media, and Photo Library has nothing else"))
        // Added to the existing files: nothing is overwritten.
        #expect(
            try sandbox.sh(
                "backupfs restore $R/one.zip --store $S --strategy merge --yes >/dev/null; cd $R/Photos; ls; cat IMG_1.JPG IMG_1-2.JPG"
            )
                == "2024\n2024-x.PNG\nIMG_1-2.JPG\nIMG_1.JPG\ncopy.jpg\nmine.jpg\nothera")
        #expect(
            try sandbox.sh(
                "backupfs restore $R/one.zip --store $S --yes >/dev/null; cd $R/Photos; ls; cat IMG_1.JPG; stat -c %Y IMG_1.JPG")
                    == """
                    2024
                    2024-x.PNG
                    IMG_1.JPG
                    copy.jpg
                    a1719791999
                    """)
        // The safety backup has the previous files.
        #expect(
            try sandbox.sh("backupfs snapshots --store $S --json | jq -s -r '.[]|select(type==\"array\")|length' | head -1")
                != "0")
        try sandbox.sh(
            """
            cd $R; mkdir p; cd p; unzip -q ../one.zip; printf X > photos/copy.jpg; zip -qr ../changed.zip export.json photos
            printf a > photos/copy.jpg; rm photos/2024/x; zip -qr ../fewer.zip export.json photos
            """)
        for (file, message) in [
            ("changed.zip", "the MD5 of photos/copy.jpg of photo copy.jpg is not the one in the export"),
            ("fewer.zip", "photos/2024/x of photo 2024/x is not in the archive"),
        ] {
            let result = try sandbox.run("backupfs restore $R/\(file) --store $S --yes")
            #expect(result.exitCode == 1 && result.errors.contains(message), "\(result.errors)")
        }
        #expect(try sandbox.sh("cat $R/Photos/copy.jpg $R/Photos/2024/x") == "ab")
    }
}
