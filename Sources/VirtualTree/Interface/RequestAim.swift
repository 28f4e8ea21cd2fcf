/// What a request is about, as far as it tells what the request may wait for.
public enum RequestAim: Sendable {
    /// What the node is.
    case attributes
    /// What it holds: names or bytes.
    case content
    case extendedAttribute
    case change
    /// Of a file that is made here, or to be made.
    case writing
}

/// What a request may wait for long. Those that wait for one of these must not take up all threads, nor be in the way of the others.
public enum RequestWait: Sendable, CaseIterable {
    /// The app's database or its media folder.
    case app
    /// The storage that the store is on.
    case store
    /// The same, for what is being copied there.
    case drop
    /// The storage that the repository is on.
    case repository
    /// Checksums of much.
    case checksums
    /// A change of the repository. The kernel keeps the folder locked for as long.
    case change
}
