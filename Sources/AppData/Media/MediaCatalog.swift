import BackupCore

/// What a media folder holds, for collections whose records are told of it.
public protocol MediaCatalog: Sendable {
    /// - Parameter path: below the folder, without a slash at its beginning.
    /// - Returns: `nil` when there is no such file; links and folders are none.
    func file(at path: [UInt8]) throws(BackupError) -> MediaFileFacts?
    /// All files in ascending order of the bytes of their paths.
    func forEachFile(_ body: (MediaFileFacts) throws(BackupError) -> Void) throws(BackupError)
    /// Tells one state of the folder from another; `nil` when that cannot be told.
    func state() throws(BackupError) -> String?
}
