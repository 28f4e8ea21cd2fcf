import BackupCore
import SystemIO

/// A part of a run, in this order; `runs.jsonl` says when each began.
public enum JobPhase: String, Sendable, CaseIterable {
    /// The source is read, and the destinations are written and read back.
    case copying
    /// The source has been read; the last copies are written and read back.
    case verifying
    /// Lists of checksums are compared and written.
    case lists
    /// Folders get the modes and times of their originals.
    case folders
    /// `results.json` and `errors.txt` are written.
    case results
    /// After the end of the run.
    case reports

    /// For people.
    public var label: Message {
        switch self {
        case .copying: "Copying..."
        case .verifying: "Verifying the last copies..."
        case .lists: "Comparing and writing lists of checksums..."
        case .folders: "Setting modes and times of folders..."
        case .results: "Writing the results..."
        case .reports: "Making reports..."
        }
    }
}

extension JobFolder {
    /// Notes that a phase begins.
    public func note(_ phase: JobPhase) {
        // The job itself is not less certain without this line.
        try? appendRun([["event": "phase", "phase": phase.rawValue, "at": SystemClock.now()]])
    }
}
