import AppData
import Formats
import SystemIO
import TestSupport
import Testing

/// The JSON Schema of an export. That Python's jsonschema agrees about mounted exports is tested with the mount.
@Suite struct ExportSchemaTests {
    private static let definition = #"""
        format: "1"
        name: notes
        title: Notes
        schemaVersion: "3"
        minimumSchemaVersion: "2"
        fileNames: {export: "a_{stamp}.json", backup: "b_{stamp}.json", safety: "c_{stamp}.json"}
        retention: {safetyKeepLast: "3"}
        envelope: [folders, notes, about, preferences]
        metadata:
          name: about
          table: about
          fields:
            - {name: made, source: creationTime, type: date, required: false}
            - {name: version, source: schemaVersion, type: integer}
        settings:
          name: preferences
          table: preferences
          required: false
          fields:
            - {name: money, key: money, type: text, currency: true, required: false}
        collections:
          - name: folders
            table: folders
            key: id
            singular: folder
            plural: folders
            fields:
              - {name: id, column: id, type: text}
          - name: notes
            table: notes
            key: id
            singular: note
            plural: notes
            fields:
              - {name: id, column: id, type: integer, minimum: "1"}
              - {name: folder, column: folder, type: text, references: folders.id, nullable: true}
              - {name: kind, column: kind, type: text, values: ["a \"b\"", c], nullable: true}
              - {name: written, column: written, type: date, dates: notInFuture}
              - {name: done, column: done, type: boolean}
              - {name: size, column: size, type: double, above: "0.5"}
              - {name: price, column: price, type: decimalText, minimum: "0"}
              - {name: weight, column: weight, type: decimalText, above: "0"}
              - {name: balance, column: balance, type: decimalText}
        """#

    /// The whole document but for the list of currencies.
    private static let expected = #"""
        {
          "$schema": "https://json-schema.org/draft/2020-12/schema",
          "$id": "urn:backupfs:app:notes:3",
          "title": "Notes",
          "description": "An export of Notes, version 3 of its format. Members that are not named here are ignored by a restore.",
          "type": "object",
          "required": ["folders", "notes", "about"],
          "properties": {
            "folders": {
              "title": "folders",
              "type": "array",
              "items": {
                "title": "folder",
                "type": "object",
                "required": ["id"],
                "properties": {"id": {"description": "Tells one folder from all others.", "type": "string"}},
                "additionalProperties": true
              }
            },
            "notes": {
              "title": "notes",
              "type": "array",
              "items": {
                "title": "note",
                "type": "object",
                "required": ["id", "written", "done", "size", "price", "weight", "balance"],
                "properties": {
                  "id": {"description": "Tells one note from all others.", "type": "integer", "minimum": 1, "maximum": 9223372036854775807},
                  "folder": {"description": "The id of one of the folders.", "type": ["string", "null"]},
                  "kind": {"type": ["string", "null"], "enum": ["a \"b\"", "c", null]},
                  "written": {
                    "description": "Not later than a day from now.",
                    "type": "string",
                    "format": "date-time",
                    "pattern": "^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$"
                  },
                  "done": {"type": "boolean"},
                  "size": {"type": "number", "exclusiveMinimum": 0.5},
                  "price": {
                    "description": "A decimal number as text. At least 0.",
                    "type": "string",
                    "maxLength": 400,
                    "pattern": "^(?:-(?=[0.]+(?:[eE]|$)))?[0-9]+(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
                  },
                  "weight": {
                    "description": "A decimal number as text. Above 0.",
                    "type": "string",
                    "maxLength": 400,
                    "pattern": "^(?=[0-9.]*[1-9])[0-9]+(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
                  },
                  "balance": {
                    "description": "A decimal number as text.",
                    "type": "string",
                    "maxLength": 400,
                    "pattern": "^-?[0-9]+(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
                  }
                },
                "additionalProperties": true
              }
            },
            "about": {
              "description": "What this export is.",
              "type": "object",
              "required": ["version"],
              "properties": {
                "made": {
                  "description": "The moment of the export.",
                  "type": ["string", "null"],
                  "format": "date-time",
                  "pattern": "^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$"
                },
                "version": {"description": "The version of the format.", "type": "integer", "minimum": 2}
              },
              "additionalProperties": true
            },
            "preferences": {
              "description": "The user's settings.",
              "type": ["object", "null"],
              "required": [],
              "properties": {"money": {"anyOf": [{"$ref": "#/$defs/currency"}, {"type": "null"}]}},
              "additionalProperties": true
            }
          },
          "additionalProperties": true,
          "$defs": {"currency": {"description": "A code of ISO 4217, or a symbol that apps write in its place.", "type": "string"}}
        }
        """#

    private static func schema() throws -> [UInt8] {
        ExportSchema(try AppDefinition.load(yaml: definition)).json.prettyText
    }

    @Test func `the schema says what the definition says`() throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.schema(), to: "made.json")
        try folder.write(Self.expected, to: "expected.json")
        let script = """
            import json, sys
            text, expected = (open(sys.argv[1] + name).read() for name in ("/made.json", "/expected.json"))
            made = json.loads(text)
            assert json.dumps(made, indent=2, ensure_ascii=False) + "\\n" == text
            codes = made["$defs"]["currency"].pop("enum")
            print(codes[0], codes[-1], json.dumps(made) == json.dumps(json.loads(expected)))
            """
        let result = try run(["python3", "-c", script, folder.path])
        #expect(result.output == "AED CN¥ True\n", "\(result.output)")
    }

    @Test func `the same definition gives the same bytes`() throws {
        let first = try Self.schema()
        for _ in 0..<3 { #expect(try Self.schema() == first) }
        #expect(first.last == 10 && String(validating: first, as: UTF8.self) != nil)
    }

    @Test func `an app without currencies has no list of them`() throws {
        let definition = try AppDefinition.load(yaml: PhotoDiary.definition)
        let text = String(decoding: ExportSchema(definition).json.prettyText, as: UTF8.self)
        #expect(text.contains(#""$id": "urn:backupfs:app:photo-diary:1""#) && !text.contains("$defs"))
    }

    /// Amounts: what a restore accepts and refuses, the pattern does.
    @Test func `amounts are accepted and refused as by a restore`() throws {
        let folder = try TemporaryFolder()
        let document = { (price: String, weight: String, balance: String) in
            """
            {"about": {"version": 3}, "folders": [], "notes": [{"id": 1, "written": "2026-01-11T14:30:00+01:00", "done": true, "size": 1, \
            "price": "\(price)", "weight": "\(weight)", "balance": "\(balance)"}]}
            """
        }
        let good = [
            ("0", "1", "-1"), ("0.00", "0.01", "-0.5"), ("-0.0", "1e3", "1E-7"), ("-0e5", "10", "00"),
            ("12.50", "12345678901234.56", "-0"),
        ]
        let bad = [
            ("-1", "1", "0"), ("-0.01", "1", "0"), ("1", "0", "0"), ("1", "0.000e9", "0"), ("1", "-1", "0"), ("1", "1", ""),
            ("1", "1", "1."),
            ("1", "1", ".5"), ("1", "1", "1,5"), ("1", "1", "+1"), ("1", "1", "NaN"), ("-00.10", "1", "1"),
        ]
        var paths: [String] = []
        for (index, amounts) in (good + bad).enumerated() {
            let text = document(amounts.0, amounts.1, amounts.2)
            let path = try folder.write(text, to: "\(index).json")
            paths.append(path)
            let definition = try AppDefinition.load(yaml: Self.definition)
            let isAccepted =
                (try? ImportValidator(definition: definition).validate(
                    WireReader(MemorySource(Array(text.utf8)), definition: definition))) != nil
            #expect(isAccepted == (index < good.count), "\(amounts)")
        }
        let schema = try folder.write(Self.schema(), to: "schema.json")
        let lines = try SchemaCheck.lines(paths, by: schema)
        for (index, line) in lines.enumerated() { #expect(line.hasSuffix(": valid") == (index < good.count), "\(line)") }
        #expect(lines.count == paths.count)
    }

}
