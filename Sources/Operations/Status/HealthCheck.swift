import BackupCore
import BackupRepository
import Export
import SystemIO

/// Whether a store is backed up as it should be: `backupfs status --check`, for monitors.
public struct HealthCheck: Sendable {
    public enum Finding: String, Sendable {
        case healthy
        /// Another store continues the backups: the newest may be that one's, and say nothing of this one's data.
        case takenOver = "taken_over"
        /// The store has adopted backups and waits for a restore or a backup that a user asks for: the newest backup is another store's.
        case waiting
        case noBackup = "no_backup"
        case tooOld = "too_old"
        /// The newest backup is of a time to come, so nobody knows how old it is: it would count as young enough for years.
        case clock
        /// The schedule's last backup failed, and none was made since.
        case automaticFailed = "automatic_failed"
    }

    public let finding: Finding
    public let newest: Snapshot?
    public let maximumAge: RetentionPeriod
    /// What the newest backup has to say. That makes it no worse than none: the finding is another matter.
    public let warnings: [Message]
    /// Why the last operation failed, or which store continues the backups, where that is the finding.
    public let message: Message?

    public init(_ state: StoreState, maximumAge: RetentionPeriod) {
        newest = state.newest
        self.maximumAge = maximumAge
        warnings = state.warnings
        let limit = CalendarTime(state.now).start(of: maximumAge)
        if state.successorNotice != nil {
            finding = .takenOver
        } else if state.isQuiet {
            finding = .waiting
        } else if let newest = state.newest {
            // Two machines' clocks may differ by a time zone that one of them has wrong.
            if newest.creationTime.secondsSince(state.now) > RetentionGuard.behindSeconds {
                finding = .clock
            } else if newest.creationTime < limit {
                finding = .tooOld
            } else {
                finding = state.automaticFailureCount > 0 ? .automaticFailed : .healthy
            }
        } else {
            finding = .noBackup
        }
        message =
            switch finding {
            case .takenOver: state.successorNotice
            case .automaticFailed: state.failure?.message
            case .healthy, .noBackup, .tooOld, .clock, .waiting: nil
            }
    }

    public var json: OrderedJSON {
        .members([
            "message_type": .text("check"), "healthy": .boolean(finding == .healthy), "finding": .text(finding.rawValue),
            "lastBackup": .optional(newest.map { ISO8601.format($0.creationTime.wholeSeconds) }),
            "maximumAge": .text(maximumAge.text), "message": .optional(message?.english),
            "warnings": .array(warnings.map { .text($0.english) }),
        ])
    }
}
