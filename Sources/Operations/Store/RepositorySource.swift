import BackupCore
import BackupRepository
import SystemIO

/// One line of backups in a repository, as `init` lists it for the user to choose.
public struct RepositorySource: Sendable {
    /// `nil` for backups of one app that do not record which store made them.
    public let id: SourceID?
    /// The name of the app's definition.
    public let app: String
    /// The app's display name.
    public let title: String
    /// The name of the host of the store that makes them.
    public let hostName: String
    /// Number of the source's backups.
    public let backupCount: Int
    /// The last one made.
    public let newest: Snapshot
    /// `nil` if the repository has none that can be read.
    let document: SourceDocument?

    /// Its short name: the first digits of its ID, or `unmarked`.
    public var name: String { id?.short ?? Self.unmarkedName }
    static let unmarkedName = "unmarked"

    /// The sources that have backups, sorted by name.
    static func all(in repository: Repository) throws(BackupError) -> [RepositorySource] {
        struct Key: Hashable {
            let source: SourceID?
            let app: String
        }
        let documents = Dictionary(try repository.sources().map { ($0.id, $0) }) { first, _ in first }
        let groups = Dictionary(grouping: repository.snapshots(kind: .snapshot)) { snapshot in
            // A source belongs to one app; backups without a source are distinguished only by app.
            Key(
                source: snapshot.source,
                app: snapshot.source == nil ? snapshot.record.attributes[Snapshot.appAttribute] ?? "" : "")
        }
        let sources = groups.compactMap { key, snapshots -> RepositorySource? in
            guard let newest = snapshots.max(by: Snapshot.wasMadeBefore) else { return nil }
            let document = key.source.flatMap { documents[$0] }
            let app = document?.app ?? newest.record.attributes[Snapshot.appAttribute] ?? ""
            return RepositorySource(
                id: key.source, app: app, title: document?.title ?? app, hostName: document?.hostName ?? "",
                backupCount: snapshots.count, newest: newest, document: document)
        }
        return sources.sorted { ($0.id?.hexadecimal ?? "~", $0.app) < ($1.id?.hexadecimal ?? "~", $1.app) }
    }

    /// The settings of the store that makes this source's backups; `nil` if the repository has none that can be read.
    /// - Parameter path: for errors.
    func settings(path: String) -> StoreSettings? {
        guard let document else { return nil }
        return try? StoreSettings(SettingsText(document.settings, path: path))
    }

    /// Whether the store that makes this source's backups is on this machine and in use, or was replaced by one that adopted
    /// them: another store then does not take them over automatically.
    var hasLivingStore: Bool {
        guard let document else { return false }
        let identity = try? StoreIdentity.read(StorePaths(root: document.storePath).identity)
        return identity?.storeID == document.storeID || identity?.adoption?.isOf(document) == true
    }

    /// A line for a list.
    public var line: Message {
        let place = hostName.isEmpty ? "" : MessageText.shortened(hostName)
        let time = SystemClock.localTime(newest.creationTime)
        let shownTitle = MessageText.shortened(title)
        return place.isEmpty
            ? .plural(
                backupCount, one: "\(name): \(shownTitle), \(backupCount) backup, made \(time)",
                other: "\(name): \(shownTitle), \(backupCount) backups, the newest made \(time)")
            : .plural(
                backupCount, one: "\(name): \(shownTitle) on \(place), \(backupCount) backup, made \(time)",
                other: "\(name): \(shownTitle) on \(place), \(backupCount) backups, the newest made \(time)")
    }
}

/// What a new store does with existing backups in its repository.
public enum SourceChoice: Sendable, Equatable {
    /// Continues the only source, if it is of the same app and the new store has no data of its own. Begins a new one if the app
    /// has none, or if a store of this machine uses the only one.
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
