import BackupCore
import SystemIO

/// If the word in a command's place is not a command, it is a mountpoint: `backupfs /mnt/backups`. But a word close to a command is more likely to be a typo.
enum MistypedVerb {
    /// Names that other programs use for the same commands.
    private static let others = [
        "list": "ls", "dir": "ls", "unmount": "umount", "remove": "delete", "rm": "delete", "rmdir": "delete", "log": "history",
        "create": "backup", "extract": "restore", "settings": "config", "info": "status", "backups": "snapshots",
        "dump": "export",
        "compare": "diff", "search": "find", "stop": "cancel", "expire": "forget", "gc": "prune", "compact": "prune",
    ]

    /// - Parameters:
    ///   - word: the supposed mountpoint.
    ///   - arguments: the command line, whose command may be `mount`.
    /// - Returns: the intended command; `nil` if it is a mountpoint.
    static func meant(by word: String, arguments: [String]) -> String? {
        guard !word.contains("/"), word != ".", word != "..", !arguments.dropFirst().contains("mount") else { return nil }
        if let verb = others[word.lowercased()] { return verb }
        let verbs = BackupFS.configuration.subcommands.compactMap { $0.configuration.commandName }
        guard let near = SpellingSuggestion.nearest(to: word, among: verbs) else { return nil }
        // An existing folder whose name is not nearly the same is intended as one: mnt is not mount.
        guard (try? FileSystem.exists(word)) != false else { return near }
        return abs(near.utf8.count - word.utf8.count) <= 1 && word.utf8.count > 3 ? near : nil
    }

    /// Whether a word can be neither a command nor a mountpoint: there is no such folder, and the word is not a path to create one at.
    static func isUnknown(_ word: String, arguments: [String]) -> Bool {
        guard !word.contains("/"), word != ".", word != "..", !arguments.dropFirst().contains("mount") else { return false }
        return (try? FileSystem.exists(word)) == false
    }

    /// Otherwise `copy --help` would show the help of `mount`, the default for a command line without a command.
    /// - Throws: `usage`.
    static func checkHelp(_ arguments: [String]) throws(BackupError) {
        guard arguments.contains("--help") || arguments.contains("-h"), let word = arguments.dropFirst().first,
            !word.hasPrefix("-"), word != "help",
            !BackupFS.configuration.subcommands.contains(where: { $0.configuration.commandName == word }),
            isUnknown(word, arguments: arguments)
        else { return }
        throw BackupError(
            .usage, "there is no command “\(MessageText.shortened(word))”",
            remedy: meant(by: word, arguments: arguments).map { "Did you mean \($0)?" } ?? "See: backupfs --help")
    }
}
