import BackupCore
import SystemIO

extension SettingsFile {
    /// In the order of the file.
    /// - Throws: the problem with the file.
    public func remotes() throws(BackupError) -> [RemoteSettings] { try StoreSettings.read(path).remotes }

    /// The remote for starred photos; `nil` for none.
    /// - Throws: the problem with the file.
    public func photosRemote() throws(BackupError) -> RemoteSettings? { try StoreSettings.read(path).photosRemote }

    /// - Throws: `notFound` for an unknown name, with those that there are.
    public func remote(named name: String) throws(BackupError) -> RemoteSettings {
        let settings = try StoreSettings.read(path)
        if let photos = settings.photosRemote, photos.name == name { return photos }
        return try settings.remote(named: name, path: path)
    }

    /// - Throws: `alreadyExists`, `usage` and `invalidContent` for a remote that the store cannot get.
    public func requireNew(_ remote: RemoteSettings) throws(BackupError) {
        let settings = try StoreSettings.read(path)
        guard (settings.remotes + [settings.photosRemote].compactMap(\.self)).contains(where: { $0.name == remote.name }) else {
            _ = try changed(toHave: remote)
            if !remote.isOnServer { try RemoteFolder(remote, paths).requireOutsideStore() }
            return
        }
        throw BackupError(
            .alreadyExists, "there is a remote “\(remote.name)”", path: path,
            remedy: "Choose another name, change it in store.yaml, or remove it with: backupfs remote remove \(remote.name)")
    }

    /// Adds a remote, or changes the one with its name, and keeps the file's comments. Durable when it returns.
    /// - Throws: `alreadyExists`, `usage` and `invalidContent` for a remote that the store cannot have, and then nothing is
    ///   changed.
    public func setRemote(_ remote: RemoteSettings) throws(BackupError) {
        try FileSystem.writeFileAtomically(path, Array(changed(toHave: remote).utf8))
    }

    private func changed(toHave remote: RemoteSettings) throws(BackupError) -> String {
        try remote.check()
        var text = try SettingsText.read(path)
        let old = try StoreSettings(text)
        if remote.kind == .photos, let other = old.photosRemote, other.name != remote.name {
            throw BackupError(
                .usage, "the remote \(other.name) has the photos, and there can be only one", path: path,
                remedy: "Remove it with: backupfs remote remove \(other.name)")
        }
        if let other = (old.remotes + [old.photosRemote].compactMap(\.self)).first(where: {
            $0.name != remote.name && $0.isAtSamePlace(as: remote)
        }) {
            throw BackupError(
                .alreadyExists, "the remote \(other.name) has this place", path: remote.url,
                remedy: "Change it in store.yaml, or remove it with: backupfs remote remove \(other.name)")
        }
        try text.setRemote(remote)
        let settings = try StoreSettings(text)
        guard settings.remotes.contains(remote) || settings.photosRemote == remote else {
            throw SettingsText.isForEditors("remotes.\(remote.name)", path)
        }
        if !remote.isOnServer { try RemoteFolder(remote, paths).requireApart(settings) }
        return text.text
    }

    /// How long the end of an upload is waited for.
    private static let uploadEndSeconds: UInt64 = 10

    /// Removes a remote from the file, also one with mistakes, and what is kept about it. Its copy of the repository stays.
    /// - Throws: `notFound` for an unknown name.
    public func removeRemote(_ name: String) throws(BackupError) {
        var text = try SettingsText.read(path)
        guard text.remotes.contains(where: { $0.name == name }) else {
            throw StoreSettings.noRemote(name, among: text.remotes.map(\.name), path)
        }
        try text.removeRemote(name)
        try FileSystem.writeFileAtomically(path, Array(text.text.utf8))
        guard RemoteSettings.isName(name) else { return }
        // An upload that runs notices that its remote is gone, and ends.
        let lock = try RemoteFiles(paths, remote: name).lock(forSeconds: Self.uploadEndSeconds)
        try withExtendedLifetime(lock) { () throws(BackupError) in try FileSystem.removeTree(paths.remote(name)) }
    }

    /// Problems with what a remote refers to, without a connection to it.
    func remoteProblems(_ remote: RemoteSettings, _ settings: StoreSettings) -> [BackupError] {
        var problems: [BackupError] = []
        func note(_ setting: String, _ body: () throws(BackupError) -> Void) {
            do throws(BackupError) {
                try body()
            } catch {
                problems.append(error.with(nil, "remotes.\(remote.name).\(setting): \(error.message)"))
            }
        }
        if let file = remote.certificateFile.map(paths.resolve) {
            note("certificate-file") { () throws(BackupError) in
                guard try FileSystem.lookBehindLinks(file)?.kind != .regular else { return }
                throw BackupError(.notFound, "there is no file", path: file, remedy: "Change it, or make it.")
            }
        }
        guard !remote.isOnServer else { return problems }
        let folder = RemoteFolder(remote, paths)
        note("url") { () throws(BackupError) in
            try folder.requireApart(settings)
            guard try FileSystem.lookBehindLinks(folder.path)?.kind != .directory else { return }
            throw BackupError(
                .notFound, "there is no folder", path: folder.path, remedy: "Mount its disk, change the url, or make the folder.")
        }
        return problems
    }
}

/// The folder of a remote. It must not be among what it is a copy of, nor the other way round: such a copy would be lost with the
/// original, or a backup would read the copies.
struct RemoteFolder {
    let path: String
    private let paths: StorePaths

    init(_ remote: RemoteSettings, _ paths: StorePaths) {
        path = paths.resolve(remote.url)
        self.paths = paths
    }

    /// - Throws: `usage`.
    func requireApart(_ settings: StoreSettings) throws(BackupError) {
        let folder = try DataPaths.Place("the folder", path)
        let repository = try DataPaths.Place("the repository", settings.repositoryFolder(in: paths))
        let media = try settings.mediaPath.map { (path) throws(BackupError) in
            try DataPaths.Place("the media folder", paths.resolve(path))
        }
        let database = try DataPaths.Place("the database", paths.resolve(settings.databasePath))
        let store = try DataPaths.Place("the store", paths.root)
        if let mountpoint = try mountpoint(), folder.isIn(mountpoint) { throw refusal("it is in \(mountpoint.name)", mountpoint) }
        for other in [repository, media].compactMap(\.self) where folder.isIn(other) {
            throw refusal("it is in \(other.name)", other)
        }
        for other in [repository, media, database, store].compactMap(\.self) where other.isIn(folder) {
            throw refusal("\(other.name) is in it", other)
        }
        guard folder.isIn(store), !paths.allowsOther(folder.realPath, in: store.realPath) else { return }
        throw refusal("it is among the store's own files", store)
    }

    /// For a new remote: its folder would be lost with the store, unless a disk of its own is mounted there.
    /// - Throws: `usage`.
    func requireOutsideStore() throws(BackupError) {
        let store = try DataPaths.Place("the store", paths.root)
        guard try DataPaths.Place("the folder", path).isIn(store) else { return }
        var existing = try FileSystem.realPath(path)
        while try FileSystem.lookBehindLinks(existing) == nil { existing = FileSystem.parentPath(existing) }
        let device = try FileSystem.lookBehindLinks(existing)?.device
        guard try device == FileSystem.lookBehindLinks(paths.root)?.device else { return }
        throw refusal("it is in \(store.name)", store)
    }

    /// Where the store is mounted now. What is written there would become backups of backups.
    private func mountpoint() throws(BackupError) -> DataPaths.Place? {
        guard (try? AdvisoryLock.isHeld(path: paths.mountLock)) != false,
            let bytes = try? FileSystem.readFile(paths.mountRecord, limitBytes: 1 << 16), !bytes.isEmpty
        else { return nil }
        return try DataPaths.Place("the store's mount", String(decoding: bytes, as: UTF8.self), isSeenFromParent: true)
    }

    private func refusal(_ message: Message, _ other: DataPaths.Place) -> BackupError {
        BackupError(
            .usage, "this folder cannot have a copy of the backups: \(message)", path: path,
            remedy: "Choose a folder on another disk, away from \(other.path).")
    }
}
