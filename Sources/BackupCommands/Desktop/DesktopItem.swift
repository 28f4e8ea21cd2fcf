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
    case media(file: [FileName], path: [FileName], version: [UInt8])

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
            self = .media(file: names, path: Array(names[3...]), version: names[1].bytes)
        case ("versions", 4...) where names[1] == "media":
            self = .media(file: names, path: names[2...].dropLast(), version: Self.parts(of: names[names.count - 1]).stem)
        default: return nil
        }
    }

    /// A name in two parts: `IMG_1` and `.jpg`.
    static func parts(of name: FileName) -> (stem: [UInt8], fileExtension: [UInt8]) {
        guard let dot = name.bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return (name.bytes, []) }
        return (Array(name.bytes[..<dot]), Array(name.bytes[dot...]))
    }
}
