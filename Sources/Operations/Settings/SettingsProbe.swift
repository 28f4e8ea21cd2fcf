import BackupCore

/// The reader of `store.yaml`, for the fuzzer.
package enum SettingsProbe {
    /// Reads settings, changes one, and reads the resulting text.
    /// - Returns: descriptions of the settings before and after; the change keeps the value.
    package static func reread(_ bytes: [UInt8]) throws(BackupError) -> (first: String, second: String) {
        var text = try SettingsText(String(decoding: bytes, as: UTF8.self), path: "store.yaml")
        let first = try StoreSettings(text)
        if let app = text.entries[.app]?.value { try text.set(.app, app) }
        let second = try StoreSettings(try SettingsText(text.text, path: "store.yaml"))
        return ("\(first)", "\(second)")
    }
}
