import BackupCore
import Formats
import SystemIO

extension StoreSettings {
    /// What the settings of a store say of the reports of `backupfs copy`, and their language.
    /// - Parameter root: the store's folder; the logo's path is relative to it.
    public static func reports(ofStore root: String) throws(BackupError) -> (preferences: ReportPreferences, language: Language?)
    {
        let settings = try read(StorePaths(root: root).settings)
        return (settings.reports(in: root), settings.language)
    }

    fileprivate func reports(in root: String) -> ReportPreferences {
        var preferences = report
        if let logo = preferences.logo, !logo.hasPrefix("/") { preferences.logo = "\(root)/\(logo)" }
        return preferences
    }
}

extension Store {
    /// What the settings as last read say of the reports of copies.
    public var reportPreferences: ReportPreferences { settings.reports(in: paths.root) }
}
