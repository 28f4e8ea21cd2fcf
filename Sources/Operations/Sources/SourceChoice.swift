import BackupCore
import BackupRepository

/// What a new store does with the backups that its repository holds already.
public enum SourceChoice: Sendable, Equatable {
    /// Continues the only source, if it is of the same app and no other store of this machine makes its backups; else begins its own.
    case automatic
    /// Continues the source of this name or ID.
    case adopt(String)
    /// Begins its own.
    case begin

    /// - Parameters:
    ///   - app: the app that the user has named, or that the named database is of; `nil` when nothing was said of it.
    /// - Returns: the source to continue; `nil` to begin one.
    /// - Throws: `usage` when the user must say which; `notFound`.
    func chosen(among sources: [RepositorySource], app: String?) throws(BackupError) -> RepositorySource? {
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
            return only.hasLivingStore ? nil : only
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
