/// The subject of a request, as far as it determines what the request may wait for.
public enum RequestAim: Sendable {
    /// The node's attributes.
    case attributes
    /// The node's contents: names or bytes.
    case content
    case extendedAttribute
    case change
    /// A write to a file that is being created here.
    case writing
}

/// What may block a request for long. Requests that wait for one of these must not use up all threads or block the others.
public enum RequestWait: Sendable, CaseIterable {
    /// The app's database or its media folder.
    case app
    /// The storage that the store is on.
    case store
    /// The same storage, for files being copied into `restore/`.
    case drop
    /// The storage that the repository is on.
    case repository
    /// Checksums of large contents.
    case checksums
    /// A change of the repository. The kernel keeps the folder locked meanwhile.
    case change
}
