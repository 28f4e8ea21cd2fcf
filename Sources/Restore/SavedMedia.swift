import BackupCore
import SystemIO

/// Knows which files of the media folder a safety backup holds, so that a restore removes only these.
public struct SavedMedia: Sendable {
    /// Whether the backup has the file unchanged.
    public typealias Check = (ReplacedFile) throws(BackupError) -> Bool

    private let makeCheck: @Sendable (SnapshotID?) -> Check

    /// - Parameter makeCheck: given the safety backup; `nil` when there is none.
    public init(_ makeCheck: @escaping @Sendable (SnapshotID?) -> Check) { self.makeCheck = makeCheck }

    /// For data that need not be kept.
    public static let everything = SavedMedia { _ in { _ in true } }

    func check(_ snapshot: SnapshotID?) -> Check { makeCheck(snapshot) }
}
