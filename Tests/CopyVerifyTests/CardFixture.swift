import CopyVerify
import SystemIO
import TestSupport
import Testing

/// A made-up card: its folders and files as real ones.
struct CardFixture: Sendable, CustomTestStringConvertible {
    let name: String
    /// Paths, and the content of those that have any. Those that end with a slash are folders. Numbers in braces stand for
    /// several names: `C00{01..03}.MP4`.
    let files: [(path: String, content: String)]
    let type: CameraType
    let confidence: CameraCard.Confidence
    let model: String?
    let serial: String?
    let reel: String?
    let clips: UInt64
    let photos: UInt64
    let spans: [String]

    var testDescription: String { name }

    init(
        _ name: String, _ type: CameraType, _ confidence: CameraCard.Confidence, _ files: [String],
        content: [String: String] = [:], model: String? = nil, serial: String? = nil, reel: String? = nil, clips: UInt64 = 0,
        photos: UInt64 = 0, spans: [String] = []
    ) {
        self.name = name
        self.type = type
        self.confidence = confidence
        self.files =
            files.flatMap(Self.expanded).map { ($0, "x") } + content.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        self.model = model
        self.serial = serial
        self.reel = reel
        self.clips = clips
        self.photos = photos
        self.spans = spans
    }

    /// A card whose camera is certain.
    init(
        _ name: String, _ type: CameraType, _ files: [String], content: [String: String] = [:], model: String? = nil,
        serial: String? = nil, reel: String? = nil, clips: UInt64 = 0, photos: UInt64 = 0, spans: [String] = []
    ) {
        self.init(
            name, type, .high, files, content: content, model: model, serial: serial, reel: reel, clips: clips, photos: photos,
            spans: spans)
    }

    private static func expanded(_ path: String) -> [String] {
        guard let open = path.firstIndex(of: "{"), let close = path.firstIndex(of: "}") else { return [path] }
        let bounds = path[path.index(after: open)..<close].split(separator: ".").map(String.init)
        guard let first = Int(bounds[0]), let last = Int(bounds[1]) else { return [path] }
        return (first...last).flatMap { number -> [String] in
            let digits = String(number)
            let padded = String(repeating: "0", count: bounds[0].count - digits.count) + digits
            return expanded("\(path[..<open])\(padded)\(path[path.index(after: close)...])")
        }
    }

    /// Makes the card.
    /// - Parameter rename: of each component, for cards whose names are written otherwise.
    /// - Returns: its path.
    func make(in folder: TemporaryFolder, _ rename: (String) -> String = { $0 }) throws -> String {
        let card = try folder.makeFolder("CARD")
        for (path, content) in files {
            let isFolder = path.hasSuffix("/")
            var components = path.split(separator: "/").map { rename(String($0)) }
            let name = isFolder ? nil : components.popLast()
            let parent = ([card] + components).joined(separator: "/")
            try FileSystem.makeDirectories(parent, isDurable: false)
            if let name { try writeFile("\(parent)/\(name)", Array(content.utf8)) }
        }
        return card
    }
}
