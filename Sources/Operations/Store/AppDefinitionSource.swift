import AppData
import BackupCore
import SystemIO

/// An app's definition and its source.
public struct AppDefinitionSource: Sendable {
    /// The definition's file; `nil` for a built-in app.
    public let path: String?
    /// The original YAML.
    public let text: String
    /// Whether it is the store's own app.
    public let isOfStore: Bool

    /// - Throws: `notFound` for a name that no built-in definition has.
    public static func builtIn(named name: String) throws(BackupError) -> AppDefinitionSource {
        AppDefinitionSource(path: nil, text: try AppDefinition.builtInText(named: name), isOfStore: false)
    }

    /// - Throws: `notFound`, …
    public static func file(_ path: String) throws(BackupError) -> AppDefinitionSource { try file(path, isOfStore: false) }

    private static func file(_ path: String, isOfStore: Bool) throws(BackupError) -> AppDefinitionSource {
        AppDefinitionSource(
            path: path, text: String(decoding: try FileSystem.readFile(path), as: UTF8.self), isOfStore: isOfStore)
    }

    /// The app of the store at `storePath`. Does not open the repository, so no password is needed.
    /// - Throws: `noRepository` when there is no store.
    public static func ofStore(at storePath: String) throws(BackupError) -> AppDefinitionSource {
        let paths = StorePaths(root: storePath)
        try paths.requireTrustedStore()
        let app = try StoreSettings.read(paths.settings).app
        guard app.hasSuffix(".yaml") else {
            return AppDefinitionSource(path: nil, text: try AppDefinition.builtInText(named: app), isOfStore: true)
        }
        return try file(paths.resolve(app), isOfStore: true)
    }

    /// The store's own app first, if any, then the built-in apps in alphabetical order.
    /// - Parameter storePath: `nil` for no store.
    public static func all(storePath: String?) throws(BackupError) -> [AppDefinitionSource] {
        var apps: [AppDefinitionSource] = []
        if let storePath { apps.append(try ofStore(at: storePath)) }
        for name in AppDefinition.builtInNames.sorted() {
            let app = try builtIn(named: name)
            if !apps.contains(where: { $0.path == nil && $0.text == app.text }) { apps.append(app) }
        }
        return apps
    }

    /// All problems of the text; it is not changed.
    public func check() -> DefinitionCheck { AppDefinition.check(yaml: text) }

    /// - Throws: `invalidContent`.
    public func load() throws(BackupError) -> AppDefinition { try AppDefinition.load(yaml: text, path: path) }
}
