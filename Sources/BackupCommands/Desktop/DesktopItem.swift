import BackupCore
import SystemIO

/// What a file or folder in the mount brings back when it is restored.
enum DesktopItem {
    /// Everything of a backup, by its archive.
    case backup(name: FileName, archive: [FileName])
    /// All records, or all data, by a file of them.
    case everything(file: [FileName])
    /// Single records, by a file of them.
    case records(file: [FileName])
    /// A file of the app's media folder.
    case media(file: [FileName], path: [FileName], version: String)

    /// - Returns: `nil` for what is not restored from there.
    init?(_ names: [FileName]) {
        switch (names.first, names.count) {
        case ("snapshots", 2): self = .backup(name: names[1], archive: names + ["archive.tar"])
        case ("snapshots", 3) where ["archive.tar", "archive.zip", "index.html", "manifest.json"].contains(names[2]):
            self = .backup(name: names[1], archive: names.prefix(2) + ["archive.tar"])
        case ("snapshots", 3) where ["export.json", "database.sqlite"].contains(names[2]): self = .everything(file: names)
        case ("exports", 2), ("safety", 2): self = .everything(file: names)
        case ("snapshots", 4) where names[2] == "data": self = .records(file: names)
        case ("versions", 4) where names[1] == "data": self = .records(file: names)
        case ("history", 4) where names[3] != "changes.txt": self = .records(file: names)
        case ("snapshots", 4...) where names[2] == "media":
            self = .media(file: names, path: Array(names[3...]), version: names[1].description)
        case ("versions", 4...) where names[1] == "media":
            self = .media(file: names, path: names[2...].dropLast(), version: Self.stem(of: names[names.count - 1]))
        default: return nil
        }
    }

    /// `2026-01-11_14-30-00` of `2026-01-11_14-30-00.jpg`.
    private static func stem(of version: FileName) -> String {
        let text = version.description
        return text.lastIndex(of: ".").map { String(text[..<$0]) } ?? text
    }
}
