import BackupCore

/// What an extraction wrote, and what it could not.
public struct ExtractionReport: Sendable {
    /// So many of the failures are told; all are counted.
    public static let failureLimit = 1_000

    /// A file or folder that could not be read from the repository; it is not there.
    public struct Failure: Sendable {
        /// Seen from the folder that was extracted.
        public let path: FileName
        public let error: BackupError
    }

    public internal(set) var fileCount: UInt64 = 0
    /// Bytes of these files.
    public internal(set) var byteCount: UInt64 = 0
    public internal(set) var failureCount = 0
    /// The first ones, sorted by path.
    public internal(set) var failures: [Failure] = []
    /// How many files and folders are there without all of their extended attributes, or with another owner: the file system, or this user's rights, do
    /// not allow them.
    public internal(set) var incompleteCount = 0
    /// The first of these.
    public internal(set) var firstIncomplete: Failure?
}

extension ExtractionReport.Failure {
    /// What is to be said of files that are there without all that is kept of them; this is the first.
    public func note(count: Int) -> Message {
        .plural(
            count, one: "\(count) file or folder lacks extended attributes, or its owner: \(path): \(error.message)",
            other: "\(count) files or folders lack extended attributes, or their owners; the first: \(path): \(error.message)")
    }
}
