import BackupCore
import Formats
import SystemIO

/// `config.json` of a job: what a person has chosen besides what is copied, and how.
extension JobFolder {
    private static let configurationLimitBytes = 1 << 20

    private var configuration: String { "\(path)/config.json" }

    /// Records what reports the job makes.
    public func setReportPreferences(_ preferences: ReportPreferences) throws(BackupError) {
        try FileSystem.writeFileAtomically(configuration, (["report": preferences.json] as OrderedJSON).prettyText)
    }

    /// What reports the job makes; `nil` when nothing was recorded.
    /// - Throws: for a file that cannot be read, or is no JSON.
    public func reportPreferences() throws(BackupError) -> ReportPreferences? {
        guard let text = try FileSystem.readFileIfPresent(configuration, limitBytes: Self.configurationLimitBytes) else {
            return nil
        }
        let tokenizer = JSONTokenizer(BytesSource(text), bufferSizeBytes: 4_096)
        var preferences: ReportPreferences?
        guard try tokenizer.next() == .beginObject else { return nil }
        try tokenizer.forEachMember { (name, value) throws(BackupError) in
            if name == "report", value == .beginObject { preferences = try ReportPreferences(reading: tokenizer) }
        }
        return preferences
    }
}
