import Foundation
import SystemIO
import TestSupport
import Testing

/// `backupfs check` as users and scripts see it.
@Suite struct CheckCommandTests {
    private static func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            head -c 300000 /dev/urandom > $S/app/photos/large.jpg
            backupfs backup --store $S --label first >/dev/null
            echo more > $S/app/photos/later.jpg; backupfs backup --store $S --label second >/dev/null
            """)
        return sandbox
    }

    @Test func `a sound store`() throws {
        let sandbox = try Self.sandbox()
        let text = try sandbox.sh("backupfs check --store $S")
        #expect(text.hasPrefix("Checked backups: 2, packs: ") && text.hasSuffix("\nNo damage was found."))
        #expect(!text.contains("; read "))
        let read = try sandbox.sh("backupfs check --read-data --store $S --json")
        let summary = try json(Array(try #require(read.split(separator: "\n").last).utf8))
        #expect(summary["message_type"] as? String == "summary" && summary["sound"] as? Bool == true)
        #expect(summary["snapshots"] as? Int == 2 && summary["findings"] as? Int == 0)
        // Every pack is read, and every byte between header and index.
        let packs = try sandbox.sh("find $S/repository/packs -name '*.pack' | wc -l")
        #expect(summary["packs_read"] as? Int == Int(packs) && (summary["bytes_read"] as? Int ?? 0) > 300_000)
        #expect(try sandbox.run("backupfs check --read-data --read-data-subset 1/2 --store $S").exitCode == 2)
        #expect(try sandbox.run("backupfs check --read-data-subset 5 --store $S").exitCode == 2)
        #expect(try sandbox.run("backupfs check --repair --store $S </dev/null").exitCode == 2)
        try sandbox.sh("backupfs check --read-data-subset 1/2 --store $S; backupfs check --read-data-subset 20% --store $S")
    }

    @Test func `a flipped byte is found, named, repaired, and healed by the next backup`() throws {
        let sandbox = try Self.sandbox()
        // In the middle of the photo, which is stored uncompressed; two bytes, so that it cannot be corrected.
        try sandbox.sh(
            #"""
            cat > $R/flip.py <<'END'
            import glob, os, sys
            photo = open(sys.argv[2], "rb").read()[150000:150064]
            for path in glob.glob(sys.argv[1] + "/repository/packs/*/*.pack"):
                data = bytearray(open(path, "rb").read())
                place = data.find(photo)
                if place >= 0:
                    data[place] ^= 1; data[place + 9] ^= 1
                    open(path, "wb").write(data); print(path)
            END
            python3 $R/flip.py $S $S/app/photos/large.jpg > $R/pack; test -s $R/pack
            """#)
        let pack = try sandbox.sh("cat $R/pack")
        // The structure is intact; only reading the data shows the damage.
        try sandbox.sh("backupfs check --store $S >/dev/null")
        let result = try sandbox.run("backupfs check --read-data --store $S")
        #expect(result.exitCode == 1)
        #expect(result.output.contains("chunk: \(pack): chunk ") && result.output.contains("its CRC-32 is wrong"))
        let hurt = result.output.split(separator: "\n").filter { $0.hasPrefix("damaged: ") }
        #expect(hurt == ["damaged: first/media/large.jpg", "damaged: second/media/large.jpg"])
        #expect(result.errors.contains("2 files are damaged in 2 backups") && result.errors.contains("check --repair"))
        let lines = try sandbox.run("backupfs check --read-data --store $S --json 2>/dev/null").output.split(separator: "\n")
        let documents = try lines.map { try json(Array($0.utf8)) }.filter { $0["message_type"] as? String != "status" }
        #expect(documents.map { $0["message_type"] as? String } == ["finding", "damaged", "damaged", "summary"])
        #expect(documents[0]["kind"] as? String == "chunk" && documents[0]["path"] as? String == pack)
        #expect(documents[1]["snapshot"] as? String == "first" && documents[1]["path"] as? String == "media/large.jpg")
        // Everything else remains readable.
        try sandbox.sh("backupfs export first --json --store $S -o - >/dev/null")
        let repair = try sandbox.run("backupfs check --repair --yes --store $S")
        #expect(
            repair.exitCode == 1 && repair.output.contains("1 lost") && repair.output.contains("damaged: first/media/large.jpg"))
        #expect(try sandbox.sh("cmp $S/repository/damaged/$(basename \(pack)) \(pack) 2>&1 || echo moved").contains("moved"))
        // The pack no longer lists the photo: the next backup stores it, and the older backups are complete again.
        try sandbox.sh("backupfs backup --store $S --label third >/dev/null; backupfs check --read-data --store $S")
    }

    @Test func `records, labels, config and catalog`() throws {
        let sandbox = try Self.sandbox()
        for part in ["snapshots", "config", "catalog.sqlite"] {
            let file = try sandbox.sh("find $S/repository/\(part) -type f | sort | head -1")
            try sandbox.sh("cp \(file) $R/kept; rm -f $S/repository/catalog.sqlite-*")
            try Damage.flip(file, 36)
            if part == "catalog.sqlite" { try sandbox.sh("head -c 5000 /dev/urandom > \(file)") }
            let result = try sandbox.run("backupfs check --store $S")
            #expect(result.exitCode == 1, "\(part)")
            #expect((result.output + result.errors).contains(file), "\(part): \(result.output)\(result.errors)")
            try sandbox.sh("cp $R/kept \(file)")
        }
        try sandbox.sh(
            "backupfs check --read-data --store $S; rm $S/repository/catalog.sqlite*; backupfs check --read-data --store $S")
        // A record beyond repair is set aside, and the rest continues; its data is kept until the user gives it up.
        let record = try sandbox.sh("ls $S/repository/snapshots | head -1")
        let place = "\(sandbox.storePath)/repository/snapshots/\(record)"
        try sandbox.sh("cp \(place) $R/kept")
        try Damage.flip(place, 255)
        let repair = try sandbox.run("backupfs check --repair --yes --store $S")
        #expect(repair.exitCode == 1 && repair.output.contains("lost; it is in damaged/ now"), "\(repair)")
        #expect(try sandbox.sh("ls $S/repository/damaged") == record)
        #expect(try sandbox.sh("backupfs snapshots --store $S | tail -n +2 | wc -l") == "1")
        let check = try sandbox.run("backupfs check --store $S")
        #expect(check.exitCode == 1 && check.output.contains("record: \(place): the backup’s record is missing"), "\(check)")
        #expect(try sandbox.run("backupfs prune --max-unused 0 --store $S").errors.contains("\(place): nothing was pruned"))
        try sandbox.sh("mv $R/kept \(place); backupfs check --read-data --store $S; mv \(place) $R/kept")
        try sandbox.sh("backupfs prune --forget-missing --store $S; backupfs check --read-data --store $S")
    }

    @Test func `a repair that had to make a label again ends with 1, and the check after it with 0`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("backupfs pin first --store $S")
        let label = try sandbox.sh("find $S/repository/labels -type f")
        try Damage.flip(label, 255)
        let repair = try sandbox.run("backupfs check --repair --yes --store $S")
        #expect(
            repair.exitCode == 1 && repair.output.contains("rewritten; its name is its first one, and it is pinned"), "\(repair)")
        try sandbox.sh("backupfs check --store $S")
    }
}
