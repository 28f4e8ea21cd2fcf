import BackupCore
import SystemIO

/// A form of a report.
public enum ReportFormat: String, Sendable, CaseIterable {
    case json, csv, html, pdf

    /// - Parameter text: names with commas between them: `json,pdf`. Each counts once.
    /// - Returns: `nil` when one of them is unknown, or there is none.
    public static func list(_ text: String) -> [ReportFormat]? {
        var formats: [ReportFormat] = []
        for name in text.split(separator: ",") {
            guard let format = ReportFormat(rawValue: String(name.filter { $0 != " " }).lowercased()) else { return nil }
            if !formats.contains(format) { formats.append(format) }
        }
        return formats.isEmpty ? nil : formats
    }
}

/// Whether a job leaves reports, which, and what a person wants on them.
public struct ReportPreferences: Sendable, Equatable {
    /// Whether reports are made at the end of a job.
    public var isEnabled = false
    /// Which reports are made.
    public var formats = ReportFormat.allCases
    /// Instead of the usual title.
    public var title: String?
    /// Whose report it is.
    public var company: String?
    /// For whom the company works.
    public var client: String?
    /// What the files are part of.
    public var production: String?
    /// A text of any number of lines.
    public var notes: String?
    /// The path of a JPEG or PNG.
    public var logo: String?
    /// Whether the first complete destination gets the reports as well, in its folder `Reports`.
    public var isInDestination = false
    /// Whether small pictures of photos are on the reports.
    public var hasThumbnails = false

    public init() {}

    private static let texts: [(name: String, key: WritableKeyPath<ReportPreferences, String?> & Sendable)] = [
        ("title", \.title), ("company", \.company), ("client", \.client), ("production", \.production), ("notes", \.notes),
        ("logo", \.logo),
    ]

    /// As in `config.json`.
    public var json: OrderedJSON {
        .object(
            [.init("enabled", isEnabled), .init("formats", formats.map(\.rawValue))]
                + Self.texts.map { .init($0.name, self[keyPath: $0.key]) }
                + [.init("in_destination", isInDestination), .init("thumbnails", hasThumbnails)])
    }

    /// Reads the object that has just begun.
    public init(reading tokenizer: JSONTokenizer) throws(BackupError) {
        var result = ReportPreferences()
        try tokenizer.forEachMember { (name, value) throws(BackupError) in
            switch value {
            case .true, .false:
                switch name {
                case "enabled": result.isEnabled = value == .true
                case "in_destination": result.isInDestination = value == .true
                case "thumbnails": result.hasThumbnails = value == .true
                default: break
                }
            case .string:
                if let key = Self.texts.first(where: { $0.name == name })?.key { result[keyPath: key] = tokenizer.text() }
            case .beginArray where name == "formats":
                var formats: [ReportFormat] = []
                while try tokenizer.next() == .string {
                    if let format = ReportFormat(rawValue: tokenizer.text()) { formats.append(format) }
                }
                result.formats = formats
            default: break
            }
        }
        self = result
    }
}
