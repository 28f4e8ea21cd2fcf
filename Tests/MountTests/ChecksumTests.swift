import TestSupport
import Testing

/// Checksums as extended attributes and as listings, compared with standard tools.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ChecksumTests {
    /// Prints the differences for each file below the given folders.
    private static let comparison = """
        while IFS= read -r -d '' file; do
            for algorithm in md5 sha1 sha256; do
                told=$(getfattr --only-values -n user.checksum.$algorithm "$file")
                found=$(${algorithm}sum < "$file" | cut -d' ' -f1)
                [ "$told" = "$found" ] || echo "$file: $algorithm is $found, told was $told"
            done
            told=$(getfattr --only-values -n user.checksum.crc32 "$file")
            found=$(gzip -1c < "$file" | tail -c 8 | head -c 4 | od -An -tx4 | tr -d ' ')
            [ "$told" = "$found" ] || echo "$file: CRC-32 is $found, told was $told"
            echo . >> $R/counted
        done < <(find "$@" -type f -print0)
        """

    @Test func `CHK-01, CHK-02: attributes agree with md5sum, sha1sum, sha256sum and gzip for every file`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("mkdir $M/snapshots/one; cp $R/old.json $M/restore/")
            let wrong = try sandbox.sh("set -- $M/snapshots/one $M/exports $M/safety; \(Self.comparison)")
            #expect(wrong == "")
            // Fourteen files of the backup, one export, one safety backup.
            #expect(try sandbox.sh("wc -l < $R/counted") == "16")
        }
    }

    @Test func `attributes of live files are those of what is read`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            #expect(try sandbox.sh("set -- $M/live; \(Self.comparison)") == "")
            #expect(try sandbox.sh("wc -l < $R/counted") == "10")
            let before = try sandbox.sh("getfattr --only-values -n user.checksum.sha256 $M/live/data/cars.json")
            try sandbox.sh("sqlite3 $S/app/database.sqlite \"update cars set name='Another' where id=1\"")
            #expect(try sandbox.sh("getfattr --only-values -n user.checksum.sha256 $M/live/data/cars.json") != before)
            #expect(try sandbox.sh("set -- $M/live; \(Self.comparison)") == "")
        }
    }

    @Test func `CHK-06: sha256sum and md5sum check a backup's listing`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let script = "cd $M/snapshots/one; sha256sum --strict -c SHA256SUMS"
            #expect(
                try sandbox.sh(script).split(separator: "\n").sorted() == [
                    "changes.json: OK", "data/cars.json: OK", "data/delayedNotifications.json: OK", "data/expenses.json: OK",
                    "data/plannedMaintenance.json: OK", "database.sqlite: OK", "export.json: OK", "manifest.json: OK",
                    "schema.json: OK",
                ])
            #expect(try sandbox.sh("cd $M/snapshots/one; md5sum --strict -c MD5SUMS | wc -l") == "9")
            try sandbox.sh("cd $M/live; sha256sum --strict -c SHA256SUMS")
            // A copy elsewhere with a damaged byte is detected.
            try sandbox.sh(
                "cp -r $M/snapshots/one $R/copy; printf x | dd of=$R/copy/database.sqlite bs=1 seek=5000 conv=notrunc status=none"
            )
            try sandbox.fails("cd $R/copy; sha256sum -c SHA256SUMS", saying: "database.sqlite: FAILED")
        }
    }

    @Test func `other attributes: MIME types, what a backup is, and nothing for what is unknown`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let types = [
                "README.txt": "text/plain", "status.json": "application/json", "snapshots/one/archive.zip": "application/zip",
                "snapshots/one/archive.tar": "application/x-tar", "live/archive.tar": "application/x-tar",
                "snapshots/one/database.sqlite": "application/vnd.sqlite3", "snapshots/one/export.json": "application/json",
                "snapshots/one/SHA256SUMS": "text/plain", "live/export.json": "application/json",
                "exports/ev_charging_tracker_backup_2026-01-11_14-30-00.json": "application/json",
            ]
            for (file, type) in types {
                #expect(try sandbox.sh("getfattr --only-values -n user.mime_type $M/\(file)") == type, "\(file)")
            }
            let attributes = [
                "app": "ev-charging-tracker", "created-at": "2026-01-11T14:30:00Z", "schema-version": "1", "pinned": "0",
                "files": "9",
            ]
            for (name, value) in attributes {
                #expect(try sandbox.sh("getfattr --only-values -n user.backupfs.\(name) $M/snapshots/one") == value, "\(name)")
            }
            #expect(
                try sandbox.sh("getfattr --only-values -n user.backupfs.records $M/snapshots/one")
                    == sandbox.sh(
                        "jq '[.cars,.expenses,.plannedMaintenance,.delayedNotifications]|map(length)|add' $M/live/export.json"))
            #expect(
                try sandbox.sh("getfattr --only-values -n user.backupfs.size $M/snapshots/one")
                    == sandbox.sh(
                        "cd $M/snapshots/one; cut -c67- SHA256SUMS | xargs stat -c %s | awk '{ sum += $1 } END { print sum }'"))
            for name in ["stored-size", "device", "app-version"] {
                try sandbox.sh("getfattr --only-values -n user.backupfs.\(name) $M/snapshots/one | grep .")
            }
            for name in ["user.unknown", "security.selinux", "system.posix_acl_access", "trusted.x"] {
                for file in ["snapshots/one", "snapshots/one/export.json", "live/export.json", "README.txt", "."] {
                    let result = try sandbox.run("getfattr -n \(name) $M/\(file)")
                    let isAbsent = ["No such attribute", "Operation not supported"].contains { result.errors.contains($0) }
                    #expect(result.exitCode != 0 && isAbsent, "\(name) of \(file): \(result.text)")
                }
            }
            #expect(
                try sandbox.sh("getfattr $M/snapshots/one/export.json 2>/dev/null | grep ^user | sort").split(separator: "\n")
                    == [
                        "user.checksum.crc32", "user.checksum.md5", "user.checksum.sha1", "user.checksum.sha256",
                        "user.mime_type",
                    ])
        }
    }

    @Test func `a backup is pinned and unpinned by an attribute`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let read = "getfattr --only-values -n user.backupfs.pinned $M/snapshots/one"
            try sandbox.sh("setfattr -n user.backupfs.pinned -v 1 $M/snapshots/one")
            #expect(try sandbox.sh(read) == "1")
            #expect(try sandbox.sh("backupfs snapshots --store $S --json | jq -c '.[0].pinned'") == "true")
            try sandbox.fails("rmdir $M/snapshots/one", saying: "Operation not permitted")
            try sandbox.fails("find $M/snapshots -mindepth 1 -delete", saying: "Operation not permitted")
            #expect(try sandbox.names("snapshots") == ["latest", "one"])
            try sandbox.remount()
            #expect(try sandbox.sh(read) == "1")
            try sandbox.sh("setfattr -x user.backupfs.pinned $M/snapshots/one")
            #expect(try sandbox.sh(read) == "0")
            try sandbox.fails("setfattr -n user.backupfs.pinned -v yes $M/snapshots/one", saying: "Invalid argument")
            try sandbox.fails("setfattr -n user.backupfs.app -v other $M/snapshots/one", saying: "Read-only file system")
            try sandbox.fails("setfattr -n user.mine -v 1 $M/snapshots/one", saying: "Read-only file system")
            try sandbox.sh("rmdir $M/snapshots/one")
        }
    }
}
