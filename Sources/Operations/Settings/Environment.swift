import Glibc

/// What environment variables say.
public enum Environment {
    /// `BACKUPFS_SCHEDULE`: goes before the settings.
    static var schedule: String? { text("BACKUPFS_SCHEDULE") }

    /// - Returns: `nil` for one that is not set, and for an empty one.
    public static func text(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }
}
