import BackupCore
import Formats
import SystemIO

/// What a source was recorded by, as far as its folders, names and metadata tell: `camera.json`.
public struct CameraCard: Sendable, Equatable {
    /// How sure the type is.
    public enum Confidence: String, Sendable, CaseIterable { case high, medium, low }

    /// What identified the type.
    public struct Evidence: Sendable, Equatable {
        /// The raw values are the names in JSON.
        public enum Kind: String, Sendable, CaseIterable {
            /// What the camera has written about itself.
            case metadata
            /// A folder that is there.
            case folder
            /// Files whose names are of one pattern; the path is that of the first one.
            case files
        }

        public let kind: Kind
        /// Below the source.
        public let path: String
        /// Of the files; 1 for anything else.
        public let count: Int
    }

    public var type: CameraType = .generic
    /// The maker's product code, from the card's own metadata.
    public var model: String?
    /// That of the camera, from the card's own metadata.
    public var serial: String?
    /// `A001`, from the names of clips.
    public var reel: String?
    public var confidence: Confidence = .low
    /// The strongest first; at most 20.
    public var evidence: [Evidence] = []
    /// Other makers whose evidence is on the card as well.
    public var otherTypes: [CameraType] = []
    /// Whether the card had more names than were looked at.
    public var isPartlyRead = false
    /// Clips that are not whole on the card, as its metadata or the numbers of their parts say.
    public var spans: [ClipSpan] = []
    /// Clips of several files count once.
    public var clipCount: UInt64 = 0
    /// Files of one name count once.
    public var photoCount: UInt64 = 0

    public init() {}

    /// For people, and for the names of folders: the type if it is that of a model, else the maker and the model.
    public var name: String {
        guard let model, Self.makers.contains(type) else { return type.rawValue }
        return model.lowercased().hasPrefix(type.rawValue.lowercased()) ? model : "\(type.rawValue) \(model)"
    }

    private static let makers: Set<CameraType> = [
        .sony, .canon, .arri, .red, .blackmagicDesign, .panasonic, .fujifilm, .nikon, .goPro, .dji, .insta360, .iPhone,
    ]

    // MARK: As JSON

    public var json: OrderedJSON {
        summary.adding([
            "evidence": evidence.map { evidence -> OrderedJSON in
                ["kind": evidence.kind.rawValue, "path": evidence.path, "count": evidence.count]
            },
            "other_types": otherTypes.map(\.rawValue), "partly_read": isPartlyRead, "clip_count": clipCount,
            "photo_count": photoCount, "spans": spans.map(\.json),
        ])
    }

    /// What it is, without the reasons.
    public var summary: OrderedJSON {
        [
            "type": type.rawValue, "name": name, "model": model, "serial": serial, "reel": reel,
            "confidence": confidence.rawValue,
        ]
    }

    /// Reads what `json` wrote.
    /// - Returns: `nil` for anything else. A type of a newer version counts as `generic`.
    public init?(parsing bytes: [UInt8]) {
        let members = JSONMembers(bytes)
        guard let type = members.text("type"), let confidence: Confidence = members.word("confidence") else { return nil }
        self.type = CameraType(rawValue: type) ?? .generic
        self.confidence = confidence
        model = members.text("model")
        serial = members.text("serial")
        reel = members.text("reel")
        isPartlyRead = members.flag("partly_read")
        clipCount = members.number("clip_count") ?? 0
        photoCount = members.number("photo_count") ?? 0
        guard (try? readLists(bytes)) != nil else { return nil }
    }

    private mutating func readLists(_ bytes: [UInt8]) throws(BackupError) {
        let tokenizer = JSONTokenizer(BytesSource(bytes), bufferSizeBytes: 4_096)
        guard try tokenizer.next() == .beginObject else { return }
        var (evidence, spans, others): ([Evidence], [ClipSpan], [CameraType]) = ([], [], [])
        try tokenizer.forEachMember { (name, value) throws(BackupError) in
            guard value == .beginArray else { return }
            while true {
                let item = try tokenizer.next()
                if item == .string, name == "other_types" {
                    if let type = CameraType(rawValue: tokenizer.text()) { others.append(type) }
                    continue
                }
                guard item == .beginObject else { return }
                let texts = try Self.texts(tokenizer)
                if name == "evidence", let kind = texts["kind"].flatMap(Evidence.Kind.init), let path = texts["path"] {
                    evidence.append(Evidence(kind: kind, path: path, count: texts["count"].flatMap { Int($0) } ?? 1))
                } else if name == "spans", let clip = texts["clip"], let note = texts["note"].flatMap(ClipSpan.Note.init) {
                    spans.append(ClipSpan(clip: clip, note: note))
                }
            }
        }
        (self.evidence, self.spans, otherTypes) = (evidence, spans, others)
    }

    /// The texts and numbers of the object that has just begun.
    private static func texts(_ tokenizer: JSONTokenizer) throws(BackupError) -> [String: String] {
        var texts: [String: String] = [:]
        try tokenizer.forEachMember { (name, value) throws(BackupError) in
            if value == .string || value == .number { texts[name] = tokenizer.text() }
        }
        return texts
    }
}

/// A clip that is not whole on the card.
public struct ClipSpan: Sendable, Equatable {
    /// What is not here; the raw values are the names in JSON.
    public enum Note: String, Sendable, CaseIterable {
        /// Its first part is not here: it continues a clip of another card.
        case continued
        /// Its last part is not here: it goes on, on another card.
        case continues
        /// Parts between the first and the last one are not here.
        case incomplete
    }

    /// The path of its first file here, below the source.
    public let clip: String
    public let note: Note

    var json: OrderedJSON { ["clip": clip, "note": note.rawValue] }
}
