import BackupCore

/// What an extraction wrote, and what it could not write.
public struct ExtractionReport: Sendable {
    /// At most this many failures are listed; all are counted.
    public static let failureLimit = 1_000

    /// A file or folder that could not be read from the repository; it was not created.
    public struct Failure: Sendable {
        /// Relative to the extracted folder.
        public let path: FileName
        public let error: BackupError
    }

    public internal(set) var fileCount: UInt64 = 0
    /// Bytes of these files.
    public internal(set) var byteCount: UInt64 = 0
    public internal(set) var failureCount = 0
    /// The first ones, sorted by path.
    public internal(set) var failures: [Failure] = []
    /// The number of files and folders that lack some extended attributes or have another owner: the file system or the user's rights do not allow them.
    public internal(set) var incompleteCount = 0
    /// The first of these.
    public internal(set) var firstIncomplete: Failure?
}

extension ExtractionReport.Failure {
    /// The message about files that were extracted without all of their metadata; this is the first of them.
    public func note(count: Int) -> Message {
        .plural(
            count, one: "\(count) file or folder lacks extended attributes, or its owner: \(path): \(error.message)",
            other: "\(count) files or folders lack extended attributes, or their owners; the first: \(path): \(error.message)")
    }
}
