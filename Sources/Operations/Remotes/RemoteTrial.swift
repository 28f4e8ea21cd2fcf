import BackupCore
import BackupRepository
import ObjectStorage
import SystemIO

/// Tries out a remote: whether it can be reached and used, what it keeps of a storage's promises, and whether there is room for a
/// copy of this store's repository, or a copy already. It stores small objects under a random name, and removes them.
public struct RemoteTrial {
    /// One promise of a storage.
    public struct Finding: Sendable {
        /// What was tried.
        public let question: Message
        /// Whether it is so.
        public let isKept: Bool
        /// What follows if it is not.
        public let consequence: Message
    }

    /// What a trial has found.
    public struct Report: Sendable {
        /// For programs: `conditional-create`, `removal`, …
        public let capabilities: [String]
        /// In the order of the trials.
        public let findings: [Finding]
        /// How many objects of the trial could not be removed again.
        public let leftoverCount: Int
        /// Whether the place has a copy of the store's repository; otherwise it is empty.
        public let hasCopy: Bool
        /// Whether a folder is on the disk of the repository, and would be lost with it.
        public let isOnSameDisk: Bool
    }

    private let remote: RemoteSettings
    private let paths: StorePaths

    /// Does nothing yet.
    /// - Parameter path: of the store that has the remote, or will have it.
    public init(of remote: RemoteSettings, storeAt path: String) {
        self.remote = remote
        paths = StorePaths(root: path)
    }

    /// Keeps in the store what the server can do.
    /// - Parameter isNew: whether a missing folder may be made, in a folder that is there.
    /// - Throws: why the place cannot be used: `offline`, `accessDenied`, `notFound` for a bucket that is not there, `notEmpty`
    ///   and `notPermitted` for a place with something else in it.
    public func run(isNew: Bool) throws(BackupError) -> Report {
        remote.isOnServer ? try tryServer() : try tryFolder(isNew: isNew)
    }

    /// Nothing is stored where something else is.
    private func findCopy(in storage: any ObjectStorage) throws(BackupError) -> Bool {
        if remote.kind == .photos {
            try RepositoryMirror.requireNoRepository(in: storage)
            return false
        }
        guard let found = try RepositoryMirror.facts(in: storage) else { return false }
        try found.requireCopy(of: StoreIdentity.read(paths.identity).repository, at: storage.location)
        return true
    }

    private func tryServer() throws(BackupError) -> Report {
        let storage = try remote.openServer(paths.resolve, [], nil)
        let hasCopy = try findCopy(in: storage)
        let report = try S3Probe.run(on: storage)
        var leftovers = report.leftovers.count
        if remote.storageClass != nil || remote.serverSideEncryption != nil {
            leftovers += try tryOptions(of: remote.openServer(paths.resolve, report.capabilities, nil)) ? 0 : 1
        }
        try RemoteCapabilities(path: paths.remoteCapabilities(remote.name), url: storage.location).write(report.capabilities)
        return Report(
            capabilities: RemoteCapabilities.names(of: report.capabilities),
            findings: report.findings.map {
                Finding(question: $0.question, isKept: $0.isKept, consequence: $0.consequence)
            }, leftoverCount: leftovers, hasCopy: hasCopy, isOnSameDisk: false)
    }

    /// Stores an object as a backup does: the server may not know the class of storage, or not have the key.
    /// - Returns: whether it could be removed.
    private func tryOptions(of storage: any ObjectStorage) throws(BackupError) -> Bool {
        let name = try Self.name("options")
        _ = try storage.create(name, ObjectDraft(Array("options\n".utf8)))
        return (try? storage.remove(name, version: nil)) != nil
    }

    // MARK: Folders

    private func tryFolder(isNew: Bool) throws(BackupError) -> Report {
        let folder = RemoteFolder(remote, paths)
        let settings = try StoreSettings.read(paths.settings)
        try folder.requireApart(settings)
        if isNew, try FileSystem.lookBehindLinks(folder.path) == nil {
            // The folder that a disk is mounted on must not be taken for the disk: the copy would be on this machine.
            let parent = FileSystem.parentPath(folder.path)
            guard try FileSystem.lookBehindLinks(parent)?.kind == .directory else {
                throw BackupError(
                    .notFound, "there is no folder here", path: parent, remedy: "Mount its disk, or make the folder.")
            }
        }
        let storage =
            isNew ? try FolderStorage.make(at: folder.path) : try remote.open(in: paths)
        let hasCopy = try findCopy(in: storage)
        let (first, second) = (try Self.name("first"), try Self.name("second"))
        var findings: [Finding]
        do throws(BackupError) {
            findings = try tryFiles(first, second, in: storage)
        } catch {
            _ = removeAll([first, second], in: storage)
            throw error
        }
        findings.append(
            Finding(
                question: "of several programs that store one name, one succeeds",
                isKept: storage.capabilities.contains(.conditionalCreate),
                consequence: "let only one machine at a time make copies there"))
        let leftovers = removeAll([first, second], in: storage)
        // A storage leaves its folders; this one goes if it is empty.
        try? DirectoryHandle(path: folder.path).removeFolder(FileName(S3Probe.folder))
        return Report(
            capabilities: RemoteCapabilities.names(of: storage.capabilities), findings: findings, leftoverCount: leftovers,
            hasCopy: hasCopy, isOnSameDisk: settings.primary == nil && isOnDisk(of: settings.repositoryPath, folder.path))
    }

    private func tryFiles(
        _ first: ObjectName, _ second: ObjectName, in storage: any ObjectStorage
    ) throws(BackupError) -> [Finding] {
        let (one, two) = (Array("one\n".utf8), [UInt8](repeating: 7, count: 1 << 20))
        let version = try storage.create(first, ObjectDraft(one))
        _ = try storage.create(second, ObjectDraft(two))
        var findings: [Finding] = []
        /// Without these, there is no storage.
        func require(_ question: Message, _ isKept: Bool) throws(BackupError) {
            guard isKept else {
                throw BackupError(
                    .notSupported, "this folder cannot have a copy of the backups; this is not so: \(question)",
                    path: storage.location, remedy: "Choose a folder on another file system.")
            }
            findings.append(Finding(question: question, isKept: true, consequence: ""))
        }
        let foundOne = try storage.contents(of: first, limitBytes: one.count)?.bytes
        let foundTwo = try storage.contents(of: second, limitBytes: two.count)?.bytes
        try require("a file has the bytes that were stored", foundOne == one && foundTwo == two)
        try require("a file does not replace another one", refusesToReplace(first, in: storage))
        var names: Set<ObjectName> = []
        try storage.forEachObject(prefix: "\(S3Probe.folder)/") { (facts) throws(BackupError) in names.insert(facts.name) }
        try require("a listing has what was stored just now", names.isSuperset(of: [first, second]))
        let changed = try storage.replace(first, version: version, ObjectDraft(two))
        try require("a file that is replaced has another version", changed != version)
        return findings
    }

    private func refusesToReplace(_ name: ObjectName, in storage: any ObjectStorage) -> Bool {
        do throws(BackupError) {
            _ = try storage.create(name, ObjectDraft([]))
            return false
        } catch {
            return error.code == .alreadyExists
        }
    }

    private func removeAll(_ names: [ObjectName], in storage: any ObjectStorage) -> Int {
        names.count { name in
            do throws(BackupError) {
                try storage.remove(name, version: nil)
                return false
            } catch {
                return error.code != .notFound
            }
        }
    }

    private func isOnDisk(of repositoryPath: String, _ folder: String) -> Bool {
        guard let repository = FileSystem.statusIfPresent(paths.resolve(repositoryPath)),
            let folder = FileSystem.statusIfPresent(folder)
        else { return false }
        return repository.device == folder.device
    }

    private static func name(_ text: String) throws(BackupError) -> ObjectName {
        guard let name = ObjectName("\(S3Probe.folder)/\(RandomToken.make())-\(text)") else {
            throw BackupError(.invalidArgument, "this is no name of an object", path: text)
        }
        return name
    }
}
