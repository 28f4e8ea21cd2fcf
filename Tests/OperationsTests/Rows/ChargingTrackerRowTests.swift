import Foundation
import TestSupport
import Testing

/// Rows of the requirements for the charging tracker and for all apps, each named by its number. Rows tested by another suite are
/// named there.
struct ChargingTrackerRowTests {
    private static func sandbox(_ options: String = "--sample") throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init \(options) --store $S >/dev/null")
        return sandbox
    }

    private static let state = "sqlite3 -readonly $S/app/database.sqlite .dump | sha256sum"

    @Test func `FEV-02, RET-07: a new store, and the folders above it, say what device and version there are`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $R/a/b/c/d >/dev/null")
        #expect(
            try sandbox.sh(
                "backupfs export --json -o - --store $R/a/b/c/d | jq -c .metadata", ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"])
                == #"{"createdAt":"2026-01-11T14:30:00Z","appVersion":"unknown","deviceName":"\#(try sandbox.sh("hostname"))","databaseSchemaVersion":1}"#
        )
    }

    @Test func `FEV-09, VAL-03: texts are UTF-8, and what is cut off or is none changes nothing`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            "backupfs export --json -o $R/a.json --store $S >/dev/null; iconv -f utf-8 -t utf-8 $R/a.json | cmp - $R/a.json")
        #expect(try sandbox.sh("head -c 1 $R/a.json") == "{")
        let before = try sandbox.sh(Self.state)
        for script in [
            // The last byte is a line feed, which may be missing.
            "head -c -2 $R/a.json", "head -c -400 $R/a.json", "head -c 1 $R/a.json",
            "LC_ALL=C sed '0,/Tesla/s/Tesla/Caf\\xe9/' $R/a.json", "LC_ALL=C sed '0,/Tesla/s/Tesla/\\xed\\xa0\\x80/' $R/a.json",
        ] {
            try sandbox.sh("\(script) > $R/bad.json")
            let refused = try sandbox.run("backupfs restore $R/bad.json --yes --store $S")
            #expect(refused.exitCode == 1, "\(script)")
            #expect(refused.errors.contains("Invalid file format. Please select a valid backup file.\n  line "), "\(refused)")
            #expect(
                refused.errors.contains(script.contains("sed") ? "a byte is not valid UTF-8" : "the file ends"), "\(refused)")
        }
        #expect(try sandbox.sh(Self.state) == before)
        #expect(try sandbox.sh("backupfs snapshots --safety --json --store $S | jq length") == "0")
        try sandbox.sh(
            """
            jq '.cars[0].name = "Ночь 🔋 e\u{301}"' $R/a.json > $R/b.json; { printf '\\xef\\xbb\\xbf'; cat $R/b.json; } > $R/c.json
            backupfs restore $R/c.json --yes --store $S >/dev/null
            """)
        #expect(try sandbox.sh("backupfs export --json -o - --store $S | jq -r '.cars[0].name'") == "Ночь 🔋 e\u{301}")
    }

    @Test func `RST-15, VAL-18: a backup, its file and standard input tell and restore the same`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            "backupfs backup --label one --store $S >/dev/null; backupfs export one --json -o $R/a.json --store $S >/dev/null")
        let after = try sandbox.sh(Self.state)
        let preview = try ["one", "$R/a.json"].map {
            try sandbox.sh("backupfs restore \($0) --dry-run --store $S | tail -n +3")
        }
        #expect(preview[0] == preview[1] && preview[0].contains("\nExpenses: 1200\n"), "\(preview)")
        for source in ["one", "$R/a.json", "- < $R/a.json"] {
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from expenses where id > 5; delete from user_settings'")
            try sandbox.sh("backupfs restore --yes --store $S -- \(source) >/dev/null")
            #expect(try sandbox.sh(Self.state) == after, "\(source)")
        }
    }

    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: root alone can become another user"))
    func `EXP-14: an export that may not be written says where, and leaves nothing`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("mkdir $R/closed; chown -R nobody $R; chmod 555 $R/closed")
        for form in ["--json", "--zip"] {
            let refused = try sandbox.run(
                "setpriv --reuid=nobody --clear-groups backupfs export \(form) -o $R/closed/x --store $S")
            #expect(refused.exitCode == 1 && refused.errors.contains("\(sandbox.path)/closed"), "\(refused)")
            #expect(refused.errors.contains("Permission denied"), "\(refused)")
        }
        #expect(try sandbox.sh("ls -A $R/closed; ls -A $S/spool") == "CACHEDIR.TAG")
    }

    /// None of these lines contains anything that decision 31 leaves in English.
    @Test(arguments: [
        ("ru_RU.UTF-8", "Расходы: 1200"), ("kk_KZ.UTF-8", "Шығыстар: 1200"), ("tr_TR.UTF-8", "Giderler: 1200"),
        ("de_DE.UTF-8", "Ausgaben: 1200"),
    ])
    func `L10-01: what a restore would do is in the reader's language, times too`(locale: String, line: String) throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("backupfs export --json -o $R/a.json --store $S >/dev/null")
        let text = try sandbox.sh("backupfs restore $R/a.json --dry-run --store $S", ["LC_ALL": locale])
        #expect(text.contains("\n\(line)\n"), "\(text)")
        let english = try sandbox.sh("backupfs restore $R/a.json --dry-run --store $S", ["LC_ALL": "C"]).split(separator: "\n")
        #expect(english.contains("Expenses: 1200"))
        #expect(Set(text.split(separator: "\n")).isDisjoint(with: english), "\(text)")
        #expect(text.firstMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}/) == nil, "\(text)")
    }
}
