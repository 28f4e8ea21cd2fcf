import BackupCore
import SystemIO

/// Finds out what recorded a source. It looks at some thousand names and a few small files, and never fails: a card that is
/// hostile or damaged has a type that is less sure.
struct CardDetection {
    private static let evidenceLimit = 20
    private static let namedFileCount = 3

    private let root: DirectoryHandle
    private let look: CardLook

    /// What one rule has found.
    private struct Finding {
        let type: CameraType
        let strength: CardRule.Strength
        /// Components of the paths of the rule.
        let length: Int
        let evidence: [CameraCard.Evidence]

        var count: Int { evidence.reduce(0) { $0 + $1.count } }

        /// Whether it counts more than another one.
        func isStronger(than other: Finding) -> Bool {
            if strength != other.strength { return strength > other.strength }
            if length != other.length { return length > other.length }
            return count > other.count
        }
    }

    /// - Parameters:
    ///   - root: the source.
    ///   - name: its own name.
    static func detect(_ root: DirectoryHandle, name: FileName) -> CameraCard {
        CardDetection(root: root, look: CardLook(root, name: name)).card()
    }

    private func card() -> CameraCard {
        var card = CameraCard()
        card.isPartlyRead = !look.isWhole
        card.reel = CardReel.find(look)
        let metadata = CardMetadata(root, look)
        card.spans = metadata.spans()
        var findings = CardRule.all.compactMap(finding)
        let devices = metadata.devices()
        findings += devices.map { device in
            Finding(
                type: device.type, strength: .metadata, length: 0,
                evidence: [CameraCard.Evidence(kind: .metadata, path: device.path, count: 1)])
        }
        guard var best = findings.first else { return card }
        for finding in findings.dropFirst() where finding.isStronger(than: best) { best = finding }
        card.type = best.type
        if let device = devices.first(where: { $0.type == best.type }) {
            card.model = device.model
            card.serial = device.serial
            if let model = device.model { card.type = best.type.refined(by: model) }
        }
        let own = findings.filter { $0.type == best.type }
        let rivals = findings.filter { $0.type != best.type && !$0.type.isGeneric && $0.strength >= .naming }
        for rival in rivals where !card.otherTypes.contains(rival.type) { card.otherTypes.append(rival.type) }
        card.confidence = confidence(best, isDisputed: rivals.contains { $0.strength == best.strength })
        card.evidence = Array(
            own.sorted { $0.isStronger(than: $1) }.flatMap(\.evidence).prefix(Self.evidenceLimit))
        return card
    }

    private func confidence(_ best: Finding, isDisputed: Bool) -> CameraCard.Confidence {
        switch best.strength {
        case .metadata, .specific: isDisputed ? .medium : .high
        case .naming: isDisputed ? .low : .medium
        case .hint: .low
        case .generic: best.type == .genericDCIM ? .medium : .low
        }
    }

    // MARK: Rules

    /// - Returns: `nil` for a rule that does not hold.
    private func finding(_ rule: CardRule) -> Finding? {
        var evidence: [CameraCard.Evidence] = []
        for path in rule.folders {
            guard let folder = folder(path, isForSource: rule.isForSource) else { return nil }
            evidence.append(CameraCard.Evidence(kind: .folder, path: Self.text(folder.path), count: max(1, fileCount(folder))))
        }
        if !rule.files.isEmpty {
            guard let files = files(rule) else { return nil }
            evidence.append(files)
        }
        let length = rule.folders.reduce(0) { $0 + $1.count } + (rule.files.map(\.count).max() ?? 0)
        return Finding(type: rule.type, strength: rule.strength, length: length, evidence: evidence)
    }

    private func folder(_ path: [NamePattern], isForSource: Bool) -> CardLook.Folder? {
        look.folders.first { folder in
            (isForSource || path.count > 1 || !folder.path.isEmpty) && folder.ends(with: path)
        }
    }

    /// Of files in a folder and in all that is in it.
    private func fileCount(_ folder: CardLook.Folder) -> Int {
        look.folders.reduce(0) { $0 + ($1.path.starts(with: folder.path) ? $1.files.count : 0) }
    }

    /// - Returns: `nil` when there are too few for the rule.
    private func files(_ rule: CardRule) -> CameraCard.Evidence? {
        var count = 0
        var first: [FileName]?
        var totalCount = 0
        for folder in look.folders {
            totalCount += folder.files.count
            let patterns = rule.files.filter { folder.ends(with: Array($0.dropLast())) }.compactMap(\.last)
            for file in folder.files where patterns.contains(where: { $0.matches(file.key) }) {
                count += 1
                if first == nil { first = folder.path + [file.name] }
            }
        }
        guard let first else { return nil }
        // A few names that look like a camera's do not make a card of it.
        let isEnough = rule.strength == .specific || count >= Self.namedFileCount || count * 2 >= totalCount
        return isEnough ? CameraCard.Evidence(kind: .files, path: Self.text(first), count: count) : nil
    }

    private static func text(_ path: [FileName]) -> String {
        path.isEmpty ? "." : String(decoding: BytePath.joined(path), as: UTF8.self)
    }
}

/// The reel of a card: what the names of its clips begin with.
enum CardReel {
    /// With the length of the reel in the name.
    private static let patterns: [(pattern: NamePattern, length: Int)] = [
        // RED, Sony, Canon and ARRI, Blackmagic; ALEXA 35.
        ("@###_C###_*", 4), ("@###C###_*", 4), ("@###_########_C###*", 4), ("@_####C###_*", 6), ("@###_????*.RDM", 4),
    ]

    /// The one of most names; the first of several.
    static func find(_ look: CardLook) -> String? {
        var counts: [[UInt8]: Int] = [:]
        for folder in look.folders {
            for entry in folder.files + folder.folders {
                guard let found = patterns.first(where: { $0.pattern.matches(entry.key) }) else { continue }
                counts[Array(entry.key.prefix(found.length)), default: 0] += 1
            }
        }
        let best = counts.max { one, other in
            one.value == other.value ? other.key.lexicographicallyPrecedes(one.key) : one.value < other.value
        }
        return best.map { String(decoding: $0.key, as: UTF8.self) }
    }
}
