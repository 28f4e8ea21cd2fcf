import TestSupport
import Testing

/// `init --sample` for each built-in app: always the same data, which the app's own rules accept, and photos that other programs
/// can read.
struct SampleStoreTests {
    /// Decodes a PNG by the standard, with Python's own zlib and CRC.
    private static let readPNG = """
        import struct, sys, zlib
        for path in sys.argv[1:]:
            data = open(path, "rb").read()
            assert data[:8] == b"\\x89PNG\\r\\n\\x1a\\n", path
            at, rows, types = 8, b"", []
            while at < len(data):
                size, kind = struct.unpack(">I4s", data[at:at + 8])
                body = data[at + 8:at + 8 + size]
                assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body), path
                types.append(kind)
                if kind == b"IHDR": width, height, depth, colour = struct.unpack(">IIBB", body[:10])
                if kind == b"IDAT": rows += body
                at += 12 + size
            assert types == [b"IHDR", b"IDAT", b"IEND"], types
            assert (width, height, depth, colour) == (192, 128, 8, 2)
            rows = zlib.decompress(rows)
            assert len(rows) == height * (1 + width * 3) and len(set(rows)) > 40, path
        """

    private static func sandbox(_ app: String) throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.write(readPNG, to: "png.py")
        try sandbox.sh("backupfs init --app \(app) --sample --store $S >/dev/null")
        return sandbox
    }

    @Test func `SmilePile has four piles and eight photos that open`() throws {
        let sandbox = try Self.sandbox("smilepile")
        try sandbox.sh("python3 $R/png.py $S/app/photos/*.png; backupfs backup --label one --store $S >/dev/null")
        let export = "backupfs export one --json --output - --store $S"
        #expect(
            try sandbox.sh("\(export) | jq -c '[.categories, .photos, .photoManifest] | map(length)'") == "[4,9,8]")
        #expect(
            try sandbox.sh("\(export) | jq -r '.photos[0] | .path, .width, .height, .createdAt'")
                == "photos/first_day.png\n192\n128\n1736845200000")
        // Each file is the one that its record and the manifest describe.
        #expect(
            try sandbox.sh(
                "\(export) | jq -r '.photoManifest[] | \"\\(.checksum)  \\(.originalPath)\"' > $R/sums; cd $S/app; md5sum --quiet -c $R/sums"
            ) == "")
        #expect(try sandbox.sh("stat -c %Y $S/app/photos/first_day.png") == "1736845200")
        try sandbox.sh("backupfs verify one --restore --store $S || backupfs verify one --store $S")
        try sandbox.sh("backupfs export one --zip -o $R/a.zip --store $S; backupfs restore $R/a.zip --yes --store $S")
        #expect(
            try sandbox.sh("\(export) | jq .photos > $R/a; backupfs export --json -o - --store $S | jq .photos | cmp - $R/a")
                == "")
    }

    @Test func `KeepTrack has 90 days of entries`() throws {
        let sandbox = try Self.sandbox("keeptrack")
        let export = "backupfs export --json --output - --store $S"
        #expect(
            try sandbox.sh("\(export) | jq -c '[(.entries | length > 500), (.goals | length), (.intakeTypes | length)]'")
                == "[true,2,4]")
        #expect(
            try sandbox.sh("\(export) | jq -r '[.entries[].date] | min[:10], max[:10]'") == "2025-10-13\n2026-01-10")
        #expect(
            try sandbox.sh("\(export) | jq -c '.settings | .autoBackupEnabled, .cloudSyncEnabled, .lastBackupDate'")
                == "true\nfalse\nnull")
        let ids =
            "\(export) | jq -r '.entries[].id' | grep -cvE '^[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}$' || true"
        #expect(try sandbox.sh(ids) == "0")
        try sandbox.sh("\(export) > $R/a.json; backupfs restore $R/a.json --strategy replace --yes --store $S")
    }

    @Test func `the photo library has folders and a photo that lies in two of them`() throws {
        let sandbox = try Self.sandbox("photo-library")
        try sandbox.sh("cd $S/app/photos; find . -name '*.png' -print0 | xargs -0 python3 $R/png.py")
        try sandbox.sh("backupfs backup --label one --store $S >/dev/null")
        #expect(
            try sandbox.sh(
                "backupfs export one --json --output - --store $S | jq -c '.photos | length, (map(.md5) | unique | length)'")
                == "10\n9")
        #expect(
            try sandbox.sh(
                "backupfs export one --json --output - --store $S | jq -r '.photos[] | select(.path == \"unsorted.png\").modifiedAt'"
            )
                == "2026-01-09T08:00:00Z")
    }

    @Test(arguments: ["smilepile", "keeptrack", "photo-library"]) func `it is the same every time`(app: String) throws {
        let describe = """
            sqlite3 $S/app/database.sqlite .dump | grep -v -e device_name -e grdb_migrations
            if [ -d $S/app/photos ]; then cd $S/app/photos; find . -type f -printf '%P %T@\\n' | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum; fi
            """
        let first = try Self.sandbox(app).sh(describe)
        #expect(try Self.sandbox(app).sh(describe) == first)
        #expect(first.count > 200)
    }

    @Test func `nothing is put into folders that were there`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("mkdir $R/mine")
        let result = try sandbox.run("backupfs init --app smilepile --media $R/mine --sample --store $S")
        #expect(result.exitCode == 2 && result.errors.contains("--sample fills a new media folder"), "\(result)")
        #expect(try sandbox.sh("ls -A $R/mine; ls -d $S 2>/dev/null || true") == "")
    }
}
