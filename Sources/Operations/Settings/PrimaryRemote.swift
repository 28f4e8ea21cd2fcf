import BackupCore
import SystemIO

extension StoreSettings {
    /// The name under which the store keeps what it knows of a repository on a server, unless `remotes` has an entry for it.
    static let primaryName = "repository"

    /// The server that keeps the repository; `nil` for a repository in a folder.
    public var primary: RemoteSettings? {
        guard repositoryPath.hasPrefix(RemoteSettings.serverScheme) else { return nil }
        return primaryOptions ?? (try? .ofRepository(at: repositoryPath))
    }
}

extension RemoteSettings {
    /// The server that keeps a repository, reached in the usual way. Messages name its host.
    public static func ofRepository(at url: String) throws(BackupError) -> RemoteSettings {
        try ofRepository(at: url, name: StoreSettings.primaryName)
    }

    /// The server that keeps a repository of no store. What is read of it is kept as that of no remote of the settings, for each
    /// place by itself: several programs may use several of them at once.
    public static func ofOtherRepository(at url: String) throws(BackupError) -> RemoteSettings {
        try ofRepository(at: url, name: "_other-\(SHA256Hasher.hash(Array(url.utf8)).hexadecimal.prefix(16))")
    }

    private static func ofRepository(at url: String, name: String) throws(BackupError) -> RemoteSettings {
        var settings = try RemoteSettings(name: name, url: url)
        settings.kind = .primary
        settings.label = settings.hostName
        return settings
    }

    /// Whether the setting `repository` says all of it.
    var isUsual: Bool { (try? Self.ofRepository(at: url)) == self }
}
