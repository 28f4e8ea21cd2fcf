import BackupCore
import ObjectStorage
import SystemIO

/// One remote of a store: a place outside this machine where a copy of the repository lies. From `store.yaml`.
public struct RemoteSettings: Sendable, Equatable {
    /// What a remote is for.
    public enum Kind: String, Sendable, CaseIterable {
        /// It has a copy of the repository.
        case copy
        /// It keeps the repository itself: its url is the setting `repository`.
        case primary
        /// It has the starred photos, and no copy of the repository.
        case photos
    }

    /// Its name in commands, in `store.yaml` and in paths: 1 to 64 letters a-z and A-Z, digits, `-`, `_` and `.`.
    public let name: String
    /// `s3:https://HOST/BUCKET/PREFIX`, or a folder: an absolute path, or one relative to the store.
    public var url: String
    /// The service's name in messages; `nil` for the remote's own name.
    public var label: String?
    /// Whether it has a copy, or the repository itself.
    public var kind = Kind.copy
    /// Whether each backup is uploaded when it is complete.
    public var isAutomatic = true
    /// `nil` for that of the environment or of the server's name.
    public var region: String?
    /// `nil` for the usual one of the server.
    public var addressingStyle: S3Location.AddressingStyle?
    /// Whether connections to other machines may be without TLS.
    public var permitsPlainHTTP = false
    /// A section of the files `~/.aws/credentials` and `~/.aws/config`; `nil` for the environment, else the section `default`.
    public var profile: String?
    /// A command that prints the credentials; it takes precedence over a profile.
    public var credentialsCommand: String?
    /// Authorities that are trusted instead of the system's: a PEM file, absolute or relative to the store.
    public var certificateFile: String?
    /// `nil` for the bucket's default.
    public var storageClass: String?
    /// Encryption by the server; `nil` for the bucket's default.
    public var serverSideEncryption: S3Options.Encryption?
    /// For how long the server keeps new objects from being removed; `nil` for the bucket's default.
    public var objectLock: S3Options.ObjectLock?
    /// `nil` for no limit.
    public var uploadBytesPerSecond: UInt64?
    /// `nil` for no limit.
    public var downloadBytesPerSecond: UInt64?
    /// How many requests run at once: 1 to 64.
    public var parallelRequests = Self.standardParallelRequests
    /// Nothing is uploaded that would make the copy larger than this; `nil` for no limit.
    public var quotaBytes: UInt64?
    /// Which backups are kept there. Without any rule, all are uploaded and none is removed.
    public var retention = RetentionPolicy()

    /// The number of requests that run at once, unless it is set.
    public static let standardParallelRequests = 8

    /// - Throws: `usage` for a name that a remote cannot have. The URL is checked with all settings (`check`).
    public init(name: String, url: String) throws(BackupError) {
        guard Self.isName(name) else {
            throw BackupError(
                .usage, "“\(MessageText.shortened(name))” cannot be the name of a remote",
                remedy: "Use 1 to 64 letters a-z and A-Z, digits, “-”, “_” and “.”, with a letter, a digit or “_” first.")
        }
        self.name = name
        self.url = url
    }

    /// Its name in messages for people.
    public var shownLabel: String { label ?? name }

    /// Whether it is on a server, not in a folder.
    public var isOnServer: Bool { url.hasPrefix(Self.serverScheme) }

    /// The beginning of the URL of a place on a server.
    public static let serverScheme = S3Location.scheme

    /// The server's name, for messages; `nil` for a folder.
    var hostName: String? {
        guard isOnServer, let host = try? location().host else { return nil }
        return String(host.prefix { $0 != ":" })
    }

    static func isName(_ text: String) -> Bool {
        let bytes = text.utf8
        guard (1...64).contains(bytes.count), bytes.first != UInt8(ascii: "."), bytes.first != UInt8(ascii: "-") else {
            return false
        }
        return bytes.allSatisfy { byte in
            switch byte {
            case 45, 46, 48...57, 65...90, 95, 97...122: true
            default: false
            }
        }
    }

    /// The place on a server.
    /// - Throws: `invalidArgument`.
    func location() throws(BackupError) -> S3Location {
        try S3Location(url, style: addressingStyle, permitsPlainHTTP: permitsPlainHTTP)
    }

    /// Whether two remotes have one place, as far as their URLs say.
    func isAtSamePlace(as other: RemoteSettings) -> Bool {
        if isOnServer, other.isOnServer, let first = try? location(), let second = try? other.location() {
            return first.host == second.host && first.bucket == second.bucket && first.prefix == second.prefix
        }
        guard !isOnServer, !other.isOnServer, url.hasPrefix("/") == other.url.hasPrefix("/") else { return url == other.url }
        func components(_ path: String) -> [Substring] { path.split(separator: "/").filter { $0 != "." } }
        return components(url) == components(other.url)
    }

    /// - Throws: `usage` for a URL that is none, and for settings that do not go with it.
    public func check() throws(BackupError) {
        if isOnServer {
            do throws(BackupError) {
                _ = try location()
            } catch {
                throw error.with(.usage)
            }
            return
        }
        let scheme = url.prefix { $0 != ":" && $0 != "/" }
        guard scheme.count == url.count || url[scheme.endIndex] == "/" else {
            throw BackupError(
                .usage, "this is neither the location of an S3 server nor a folder", path: MessageText.shortened(shownURL),
                remedy:
                    "Write s3:https://HOST/BUCKET/PREFIX, or the path of a folder, with ./ before a name that contains a colon.")
        }
        guard !url.isEmpty, !url.hasPrefix("~"), !url.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw BackupError(
                .usage, "this is no path of a folder", path: url.isEmpty ? nil : MessageText.shortened(url),
                remedy: "Write the whole path, which begins with /, or one relative to the store.")
        }
        for setting in RemoteSetting.all where setting.isForServers && setting.text(self) != nil {
            // Photos can lie in a folder.
            if setting.name == RemoteSetting.kindName, kind == .photos { continue }
            throw BackupError(
                .usage, "\(setting.name) is for servers, and this remote is a folder", path: MessageText.shortened(url),
                remedy: "Remove it.")
        }
    }

    /// The URL without a password that does not belong there.
    private var shownURL: String {
        guard let at = url.lastIndex(of: "@"), let colon = url.firstIndex(of: ":"), colon < at else { return url }
        return "\(url[...colon])…\(url[at...])"
    }
}

extension StoreSettings {
    /// - Parameter path: the file, for an error.
    /// - Throws: `notFound` for an unknown name, with those that there are.
    public func remote(named name: String, path: String? = nil) throws(BackupError) -> RemoteSettings {
        if let found = remotes.first(where: { $0.name == name }) { return found }
        throw Self.noRemote(name, among: remotes.map(\.name), path)
    }

    static func noRemote(_ name: String, among names: [String], _ path: String?) -> BackupError {
        let meant = SpellingSuggestion.nearest(to: name, among: names)
        let remedy: Message =
            if let meant {
                "Did you mean \(meant)?"
            } else if names.isEmpty {
                "Add one with: backupfs remote add NAME URL"
            } else {
                "There are: \(names.joined(separator: ", "))."
            }
        return BackupError(.notFound, "there is no remote “\(MessageText.shortened(name))”", path: path, remedy: remedy)
    }
}
