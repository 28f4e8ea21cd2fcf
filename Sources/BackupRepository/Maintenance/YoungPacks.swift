import BackupCore
import SystemIO

/// Packs that a prune leaves alone because they were written recently, on storage that several hosts share.
///
/// Where the kernel's locks reach every process, no process writes while a prune runs, and no pack counts as young. But sshfs and rclone show another host's
/// files only seconds or minutes later, including its notes and its newest record. A pack that no visible record needs may be one that this record needs.
struct YoungPacks {
    /// Longer than any file system caches a listing. restic and borg use similar limits.
    static let ageLimitSeconds: Int64 = 3_600

    /// Which packs a prune spares.
    enum Rule: Sendable {
        /// Packs on storage that other hosts may write to.
        case onSharedStorage
        case always
        case never
    }

    private let layout: RepositoryLayout
    /// By the storage's own clock; `nil` when no pack counts as young.
    private let now: Timestamp?

    init(_ layout: RepositoryLayout, _ rule: Rule) throws(BackupError) {
        self.layout = layout
        let applies =
            switch rule {
            case .onSharedStorage: try FileSystem.isShared(layout.packs)
            case .always: true
            case .never: false
            }
        now = applies ? try Self.clock(layout) : nil
    }

    /// Where nothing can be written, nothing is removed either: this is a dry run.
    private static func clock(_ layout: RepositoryLayout) throws(BackupError) -> Timestamp {
        do {
            return try StorageClock.now(layout)
        } catch let error where [.readOnly, .accessDenied, .notPermitted].contains(error.code) {
            return SystemClock.systemTime()
        }
    }

    /// Whether the pack is left alone. That includes a pack dated in the future: one of the clocks is wrong, and its age is unknown.
    func contains(_ pack: PackID) throws(BackupError) -> Bool {
        guard let now, let status = try FileSystem.look(layout.packPath(of: pack)) else { return false }
        return now.secondsSince(status.modificationTime) < Self.ageLimitSeconds
    }
}
