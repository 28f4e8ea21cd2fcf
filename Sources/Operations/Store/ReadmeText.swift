import AppData
import BackupCore
import SystemIO

/// `README.txt` of the mounted tree: how to use this folder, in the reader's language.
struct ReadmeText {
    /// A task, and the commands for it.
    private struct Recipe {
        let label: Message
        let commands: [String]

        init(_ label: Message, _ commands: String...) {
            self.label = label
            self.commands = commands
        }
    }

    /// The name of the page in the tree.
    static let dashboard = "index.html"
    private static let pathWidth = 14
    private static let commandColumn = 19

    let definition: AppDefinition
    /// Whether the repository is encrypted.
    let isEncrypted: Bool
    /// Whether a restore that replaces all data needs the file `CONFIRM`.
    let confirmsRestores: Bool
    let language: Language

    var text: [UInt8] {
        let title = language.text(self.title)
        let parts = [
            title + "\n" + String(repeating: "=", count: title.count),
            folders.map { path, meaning in padded(path, Self.pathWidth) + language.text(meaning) }.joined(separator: "\n"),
            table(backups), table(restores), language.text(rules), language.text(secrecy),
        ]
        return Array((parts.joined(separator: "\n\n") + "\n").utf8)
    }

    /// `restore/README.txt`: how to restore, and what to do first.
    var restoreText: [UInt8] {
        let title = language.text(self.title)
        let recipes = [lookFirst] + restores.filter { $0.commands != lookFirst.commands }
        let parts = [title + "\n" + String(repeating: "=", count: title.count), table(recipes), language.text(rules)]
        return Array((parts.joined(separator: "\n\n") + "\n").utf8)
    }

    var title: Message { "\(definition.title): live data and backups, as ordinary files" }

    /// What is at the top of the tree.
    var folders: [(path: String, meaning: Message)] {
        let replaces = definition.defaultStrategy == .replace
        return [
            ("live/", "the app's data as it is now: export.json, archive.zip, archive.tar, database.sqlite"),
            ("snapshots/", "every backup; snapshots/latest is the newest"),
            ("exports/", "every backup as one file under the app's own file name"),
            (
                "restore/",
                replaces ? "copy a file in, and it replaces the app's data" : "copy a file in, and it is added to the app's data"
            ),
            (
                "safety/",
                "backups that restores made before they changed anything (the newest \(definition.retention.safetyKeepLast))"
            ),
            ("versions/", "every media file and collection as a folder with its versions in all backups"),
            ("history/", "every record as a folder with its states in all backups"),
            ("control/", "write into its files to back up, check, cancel and more"),
            ("reports/", "what backups, restores and checks reported"),
            (Self.dashboard, "the state, as a page for a browser"),
            ("status.json", "the state, for programs"),
        ]
    }

    private var backups: [Recipe] {
        [
            Recipe("Back up now", "mkdir snapshots/before-upgrade"),
            Recipe("Rename a backup", "mv snapshots/before-upgrade snapshots/version-2"),
            Recipe("Delete a backup", "rmdir snapshots/version-2"),
            Recipe(
                "Read a backup", "ls snapshots/latest", "unzip -t snapshots/latest/archive.zip",
                "tar -xf snapshots/latest/archive.tar -C /some/folder", "sqlite3 snapshots/latest/database.sqlite .tables"),
            Recipe("Check every byte", "cd snapshots/latest && sha256sum -c SHA256SUMS"),
            Recipe("One checksum", "getfattr -n user.checksum.sha256 snapshots/latest/export.json"),
        ]
    }

    private var lookFirst: Recipe {
        Recipe("Look first", "cp old.json restore/preview/ && cat restore/preview/old.json.preview.txt")
    }

    private var restores: [Recipe] {
        let others = definition.strategies.dropFirst().map { strategy in
            let label: Message =
                switch strategy {
                case .replace: "Replace all"
                case .merge: "Merge"
                case .skip: "Add what is new"
                }
            return Recipe(label, "cp other.json restore/\(strategy.rawValue)/")
        }
        return [Recipe("Restore", "cp old.json restore/")] + others + [
            lookFirst,
            Recipe("One record", "cp history/COLLECTION/KEY/STATE.json restore/"),
            Recipe("How did it go?", "cat restore/last.txt"),
            Recipe(
                "Undo a restore", "cp safety/NAME \(definition.defaultStrategy == .replace ? "restore/" : "restore/replace/")"),
        ]
    }

    private var rules: Message {
        let checks: Message = """
            restore/ takes .json exports, archive.zip and database.sqlite. A file is checked whole before anything changes; if it is refused,
            the copy fails and the data stays as it was.
            """
        var safety: Message = "A safety backup is made first."
        if confirmsRestores {
            safety = .joined(
                [safety, "Before a file that replaces all data, make a file named CONFIRM in restore/."], separator: "\n")
        }
        guard definition.defaultStrategy == .replace else { return .joined([checks, safety], separator: "\n") }
        return .joined([checks, "Importing will DELETE ALL existing data. \(safety)"], separator: "\n")
    }

    private var secrecy: Message {
        isEncrypted
            ? """
            The backups are encrypted on disk. This folder and exports are not: anybody who can read them can read your data. Encrypt a copy
            before you give it to another person, for example with gpg.
            """
            : """
            Backup files are not encrypted. Anybody who can read this folder, or an export, can read your data. Encrypt a copy before you
            give it to another person, for example with gpg.
            """
    }

    private func table(_ recipes: [Recipe]) -> String {
        let labels = recipes.map { language.text($0.label) }
        let width = max(Self.commandColumn, (labels.map(\.count).max() ?? 0) + 2)
        return zip(labels, recipes).flatMap { label, recipe in
            recipe.commands.enumerated().map { index, command in padded(index == 0 ? label : "", width) + command }
        }.joined(separator: "\n")
    }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
