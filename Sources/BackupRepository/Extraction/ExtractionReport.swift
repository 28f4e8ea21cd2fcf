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
}
