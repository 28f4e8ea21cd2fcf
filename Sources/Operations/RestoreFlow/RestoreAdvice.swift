import AppData
import BackupCore
import Formats
import Restore
import SystemIO

/// Advice for a refusal, beyond what the check of the file itself knows.
extension RestoreRunner {
    /// Up to this size, a file is read once more to find out what else it may be: that takes a negligible time.
    private static let exportLimitBytes: UInt64 = 256 << 20

    func advising(_ error: BackupError, _ source: ImportSource) -> BackupError {
        switch error.code {
        case .repositoryDamaged where source.origin == .ownRepository && !allowsDamage:
            return BackupError(
                .repositoryDamaged, ImportMessages.corruptedFile, path: source.name,
                remedy:
                    "Restore its undamaged parts with: backupfs restore --allow-damaged \(ShellWords.text(of: [source.name]))",
                findings: [error.path.map { "\($0): \(error.message)" } ?? error.message] + error.findings, cause: .error(error))
        case .invalidContent where source.origin == .foreign:
            guard let other = otherApp(of: source) else { return error }
            return BackupError(
                .invalidContent,
                ImportMessages.failure("this is an export of \(other.title), and this store is for \(store.definition.title)"),
                path: source.name,
                remedy: "Restore it in a store for that app. Make one with: backupfs init --app \(other.name) --store DIR",
                cause: .error(error))
        default: return error
        }
    }

    /// The built-in app whose export a JSON file is, according to its collections.
    private func otherApp(of source: ImportSource) -> AppDefinition? {
        guard source.sizeBytes <= Self.exportLimitBytes, let members = try? Self.members(of: source.bytes) else { return nil }
        let own = Self.collections(of: store.definition)
        guard own.isEmpty || !own.isSubset(of: members) else { return nil }
        let known = Self.members(of: store.definition).intersection(members).count
        return AppDefinition.builtInNames.filter { $0 != store.definition.name }
            .compactMap { try? AppDefinition.builtIn(named: $0) }
            .filter { Self.collections(of: $0).isSubset(of: members) }
            // A file of the store's own app may lack a collection and still have one that another app has too.
            .filter { Self.members(of: $0).intersection(members).count > known }
            // One app's collections may include all of another's.
            .max { Self.collections(of: $0).count < Self.collections(of: $1).count }
    }

    private static func collections(of definition: AppDefinition) -> Set<String> {
        Set(definition.collections.filter(\.isRequired).map(\.name))
    }

    /// The top-level names that an app's export may contain.
    private static func members(of definition: AppDefinition) -> Set<String> {
        let metadata = definition.metadata.isInline ? definition.metadata.fields.map(\.name) : [definition.metadata.name]
        return Set(definition.collections.map(\.name) + metadata + [definition.settings?.name].compactMap(\.self))
    }

    /// The top-level names of a JSON document.
    private static func members(of source: any ByteSource) throws(BackupError) -> Set<String> {
        let tokenizer = JSONTokenizer(source)
        var names: Set<String> = []
        let first = try tokenizer.next()
        if first == .beginObject {
            try tokenizer.forEachMember { (name, _) in names.insert(name) }
        } else {
            try tokenizer.skip(first)
        }
        // What follows the value is an error.
        _ = try tokenizer.next()
        return names
    }
}
