import AppData
import BackupCore
import BackupRepository
import Glibc
import SystemIO

/// The parameters of a new store.
public struct StoreCreation {
    /// A built-in app's name, or the path of a definition file, which is copied into the store. `nil` detects it: the app of the
    /// source that is continued, the built-in app whose tables the database has, or a definition generated from the database.
    public var app: String?
    /// The app's own database, left in place; `nil` creates one in the store.
    public var databasePath: String?
    /// The app's media folder, left in place; `nil` for one in the store, or none.
    public var mediaPath: String?
    /// The place for the repository, or an existing one to continue; `nil` puts it into the store.
    public var repositoryPath: String?
    /// How the server that `repositoryPath` names is reached; `nil` for a folder.
    public var server: RemoteSettings?
    /// What to do with the backups in an existing repository.
    public var sourceChoice = SourceChoice.automatic
    /// Called for the password of a new repository, which is then encrypted; `nil` creates an unencrypted one.
    public var newPassword: (() throws(BackupError) -> SecretBytes)?
    /// Called for the password of an existing repository, if it is encrypted.
    public var secret: RepositorySecretSource?
    /// Whether a file that is copied into `restore/` needs a confirmation to replace all data. A continued store keeps its own
    /// setting.
    public var confirmsRestores = false
    /// Fills a new database and media folder with sample data, with this many expenses if the app has any; `nil` for none.
    public var sampleRecordCount: Int?

    /// What `init` uses without an app and without a database.
    public static let defaultApp = "ev-charging-tracker"
    /// Expenses of the sample data, unless a number is requested.
    public static let defaultSampleRecordCount = 1_200

    public init(app: String? = StoreCreation.defaultApp) { self.app = app }

    /// A new store, and what its repository contained before.
    public struct Created: Sendable {
        public let store: Store
        /// The source that it continues.
        public let adopted: RepositorySource?
        /// The sources of other stores.
        public let others: [RepositorySource]
        /// Settings of the adopted store that were not taken over: anyone with write access to the repository could have set a
        /// command.
        public let settingsLeftOut: [String]
        /// Whether the adopted store's settings are unreadable: then the store removes nothing automatically until its user
        /// enables that.
        public let hasUnreadableSettings: Bool
    }

    /// Creates the store beside its final place and renames it: a crash leaves no partial store.
    /// - Throws: `alreadyExists` when there is a store, or anything else, at `path`; `usage` when the repository has several
    ///   sources and none was chosen.
    public func create(at path: String) throws(BackupError) -> Store { try make(at: path).store }

    /// The same, with details about the repository.
    public func make(at path: String) throws(BackupError) -> Created {
        for place in [path, repositoryPath].compactMap(\.self) {
            try StorePaths.requireOneLine(FileSystem.absolutePath(place))
        }
        try server?.check()
        if try FileSystem.exists(StorePaths(root: path).settings) {
            throw BackupError(.alreadyExists, "there is a backupfs store here already", path: path)
        }
        try FileSystem.makeDirectories(FileSystem.parentPath(path))
        var draft = StoreDraft(self, at: "\(path).new-\(RandomToken.make())", finalPath: path)
        var masterKey: SecretBytes?
        do throws(BackupError) {
            masterKey = try draft.build().masterKey
            guard rename(draft.path, path) == 0 else {
                let code = errno
                if code == ENOTEMPTY || code == EEXIST || code == ENOTDIR {
                    throw BackupError(
                        .alreadyExists, "something else is here already", path: path,
                        remedy: "Choose an empty folder for the store.")
                }
                throw SystemCall.error(code, action: "make the store", path: path)
            }
        } catch {
            try? FileSystem.removeTree(draft.path)
            throw error
        }
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(path))
        return Created(
            store: try open(path, masterKey), adopted: draft.adopted, others: draft.others,
            settingsLeftOut: draft.settingsLeftOut, hasUnreadableSettings: draft.hasUnreadableSettings)
    }

    /// Opens the store with the key, so that the password is requested only once.
    private func open(_ path: String, _ masterKey: SecretBytes?) throws(BackupError) -> Store {
        guard let masterKey else { return try Store.open(path) }
        let store = try Store.open(path) { (_) throws(BackupError) in .masterKey(masterKey) }
        return store
    }
}

/// The content of a new, empty database: no records, and this machine's name as the device in exports.
struct InitialMetadata: RecordSource {
    /// The metadata member, in the wire formats that have one.
    private static let deviceField = "deviceName"

    let definition: AppDefinition

    func visit(with visitor: any RecordVisitor) throws(BackupError) {
        let fields = definition.metadata.fields
        guard let index = fields.firstIndex(where: { $0.name == Self.deviceField }), let name = Self.hostName else { return }
        let metadata = RecordBuffer(fieldCount: fields.count)
        for (other, field) in fields.enumerated() {
            switch field.source {
            case .stored: if let value = field.defaultValue { metadata.set(other, text: value) }
            case .creationTime: metadata.set(other, time: SystemClock.now(), as: field.type)
            case .constant: if let value = field.defaultValue { metadata.set(other, text: value) }
            case .schemaVersion: metadata.set(other, integer: Int64(definition.schemaVersion))
            }
        }
        metadata.set(index, text: name)
        try visitor.visit(metadata: metadata)
    }

    private static var hostName: String? {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return nil }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name.isEmpty ? nil : name
    }
}
