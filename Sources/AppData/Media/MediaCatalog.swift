import BackupCore

/// The content of a media folder, for collections that are generated from it.
public protocol MediaCatalog: Sendable {
    /// - Parameter path: below the folder, without a leading slash.
    /// - Returns: `nil` when there is no such file; links and folders do not count.
    func file(at path: [UInt8]) throws(BackupError) -> MediaFileFacts?
    /// All files in ascending byte order of their paths.
    func forEachFile(_ body: (MediaFileFacts) throws(BackupError) -> Void) throws(BackupError)
    /// Distinguishes states of the folder; `nil` when that is not possible.
    func state() throws(BackupError) -> String?
}
