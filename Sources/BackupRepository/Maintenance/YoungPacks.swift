import BackupCore
import SystemIO

/// Packs that a prune leaves alone since they were written just now, on storage that several hosts share.
///
/// Where the kernel's locks reach every process, none writes while a prune runs, and none is young. But sshfs and rclone show another host's files only
/// seconds or minutes later, its notes and its newest record among them: what no record here needs may be what that record needs.
struct YoungPacks {
    /// Longer than any file system keeps an old listing. restic and borg have learned the same.
    static let ageLimitSeconds: Int64 = 3_600

    /// Whom a prune spares.
    enum Rule: Sendable {
        /// Packs on storage that other hosts may write to.
        case onSharedStorage
        case always
        case never
    }

    private let layout: RepositoryLayout
    /// By the storage's own clock; `nil` when none is young.
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

    /// Where nothing can be written, nothing is removed either: it is only shown what would be.
    private static func clock(_ layout: RepositoryLayout) throws(BackupError) -> Timestamp {
        do {
            return try StorageClock.now(layout)
        } catch let error where [.readOnly, .accessDenied, .notPermitted].contains(error.code) {
            return SystemClock.systemTime()
        }
    }

    /// Whether the pack is left alone. One from the future is: then one of the clocks is wrong, and it is not known how old it is.
    func contains(_ pack: PackID) throws(BackupError) -> Bool {
        guard let now, let status = try FileSystem.look(layout.packPath(of: pack)) else { return false }
        return now.secondsSince(status.modificationTime) < Self.ageLimitSeconds
    }
}
