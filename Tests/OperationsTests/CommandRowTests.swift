import AppData
import BackupCore
import Foundation
import Restore
import TestSupport
import Testing

@testable import Operations

/// Rows of the requirements for the commands, each named by its number.
struct CommandRowTests {
    private static func sandbox(_ options: String = "--sample") throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init \(options) --store $S >/dev/null")
        return sandbox
    }

    @Test func `SEC-01: the help and README.txt say that backup files are not encrypted`() throws {
        let sandbox = try Self.sandbox()
        #expect(try sandbox.sh("backupfs --help").replacing("\n", with: " ").contains("Backup files are not encrypted, unless"))
        let store = try Store.open(sandbox.storePath)
        let readme = String(decoding: store.readme, as: UTF8.self)
        #expect(readme.contains("Backup files are not encrypted."))
    }

    @Test func `PER-15: programs hear of one phase ten times a second at most, and of its end always`() throws {
        let sandbox = try Self.sandbox("--app smilepile")
        try sandbox.sh("cd $S/app/photos; for i in $(seq 1 3000); do echo $i > $i.jpg; done")
        let start = Date()
        let lines = try sandbox.sh(
            "backupfs backup --json --store $S | jq -c 'select(.message_type == \"status\") | [.phase, .message, .percent]'"
        )
        .split(separator: "\n")
        let seconds = Date().timeIntervalSince(start)
        let copying = lines.filter { $0.hasPrefix(#"["Copying photos""#) }
        // The first, the last, and ten per second in between.
        #expect(Double(copying.count) <= seconds * 10 + 3, "\(copying.count) in \(seconds) s")
        #expect(copying.last == #"["Copying photos","Copying photos (3000/3000)",70]"#, "\(copying)")
        #expect(lines.first == #"["Starting backup","Starting backup",0]"#)
        #expect(lines.last == #"["Backup complete","Backup complete",100]"#)
        #expect(
            Set(lines).isSuperset(of: [
                #"["Gathering data","Gathering data",10]"#, #"["Creating metadata","Creating metadata",70]"#,
            ]))
    }

    @Test func `VAL-05: a file of a later version is tried with a warning, or refused where the settings say so`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            """
            backupfs backup --label one --store $S >/dev/null
            backupfs export --json -o $R/a.json --store $S >/dev/null; sed -i 's/"databaseSchemaVersion": 1/"databaseSchemaVersion": 2/' $R/a.json
            grep -q 'databaseSchemaVersion": 2' $R/a.json
            """)
        let warning =
            "This backup was created with a newer version of the app. Import may fail or cause data loss."
        try sandbox.sh("backupfs restore $R/a.json --yes --store $S >/dev/null")
        #expect(try sandbox.sh("jq -r '.result, .warnings[0]' $S/restore/last.json") == "success\n\(warning)")
        try sandbox.sh("backupfs config set refuse-newer-schema yes --store $S")
        let refused = try sandbox.run("backupfs restore $R/a.json --yes --store $S")
        #expect(refused.exitCode == 1 && refused.errors.contains(warning), "\(refused)")
        #expect(try sandbox.sh("jq -r '.result' $S/restore/last.json") == "refused")
        #expect(try sandbox.run("backupfs restore $R/a.json --dry-run --store $S").exitCode == 1)
        // The store's own backups are its own data.
        try sandbox.sh("backupfs restore one --yes --store $S; backupfs config set refuse-newer-schema no --store $S")
        try sandbox.sh("backupfs restore $R/a.json --yes --store $S")
    }

    @Test func `VAL-13: a file that is not there, or cannot be read, is reported as a file`() throws {
        let sandbox = try Self.sandbox()
        for name in ["nosuch.json", "NOSUCH.ZIP", "nosuch.sqlite"] {
            let missing = try sandbox.run("cd $R; backupfs restore \(name) --yes --store $S")
            #expect(missing.exitCode == 1 && missing.errors.contains("there is no such file"), "\(missing)")
        }
        let backup = try sandbox.run("cd $R; backupfs restore nosuch --yes --store $S")
        #expect(backup.errors.contains("no such backup"), "\(backup)")
        // A backup may have the name of a file.
        try sandbox.sh("backupfs backup --label a.json --store $S >/dev/null; cd $R; backupfs restore a.json --yes --store $S")
    }

    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: root alone can become another user"))
    func `VAL-13: a file that may not be read says so`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("echo '{}' > $R/a.json; chmod 000 $R/a.json; chown -R nobody $R")
        let refused = try sandbox.run("setpriv --reuid=nobody --clear-groups backupfs restore $R/a.json --yes --store $S")
        #expect(refused.exitCode == 1 && refused.errors.contains("Permission denied"), "\(refused)")
    }

    @Test func `STA-06: the list of backups has file name, time, device, app version and file size`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("backupfs backup --label one --store $S >/dev/null", ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"])
        let text = try sandbox.sh("backupfs snapshots --files --store $S")
        let size = try sandbox.sh("backupfs export one --json -o - --store $S | wc -c")
        let rows = text.split(separator: "\n").map(String.init)
        #expect(rows.count == 2)
        for column in ["File ", "Created ", "Device ", "App version ", "File size"] {
            #expect(rows[0].contains(column), "\(text)")
        }
        #expect(rows[1].hasPrefix("ev_charging_tracker_backup_2026-01-11_14-30-00.json "), "\(text)")
        for value in ["2026-01-11 14:30:00", "iPhone 15 Pro", "2026.1.1"] { #expect(rows[1].contains(value), "\(text)") }
        #expect(
            try sandbox.sh("backupfs snapshots --json --store $S | jq -r '.[0] | .file_name, .file_size'")
                == "ev_charging_tracker_backup_2026-01-11_14-30-00.json\n\(size)")
    }

    /// Only restores write to the app's database (decision 39): the time of the last backup is in the status.
    @Test func `EXP-10, FKT-04: neither an export nor a backup writes lastBackupDate into the app's database`() throws {
        let sandbox = try Self.sandbox("--app keeptrack --sample")
        let data = "sha256sum < $S/app/database.sqlite; cat $S/app/database.sqlite-wal 2>/dev/null | sha256sum"
        let before = try sandbox.sh(data)
        try sandbox.sh(
            "backupfs export --json -o $R/a.json --store $S; backupfs backup --store $S; backupfs export --zip -o $R/a.zip --store $S",
            ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"])
        #expect(try sandbox.sh(data) == before)
        #expect(try sandbox.sh("jq .settings.lastBackupDate $R/a.json") == "null")
        #expect(try sandbox.sh("backupfs status --store $S | grep '^Last backup'") == "Last backup: 2026-01-11 14:30:00")
        #expect(try sandbox.sh("backupfs status --json --store $S | jq -r .lastBackup.createdAt") == "2026-01-11T14:30:00Z")
        // A value that the app itself wrote there is exported, and a restore from another device keeps it.
        try sandbox.sh(
            "sqlite3 $S/app/database.sqlite \"INSERT INTO app_settings VALUES ('last_backup_date', '2026-01-01T08:00:00Z')\"")
        #expect(
            try sandbox.sh("backupfs export --json -o - --store $S | jq -r .settings.lastBackupDate") == "2026-01-01T08:00:00Z")
        let shown = try sandbox.onTerminal("", "backupfs export --json -o $R/b.json --store $S")
        #expect(shown.output == "\u{1B}[32m✓\u{1B}[0m \(sandbox("b.json"))\n")
    }

    @Test func `VAL-16, DEL-01, DEL-02: a question about what goes is red on a terminal`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            "backupfs backup --label one --store $S >/dev/null; backupfs export --json -o $R/a.json --store $S >/dev/null")
        let red = "\u{1B}[31m"
        let restore = try sandbox.onTerminal("Cancel\\n", "backupfs restore $R/a.json --store $S")
        #expect(
            restore.output.contains("\(red)Type \"Import and Replace All Data\" (or \"yes\"), or \"Cancel\" [Cancel]\u{1B}[0m: "),
            "\(restore.output)")
        let one = try sandbox.onTerminal("\\n", "backupfs delete one --store $S")
        #expect(one.output.contains("\(red)Are you sure you want to delete this backup?"), "\(one.output)")
        let all = try sandbox.onTerminal("\\n", "backupfs delete --all --store $S")
        #expect(all.output.contains("\(red)Are you sure you want to delete all backups?"), "\(all.output)")
        let plain = try sandbox.onTerminal("\\n", "backupfs delete one --store $S", ["NO_COLOR": "1"])
        #expect(plain.output.contains("Are you sure") && !plain.output.contains("\u{1B}"), "\(plain.output)")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq length") == "1")
    }

    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: a full disk needs root to mount a small one"))
    func `ERR-15: a first backup that has no space is refused with numbers before anything is copied`() throws {
        let sandbox = try Sandbox()
        guard try sandbox.run("mkdir $R/disk; mount -t tmpfs -o size=20m tmpfs $R/disk").exitCode == 0 else { return }
        defer { _ = try? sandbox.run("umount -l $R/disk") }
        try sandbox.sh(
            """
            backupfs init --app smilepile --repository $R/disk/repository --store $S >/dev/null
            for i in 1 2 3; do head -c 10000000 /dev/urandom > $S/app/photos/$i.jpg; done; ls -R $R/disk | sha256sum > $R/before
            """)
        let refused = try sandbox.run("backupfs backup --store $S")
        #expect(refused.exitCode == 1, "\(refused)")
        #expect(refused.errors.contains("a first backup of these media needs 30000000 bytes, and "), "\(refused)")
        #expect(refused.errors.contains("\(sandbox("disk/repository"))"), "\(refused)")
        #expect(try sandbox.sh("ls -R $R/disk | sha256sum | cmp - $R/before; find $R/disk -name '*.pack' | wc -l") == "0")
        // If tried anyway, it fails partway, and the message names the full disk, not a file of the repository.
        let full = try sandbox.run("backupfs backup --skip-room-check --store $S")
        #expect(full.exitCode == 1 && full.errors.contains("the backup does not fit on the disk, which has "), "\(full)")
        #expect(!full.errors.contains("/locks/") && !full.errors.contains("/packs/"), "\(full)")
        let left = try sandbox.sh("find $R/disk -name '*.pack' -ls; backupfs check --store $S >/dev/null")
        #expect(left == "", "\(full)")
        // Files that occupy less space than their sizes can be backed up this way.
        try sandbox.sh("for i in 1 2 3; do head -c 10000000 /dev/zero > $S/app/photos/$i.jpg; done")
        #expect(try sandbox.run("backupfs backup --store $S").exitCode == 1)
        try sandbox.sh("backupfs backup --skip-room-check --store $S")
        // Once there is a backup, it is unknown how much the next one shares with it.
        try sandbox.sh("for i in 4 5 6; do head -c 10000000 /dev/zero > $S/app/photos/$i.jpg; done; backupfs backup --store $S")
    }

    @Test func `ERR-15: one that has space is made`() throws {
        let sandbox = try Self.sandbox("--app smilepile --sample")
        try sandbox.sh("backupfs backup --store $S")
    }

    /// The catalogs consist of what `mount-scripts/translations` finds in the definitions.
    @Test func `L10-01: collections are called by their names in the reader's language`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("backupfs export --json -o $R/a.json --store $S >/dev/null")
        let report = try RestoreRunner(store: Store.open(sandbox.storePath)).preview(ImportSource(file: sandbox("a.json")))
        let catalog = MessageCatalog("msgid \"Cars\"\nmsgstr \"Autos\"\n") { _ in 0 }
        let text = report.text.text(catalog)
        #expect(text.contains("\nAutos: 3\n") && text.contains("\n  Autos: 3 added"), "\(text)")
        #expect(report.text.english.contains("\nCars: 3\n"))
    }

    @Test func `FSP-01: SmilePile's archive has the eight members, version 2, and reads later ones with a warning`() throws {
        let sandbox = try Self.sandbox("--app smilepile --sample")
        try sandbox.sh("backupfs export --zip -o $R/a.zip --store $S >/dev/null; mkdir $R/a; cd $R/a; unzip -q ../a.zip")
        let members = "jq -c 'keys_unsorted, .version' $R/a/metadata.json"
        #expect(
            try sandbox.sh(members) == """
                ["version","exportDate","appVersion","format","categories","photos","settings","photoManifest"]
                2
                """)
        try sandbox.sh("cd $R/a; sed -i 's/\"version\" *: *2/\"version\": 3/' metadata.json; zip -qr ../b.zip .")
        try sandbox.sh("backupfs restore $R/b.zip --yes --store $S >/dev/null")
        #expect(
            try sandbox.sh("jq -r '.result, .source.schemaVersion, .warnings[0]' $S/restore/last.json")
                == "success\n3\nThis backup was created with a newer version of the app. Import may fail or cause data loss.")
    }

    /// Paths may contain names of people and places (decision 39).
    @Test func `LOG-03: an error is in the log by its kinds, and with path and words in the status`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("echo '{}' > \"$R/Anna Karenina.json\"")
        #expect(try sandbox.run("backupfs restore \"$R/Anna Karenina.json\" --yes --store $S").exitCode == 1)
        #expect(
            try sandbox.sh("tail -1 $S/backupfs.log | jq -c '[.op, .result, .error, .fileKind]'")
                == #"["restore","refused","invalidContent","imported"]"#)
        #expect(try sandbox.sh("grep -c Karenina $S/backupfs.log || true") == "0")
        #expect(try sandbox.sh("jq -r .file $S/restore/last.json") == "Anna Karenina.json")
        #expect(try sandbox.sh("jq -r '.errors[0]' $S/restore/last.json").hasPrefix("Import failed: missing field metadata"))
    }

    @Test func `SCH-11: the charging tracker's daily backup is on until it is switched off`() throws {
        let sandbox = try Self.sandbox()
        let schedule = "backupfs status --json --store $S | jq -c '[.schedule, .nextBackup != null]'"
        #expect(try sandbox.sh(schedule) == #"["daily",true]"#)
        try sandbox.sh("backupfs config set schedule off --store $S")
        #expect(try sandbox.sh(schedule) == #"["off",false]"#)
    }

    @Test func `EXP-12: other programs leave out what is temporary`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("echo secret > $S/spool/work; tar -cf $R/store.tar --exclude-caches -C $R store")
        #expect(try sandbox.sh("tar -tf $R/store.tar | grep '^store/spool/'") == "store/spool/\nstore/spool/CACHEDIR.TAG")
    }
}
