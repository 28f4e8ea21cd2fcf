import BackupCore
import BackupRepository
import Glibc
import Synchronization
import SystemIO

/// The identity of an open store, as currently in its file: other processes may change it.
final class StoreIdentityFile: Sendable {
    private struct State {
        var identity: StoreIdentity
        /// The file it was read from; `nil` where it could not be written.
        var status: FileStatus?
    }

    private let path: String
    /// Whether the store had none and this is new: an older program created the store, or its identity was lost.
    let isNew: Bool
    private let state: Mutex<State>

    /// Reads the identity; creates one for a store of an older program.
    /// - Parameters:
    ///   - repositoryPath: the path in the settings. If it differs from the identity's, the user changed it on purpose, and the
    ///     repository there is the
    ///     store's from now on.
    ///   - isOfCopy: whether `repository` is only a copy of the store's own, read from elsewhere. What it says of itself is not
    ///     kept then: the store's own repository decides when it is opened next.
    /// - Throws: `notPermitted` when the repository is not the one that the store was created with.
    init(
        _ path: String, repository: RepositoryFacts, repositoryPath: String, resolvedPath: String, isOfCopy: Bool = false
    ) throws(BackupError) {
        self.path = path
        var identity: StoreIdentity
        var isNew = false
        do throws(BackupError) {
            identity = try StoreIdentity.read(path)
        } catch {
            guard error.code == .notFound else { throw error }
            try Repository.requireNoKey(unlessEncrypted: repository, at: resolvedPath)
            identity = StoreIdentity(ownsUnmarked: true, repository: repository, repositoryPath: repositoryPath)
            if !isOfCopy { identity = try Self.publish(identity, path) }
            isNew = true
        }
        self.isNew = isNew
        if identity.repositoryPath != repositoryPath {
            try Repository.requireNoKey(unlessEncrypted: repository, at: resolvedPath)
            if identity.repositoryID != repository.id { identity.ownsUnmarked = false }
            identity.repositoryID = repository.id
            identity.isEncrypted = repository.isEncrypted
            identity.repositoryPath = repositoryPath
            // A read-only store can still be read.
            if !isOfCopy { try? FileSystem.writeFileAtomically(path, identity.encoded) }
        }
        try identity.check(repository, at: resolvedPath)
        state = Mutex(State(identity: identity, status: FileSystem.statusIfPresent(path)))
    }

    /// Writes the first identity of a store. If two processes do this concurrently, one wins.
    private static func publish(_ identity: StoreIdentity, _ path: String) throws(BackupError) -> StoreIdentity {
        let draft = "\(path).\(RandomToken.make())"
        defer { try? FileSystem.removeFile(draft) }
        do throws(BackupError) {
            try FileSystem.writeFileAtomically(draft, identity.encoded)
        } catch {
            // On a read-only medium the identity lasts as long as the process: nothing is removed there anyway.
            return identity
        }
        guard link(draft, path) == 0 else {
            let code = errno
            guard code == EEXIST else { throw SystemCall.error(code, action: "make the store's identity", path: path) }
            return try StoreIdentity.read(path)
        }
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(path))
        return identity
    }

    /// The current identity.
    var identity: StoreIdentity {
        // The lock is not held here: the store's storage may not respond, and the remembered identity must be available
        // regardless.
        let status = FileSystem.statusIfPresent(path)
        guard let status, status != state.withLock({ $0.status }), let read = try? StoreIdentity.read(path) else {
            return remembered
        }
        return state.withLock { state in
            state = State(identity: read, status: status)
            return read
        }
    }

    /// The identity at the last check.
    var remembered: StoreIdentity { state.withLock { $0.identity } }

    /// Changes the identity durably. For the holder of the operation lock.
    func change(_ body: (inout StoreIdentity) -> Void) throws(BackupError) {
        var changed = identity
        let before = changed
        body(&changed)
        guard changed != before else { return }
        try FileSystem.writeFileAtomically(path, changed.encoded)
        let status = FileSystem.statusIfPresent(path)
        state.withLock { $0 = State(identity: changed, status: status) }
    }
}

/// Which snapshots of a repository belong to a store's own line of backups.
struct SnapshotOwnership: Sendable {
    let identityFile: StoreIdentityFile
    /// The name of the app's definition.
    let app: String

    func owns(_ snapshot: Snapshot) -> Bool { owns(snapshot, identityFile.identity) }

    private func owns(_ snapshot: Snapshot, _ identity: StoreIdentity) -> Bool {
        // A snapshot whose attribute is unreadable does not count as unmarked.
        if snapshot.record.attributes[Snapshot.sourceAttribute] != nil { return snapshot.source == identity.source }
        return identity.ownsUnmarked && isOfThisApp(snapshot)
    }

    func isOfThisApp(_ snapshot: Snapshot) -> Bool {
        guard let named = snapshot.record.attributes[Snapshot.appAttribute] else { return true }
        return named == app
    }

    /// In the order of creation, whatever the clock said.
    func own(_ snapshots: [Snapshot]) -> [Snapshot] { own(snapshots, identityFile.identity) }

    /// The same, by the last known identity of the store: for callers that cannot wait for its storage.
    func ownAsRemembered(_ snapshots: [Snapshot]) -> [Snapshot] { own(snapshots, identityFile.remembered) }

    private func own(_ snapshots: [Snapshot], _ identity: StoreIdentity) -> [Snapshot] {
        snapshots.filter { owns($0, identity) }.sorted(by: Snapshot.wasMadeBefore)
    }

    /// The last made one of `snapshots`.
    func newest(of snapshots: [Snapshot]) -> Snapshot? {
        let identity = identityFile.identity
        return snapshots.filter { owns($0, identity) }.max(by: Snapshot.wasMadeBefore)
    }
}
