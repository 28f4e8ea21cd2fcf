import BackupCore
import BackupRepository

/// What a new store does with existing backups in its repository.
public enum SourceChoice: Sendable, Equatable {
    /// Continues the only source, if it is of the same app and the new store has no data of its own. Begins a new one if the app has none, or if a store of
    /// this machine uses the only one.
    case automatic
    /// Continues the source of this name or ID.
    case adopt(String)
    /// Begins a new source.
    case begin

    /// - Parameters:
    ///   - app: the app that the user named, or that the named database belongs to; `nil` if unspecified.
    ///   - hasOwnData: whether the new store has data that the source's backups may not contain.
    /// - Returns: the source to continue; `nil` to begin one.
    /// - Throws: `usage` when the user must choose; `notFound`.
    func chosen(
        among sources: [RepositorySource], app: String?, hasOwnData: (RepositorySource) throws(BackupError) -> Bool
    ) throws(BackupError) -> RepositorySource? {
        switch self {
        case .begin: return nil
        case .adopt(let name): return try Self.named(name, among: sources)
        case .automatic:
            let fitting = sources.filter { app == nil || $0.app == app }
            guard let only = fitting.first else { return nil }
            guard fitting.count == 1 else {
                throw BackupError(
                    .usage, "the repository holds the backups of \(fitting.count) stores",
                    remedy: "Say which one to continue with --adopt, or begin another one with --new-source.",
                    findings: fitting.map(\.line))
            }
            if only.hasLivingStore { return nil }
            guard try !hasOwnData(only) else {
                throw BackupError(
                    .usage,
                    "the repository holds the backups of another store, and the new store has data of its own: with both in one line of backups, the rule would remove the other store's",
                    remedy:
                        "If this store replaces the other one, continue its backups with --adopt \(only.name); else begin another line with --new-source.",
                    findings: [only.line])
            }
            return only
        }
    }

    private static func named(_ name: String, among sources: [RepositorySource]) throws(BackupError) -> RepositorySource {
        let found = sources.filter { source in
            source.id.map { !name.isEmpty && $0.hexadecimal.hasPrefix(name.lowercased()) } ?? (name == source.name)
        }
        guard let only = found.first, found.count == 1 else {
            throw BackupError(
                found.isEmpty ? .notFound : .usage,
                found.isEmpty
                    ? "the repository holds no backups of a source \(MessageText.shortened(name))"
                    : "the repository holds several sources \(MessageText.shortened(name))",
                remedy: "Name one of these with --adopt.", findings: sources.map(\.line))
        }
        return only
    }
}
