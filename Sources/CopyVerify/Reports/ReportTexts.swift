import BackupCore
import Formats
import PhotoData
import SystemIO

/// What a report says, in the language of its reader.
struct ReportTexts {
    let language: Language

    func text(_ message: Message) -> String { language.text(message) }

    func time(_ time: Timestamp?) -> String? { time.map { text(SystemClock.localTime($0)) } }

    /// `97.5`.
    static func decimal(_ value: Double) -> String {
        let tenths = UInt64((min(max(value, 0), 1e15) * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// Not 100 while anything is missing.
    static func percent(_ story: (success: UInt64, all: UInt64)) -> String {
        guard story.all > 0 else { return "0.0 %" }
        let exact = Double(story.success) / Double(story.all) * 100
        return "\(decimal(story.success < story.all ? min(exact, 99.9) : exact)) %"
    }

    static func verdict(_ verdict: ReportVerdict, destinations count: Int, issues: UInt64) -> Message {
        switch verdict {
        case .everyByte:
            if count == 1 { return "Every byte arrived at the destination." }
            return .plural(
                count, one: "Every byte arrived at \(count) destination.",
                other: "Every byte arrived at each of \(count) destinations.")
        case .everySize: return "Every file arrived, with its size. The content was not compared: that proves no byte."
        case .empty: return "The source had no files: nothing was copied."
        case .incomplete:
            guard issues > 0 else { return "The job has problems: do not erase the source." }
            return .plural(
                issues, one: "\(issues) copy is missing: do not erase the source.",
                other: "\(issues) copies are missing: do not erase the source.")
        case .stopped: return "The job was stopped before its end: do not erase the source."
        case .interrupted: return "The job was interrupted and has not been continued: do not erase the source."
        case .running: return "The job is still running: do not erase the source."
        case .notBegun: return "The job has not begun: do not erase the source."
        }
    }

    static func tone(_ verdict: ReportVerdict) -> PageTone {
        switch verdict {
        case .everyByte: .good
        case .everySize, .empty: .quiet
        case .incomplete, .stopped, .interrupted, .running, .notBegun: .bad
        }
    }

    /// What the way of verifying proves, and what it does not.
    func proofs(_ story: JobStory) -> [Message] {
        var proofs: [Message] = []
        switch story.record.options.verification {
        case .quick: return ["Only the sizes of the copies were compared (quick)."]
        case .standard: proofs.append("Each copy was read back, and its SHA-256 compared with that of the source.")
        case .thorough: proofs.append("Each copy was read back, and its SHA-256 and MD5 compared with those of the source.")
        case .paranoid:
            proofs.append(
                "Each copy was read back and compared byte for byte with the source, which was read again, and by SHA-256, MD5 and SHA-1."
            )
        }
        let onDisks = story.destinations.filter { !$0.isInMemory }
        let direct = onDisks.reduce(0) { $0 + $1.directCount }
        let dropped = onDisks.reduce(0) { $0 + $1.droppedCount }
        let links = story.destinations.reduce(0) { $0 + $1.linkCount }
        if direct > 0 {
            proofs.append(
                .plural(
                    direct, one: "\(direct) copy was read past the memory of the kernel (direct).",
                    other: "\(direct) copies were read past the memory of the kernel (direct)."))
        }
        if dropped > 0 {
            proofs.append(
                .plural(
                    dropped,
                    one:
                        "\(dropped) copy was read after the kernel was asked to forget it (dropped): its file system cannot be read directly, and the kernel may have answered from its memory.",
                    other:
                        "\(dropped) copies were read after the kernel was asked to forget them (dropped): their file systems cannot be read directly, and the kernel may have answered from its memory."
                ))
        }
        if links > 0 {
            proofs.append(
                .plural(
                    links, one: "\(links) link was compared by its target.",
                    other: "\(links) links were compared by their targets."))
        }
        return proofs
    }

    static func status(_ status: RowStatus) -> Message {
        switch status {
        case .verified: "verified"
        case .copied: "copied"
        case .present: "was there already"
        case .checksumMismatch: "the copy differs"
        case .fileAccessDenied: "access denied"
        case .fileNotFound: "not found"
        case .insufficientStorage: "disk full"
        case .operationCancelled: "not finished"
        case .sourceChanged: "the source changed"
        case .conflict: "name is taken"
        case .sourceMismatch: "the source is not as listed"
        case .failed: "failed"
        }
    }

    /// `SHA-256, MD5`.
    static func algorithms(_ mode: VerificationMode) -> String {
        HashAlgorithm.allCases.filter(mode.algorithms.contains).map(\.title).joined(separator: ", ")
    }

    /// `12.5 MB/s`.
    static func speed(_ bytesPerSecond: Double) -> String? {
        bytesPerSecond > 0 ? "\(decimal(bytesPerSecond / 1e6)) MB/s" : nil
    }
}
