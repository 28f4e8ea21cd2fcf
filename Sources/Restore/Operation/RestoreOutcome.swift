import AppData
import BackupCore
import Formats

/// What a restore did with records and media, or would do.
public struct RestoreOutcome: Sendable, Equatable {
    /// What happened to the records.
    public let records: ImportOutcome
    /// `nil` when the file has no media, or the app has none.
    public let media: MediaOutcome?

    /// Notes that the definition asks for, as warnings.
    var notes: [Message] {
        let count = records.furtherNoteCount
        return records.notes + (count > 0 ? ["\(count) more of the same kind."] : []) + [media?.incomplete].compactMap(\.self)
    }
}

/// An outcome for programs and for people.
extension RestoreOutcome: JSONConvertible {
    /// `outcome` for each collection, and flat members with its name: `carsImported`, `carsSkipped`.
    public var json: OrderedJSON {
        let flat = records.collections.flatMap { each in
            [OrderedJSON.Member("\(each.name)Imported", each.added), .init("\(each.name)Skipped", each.skipped)]
        }
        let document: OrderedJSON = [
            "outcome": OrderedJSON.object(records.collections.map { .init($0.name, Self.describe($0)) })
        ]
        return document.adding(.object(flat)).adding([
            "mediaFiles": media.map { Self.describe($0) }, "mediaFilesRestored": media?.restoredCount ?? 0,
        ])
    }

    private static func describe(_ outcome: CollectionOutcome) -> OrderedJSON {
        [
            "added": outcome.added, "updated": outcome.updated, "skipped": outcome.skipped, "kept": outcome.kept,
            "removed": outcome.removed,
        ]
    }

    private static func describe(_ media: MediaOutcome) -> OrderedJSON {
        ["added": media.added, "renamed": media.renamed, "alreadyThere": media.alreadyThere, "skipped": media.skipped]
    }

    /// One sentence, for all strategies but `replace`.
    var message: Message {
        let total = { (count: KeyPath<CollectionOutcome, Int>) in records.collections.reduce(0) { $0 + $1[keyPath: count] } }
        return "Added \(total(\.added)), updated \(total(\.updated)) and skipped \(total(\.skipped)) records."
    }

    /// One line per collection.
    var lines: [Message] {
        let meaning: Message =
            switch records.strategy {
            case .replace: "what was there goes"
            case .merge: "what was there gets the file's values"
            case .skip: "what was there stays as it is"
            }
        var lines: [Message] = ["With \(records.strategy.rawValue) (\(meaning)):"]
        for each in records.collections {
            lines.append("  \(CollectionHeading.of(each.plural)): \(Self.text(each, records.strategy))")
        }
        if let media { lines.append("  Media files: \(Self.text(media, records.strategy))") }
        return lines
    }

    private static func text(_ outcome: CollectionOutcome, _ strategy: ImportStrategy) -> Message {
        var parts: [Message] = ["\(outcome.added) added"]
        if strategy != .replace || outcome.updated > 0 { parts.append("\(outcome.updated) updated") }
        if strategy != .replace || outcome.skipped > 0 { parts.append("\(outcome.skipped) skipped") }
        if outcome.kept > 0 { parts.append("\(outcome.kept) kept") }
        if strategy == .replace { parts.append("\(outcome.removed) removed") }
        return .joined(parts)
    }

    private static func text(_ media: MediaOutcome, _ strategy: ImportStrategy) -> Message {
        if strategy == .replace { return "\(media.added) added" }
        return .joined(
            [
                "\(media.added) added", "\(media.renamed) added under another name", "\(media.alreadyThere) already there",
            ] + (media.skipped > 0 ? ["\(media.skipped) skipped"] : []))
    }
}
