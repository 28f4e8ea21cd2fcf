import AppData
import SystemIO
import TestSupport
import Testing

/// The JSON Schema of definitions, used by an independent program: its verdict and ours must agree.
@Suite struct DefinitionSchemaTests {
    private static let path = "\(Machine.projectPath)/Docs/reference/app-definition.schema.json"

    @Test func `the published schema is the one in the program`() throws {
        #expect(try readFile(Self.path) == AppDefinition.formatSchema)
    }

    @Test func `all definitions there are are valid`() throws {
        var texts = try AppDefinition.builtInNames.map { try AppDefinition.builtInText(named: $0) }
        texts += [AppDefinitionTests.minimal, DefinitionCheckTests.complete, PhotoDiary.definition]
        for text in texts { #expect(AppDefinition.check(yaml: text).problems == []) }
        #expect(try SchemaCheck.problems(ofYAML: texts, by: Self.path).compactMap { $0 } == [])
    }

    /// What JSON Schema cannot tell: what hangs on other members, and how YAML is written.
    private static let onlyOurs: Set = [
        // minimumSchemaVersion is above it.
        "schemaVersion: \"1\"",
        "[notes, other]", "[notes]", "key: body", "key: ident", "type: integer, references: cars.id",
        "type: integer, references: notes.body", "name: body, column: id",
        // Two collections, two migrations of one name.
        "  - {name: notes, table: b, key: id, singular: a, plural: b, fields: [{name: id, column: id, type: integer}]}\nmedia: {folder: photos}",
        "migrations: [{name: a, sql: b}, {name: a, sql: c}]\nmedia: {folder: photos}",
        // What a name in another member means, and where an identity leads.
        "title: Notes\nstrategies: [merge]\nstrategy: skip", "key: id\n    identity: [id, text]",
        "key: id\n    keepOnReplace: body",
        "key: id\n    keepOnReplace: flag", "key: id\n    mergedNote: \"Updated {text}\"",
        "identity: [up]\n    fields:\n      - {name: up, column: up, type: integer, references: notes.id}\n      - {name: id",
        "identity: [up]\n    fields:\n      - {name: up, column: up, type: integer, references: notes.id, nullable: true, mayDangle: true}\n      - {name: id",
        "{channel}_{stamp}.json\"\n  channels: {production: a, development: a}\n",
        // Text with and without quotes is the same to JSON.
        "type: text, default: unknown", "type: double, minimum: \"1e999\"",
        "dateRange: id\n    fields:\n      - {name: id",
        // The default's type.
        "type: boolean, default: \"no\"", "type: epochMilliseconds, default: \"2026-01-11\"",
        // What the names of fields say together.
        "source: schemaVersion, type: integer}\n    - {name: a, key: a, type: text}\n    - {name: a.b, key: b, type: text}",
        "  required: true\n",
        // Which stage comes after which.
        "title: Notes\nprogress:\n  - {stage: media, percent: \"30\", message: a}\n  - {stage: data, percent: \"40\", message: b}",
        "title: Notes\nprogress:\n  - {stage: data, percent: \"30\", message: a}\n  - {stage: media, percent: \"20\", message: b}",
        // What lies in which table.
        "title: Notes\nsecrets: [{table: notes}]", "title: Notes\nsecrets: [{table: about}]",
        "title: Notes\nlegacyFiles: [{file: a.json, member: note}]",
    ]

    /// More mistakes of form: what is replaced in the shortest definition, and by what.
    private static let mistakes: [(String, String)] = [
        ("format: \"1\"", "format: 1"), ("format: \"1\"\n", ""), ("title: Notes", "title:"), ("title: Notes", "title: [Notes]"),
        ("name: notes\n", "name: Photo Diary\n"), ("name: notes\n", "name: \"\"\n"),
        ("name: notes\n", "name: \(String(repeating: "n", count: 65))\n"), ("name: notes\n", "name: nötes\n"),
        ("schemaVersion: \"3\"", "schemaVersion: \"0\""), ("schemaVersion: \"3\"", "schemaVersion: \"1000001\""),
        ("schemaVersion: \"3\"", "schemaVersion: \"03\""), ("schemaVersion: \"3\"", "schemaVersion: \"-3\""),
        ("minimumSchemaVersion: \"2\"", "minimumSchemaVersion: 2"), ("minimumSchemaVersion: \"2\"\n", ""),
        ("notes_{stamp}.json", "{stamp}_{stamp}.json"), ("notes_{stamp}.json", "a/{stamp}.json"),
        ("  safety: \"safety_{stamp}.json\"\n", ""), ("  safety:", "  other:"),
        ("title: Notes", "title: Notes\nstrategy: overwrite"),
        ("  safetyKeepLast: \"3\"", "  keepLast: \"3\""), ("safetyKeepLast: \"3\"", "safetyKeepLast: \"3\"\n  keepLast: 5"),
        ("safetyKeepLast: \"3\"", "safetyKeepLast: \"3\"\n  keepWithinDays: \"0\""),
        ("safetyKeepLast: \"3\"", "safetyKeepLast: \"3\"\n  keepFirst: \"1\""), ("[notes, about]", "notes"),
        ("  table: about\n", ""), ("metadata:\n", "metadata:\n  required: yes\n"), ("metadata:\n", "metadata:\n  key: id\n"),
        ("    - {name: version, source: schemaVersion, type: integer}", "    []"),
        ("source: schemaVersion, type: integer", "type: integer"), ("source: schemaVersion", "source: clock"),
        ("source: schemaVersion", "source: stored"), ("name: version, source", "source"),
        ("source: schemaVersion, type: integer", "source: schemaVersion, type: integer, references: notes.id"),
        ("source: schemaVersion, type: integer", "source: schemaVersion, type: integer, column: v"),
        ("  - name: notes", "  - name: a/b"), ("  - name: notes", "  - name: \"..\""), ("    singular: note\n", ""),
        ("    singular: note\n", "    singular: {a: b}\n"), ("name: id, column: id, type: integer", "name: id, type: integer"),
        ("name: id, column: id, type: integer", "column: id, type: integer"),
        ("name: id, column: id, type: integer", "name: id, column: id"),
        ("column: id, type: integer", "key: id, type: integer"), ("column: id, type: integer", "column: id, type: [integer]"),
        ("type: text, nullable: true", "type: text, values: []"), ("type: text, nullable: true", "type: text, values: a"),
        ("type: text, nullable: true", "type: text, values: [a, b, a]"),
        ("type: text, nullable: true", "type: integer, values: [a]"),
        ("type: text, nullable: true", "type: text, values: [a], currency: true"),
        ("type: text, nullable: true", "type: integer, currency: true"),
        ("type: text, nullable: true", "type: text, currency: often"),
        ("type: text, nullable: true", "type: integer, minimum: \"0\", above: \"0\""),
        ("type: text, nullable: true", "type: integer, minimum: \"none\""),
        ("type: text, nullable: true", "type: boolean, above: \"1\""),
        ("type: text, nullable: true", "type: double, minimum: \"\""),
        ("type: text, nullable: true", "type: integer, references: notes"),
        ("type: text, nullable: true", "type: date, dates: someday"), ("type: text, nullable: true", "type: text, dates: any"),
        ("type: text, nullable: true", "type: date, dates: withinYears"),
        ("type: text, nullable: true", "type: date, dates: withinYears, years: 5"),
        ("type: text, nullable: true", "type: date, dates: withinYears, years: \"1001\""),
        ("type: text, nullable: true", "type: text, required: 1"), ("type: text, nullable: true", "type: text, nullable:"),
        ("type: text, nullable: true", "type: text, default: 1"), ("type: text, nullable: true", "type: text, defualt: \"1\""),
        ("media: {folder: photos}", "media: {}"), ("media: {folder: photos}", "media: photos"),
        ("folder: photos", "folder: a/../b"), ("folder: photos", "folder: a//b"), ("folder: photos", "folder: ."),
        ("folder: photos", "folder: photos, kind: all"), (", to: \"notes.json\"", ""),
        ("to: \"notes.json\"", "to: ../notes.json"),
        ("to: \"notes.json\"", "to: /notes.json"), ("to: \"notes.json\"", "to: [notes]"),
        ("{from: \"media/\", to: \"\"}", "media"),
        ("media: {folder: photos}", "migrations: [{name: a}]\nmedia: {folder: photos}"),
        ("media: {folder: photos}", "migrations: {a: b}\nmedia: {folder: photos}"),
        ("media: {folder: photos}", "settings: {name: a, table: b}\nmedia: {folder: photos}"),
        ("title: Notes", "title: Notes\nnotifications: sometimes"), ("title: Notes", "title: Notes\nprogress: often"),
        ("title: Notes", "title: Notes\nprogress: [{stage: data, percent: 10, message: a}]"),
        ("title: Notes", "title: Notes\nprogress: [{stage: data, percent: \"101\", message: a}]"),
        ("title: Notes", "title: Notes\nprogress: [{stage: reading, percent: \"10\", message: a}]"),
        ("title: Notes", "title: Notes\nprogress: [{stage: data, percent: \"10\"}]"),
        ("title: Notes", "title: Notes\nprogress: [{stage: data, percent: \"10\", message: a, until: \"20\"}]"),
        ("title: Notes", "title: Notes\nstatus: []"), ("title: Notes", "title: Notes\nstatus: [{shows: [summary]}]"),
        ("title: Notes", "title: Notes\nstatus: [{heading: a, shows: summary}]"),
        ("title: Notes", "title: Notes\nstatus: [{heading: a, actions: [{label: b}]}]"),
        ("collections:\n", "collections: none\nother:\n"), ("format: \"1\"", "[]"),
    ]

    @Test func `what the program refuses for its form, the schema refuses`() throws {
        let ours = Self.onlyOurs.filter { text in !DefinitionMistakes.texts.contains { $0.1 == text } }
        let tooMany = (1...64).map { "{name: f\($0), column: c\($0), type: integer}" }.joined(separator: ", ")
        var replacements = DefinitionMistakes.texts.map { ($0.0, $0.1) } + Self.mistakes
        let fields = """
                fields:
                  - {name: id, column: id, type: integer}
                  - {name: body, column: body, type: text, nullable: true}
            """
        replacements.append((fields, "    fields: [{name: id, column: id, type: integer}, \(tooMany)]"))
        replacements += ours.map { text in
            if text.contains("media: {folder: photos}") { return ("media: {folder: photos}", text) }
            return text.hasPrefix("dateRange") ? ("fields:\n      - {name: id", text) : ("type: text, nullable: true", text)
        }
        var texts: [String] = []
        for (old, new) in replacements {
            let yaml = AppDefinitionTests.minimal.replacing(old, with: new, maxReplacements: 1)
            #expect(yaml != AppDefinitionTests.minimal, "\(old)")
            #expect(!AppDefinition.check(yaml: yaml).problems.isEmpty, "not refused by the program: \(new)")
            texts.append(yaml)
        }
        let found = try SchemaCheck.problems(ofYAML: texts, by: Self.path)
        for ((_, new), problem) in zip(replacements, found) {
            #expect((problem == nil) == Self.onlyOurs.contains(new), "\(new): \(problem ?? "valid by the schema")")
        }
    }

    @Test func `every misspelt member is refused by the schema too`() throws {
        let members = DefinitionMistakes.members
        let texts = members.map { DefinitionCheckTests.renaming($0, to: $0 + "s") }
        for (member, problem) in zip(members, try SchemaCheck.problems(ofYAML: texts, by: Self.path)) {
            #expect(problem != nil, "\(member)")
        }
    }
}
