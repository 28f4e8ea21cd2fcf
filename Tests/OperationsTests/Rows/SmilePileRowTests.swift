import Foundation
import TestSupport
import Testing

/// Rows of the requirements for SmilePile, each named by its number. Rows tested by another suite are named there.
struct SmilePileRowTests {
    private static let settings =
        #""settings":{"isDarkMode":false,"securitySettings":{"hasPIN":false,"hasPattern":false,"kidSafeModeEnabled":false,"deleteProtectionEnabled":false}}"#

    private static func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app smilepile --store $S >/dev/null")
        return sandbox
    }

    @Test func `FSP-03, FSP-12: thirteen members may be missing, and have their defaults then`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.write(
            """
            {"categories":[{"id":1,"name":"a","displayName":"A","position":0,"createdAt":1}],
             "photos":[{"id":1,"path":"photos/one.jpg","categoryId":1,"name":"one","createdAt":1}],\(Self.settings)}
            """, to: "least.json")
        try sandbox.sh("backupfs restore $R/least.json --yes --store $S >/dev/null")
        #expect(
            try sandbox.sh("backupfs export --json -o - --store $S | jq -c '.categories[0], .photos[0], .photoManifest'") == """
                {"id":1,"name":"a","displayName":"A","position":0,"isDefault":false,"createdAt":1}
                {"id":1,"path":"photos/one.jpg","categoryId":1,"name":"one","isFromAssets":false,"createdAt":1,"fileSize":0,"width":0,"height":0}
                []
                """)
        // The others are required.
        for name in ["categories", "photos"] {
            try sandbox.sh("jq 'del(.\(name))' $R/least.json > $R/less.json")
            let refused = try sandbox.run("backupfs restore $R/less.json --yes --store $S")
            #expect(refused.exitCode == 1 && refused.errors.contains("missing field \(name)"), "\(refused)")
        }
        for name in ["id", "name", "categoryId", "createdAt"] {
            try sandbox.sh("jq 'del(.photos[0].\(name))' $R/least.json > $R/less.json")
            let refused = try sandbox.run("backupfs restore $R/less.json --yes --store $S")
            #expect(refused.exitCode == 1 && refused.errors.contains("missing field \(name)"), "\(refused)")
        }
    }

    /// Nothing is copied to a working folder: photos go directly into the repository (design).
    @Test func `EXP-01, EXP-02, CON-04: a backup prints its name, and has no working folder while it runs`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("head -c 300000 /dev/urandom > $S/app/photos/1_one.jpg; touch $R/pause")
        let script = """
            BACKUPFS_FAULT=backup.pack-written=pause:$R/pause backupfs backup --label one --store $S > $R/said & backup=$!
            wait_paused $R/pause $backup
            find $R -type f -size +200k ! -path '*/repository/*'; find $R -name 'backup_*'; rm $R/pause; wait $backup
            cat $R/said; ls -A $S/spool; ls -A $S/repository/tmp
            """
        #expect(
            try sandbox.sh(script)
                == "\(sandbox.storePath)/app/photos/1_one.jpg\none\nCACHEDIR.TAG")
    }

    @Test func `EXP-08, ZIP-03: the archive has the app's name in plain digits, and its records are compressed`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app smilepile --sample --store $S >/dev/null")
        let environment = ["LC_ALL": "ar_EG.UTF-8", "BACKUPFS_NOW": "2025-10-01T12:00:00Z", "TZ": "Asia/Kolkata"]
        try sandbox.sh("backupfs backup --store $S; backupfs backup --store $S", environment)
        #expect(
            try sandbox.sh("backupfs snapshots --json --store $S | jq -r '.[].file_name'", environment)
                == "SmilePile_Backup_20251001_173000.zip\nSmilePile_Backup_20251001_173000_2.zip")
        #expect(
            try sandbox.sh(
                "cd $R; backupfs export latest --zip -o a.zip --store $S; zipinfo a.zip metadata.json | grep -o def.", [:])
                == "a.zip\ndefN")
    }

    @Test func `RST-04, RST-12: piles of the app stay, others go, and the photo folder is made where it is missing`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            """
            sqlite3 $S/app/database.sqlite "INSERT INTO categories VALUES (1,'cars','Cars',0,NULL,NULL,1,5),(2,'mine','Mine',1,NULL,NULL,0,5)"
            rm -r $S/app/photos; mkdir -p $R/a/photos; printf one > $R/a/photos/7_one.jpg
            """)
        try sandbox.write(
            """
            {"categories":[{"id":4,"name":"new","displayName":"New","position":0,"createdAt":1}],
             "photos":[{"id":7,"path":"/phone/one.jpg","categoryId":4,"name":"one","createdAt":1}],\(Self.settings),
             "photoManifest":[{"photoId":7,"originalPath":"/phone/one.jpg","zipEntryName":"photos/7_one.jpg","fileName":"7_one.jpg","fileSize":3}]}
            """, to: "a/metadata.json")
        try sandbox.sh("cd $R/a; zip -qr ../a.zip .; backupfs restore ../a.zip --yes --store $S >/dev/null")
        #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'SELECT name FROM categories ORDER BY id'") == "cars\nnew")
        #expect(try sandbox.sh("cat $S/app/photos/7_one.jpg; stat -c %a $S/app/photos") == "one700")
    }

    @Test func `RET-08: no rule removes SmilePile's backups`() throws {
        let sandbox = try Self.sandbox()
        for number in 1...7 {
            try sandbox.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2025-0\(number)-01T10:00:00Z"])
        }
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq length") == "7")
        let forget = try sandbox.run("backupfs forget --yes --store $S")
        #expect(forget.exitCode == 2 && forget.errors.contains("have a rule which backups are kept"), "\(forget)")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq length") == "7")
    }

    /// 500 photos as in the row, at a quarter of its size: they must not all be in memory.
    @Test func `PER-07, PER-12, TST-07: five hundred photos are backed up and restored in little memory`() throws {
        let sandbox = try Self.sandbox()
        let peak = """
            import resource, subprocess, sys
            subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
            """
        try sandbox.write(peak, to: "peak.py")
        try sandbox.sh(
            "cd $S/app/photos; head -c 131072000 /dev/urandom | split -b 262144 -a 3 -d --additional-suffix=.jpg - p; ls | wc -l")
        let sums = "cd $S/app/photos; sha256sum * | sha256sum"
        let before = try sandbox.sh(sums)
        let backup = try sandbox.sh("python3 $R/peak.py backupfs backup --label one --store $S")
        try sandbox.sh("rm $S/app/photos/p0*; printf changed > $S/app/photos/p499.jpg")
        let restore = try sandbox.sh("python3 $R/peak.py backupfs restore one --strategy replace --yes --store $S")
        #expect(try sandbox.sh(sums) == before)
        // All photos together have 125 MiB.
        for megabytes in [backup, restore] { #expect(try #require(Int(megabytes)) < 110, "\(megabytes) MiB") }
    }
}
