import AppData
import BackupCore
import BackupRepository
import Glibc
import SystemIO

/// A store during its creation.
struct StoreDraft {
    private let creation: StoreCreation
    let path: String
    /// The final place.
    private let finalPath: String
    private let paths: StorePaths
    private(set) var adopted: RepositorySource?
    private(set) var others: [RepositorySource] = []
    private(set) var settingsLeftOut: [String] = []
    private(set) var hasUnreadableSettings = false
    /// The settings of the adopted store.
    private var adoptedSettings: StoreSettings?

    init(_ creation: StoreCreation, at path: String, finalPath: String) {
        self.creation = creation
        self.path = path
        self.finalPath = finalPath
        paths = StorePaths(root: path)
    }

    /// - Returns: the repository.
    mutating func build() throws(BackupError) -> Repository {
        try FileSystem.makeDirectories(path)
        let existing = try existingRepository()
        var app = creation.app
        if let existing { try choose(in: existing, app) }
        if app == nil, adopted != nil { app = try adoptedApp() }
        let appName: String
        if let app { appName = app } else { appName = try foundApp() }
        var settings = StoreSettings(
            app: appName, databasePath: "app/database.sqlite", mediaPath: nil, repositoryPath: "repository")
        settings.confirmsRestores = creation.confirmsRestores
        // The definition of an adopted store, or one generated from a database, is already in the store.
        if let app = creation.app, app.hasSuffix(".yaml") {
            // Loaded from its original place, so that an error names the file that its author knows.
            _ = try Store.definition(FileSystem.absolutePath(app), in: paths)
            settings.app = Self.definitionName
            try FileSystem.writeFileAtomically("\(path)/\(Self.definitionName)", FileSystem.readFile(app))
        }
        let definition = try Store.definition(settings.app, in: paths)
        if let adopted, !adopted.app.isEmpty, adopted.app != definition.name {
            throw BackupError(
                .usage,
                "the backups are of the app \(MessageText.shortened(adopted.app)), and this store would be of \(definition.name)",
                remedy: "Leave out --app, or begin another source with --new-source.")
        }
        try placeDatabase(&settings, definition)
        try placeMedia(&settings, definition)
        if let repositoryPath { settings.repositoryPath = repositoryPath }
        settings.primaryOptions = creation.server
        let places = try DataPaths(
            database: paths.resolve(settings.databasePath), media: settings.mediaPath.map { paths.resolve($0) },
            storePaths: [path, finalPath], repository: settings.repositoryFolder(in: paths))
        try places.check()
        try places.checkFoldersOfMedia()
        let repository: Repository
        if let existing {
            repository = existing
        } else {
            repository = try newRepository(settings)
        }
        try writeSettings(settings)
        try writeIdentity(settings, repository)
        return repository
    }

    private static let definitionName = FileSystem.lastComponent(StorePaths(root: "").appDefinition)

    // MARK: - What the repository holds

    /// Absolute, or on a server; `nil` for the usual place in the store.
    private var repositoryPath: String? {
        creation.repositoryPath.map { creation.server == nil ? FileSystem.absolutePath($0) : $0 }
    }

    /// What is on the server; `nil` for nothing.
    private func repositoryOnServer(_ server: RemoteSettings) throws(BackupError) -> RemoteCopy? {
        let remote = try RemoteCopy(server, in: paths, isWritable: true)
        do throws(BackupError) {
            try remote.refresh()
            return remote
        } catch {
            guard error.code == .noRepository else { throw error }
            return nil
        }
    }

    private func existingRepository() throws(BackupError) -> Repository? {
        var found: (path: String, open: () throws(BackupError) -> Repository)?
        let secret = creation.secret
        if let server = creation.server {
            if let remote = try repositoryOnServer(server) {
                found = (remote.repositoryPath, { () throws(BackupError) in try remote.open(secret: secret) })
            }
        } else if let path = repositoryPath, try Repository.exists(at: path) {
            let catalogs = paths.catalogs
            found = (
                path,
                { () throws(BackupError) in try Repository.open(at: path, secret: secret, catalogHome: .folder(catalogs)) }
            )
        }
        guard let found else {
            guard case .adopt = creation.sourceChoice else { return nil }
            throw BackupError(
                .usage, "there is nothing to adopt", remedy: "Name the repository that holds the backups with --repository.")
        }
        guard creation.newPassword == nil else {
            throw BackupError(
                .usage, "there is a repository here already, which is encrypted or not as it was made", path: repositoryPath,
                remedy: "Leave out --encrypt.")
        }
        try Repository.requireNoKey(unlessEncrypted: Repository.facts(at: found.path), at: found.path)
        return try found.open()
    }

    private func newRepository(_ settings: StoreSettings) throws(BackupError) -> Repository {
        let password = try creation.newPassword?()
        // The folder is renamed when the store is complete.
        guard let server = settings.primary else {
            return try Repository.create(
                at: settings.repositoryFolder(in: paths), password: password, catalogHome: .memory)
        }
        return try RemoteCopy(server, in: paths, isWritable: true).create(password: password, catalogHome: .memory)
    }

    private mutating func choose(in repository: Repository, _ app: String?) throws(BackupError) {
        let sources = try RepositorySource.all(in: repository)
        var wanted: String?
        if let app {
            wanted = app.hasSuffix(".yaml") ? try Store.definition(FileSystem.absolutePath(app), in: paths).name : app
        } else if let databasePath = creation.databasePath, try FileSystem.lookBehindLinks(databasePath) != nil {
            wanted = try Store.definition(foundApp(), in: paths).name
        }
        adopted = try creation.sourceChoice.chosen(among: sources, app: wanted) { (source) throws(BackupError) in
            try hasOwnData(source)
        }
        others = sources.filter { $0.id != adopted?.id || $0.app != adopted?.app }
        adoptedSettings = adopted?.settings(path: paths.settings)
    }

    /// Whether there is data that the source's backups may not contain: another machine may still make them. The database that
    /// the source's store had on this machine is the one in its backups.
    private func hasOwnData(_ source: RepositorySource) throws(BackupError) -> Bool {
        if creation.sampleRecordCount != nil { return true }
        let known = source.settings(path: paths.settings)?.databasePath
        guard let path = creation.databasePath.map({ FileSystem.absolutePath($0) }) ?? known, path.hasPrefix("/"),
            try FileSystem.lookBehindLinks(path) != nil
        else { return false }
        return path != known || source.document?.isOfThisMachine != true
    }

    /// - Returns: a built-in app's name, or that of the definition it has written into the store.
    private func adoptedApp() throws(BackupError) -> String? {
        guard let adopted else { return nil }
        if let text = adopted.document?.definition {
            try FileSystem.writeFileAtomically("\(path)/\(Self.definitionName)", Array(text.utf8))
            return Self.definitionName
        }
        if AppDefinition.builtInNames.contains(adopted.app) { return adopted.app }
        guard creation.databasePath == nil else { return nil }
        throw BackupError(
            .usage, "the repository does not hold the definition of the app \(MessageText.shortened(adopted.app))",
            remedy: "Name it with --app, or the app's database with --database.")
    }

    // MARK: - The app

    /// - Returns: a built-in app's name, or that of the definition it has written into the store.
    private func foundApp() throws(BackupError) -> String {
        guard let databasePath = creation.databasePath else { return StoreCreation.defaultApp }
        if try FileSystem.lookBehindLinks(databasePath)?.kind == .directory {
            throw BackupError(
                .isADirectory, "this is a folder, and no database", path: databasePath,
                remedy: "Name the app's SQLite file in it.")
        }
        for name in AppDefinition.builtInNames {
            let definition = try AppDefinition.builtIn(named: name)
            if (try? AppDatabase(opening: databasePath, definition: definition)) != nil { return name }
        }
        let media = creation.mediaPath.map { FileSystem.lastComponent(FileSystem.absolutePath($0)) }
        let found = try IntrospectedDefinition(of: databasePath, mediaFolder: media)
        try FileSystem.writeFileAtomically("\(path)/\(Self.definitionName)", Array(found.yaml.utf8))
        return Self.definitionName
    }

    private func placeDatabase(_ settings: inout StoreSettings, _ definition: AppDefinition) throws(BackupError) {
        if let databasePath = creation.databasePath {
            settings.databasePath = FileSystem.absolutePath(databasePath)
            // If the store adopts a source, the database may be what was lost: a restore creates it.
            guard try FileSystem.lookBehindLinks(settings.databasePath) != nil else {
                if adopted != nil { return }
                throw BackupError(
                    .notFound, "there is no database here", path: settings.databasePath,
                    remedy: "Name the app's SQLite file with --database.")
            }
        } else if let adoptedPath = adoptedSettings?.databasePath, adoptedPath.hasPrefix("/") {
            settings.databasePath = adoptedPath
            guard try FileSystem.lookBehindLinks(adoptedPath) != nil else { return }
        } else if definition.coversWholeDatabase {
            throw BackupError(
                .usage, "the app \(definition.name) has no tables but those of its database",
                remedy: "Name its SQLite file with --database.")
        } else {
            try FileSystem.makeDirectories("\(path)/app")
            let database = try AppDatabase.create(at: "\(path)/app/database.sqlite", definition: definition)
            if let records = try sample(definition)?.records {
                try database.replaceAll(from: records)
            } else {
                try database.replaceAll(from: InitialMetadata(definition: definition))
            }
            return
        }
        // Fails here instead of at the first backup if the file is not this app's database.
        _ = try AppDatabase(opening: settings.databasePath, definition: definition)
    }

    private func sample(_ definition: AppDefinition) throws(BackupError) -> SampleContent? {
        guard let count = creation.sampleRecordCount else { return nil }
        return try SampleContent(for: definition, expenseCount: count)
    }

    /// Only into the folder that the store has just created.
    private func fill(_ folder: String, _ definition: AppDefinition) throws(BackupError) {
        for photo in try sample(definition)?.photos ?? [] {
            let path = "\(folder)/\(photo.path)"
            try FileSystem.makeDirectories(FileSystem.parentPath(path))
            let file = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL)
            try file.writeAll(photo.content)
            try file.setModificationTime(photo.takenAt)
        }
    }

    private func placeMedia(_ settings: inout StoreSettings, _ definition: AppDefinition) throws(BackupError) {
        guard let media = definition.media else {
            guard let mediaPath = creation.mediaPath else { return }
            throw BackupError(
                .usage, "the app \(definition.name) has no media folder", path: mediaPath,
                remedy: creation.app == nil && creation.databasePath == nil
                    ? "Name the app: --app photo-library is for folders of photos, and --database FILE for any app with a SQLite database."
                    : "Leave out --media.")
        }
        if let mediaPath = creation.mediaPath {
            settings.mediaPath = FileSystem.absolutePath(mediaPath)
            guard adopted != nil || FileSystem.statusIfPresent(mediaPath)?.kind == .directory else {
                throw BackupError(.notFound, "there is no media folder here", path: mediaPath)
            }
            return
        }
        if creation.databasePath == nil, let adoptedPath = adoptedSettings?.mediaPath, adoptedPath.hasPrefix("/") {
            settings.mediaPath = adoptedPath
            return
        }
        // Where the app keeps it: beside its database.
        settings.mediaPath = "\(FileSystem.parentPath(settings.databasePath))/\(media.folder)"
        let folder = paths.resolve("\(FileSystem.parentPath(settings.databasePath))/\(media.folder)")
        if !settings.databasePath.hasPrefix("/") {
            try FileSystem.makeDirectories(folder)
            try fill(folder, definition)
        } else if adopted == nil, FileSystem.statusIfPresent(folder)?.kind != .directory {
            throw BackupError(
                .notFound, "the app's media folder does not exist", path: folder, remedy: "Name it with --media.")
        }
    }

    // MARK: - What the store remembers

    /// Keeps the adopted store's settings and their comments, except for places and commands.
    private mutating func writeSettings(_ settings: StoreSettings) throws(BackupError) {
        var text = settings.yaml
        // For backups without a source, no settings were ever stored.
        hasUnreadableSettings = adopted?.id != nil
        if adoptedSettings != nil, let adoptedText = adopted?.document?.settings,
            var kept = try? SettingsText(adoptedText, path: paths.settings)
        {
            let before = kept.entries
            hasUnreadableSettings = false
            do throws(BackupError) {
                // Anyone with write access to the repository could have changed these; they would run as the user.
                let commands: [Setting] = [.beforeRestore, .afterRestore, .notify, .automaticHook, .logFile]
                for setting in commands { try kept.set(setting, nil) }
                // They name commands, too, and places of another machine.
                let hadRemotes = !kept.remotes.isEmpty
                let hadCopySets = !kept.copySets.isEmpty
                try kept.commentOutRemotes()
                try kept.commentOutCopySets()
                try kept.set(.app, settings.app)
                try kept.set(.database, settings.databasePath)
                try kept.set(.repository, settings.repositoryPath)
                try kept.set(.media, settings.mediaPath)
                text = kept.text
                settingsLeftOut =
                    commands.filter { before[$0] != nil }.map(\.name) + (hadRemotes ? [RemoteText.key] : [])
                    + (hadCopySets ? [CopySetSettings.key] : [])
            } catch {
                settingsLeftOut = before.keys.map(\.name).sorted()
                hasUnreadableSettings = true
            }
        }
        if hasUnreadableSettings { text = try Self.removingNothing(text, path: paths.settings) }
        if let server = creation.server, !server.isUsual {
            var changed = try SettingsText(text, path: paths.settings)
            try changed.setRemote(server)
            text = changed.text
        }
        try FileSystem.writeFileAtomically(paths.settings, Array(text.utf8))
    }

    /// What the backups' owner wanted to keep is unknown: the app's own rule may keep much less.
    private static func removingNothing(_ text: String, path: String) throws(BackupError) -> String {
        var text = try SettingsText(text, path: path)
        try text.set(.retention, "off")
        try text.set(.prune, "off")
        try text.set(.undeleteDays, String(RetentionSettings.undeleteDaysRange.upperBound))
        return text.text
    }

    private func writeIdentity(_ settings: StoreSettings, _ repository: Repository) throws(BackupError) {
        let isUnmarked = adopted != nil && adopted?.id == nil
        let identity = StoreIdentity(
            source: adopted?.id ?? .random(), ownsUnmarked: isUnmarked, isQuiet: adopted != nil,
            adoption: try adoption(repository), repository: repository.facts, repositoryPath: settings.repositoryPath)
        try FileSystem.writeFileAtomically(paths.identity, identity.encoded)
        let backups = repository.snapshots().filter { $0.source == identity.source }
        try LastBackupRecord(path: paths.lastBackup).write(identity.source, newest: backups.max(by: Snapshot.wasMadeBefore))
    }

    /// - Throws: if the adopted source's document has a form that this program could not replace later.
    private func adoption(_ repository: Repository) throws(BackupError) -> SourceAdoption? {
        guard let id = adopted?.id else { return nil }
        do throws(BackupError) {
            return SourceAdoption(of: try repository.source(id))
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            return SourceAdoption(of: nil)
        }
    }
}
