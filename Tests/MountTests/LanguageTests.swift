import Glibc
import TestSupport
import Testing

/// The mounted tree uses the language of the store, or of the mounting user.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct LanguageTests {
    @Test func `README.txt, previews and last.txt are in the language of the mount`() throws {
        try Sandbox.withMount("--sample", ["LC_ALL": "ru_RU.UTF-8"]) { sandbox in
            let readme = try sandbox.sh("cat $M/README.txt")
            #expect(
                readme.hasPrefix(
                    "EV Charging Tracker: текущие данные и резервные копии в виде обычных файлов\n"
                        + String(repeating: "=", count: 75)),
                "\(readme.prefix(300))")
            #expect(readme.contains("Создать копию сейчас") && readme.contains("mkdir snapshots/before-upgrade"))
            #expect(try sandbox.sh("stat -c %s $M/README.txt") == sandbox.sh("wc -c < $M/README.txt"))
            try sandbox.sh("printf 'no backup' > $R/bad.json; ! cp $R/bad.json $M/restore/preview/; ! cp $R/bad.json $M/restore/")
            #expect(try sandbox.sh("cat $M/restore/preview/bad.json.preview.txt").contains("Неверный формат файла."))
            #expect(try sandbox.sh("cat $M/restore/last.txt").contains("bad.json: не восстановлено. Неверный формат файла."))
            // Texts for programs are in English.
            #expect(
                try sandbox.sh("jq -r .message $M/restore/last.json") == "Invalid file format. Please select a valid backup file."
            )
            #expect(
                try sandbox.sh("getfattr --only-values -n user.backupfs.error $M/restore/bad.json")
                    .hasPrefix("Invalid file format. Please select a valid backup file."))
            #expect(try sandbox.sh("jq -r .lastError.message $M/status.json | head -1").allSatisfy(\.isASCII))
        }
    }

    @Test func `the setting of the store is in force at once`() throws {
        try Sandbox.withMount("", ["LC_ALL": "C.UTF-8"]) { sandbox in
            #expect(try sandbox.sh("head -1 $M/README.txt").hasSuffix(": live data and backups, as ordinary files"))
            try sandbox.sh("backupfs config set language de --store $S")
            kill(try #require(sandbox.daemons.first), SIGHUP)
            try sandbox.sh("wait_until grep -q Sicherungen $M/README.txt")
            #expect(
                try sandbox.sh("head -1 $M/README.txt").hasSuffix(": aktuelle Daten und Sicherungen, als gewöhnliche Dateien"))
            #expect(
                try sandbox.sh("grep 'Jetzt sichern' $M/README.txt")
                    == "Jetzt sichern              mkdir snapshots/before-upgrade")
        }
    }
}
