import BackupCore
import ObjectStorage
import SystemIO

extension RemoteSettings {
    /// The storage of a remote. For a server, it sends no request, unless it is not known yet what the server can do: that is
    /// tried out then, and kept in the store. Where that is impossible, the storage gets no capabilities, which is always safe.
    /// - Parameters:
    ///   - creatingFolder: whether a missing folder is made.
    ///   - isReadOnly: whether nothing will be stored, so that nothing need be tried.
    /// - Throws: `offline` for a folder that is missing, and for a server that does not answer to a trial; `usage` and
    ///   `invalidArgument` for impossible settings.
    public func open(
        in paths: StorePaths, observer: (any StorageRequestObserver)? = nil, creatingFolder: Bool = false,
        isReadOnly: Bool = false
    ) throws(BackupError) -> any ObjectStorage {
        guard isOnServer else {
            let folder = RemoteFolder(self, paths)
            try folder.requireApart(StoreSettings.read(paths.settings))
            return creatingFolder ? try FolderStorage.make(at: folder.path) : try FolderStorage(path: folder.path)
        }
        let record = RemoteCapabilities(path: paths.remoteCapabilities(name), url: try location().description)
        if let known = record.read() { return try openServer(paths.resolve, known, observer, isWaitedFor: isReadOnly) }
        let storage = try openServer(paths.resolve, [], observer, isWaitedFor: isReadOnly)
        guard !isReadOnly else { return storage }
        let found: StorageCapabilities
        do throws(BackupError) {
            found = try S3Probe.run(on: storage).capabilities
        } catch {
            // The caller's own requests would fail in the same way, after another long wait.
            guard error.code != .offline, error.code != .interrupted else { throw error }
            return storage
        }
        // Tried again next time if it cannot be kept.
        try? record.write(found)
        return try openServer(paths.resolve, found, observer)
    }

    /// What the remote's server can do, for programs, without asking it; `nil` if it is not known, and for a folder.
    public func knownCapabilities(in paths: StorePaths) -> [String]? {
        guard let location = try? location() else { return nil }
        let record = RemoteCapabilities(path: paths.remoteCapabilities(name), url: location.description)
        return record.read().map(RemoteCapabilities.names)
    }

    /// Whether the remote's server mixes what several machines write at the same moment. That is tried out if it is not known
    /// yet; where it cannot be, for want of a permission, nothing is claimed. No for a folder.
    public func mixesWriters(in paths: StorePaths) -> Bool {
        guard isOnServer, (try? open(in: paths)) != nil, let known = knownCapabilities(in: paths) else { return false }
        return !Set(known).isSuperset(of: RemoteCapabilities.names(of: [.conditionalCreate, .compareAndSwap]))
    }

    /// The storage of a remote that no store has, for reading. Relative paths start at the current folder.
    public func openWithoutStore(observer: (any StorageRequestObserver)? = nil) throws(BackupError) -> any ObjectStorage {
        guard isOnServer else { return try FolderStorage(path: url) }
        return try openServer(FileSystem.absolutePath, [], observer)
    }

    /// The storage on a server.
    /// - Parameters:
    ///   - resolve: makes a path absolute.
    ///   - isWaitedFor: whether a program waits for each answer: a server that does not answer is given up earlier.
    func openServer(
        _ resolve: (String) -> String, _ capabilities: StorageCapabilities, _ observer: (any StorageRequestObserver)?,
        isWaitedFor: Bool = false
    ) throws(BackupError) -> S3Storage {
        var options = S3Options()
        options.region = region
        options.storageClass = storageClass
        options.encryption = serverSideEncryption
        options.objectLock = objectLock
        var http = HTTPSettings()
        if isWaitedFor { (http.connectSeconds, http.stallSeconds) = (5, 10) }
        http.certificateFile = certificateFile.map(resolve)
        http.parallelRequests = parallelRequests
        http.uploadBytesPerSecond = uploadBytesPerSecond
        http.downloadBytesPerSecond = downloadBytesPerSecond
        http.limitGroup = url
        return try S3Storage(
            location(), credentials: S3CredentialSource(credentialsCommand.map { .command($0) } ?? .standard(profile: profile)),
            options: options, http: http, capabilities: capabilities, observer: observer)
    }
}

/// What a remote's server can do, as it was found by trial: a file in the store, of lines `key: value`. A lost or damaged one
/// means another trial.
struct RemoteCapabilities {
    private static let words: [(name: String, capability: StorageCapabilities)] = [
        ("conditional-create", .conditionalCreate), ("compare-and-swap", .compareAndSwap),
        ("conditional-remove", .conditionalRemove), ("cheap-random-reads", .cheapRandomReads), ("ranged-reads", .rangedReads),
        ("removal", .removal),
    ]

    let path: String
    /// The place that they belong to.
    let url: String

    /// - Returns: `nil` when they are not known for this place.
    func read() -> StorageCapabilities? {
        guard let bytes = try? FileSystem.readFile(path, limitBytes: 1 << 16) else { return nil }
        let record = KeyValueRecord(decoding: bytes)
        guard record.flaws.isEmpty, record["url"] == url, let text = record["capabilities"] else { return nil }
        var capabilities: StorageCapabilities = []
        for word in text.split(separator: " ") {
            guard let known = Self.words.first(where: { $0.name == word }) else { return nil }
            capabilities.formUnion(known.capability)
        }
        return capabilities
    }

    /// Durable when it returns.
    func write(_ capabilities: StorageCapabilities) throws(BackupError) {
        var record = KeyValueRecord()
        record.append("url", url)
        record.append("capabilities", Self.names(of: capabilities).joined(separator: " "))
        try FileSystem.makeDirectories(FileSystem.parentPath(path))
        try FileSystem.writeFileAtomically(path, record.encoded)
    }

    /// For files and programs.
    static func names(of capabilities: StorageCapabilities) -> [String] {
        words.filter { capabilities.contains($0.capability) }.map(\.name)
    }
}
