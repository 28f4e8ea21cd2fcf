import AppData
import TestSupport
import Testing

@testable import Operations
@testable import SnapshotFormats

/// Photos whose names leave no space for their record's key as a prefix.
@Suite struct LongKeyedNameTests {
    private static func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.write(
            """
            import os, sqlite3, sys
            long = "\\u5199" * 83 + ".jpg"
            db = sqlite3.connect(os.environ["S"] + "/app/database.sqlite")
            media = os.environ["S"] + "/app/photos/"
            os.makedirs(media + "d", exist_ok=True)
            for key, path, text in [(12, "photos/" + long, "twelve"), (13, long, "twelve"), (14, "photos/d/" + long, "fourteen"),
                                    (15, "photos/" + "x" * 255, "fifteen")]:
                if key != 13: open(media + path[len("photos/"):], "w").write(text)
                db.execute("INSERT INTO photos (id, path, category_id, name, created_at) VALUES (?, ?, 1, 'p', 1700000000000)", (key, path))
            db.commit()
            """, to: "fill.py")
        try sandbox.sh(
            """
            backupfs init --store $S --app smilepile >/dev/null; mkdir -p $S/app/photos; printf one >$S/app/photos/a.jpg
            sqlite3 $S/app/database.sqlite "INSERT INTO categories VALUES (1,'n','N',0,NULL,NULL,0,1700000000000)"
            sqlite3 $S/app/database.sqlite "INSERT INTO photos VALUES (1,'photos/a.jpg',1,'p',0,1700000000000,0,0,0)"
            backupfs backup --store $S --label A0; python3 $R/fill.py
            """)
        return sandbox
    }

    private static let state =
        "cd $S/app/photos; find . -type f -exec md5sum {} + | sort; sqlite3 $S/app/database.sqlite 'SELECT * FROM photos'"

    @Test func `they are shortened in the archive, and come back under their own names`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("backupfs backup --store $S --label A; backupfs verify A --store $S")
        let stem = String(repeating: "写", count: 82)
        #expect(
            try sandbox.sh("backupfs export A --store $S --zip -o $R/a.zip >/dev/null; unzip -Z1 -UU $R/a.zip | LC_ALL=C sort")
                == [
                    "metadata.json", "photos/12_\(stem).jpg", "photos/13_\(stem).jpg", "photos/14_\(stem).jpg",
                    "photos/15_\(String(repeating: "x", count: 252))", "photos/1_a.jpg",
                ].joined(separator: "\n"))
        let before = try sandbox.sh(Self.state)
        for name in ["A", "$R/a.zip"] {
            try sandbox.sh("backupfs restore A0 --store $S --yes >/dev/null; ls $S/app/photos | grep -x a.jpg")
            // An undo brings back what a restore replaced.
            try sandbox.sh("backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --store $S --yes >/dev/null")
            #expect(try sandbox.sh(Self.paths) == Self.expected)
            try sandbox.sh(
                "backupfs restore A0 --store $S --yes >/dev/null; backupfs restore \(name) --store $S --yes >/dev/null")
            #expect(try sandbox.sh(Self.paths) == Self.expected)
        }
        #expect(before.contains("写"))
        // They do not grow.
        for label in ["G1", "G2"] {
            try sandbox.sh(
                "backupfs backup --store $S --label \(label); backupfs verify \(label) --store $S; backupfs restore \(label) --store $S --yes >/dev/null"
            )
        }
        #expect(try sandbox.sh(Self.paths) == Self.expected)
    }

    /// `verify` does not compare the list of an old backup with the database, which gives shorter names now.
    @Test func `names that are too long tell a list of before`() throws {
        let naming = try #require(try ManifestNaming(AppDefinition.builtIn(named: "smilepile")))
        for (count, isLong) in [(251, false), (252, true)] {
            let path = "photos/" + String(repeating: "x", count: count) + ".jpg"
            let list = MemorySource("[{\"photoId\": 1, \"originalPath\": \"a.jpg\", \"zipEntryName\": \"\(path)\"}]")
            #expect(try naming.hasLongNames(in: list) == isLong)
        }
    }

    /// Each record's path, and the content of its file. A record that names its file differently from this program keeps its
    /// path.
    private static let paths =
        """
        sqlite3 -separator ' ' $S/app/database.sqlite 'SELECT id, path FROM photos' | while read -r key path
        do printf '%s %s ' $key "$path"; cat "$S/app/photos/${path#photos/}"; echo; done
        """
    private static let expected: String = {
        let stem = String(repeating: "写", count: 82)
        return [
            "1 photos/a.jpg one", "12 photos/\(stem)写.jpg twelve", "13 \(stem)写.jpg twelve",
            "14 photos/d/\(stem)写.jpg fourteen", "15 photos/\(String(repeating: "x", count: 255)) fifteen",
        ].joined(separator: "\n")
    }()
}
