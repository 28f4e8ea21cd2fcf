import BackupCore
import BackupRepository
import Formats
import SystemIO

/// Whether a store's backups are in order: `backupfs status --check`, for monitors.
public struct HealthCheck: Sendable {
    /// The first thing that is wrong; the raw value is its name in JSON.
    public enum Finding: String, Sendable {
        case healthy
        /// Another store continues the backups: the newest may be that store's, and then does not contain this one's data.
        case takenOver = "taken_over"
        /// The store has adopted backups and waits until a user requests a restore or a backup: the newest backup is another
        /// store's.
        case waiting
        case noBackup = "no_backup"
        case tooOld = "too_old"
        /// The newest backup is from the future, so its age is unknown: it would pass as recent for years.
        case clock
        /// The schedule's last backup failed, and none was made since.
        case automaticFailed = "automatic_failed"
    }

    public let finding: Finding
    /// The newest backup; `nil` when there is none.
    public let newest: Snapshot?
    /// An older backup is too old; `nil` where none is.
    public let maximumAge: RetentionPeriod?
    /// The warnings of the newest backup. They do not affect the finding.
    public let warnings: [Message]
    /// Why the last operation failed, or which store continues the backups, if that is the finding.
    public let message: Message?

    /// - Parameter maximumAge: counts back from the time of the state.
    public init(_ state: StoreState, maximumAge: RetentionPeriod?) {
        newest = state.newest
        self.maximumAge = maximumAge
        warnings = state.warnings
        let limit = maximumAge?.start(before: state.now)
        if state.successorNotice != nil {
            finding = .takenOver
        } else if state.isQuiet {
            finding = .waiting
        } else if let newest = state.newest {
            // The clocks of two machines may differ by a time zone, if one is set wrong.
            if newest.creationTime.secondsSince(state.now) > RetentionGuard.behindSeconds {
                finding = .clock
            } else if let limit, newest.creationTime < limit {
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
        [
            "message_type": "check", "healthy": finding == .healthy, "finding": finding.rawValue,
            "last_backup": newest?.creationTime.wholeSeconds, "maximum_age": maximumAge?.text,
            "message": message, "warnings": warnings,
        ]
    }
}
