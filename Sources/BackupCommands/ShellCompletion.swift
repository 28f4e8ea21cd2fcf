import ArgumentParser
import BackupCore
import Glibc
import Operations
import SystemIO

extension CompletionKind {
    /// The names of the store's backups.
    static let snapshot = CompletionKind.custom { words, _, _ in SnapshotCompletion.names(words) }
}

/// What a shell offers where a backup is to be named.
enum SnapshotCompletion {
    /// - Parameter words: of the command line as it stands, of which `--store` is looked at.
    /// - Returns: nothing where the store cannot be opened without asking: whoever presses a key wants no questions and no errors.
    static func names(_ words: [String]) -> [String] {
        guard let path = try? StoreLocation.resolve(storeOption(words)),
            let passwords = try? PasswordOptions.parse([]),
            let names = try? Store.snapshotNames(
                at: path,
                secret: { (repository) throws(BackupError) in .password(try passwords.password(of: repository, asks: false)) })
        else { return [] }
        return names.isEmpty ? [] : names.reversed() + ["latest"]
    }

    /// The last `--store` of the command line: the shell has not put the home folder in the place of `~` yet.
    private static func storeOption(_ words: [String]) -> String? {
        var found: String?
        for (index, word) in words.enumerated() {
            if word == "--store", index + 1 < words.count { found = words[index + 1] }
            if word.hasPrefix("--store=") { found = String(word.dropFirst("--store=".count)) }
        }
        guard let path = found, path.hasPrefix("~/"), let home = getenv("HOME") else { return found }
        return String(cString: home) + path.dropFirst()
    }
}
