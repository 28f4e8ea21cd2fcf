import BackupCore
import ObjectStorage
import SystemIO

extension RemoteRepository {
    /// Creates a repository in an empty storage, and opens it. `config` is stored last: before that, nothing uses the storage.
    /// - Parameter password: creates an encrypted repository that this password opens.
    /// - Throws: `alreadyExists` when there is a repository; `notEmpty` when there is anything else, also what an interrupted
    ///   creation has left; errors of the storage and of the disk.
    public func create(password: SecretBytes? = nil, catalogHome: CatalogHome = .cache) throws(BackupError) -> Repository {
        try create(password: password, catalogHome: catalogHome, cost: .standard)
    }

    /// - Parameter cost: the cost of trying a password.
    func create(
        password: SecretBytes?, catalogHome: CatalogHome, cost: Scrypt
    ) throws(BackupError) -> Repository {
        try requireUnused()
        let local = try Repository.create(at: layout.path, password: password, catalogHome: .memory, cost: cost)
        var objects: [MirrorObject] = [.keyCopy, .key, .configurationCopy, .register, .readme, .configuration]
        if password == nil { objects.removeAll { $0 == .key || $0 == .keyCopy } }
        do throws(BackupError) {
            for object in objects {
                let bytes = try FileSystem.readFile(object.path(in: layout), limitBytes: 1 << 20)
                try FaultInjection.reached("remote.creating")
                _ = try storage.create(object.name, ObjectDraft(bytes))
            }
        } catch {
            // Another program has created one at the same moment; this machine must not take its own for it.
            try? FileSystem.removeFile(layout.config)
            try? FileSystem.removeFile(layout.configCopy)
            guard error.code == .alreadyExists else { throw error }
            throw BackupError(
                .conflict, "another program is creating a repository here", path: storage.location, remedy: "Try again.")
        }
        var secret: RepositorySecretSource?
        if let key = local.masterKey { secret = { (_) throws(BackupError) in .masterKey(key) } }
        return try Repository.open(layout, secret: secret, catalogHome: catalogHome)
    }

    private func requireUnused() throws(BackupError) {
        var first: ObjectName?
        try storage.forEachObject { (facts) throws(BackupError) in
            if let object = MirrorObject(facts.name), object == .configuration || object == .configurationCopy {
                throw BackupError(
                    .alreadyExists, "there is a repository here already", path: storage.location,
                    remedy: "Open it, or choose another prefix.")
            }
            if first == nil, !RepositoryMirror.isBeside(facts.name) { first = facts.name }
        }
        guard let first else { return }
        throw BackupError(
            .notEmpty, "there is something else: “\(MessageText.shortened(first.text))”", path: storage.location,
            remedy: "Choose an empty bucket or prefix. If an earlier init was interrupted here, remove what it has left.")
    }
}
