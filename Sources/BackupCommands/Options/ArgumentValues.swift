import AppData
import ArgumentParser
import BackupCore
import Glibc
import Operations
import SystemIO

extension CompletionKind {
    /// The names of the store's backups.
    static let snapshot = CompletionKind.custom { words, _, _ in SnapshotCompletion.names(words) }
    /// A backup or a file that can be restored.
    static let restorable = CompletionKind.custom { words, _, prefix in
        SnapshotCompletion.names(words) + SnapshotCompletion.files(prefix)
    }
    /// The names of the store's remotes.
    static let remote = CompletionKind.custom { words, _, _ in RemoteCompletion.names(words) }
}

/// Shell completions for names of remotes.
enum RemoteCompletion {
    /// - Parameter words: the command line so far, which may contain `--store`.
    /// - Returns: nothing if the store's settings cannot be read.
    static func names(_ words: [String]) -> [String] {
        guard let path = try? StoreLocation.resolve(SnapshotCompletion.storeOption(words)),
            let remotes = try? SettingsFile(storeAt: path).remotes()
        else { return [] }
        return remotes.map(\.name)
    }
}

/// Shell completions for backup names.
enum SnapshotCompletion {
    /// - Parameter words: the command line so far, which may contain `--store`.
    /// - Returns: the newest first, safety backups last; nothing if the store cannot be opened without asking: completion must
    ///   cause neither questions nor errors.
    static func names(_ words: [String]) -> [String] {
        guard let path = try? StoreLocation.resolve(storeOption(words)),
            let passwords = try? PasswordOptions.parse([]),
            let names = try? SnapshotNames(
                storeAt: path,
                secret: { (repository) throws(BackupError) in .password(try passwords.password(of: repository, asks: false)) })
        else { return [] }
        let backups = names.backups.isEmpty ? [] : names.backups.reversed() + ["latest"]
        return backups + names.safetyBackups.reversed()
    }

    /// Files and folders whose path begins with `prefix`: a custom list replaces the shell's own.
    static func files(_ prefix: String) -> [String] {
        let slash = prefix.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { String(prefix[...$0]) } ?? ""
        let start = slash.map { prefix[prefix.index(after: $0)...] } ?? prefix[...]
        let place = folder.isEmpty ? "." : atHome(folder)
        guard let names = try? DirectoryHandle(path: place).names() else { return [] }
        return names.map(\.description).sorted().filter { $0.hasPrefix(start) && ($0.first != "." || start.first == ".") }
            .map { name in
                let isFolder = FileSystem.statusIfPresent("\(place)/\(name)")?.kind == .directory
                return folder + name + (isFolder ? "/" : "")
            }
    }

    /// The last `--store` of the command line: the shell has not yet expanded `~`.
    static func storeOption(_ words: [String]) -> String? {
        var found: String?
        for (index, word) in words.enumerated() {
            if word == "--store", index + 1 < words.count { found = words[index + 1] }
            if word.hasPrefix("--store=") { found = String(word.dropFirst("--store=".count)) }
        }
        return found.map(atHome)
    }

    private static func atHome(_ path: String) -> String {
        guard path.hasPrefix("~/"), let home = getenv("HOME") else { return path }
        return String(cString: home) + path.dropFirst()
    }
}

extension Channel: ExpressibleByArgument {}

extension ImportStrategy: ExpressibleByArgument {}

/// `SNAP:path` on a command line.
enum SnapshotPathArgument {
    /// The path is empty when there is none.
    static func split(_ text: String) -> (name: String, path: String) {
        guard let colon = text.firstIndex(of: ":") else { return (text, "") }
        return (String(text[..<colon]), String(text[text.index(after: colon)...]))
    }
}
