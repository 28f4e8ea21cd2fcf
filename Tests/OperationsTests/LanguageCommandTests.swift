import TestSupport
import Testing

/// Commands use the user's language; JSON does not.
struct LanguageCommandTests {
    private static let russian = ["LC_ALL": "ru_RU.UTF-8"]
    private static let german = ["LC_ALL": "de_DE.UTF-8"]
    private static let locales = ["ru_RU.UTF-8", "kk_KZ.UTF-8", "tr_TR.UTF-8", "de_DE.UTF-8"]

    private func sandbox(backups names: String = "") throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null; for n in \(names); do backupfs backup --label $n --store $S; done")
        return sandbox
    }

    @Test(
        arguments: zip(
            locales,
            [
                "Резервных копий ещё нет. Создайте копию командой: backupfs backup",
                "Әзірге сақтық көшірмелер жоқ. Мына командамен жасаңыз: backupfs backup",
                "Henüz yedek yok. Bir tane oluşturmak için: backupfs backup",
                "Noch keine Sicherungen. Erstellen Sie eine mit: backupfs backup",
            ]))
    func `L10-01: the environment chooses the language`(locale: String, text: String) throws {
        let sandbox = try sandbox()
        #expect(try sandbox.sh("backupfs snapshots --store $S", ["LC_ALL": locale]) == text)
        #expect(try sandbox.sh("backupfs snapshots --store $S", ["LC_ALL": "C", "LANG": locale]) == english)
        #expect(try sandbox.sh("env -u LC_ALL backupfs snapshots --store $S", ["LC_MESSAGES": locale, "LANG": "C"]) == text)
    }

    private let english = "No backups yet. Make one with: backupfs backup"

    @Test func `the setting goes before the environment`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("backupfs config set language tr --store $S")
        #expect(try sandbox.sh("backupfs snapshots --store $S", Self.german).hasPrefix("Henüz yedek yok."))
        try sandbox.sh("backupfs config set language de --store $S")
        let refused = try sandbox.run("backupfs config set language fr --store $S", Self.russian)
        #expect(refused.exitCode == 1 && refused.errors.contains("language: значение «fr» не подходит"), "\(refused.errors)")
        try sandbox.sh("backupfs config unset language --store $S")
        #expect(try sandbox.sh("backupfs snapshots --store $S", Self.german).hasPrefix("Noch keine Sicherungen."))
    }

    @Test(arguments: [
        ("a b", "Удалена 1 резервная копия."), ("a b c", "Удалены 2 резервные копии."),
        ("a b c d e f", "Удалено 5 резервных копий."),
    ])
    func `a number has its form`(names: String, text: String) throws {
        let sandbox = try sandbox(backups: names)
        #expect(try sandbox.sh("backupfs forget --keep-last 1 --yes --store $S | tail -1", Self.russian) == text)
    }

    @Test func `a question is answered in the language it is asked in, or in English`() throws {
        for (locale, answer) in [
            ("ru_RU.UTF-8", "удалить ВСЕ"), ("tr_TR.UTF-8", "TÜMÜNÜ SİL"), ("kk_KZ.UTF-8", "Барлығын жою"),
            ("de_DE.UTF-8", "alle löschen"), ("de_DE.UTF-8", "Delete All"),
        ] {
            let sandbox = try sandbox(backups: "a b")
            let cancelled = try sandbox.onTerminal("Nein\\n", "backupfs delete --all --store $S", ["LC_ALL": locale])
            #expect(cancelled.exitCode == 130)
            let deleted = try sandbox.onTerminal("\(answer)\\n", "backupfs delete --all --store $S", ["LC_ALL": locale])
            #expect(deleted.exitCode == 0, "\(deleted.output)")
            #expect(try sandbox.sh("backupfs snapshots --store $S", ["LC_ALL": "C"]) == english)
        }
        let sandbox = try sandbox(backups: "a")
        let shown = try sandbox.onTerminal("\\n", "backupfs delete --all --store $S", Self.german).output
        #expect(
            shown.contains(
                """
                Möchten Sie wirklich alle Sicherungen löschen? Das kann 7 Tage lang rückgängig gemacht werden mit: backupfs undelete. Geben Sie „Alle löschen“ ein
                """.split(separator: "\n").joined()))
        #expect(shown.contains("abgebrochen; es wurde nichts geändert"))
    }

    @Test func `times have the form of the language`() throws {
        let sandbox = try sandbox()
        let time = ["BACKUPFS_NOW": "2026-01-11T14:30:00Z", "TZ": "Europe/Berlin"]
        try sandbox.sh("backupfs backup --store $S", time)
        let command = "backupfs snapshots --store $S | tail -1"
        #expect(
            try sandbox.sh(command, time.merging(Self.german) { $1 }).hasPrefix("2026-01-11_15-30-00  11.01.2026, 15:30:00  "))
        #expect(try sandbox.sh(command, time.merging(["LC_ALL": "tr_TR"]) { $1 }).contains("  11.01.2026 15:30:00  "))
        #expect(try sandbox.sh(command, time.merging(["LC_ALL": "C"]) { $1 }).contains("  2026-01-11 15:30:00  "))
    }

    @Test(arguments: Rounds.part(of: locales, oneIn: 2))
    func `what programs read is the same in all languages`(locale: String) throws {
        let sandbox = try sandbox(backups: "a")
        try sandbox.sh("echo nonsense > $R/broken.json")
        let script = """
            export BACKUPFS_NOW=2026-01-11T14:30:00Z
            backupfs status --json --store $S | jq 'del(.history)'; backupfs snapshots --json --store $S; backupfs check --json --store $S
            backupfs status --prometheus --store $S; backupfs config get --json --store $S | jq 'del(.language)'
            { backupfs restore $R/broken.json --yes --json --store $S 2>&1 || true; } | sed 's/"seconds_remaining":[0-9]*,/"seconds_remaining":null,/'; cat $S/restore/last.json; backupfs backup --dry-run --json --store $S
            backupfs history --json --last 1 --store $S | jq '.[0] | {operation, result, error}'; cat $S/store.yaml; ls $S; cat $S/last-error.json 2>/dev/null || true
            """
        try sandbox.sh(script)
        let english = try sandbox.sh(script, ["LC_ALL": "C"])
        let other = try sandbox.sh(script, ["LC_ALL": locale])
        #expect(english.contains("Invalid file format. Please select a valid backup file."))
        #expect(other == english)
    }

    @Test func `L10-01: a refusal is in the reader's language, with the name of the file and the reason`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("printf 'no backup' > $R/broken.json")
        let refused = try sandbox.run("backupfs restore $R/broken.json --yes --store $S", Self.russian)
        #expect(refused.exitCode == 1)
        #expect(
            refused.errors.contains("broken.json: Неверный формат файла. Выберите подходящий файл резервной копии."),
            "\(refused.errors)")
        let report = try sandbox.sh("cat $S/restore/last.txt", Self.russian)
        #expect(report.contains("broken.json: не восстановлено. Неверный формат файла."), "\(report)")
        #expect(report.contains("Данные остались такими, какими были."))
        let missing = try sandbox.run("backupfs restore $R/none.json --yes --store $S", Self.german)
        #expect(missing.errors.contains("none.json: diese Datei gibt es nicht. Prüfen Sie den Pfad."), "\(missing.errors)")
    }
}
