/// The app's own names for its files.
public struct FileNamePatterns: Sendable, Equatable {
    public let export: FileNamePattern
    public let backup: FileNamePattern
    public let safety: FileNamePattern

    public init(export: FileNamePattern, backup: FileNamePattern, safety: FileNamePattern) {
        self.export = export
        self.backup = backup
        self.safety = safety
    }
}
