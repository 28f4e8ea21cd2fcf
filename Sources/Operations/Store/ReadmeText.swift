import AppData
import BackupCore

/// `README.txt` of the mounted tree: how to use this folder.
enum ReadmeText {
    /// - Parameter isEncrypted: whether the repository is.
    static func make(_ definition: AppDefinition, isEncrypted: Bool) -> [UInt8] {
        let keep = definition.retention.safetyKeepLast
        let secrecy =
            isEncrypted
            ? "The backups are encrypted on disk. This folder and exports are not: anybody who can read them can read your data. Encrypt"
            : "Backups and exports are not encrypted: anybody who can read this folder can read your data. Encrypt"
        let text = """
            \(definition.title): live data and backups, as ordinary files
            \(String(repeating: "=", count: definition.title.count + 43))

            live/         the app's data as it is now: export.json, archive.zip, archive.tar, database.sqlite
            snapshots/    every backup; snapshots/latest is the newest
            exports/      every backup as one file under the app's own file name
            restore/      copy a file in, and it \(definition.defaultStrategy == .replace ? "replaces" : "is added to") the app's data
            safety/       backups that restores made before they changed anything (the newest \(keep))
            status.json   the state, for programs

            Back up now        mkdir snapshots/before-upgrade
            Rename a backup    mv snapshots/before-upgrade snapshots/version-2
            Delete a backup    rmdir snapshots/version-2
            Read a backup      ls snapshots/latest
                               unzip -t snapshots/latest/archive.zip
                               tar -xf snapshots/latest/archive.tar -C /some/folder
                               sqlite3 snapshots/latest/database.sqlite .tables
            Check every byte   cd snapshots/latest && sha256sum -c SHA256SUMS
            One checksum       getfattr -n user.checksum.sha256 snapshots/latest/export.json

            Restore            cp old.json restore/\(strategies(definition))
            Look first         cp old.json restore/preview/ && cat restore/preview/old.json.preview.txt
            How did it go?     cat restore/last.txt
            Undo a restore     cp safety/NAME \(definition.defaultStrategy == .replace ? "restore/" : "restore/replace/")

            restore/ takes .json exports, archive.zip and database.sqlite. A file is checked whole before anything changes; if it is refused, the copy
            fails and the data stays as it was. \(warning(definition))A safety backup is made first.

            \(secrecy) a copy before you
            hand it to somebody else, for example with gpg.

            """
        return Array(text.utf8)
    }

    /// A line for each strategy that is not the app's own.
    private static func strategies(_ definition: AppDefinition) -> String {
        definition.strategies.dropFirst().map { strategy in
            let meaning =
                switch strategy {
                case .replace: "Replace all"
                case .merge: "Merge"
                case .skip: "Add what is new"
                }
            let label = meaning + String(repeating: " ", count: 19 - meaning.count)
            return "\n\(label)cp other.json restore/\(strategy.rawValue)/"
        }.joined()
    }

    private static func warning(_ definition: AppDefinition) -> String {
        switch definition.defaultStrategy {
        case .replace: "Importing will DELETE ALL existing data. "
        case .merge, .skip: ""
        }
    }
}
