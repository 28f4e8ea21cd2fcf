import BackupCore
import CopyVerify
import Formats

/// What recorded a card, in words.
enum CameraReport {
    /// One line: `Camera: Sony FX6, reel A001, 12 clips`. `nil` for a source of no known camera.
    static func line(_ card: CameraCard) -> Message? {
        guard card.confidence != .low else { return nil }
        let parts: [Message] =
            [.verbatim(card.name)] + (card.reel.map { ["reel \($0)"] } ?? []) + counts(card)
        return "Camera: \(.joined(parts))"
    }

    private static func counts(_ card: CameraCard) -> [Message] {
        let clips: Message = .plural(card.clipCount, one: "\(card.clipCount) clip", other: "\(card.clipCount) clips")
        let photos: Message = .plural(card.photoCount, one: "\(card.photoCount) photo", other: "\(card.photoCount) photos")
        return (card.clipCount > 0 ? [clips] : []) + (card.photoCount > 0 ? [photos] : [])
    }

    /// Clips that are not whole.
    static func remarks(_ card: CameraCard) -> [Message] {
        card.spans.map { span in
            switch span.note {
            case .continued:
                "\(Terminal.shown(span.clip)): the beginning of this clip is not here; look for it on the card before"
            case .continues: "\(Terminal.shown(span.clip)): this clip goes on, on another card"
            case .incomplete: "\(Terminal.shown(span.clip)): parts of this clip are not here"
            }
        }
    }

    /// All that is known, and why.
    static func lines(_ card: CameraCard) -> [Message] {
        var lines: [Message] = ["Camera: \(card.name)"]
        if let model = card.model { lines.append("Model: \(model)") }
        if let serial = card.serial { lines.append("Serial number: \(serial)") }
        if let reel = card.reel { lines.append("Reel: \(reel)") }
        switch card.confidence {
        case .high: lines.append("Confidence: high, by what only this maker writes")
        case .medium: lines.append("Confidence: medium")
        case .low: lines.append("Confidence: low, this is a guess")
        }
        if !counts(card).isEmpty { lines.append("Content: \(.joined(counts(card)))") }
        lines += card.evidence.map { evidence in
            switch evidence.kind {
            case .metadata: "  metadata: \(Terminal.shown(evidence.path))"
            case .folder: "  folder: \(Terminal.shown(evidence.path))"
            case .files:
                .plural(
                    evidence.count, one: "  \(evidence.count) file: \(Terminal.shown(evidence.path))",
                    other: "  \(evidence.count) files like \(Terminal.shown(evidence.path))")
            }
        }
        if !card.otherTypes.isEmpty {
            lines.append("Also like: \(.joined(card.otherTypes.map { .verbatim($0.rawValue) }))")
        }
        return lines + remarks(card)
    }
}
