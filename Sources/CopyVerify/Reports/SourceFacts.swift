import BackupCore
import Formats
import SystemIO

/// What the folder of a job says of its source: `source_info.json`, and `camera.json` if there is one.
public struct SourceFacts: Sendable {
    private static let limitBytes = 4 << 20

    /// Files and links: the larger one of the numbers at the beginning and in the last run.
    public private(set) var fileCount: UInt64 = 0
    /// Of the files.
    public private(set) var totalBytes: UInt64 = 0
    /// How many files have an extension, sorted by it; empty for those without one.
    public private(set) var extensions: [(name: String, count: UInt64)] = []
    /// The earliest time of a file; `nil` without files.
    public private(set) var oldest: Timestamp?
    /// The latest time of a file; `nil` without files.
    public private(set) var newest: Timestamp?
    /// Names that were left out since they begin with a dot.
    public private(set) var hiddenCount: UInt64 = 0
    /// `nil` when no camera was recognised.
    public private(set) var camera: CameraFacts?

    init(_ folder: JobFolder, _ lastRun: JobRun?) throws(BackupError) {
        let text = try FileSystem.readFileIfPresent("\(folder.path)/source_info.json", limitBytes: Self.limitBytes) ?? []
        // A torn or foreign file costs what it says, and not the report.
        try? read(text)
        if let run = lastRun, run.fileCount >= fileCount {
            fileCount = run.fileCount
            totalBytes = max(totalBytes, run.totalBytes)
        }
        hiddenCount = lastRun?.hiddenCount ?? 0
        let card = try FileSystem.readFileIfPresent("\(folder.path)/camera.json", limitBytes: Self.limitBytes) ?? []
        camera = CameraFacts(JSONMembers(card)) ?? camera
    }

    private mutating func read(_ text: [UInt8]) throws(BackupError) {
        guard !text.isEmpty else { return }
        let tokenizer = JSONTokenizer(BytesSource(text), bufferSizeBytes: 4_096)
        guard try tokenizer.next() == .beginObject else { return }
        var facts = self
        try tokenizer.forEachMember { (name, value) throws(BackupError) in
            switch (name, value) {
            case ("fileCount", .number): facts.fileCount = UInt64(tokenizer.text()) ?? 0
            case ("totalBytes", .number): facts.totalBytes = UInt64(tokenizer.text()) ?? 0
            case ("oldest", .string): facts.oldest = ISO8601.parse(tokenizer.text())
            case ("newest", .string): facts.newest = ISO8601.parse(tokenizer.text())
            case ("camera", .string): facts.camera = CameraFacts(type: tokenizer.text())
            case ("byExtension", .beginObject):
                try tokenizer.forEachMember { (ending, value) throws(BackupError) in
                    // Jobs of older versions have the count alone.
                    if value == .number { facts.extensions.append((ending, UInt64(tokenizer.text()) ?? 0)) }
                    guard value == .beginObject else { return }
                    var count: UInt64 = 0
                    try tokenizer.forEachMember { (name, value) throws(BackupError) in
                        if name == "count", value == .number { count = UInt64(tokenizer.text()) ?? 0 }
                    }
                    facts.extensions.append((ending, count))
                }
            case ("camera", .beginObject):
                var texts: [String: String] = [:]
                try tokenizer.forEachMember { (name, value) throws(BackupError) in
                    if value == .string { texts[name] = tokenizer.text() }
                }
                facts.camera = CameraFacts(
                    type: texts["type"], model: texts["model"], serial: texts["serial"], name: texts["name"])
            default: break
            }
        }
        self = facts
    }
}

/// A camera, as the job has recognised it.
public struct CameraFacts: Sendable, Equatable {
    /// The maker, or a kind of camera: `Sony`.
    public let type: String?
    /// As its own files say it.
    public let model: String?
    /// As its own files say it.
    public let serial: String?
    private let givenName: String?

    /// What no camera has made.
    private static let genericType = "Generic"

    /// - Parameter name: that of the record; if it has none, it is made of type and model.
    /// - Returns: `nil` for no camera: without a type and a model, or with the type of any folder.
    init?(type: String?, model: String? = nil, serial: String? = nil, name: String? = nil) {
        func filled(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }
        (self.type, self.model, self.serial, givenName) = (filled(type), filled(model), filled(serial), filled(name))
        if self.model == nil, self.type == nil || self.type == Self.genericType { return nil }
    }

    init?(_ members: JSONMembers) {
        self.init(
            type: members.text("type"), model: members.text("model"), serial: members.text("serial"),
            name: members.text("name"))
    }

    /// `Sony ILME-FX6V`.
    public var name: String {
        if let givenName { return givenName }
        guard let type else { return model ?? "" }
        guard let model, model != type else { return type }
        return model.hasPrefix(type) ? model : "\(type) \(model)"
    }
}
