import BackupCore
import SystemIO

/// A definition for an app without one, generated from its database.
public struct IntrospectedDefinition: Sendable {
    /// The definition, to be saved as a file.
    public let yaml: String
    /// The name in the definition: lower-case words joined by hyphens.
    public let name: String
    /// The present tables of the database, in export order.
    public let tables: [(name: String, columns: [String], rowCount: Int)]

    /// Inspects a database.
    /// - Parameters:
    ///   - name: lower-case words joined by hyphens; derived from the file's name if not given.
    ///   - mediaFolder: the name of the app's media folder; `nil` when it has none.
    /// - Throws: `notFound`, `damagedContent`, `invalidContent`; `notSupported` for a table whose rows cannot be identified.
    public init(of path: String, name: String? = nil, mediaFolder: String?) throws(BackupError) {
        let name = name ?? Self.name(of: path)
        let draft = try AppDefinition.load(yaml: Self.text(name, mediaFolder, tables: []))
        guard try FileSystem.lookBehindLinks(path) != nil else {
            throw BackupError(
                .notFound, "there is no database here", path: path, remedy: "Name the app's SQLite file with --database.")
        }
        let database = AppDatabase(at: path, definition: draft)
        tables = try database.readSnapshot { (snapshot) throws(BackupError) in
            var tables: [(String, [String], Int)] = []
            for (index, collection) in snapshot.definition.collections.enumerated() {
                let columns = collection.fields.filter(\.keyColumns.isEmpty).map(\.column)
                tables.append((collection.table, columns, try snapshot.count(of: index)))
            }
            return tables
        }
        yaml = Self.text(name, mediaFolder, tables: tables)
        self.name = name
    }

    private static func text(
        _ name: String, _ mediaFolder: String?, tables: [(name: String, columns: [String], rowCount: Int)]
    ) -> String {
        let stem = name.replacing("-", with: "_")
        var lines = [
            "# \(name): every table of its database, found when it is backed up.",
            "format: \"1\"",
            "name: \(name)",
            "title: \(name)",
            "schemaVersion: \"1\"",
            "minimumSchemaVersion: \"1\"",
            "fileNames:",
            "  export: \"\(stem)_export_{stamp}.json\"",
            "  backup: \"\(stem)_backup_{stamp}.json\"",
            "  safety: \"\(stem)_safety_{stamp}.json\"",
            "strategy: replace",
            "# When automatic backups run; the settings of a store take precedence.",
            "schedule: daily",
            "retention:",
            "  safetyKeepLast: \"3\"",
            "",
            "# The collections are the tables, whatever there are. To choose and check them, put envelope, metadata and collections here instead.",
            "wholeDatabase: true",
            "# A restore of an export is refused when the tables have other columns by then (adapt: it fits what it can).",
            "schemaDrift: refuse",
        ]
        if let mediaFolder { lines += ["media:", "  folder: \(quoted(mediaFolder))"] }
        if !tables.isEmpty {
            lines += ["", "# When this was written the database had:"]
            lines += tableLines(tables).map { "#   \($0)" }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The tables for people, one line each: names come from an untrusted database, and are shown without control characters.
    public var tableLines: [String] { Self.tableLines(tables) }

    private static func tableLines(_ tables: [(name: String, columns: [String], rowCount: Int)]) -> [String] {
        tables.map { "\(plain($0.name)): \($0.rowCount) rows of \($0.columns.map(plain).joined(separator: ", "))" }
    }

    /// Names come from an untrusted database, and a line break would end a comment.
    private static func plain(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map {
                    $0.properties.generalCategory == .control || $0 == "\u{2028}" || $0 == "\u{2029}" ? "?" : $0
                }))
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted += "\\" }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    /// `My Books.sqlite3` becomes `my-books`.
    private static func name(of path: String) -> String {
        let file = FileSystem.lastComponent(path)
        let stem = file.split(separator: ".", omittingEmptySubsequences: true).first.map(String.init) ?? file
        let words = stem.lowercased().split { !("a"..."z").contains($0) && !("0"..."9").contains($0) }
        let name = String(words.joined(separator: "-").prefix(64))
        return name.isEmpty ? "app" : name
    }
}
