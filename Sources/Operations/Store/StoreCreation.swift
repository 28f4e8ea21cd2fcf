import AppData
import BackupCore
import BackupRepository
import Glibc
import SystemIO

/// What a new store is to be like.
public struct StoreCreation {
    /// A built-in app's name, or the path of a definition file, which is copied into the store.
    /// `nil` finds out: the built-in app whose tables the database has, or a definition made of the database.
    public var app: String?
    /// The app's own database, left where it lies; `nil` makes one in the store.
    public var databasePath: String?
    public var mediaPath: String?
    /// Where the repository goes, or an existing one to go on with; `nil` puts it into the store.
    public var repositoryPath: String?
    /// Asked for the password of a new repository, which is then encrypted; `nil` makes a plain one.
    public var newPassword: (() throws(BackupError) -> SecretBytes)?
    /// Asked for the password of an existing repository, if it is encrypted.
    public var secret: RepositorySecretSource?
    /// How many expenses of sample data to put into a new database; `nil` for none.
    public var sampleRecordCount: Int?

    public static let defaultApp = "ev-charging-tracker"
    public static let defaultSampleRecordCount = 1_200

    public init(app: String? = StoreCreation.defaultApp) { self.app = app }

    /// Makes the store beside its place and renames it there: a crash leaves no half store.
    /// - Throws: `alreadyExists` when there is a store, or anything else, at `path`.
    public func create(at path: String) throws(BackupError) -> Store {
        if FileSystem.exists(StorePaths(root: path).settings) {
            throw BackupError(.alreadyExists, "there is a backupfs store here already", path: path)
        }
        try FileSystem.makeDirectories(FileSystem.parentPath(path))
        let draft = "\(path).new-\(RandomToken.make())"
        var masterKey: SecretBytes?
        do throws(BackupError) {
            masterKey = try build(at: draft).masterKey
            guard rename(draft, path) == 0 else {
                let code = errno
                if code == ENOTEMPTY || code == EEXIST || code == ENOTDIR {
                    throw BackupError(
                        .alreadyExists, "something else is here already", path: path,
                        remedy: "Choose an empty folder for the store.")
                }
                throw SystemCall.error(code, action: "make the store", path: path)
            }
        } catch {
            try? FileSystem.removeTree(draft)
            throw error
        }
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(path))
        // Nobody is asked twice.
        guard let masterKey else { return try Store.open(path) }
        return try Store.open(path) { (_) throws(BackupError) in .masterKey(masterKey) }
    }

    /// - Returns: its repository.
    private func build(at path: String) throws(BackupError) -> Repository {
        let paths = StorePaths(root: path)
        try FileSystem.makeDirectories(path)
        let appName: String
        if let app { appName = app } else { appName = try foundApp(path) }
        var settings = StoreSettings(
            app: appName, databasePath: "app/database.sqlite", mediaPath: nil, repositoryPath: "repository")
        if let app, app.hasSuffix(".yaml") {
            // From where it lies, so that an error names the file that its author knows.
            _ = try Store.definition(FileSystem.absolutePath(app), in: paths)
            settings.app = "app.yaml"
            try FileSystem.writeFileAtomically("\(path)/app.yaml", FileSystem.readFile(app))
        }
        let definition = try Store.definition(settings.app, in: paths)

        if let databasePath {
            settings.databasePath = FileSystem.absolutePath(databasePath)
            guard FileSystem.exists(settings.databasePath) else {
                throw BackupError(
                    .notFound, "there is no database here", path: settings.databasePath,
                    remedy: "Name the app's SQLite file with --database.")
            }
            // Fails here, and not at the first backup, when the file is not this app's database.
            _ = try AppDatabase(opening: settings.databasePath, definition: definition)
        } else if definition.coversWholeDatabase {
            throw BackupError(
                .usage, "the app \(definition.name) has no tables but those of its database",
                remedy: "Name its SQLite file with --database.")
        } else {
            try FileSystem.makeDirectories("\(path)/app")
            let database = try AppDatabase.create(at: "\(path)/app/database.sqlite", definition: definition)
            if let sampleRecordCount {
                try database.replaceAll(from: SampleData(definition: definition, expenseCount: sampleRecordCount))
            } else {
                try database.replaceAll(from: NewDeviceData(definition: definition))
            }
        }
        if let media = definition.media {
            if let mediaPath {
                settings.mediaPath = FileSystem.absolutePath(mediaPath)
                guard FileSystem.statusIfPresent(mediaPath)?.kind == .directory else {
                    throw BackupError(.notFound, "there is no media folder here", path: mediaPath)
                }
            } else {
                // Where the app keeps it: beside its database.
                settings.mediaPath = "\(FileSystem.parentPath(settings.databasePath))/\(media.folder)"
                let folder = paths.resolve("\(FileSystem.parentPath(settings.databasePath))/\(media.folder)")
                if databasePath == nil {
                    try FileSystem.makeDirectories(folder)
                } else if FileSystem.statusIfPresent(folder)?.kind != .directory {
                    throw BackupError(
                        .notFound, "the app's media folder is not there", path: folder, remedy: "Name it with --media.")
                }
            }
        } else if let mediaPath {
            throw BackupError(
                .usage, "the app \(definition.name) has no media folder", path: mediaPath, remedy: "Leave out --media.")
        }
        if let repositoryPath { settings.repositoryPath = FileSystem.absolutePath(repositoryPath) }
        let repository = try makeRepository(at: paths.resolve(settings.repositoryPath))
        try FileSystem.writeFileAtomically(paths.settings, Array(settings.yaml.utf8))
        return repository
    }

    /// - Returns: a built-in app's name, or that of the definition it has written into the store.
    private func foundApp(_ store: String) throws(BackupError) -> String {
        guard let databasePath else { return Self.defaultApp }
        for name in AppDefinition.builtInNames {
            let definition = try AppDefinition.builtIn(named: name)
            if (try? AppDatabase(opening: databasePath, definition: definition)) != nil { return name }
        }
        let media = mediaPath.map { FileSystem.lastComponent(FileSystem.absolutePath($0)) }
        let found = try IntrospectedDefinition(of: databasePath, mediaFolder: media)
        try FileSystem.writeFileAtomically("\(store)/app.yaml", Array(found.yaml.utf8))
        return "app.yaml"
    }

    private func makeRepository(at path: String) throws(BackupError) -> Repository {
        guard Repository.exists(at: path) else { return try Repository.create(at: path, password: try newPassword?()) }
        guard newPassword == nil else {
            throw BackupError(
                .usage, "there is a repository here already, which is encrypted or not as it was made", path: path,
                remedy: "Leave out --encrypt.")
        }
        return try Repository.open(at: path, secret: secret)
    }
}
