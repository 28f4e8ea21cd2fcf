import AppData
import BackupCore
import TestSupport
import Testing

/// `AppDefinition.check`, which tells everything at once.
@Suite struct DefinitionCheckTests {
    /// A definition that says everything that can be said.
    static let complete = """
        format: "1"
        name: garage
        title: Garage
        schemaVersion: "2"
        minimumSchemaVersion: "1"
        fileNames:
          export: "garage_{stamp}.json"
          backup: "garage_backup_{stamp}.json"
          safety: "garage_safety_{stamp}.zip"
        strategy: merge
        retention:
          keepLast: "5"
          keepWithinDays: "30"
          safetyKeepLast: "3"
        envelope: [about, cars, repairs, preferences]
        metadata:
          name: about
          table: about
          required: true
          fields:
            - {name: createdAt, source: creationTime, type: date}
            - {name: version, source: schemaVersion, key: version, type: integer}
            - {name: device, key: device, type: text, required: false, default: "unknown"}
        settings:
          name: preferences
          table: preferences
          required: false
          fields:
            - {name: currency, key: currency, type: text, currency: true, default: "EUR"}
          onMerge: update
        collections:
          - name: cars
            table: cars
            key: id
            singular: car
            plural: cars
            fields:
              - {name: id, column: id, type: integer}
              - {name: kind, column: kind, type: text, values: [car, van], media: true}
              - {name: built, column: built, type: date, dates: notInFuture, nullable: true}
          - name: repairs
            table: repairs
            key: id
            singular: repair
            plural: repairs
            dateRange: due
            fields:
              - {name: id, column: id, type: text}
              - {name: car, column: car_id, type: integer, references: cars.id}
              - {name: due, column: due, type: date, dates: withinYears, years: "10"}
              - {name: cost, column: cost, type: decimalText, minimum: "0"}
              - {name: hours, column: hours, type: double, above: "0.5"}
              - {name: done, column: done, type: boolean}
            identity: [car, due]
            onMerge: update
            keepOnReplace: done
            mergedNote: "Updated existing repair: {due} for {cost}"
        media: {folder: photos}
        archiveLayout:
          - {from: "export.json", to: "garage.json"}
          - {from: "media/", to: ""}
        migrations:
          - name: "1-initial"
            sql: CREATE TABLE cars (id INTEGER PRIMARY KEY, kind TEXT, built TEXT)
        strategies: [merge, replace]
        notifications: on
        progress:
          - {stage: data, percent: "10", message: Reading}
          - {stage: media, percent: "40", message: Copying, each: "Copying ({current}/{total})"}
        status:
          - heading: Backups
            shows: [summary, statistics]
            actions:
              - {label: Back up, command: backup}

        """

    private static func texts(_ yaml: String) -> [String] {
        AppDefinition.check(yaml: yaml).problems.map { "\($0.text). \($0.remedy)" }
    }

    @Test(arguments: [
        ("media/raw/", "media/"), ("med", "media/"), ("export.json", "export.json"), ("", "media/"),
    ])
    func `two rules of the archive's layout that match the same file are refused`(from: String, other: String) {
        let rules = "  - {from: \"export.json\", to: \"garage.json\"}\n  - {from: \"media/\", to: \"\"}\n"
        let yaml = Self.complete.replacing(rules, with: rules + "  - {from: \"\(from)\", to: \"raw/\"}\n")
        let problems = Self.texts(yaml)
        let earlier = from.isEmpty ? "export.json" : other
        let text = "matches files that the rule for \"\(earlier)\" matches too"
        #expect(problems.count == 1 && problems[0].contains(text), "\(problems)")
    }

    @Test func `a definition that says everything has no problems`() {
        let check = AppDefinition.check(yaml: Self.complete)
        #expect(check.problems == [] && check.warnings == [])
        #expect(check.definition?.name == "garage")
        #expect(check.tables.map(\.name) == ["about", "preferences", "cars", "repairs"])
        #expect(check.tables.map(\.line) == [18, 26, 33, 42])
        #expect(check.tables[3].columns.map(\.name) == ["id", "car_id", "due", "cost", "hours", "done"])
        #expect(check.tables[3].columns.map(\.line) == [48, 49, 50, 51, 52, 53])
    }

    @Test func `all problems are reported at once, in the order of the lines`() throws {
        let yaml = """
            format: 1
            titel: Garage
            name: Garage
            schemaVersion: "2"
            minimumSchemaVersion: "3"
            fileNames: {export: "garage.json", backup: "b_{stamp}.json"}
            retention: {safetyKeepLast: three}
            envelope: [about, cars, repair]
            metadata:
              name: about
              tabel: about
              fields:
                - {name: version, source: schemaVersion, type: integer}
            collections:
              - name: cars
                table: cars
                key: ident
                singular: car
                plural: cars
                fields:
                  - {name: id, column: id, type: interger}
                  - {name: kind, colum: kind, type: text, values: [car, van, car], minimum: "0"}
                  - {name: built, column: id, type: date, dates: inThePast}
              - name: repairs
                table: repairs
                key: id
                singular: repair
                plural: repairs
                fields:
                  - {name: id, column: id, type: integer}
                  - {name: car, column: car_id, type: integer, refrences: cars.id}
                  - {name: cost, column: cost, type: decimalText, references: car.id, nullable: si}
            meda: {folder: photos}
            """
        let expected = [
            #"line 1: format must be in quotes ("1"). Write "1"."#,
            "line 2: the definition has no member called titel. Did you mean title?",
            "line 3: name must be of lower-case letters, digits and hyphens. Write 1 to 64 of them, such as photo-diary.",
            #"line 5: minimumSchemaVersion must not be above schemaVersion. Write "2" or less."#,
            #"line 6: fileNames.export must be a file's name with {stamp} or {compactStamp} in it once. Write it like "notes_{stamp}.json"."#,
            "line 6: fileNames has no safety. Add the member safety.",
            #"line 7: retention.safetyKeepLast must be in quotes ("1"). Write "three"."#,
            "line 8: envelope[2] names repair, which is neither a collection nor the metadata or settings. "
                + "Did you mean repairs?",
            "line 11: metadata has no member called tabel. Did you mean table?",
            "line 15: collections[0] has the field or column built twice. Name each field and each column once.",
            "line 17: collections[0].key names ident, which is not a field. Choose one of: id, kind, built.",
            "line 21: collections[0].fields[0].type must be one of integer, double, text, decimalText, boolean, date, epochMilliseconds, dates, uuid, any. "
                + "Did you mean integer?",
            "line 22: collections[0].fields[1] has no member called colum. Did you mean column?",
            "line 22: collections[0].fields[1].values[2] repeats car. Leave it out.",
            "line 22: collections[0].fields[1].minimum is for numbers only. "
                + "Leave it out, or write type: integer, double or decimalText.",
            "line 23: collections[0].fields[2].dates must be one of any, notInFuture, withinYears. "
                + "Choose one of: any, notInFuture, withinYears.",
            "line 31: collections[1].fields[1] has no member called refrences. Did you mean references?",
            "line 32: collections[1].fields[2].nullable must be true or false. Write true, or false.",
            "line 32: collections[1].fields[2].references must name a collection and its key (cars.id). "
                + "Did you mean cars?",
            "line 33: the definition has no member called meda. Did you mean media?",
        ]
        let found = Self.texts(yaml)
        for (index, text) in expected.enumerated() where index < found.count { #expect(found[index] == text) }
        #expect(found.count == expected.count, "\(found)")
        // Loading throws the first, and tells the others.
        let error = try #require(throws: BackupError.self) { try AppDefinition.load(yaml: yaml, path: "garage.yaml") }
        #expect(error.code == .invalidContent && error.path == "garage.yaml")
        #expect(error.message == #"line 1: format must be in quotes ("1")"#)
        #expect(error.remedy == #"Write "1"."#)
        #expect(error.findings.count == expected.count && error.findings[0] == error.message)
        #expect(error.details.count == expected.count - 1)
        #expect(error.details.last == "line 33: the definition has no member called meda")
    }

    @Test("each misspelt member is told by its right name", arguments: DefinitionMistakes.members)
    func misspelt(member: String) throws {
        let wrong = String(member.first.map(String.init) ?? "") + String(member.dropFirst(2))
        let yaml = Self.renaming(member, to: wrong)
        #expect(yaml != Self.complete)
        let problems = AppDefinition.check(yaml: yaml).problems
        let told = problems.filter { $0.message.hasSuffix(" has no member called \(wrong)") }
        #expect(told.count == 1)
        #expect(told.first?.remedy == "Did you mean \(member)?")
        // What is missing because of it is not told again.
        #expect(!problems.contains { $0.message.hasSuffix(" has no \(member)") })
    }

    /// The complete definition with the first member of a name under another one.
    static func renaming(_ member: String, to other: String) -> String {
        var text = complete
        for before in ["\n", " ", "{", "- "] {
            guard let range = text.range(of: before + member + ":") else { continue }
            text.replaceSubrange(range, with: before + other + ":")
            return text
        }
        return text.hasPrefix(member + ":") ? other + text.dropFirst(member.count) : text
    }

    @Test func `what does nothing is a warning, and no problem`() {
        let yaml = Self.complete
            .replacing(
                "{name: version, source: schemaVersion, key: version, type: integer}", with: "{name: v, key: v, type: text}"
            )
            .replacing("source: creationTime, type: date", with: "source: creationTime, type: text")
            .replacing("{name: id, column: id, type: integer}", with: #"{name: id, column: id, type: integer, source: stored}"#)
            .replacing("dates: notInFuture", with: #"dates: notInFuture, years: "3""#)
        let check = AppDefinition.check(yaml: yaml)
        #expect(check.problems == [] && check.definition != nil)
        #expect(
            check.warnings.map(\.text) == [
                "line 17: metadata has no integer with source: schemaVersion, so that no export could be restored",
                "line 21: metadata.fields[0] has source: creationTime, which is no text",
                "line 38: collections[0].fields[0].source does nothing in a collection",
                "line 40: collections[0].fields[2].years does nothing without dates: withinYears",
            ])
    }

    @Test func `what is no mapping, no list or no YAML is reported once`() {
        #expect(Self.texts("") == [#"line 1: the definition is empty. Begin with format: "1"."#])
        #expect(Self.texts("- a").count == 1)
        let scalar = Self.complete.replacing("media: {folder: photos}", with: "media: photos")
        #expect(
            Self.texts(scalar) == [
                "line 58: media must have members (archiveNames, archiveThumbnails, duplicates, folder, photos, storageView). Write its members, one a line."
            ])
        let text = Self.complete.replacing("envelope: [about, cars, repairs, preferences]", with: "envelope: about")
        #expect(Self.texts(text).count == 1)
        #expect(Self.texts(Self.complete + "\n  x: [").count == 1)
    }

    @Test(arguments: [
        ("duplicates: both", "media.duplicates must be one of name, content"),
        ("photos: true, archiveThumbnails: {prefix: a/b, PIXELS}", "media.archiveThumbnails.prefix has a slash"),
        ("photos: true, archiveThumbnails: {prefix: t, pixels: \"257\", REST}", "must be a whole number from 1 to 256"),
        ("archiveThumbnails: {prefix: t, PIXELS}", "media.archiveThumbnails needs the app's files to be photos"),
        ("photos: true, archiveThumbnails: {prefix: \"\", PIXELS}", nil),
    ])
    func `thumbnails of archives and the identity of files are checked`(members: String, problem: String?) {
        let rest = #"quality: "85", entryLimit: "10000", sizeLimitBytes: "1073741824""#
        let filled = members.replacing("PIXELS", with: "pixels: \"200\", REST").replacing("REST", with: rest)
        let texts = Self.texts(Self.complete.replacing("media: {folder: photos}", with: "media: {folder: photos, \(filled)}"))
        if let problem {
            #expect(texts.count == 1 && texts[0].contains(problem), "\(texts)")
        } else {
            #expect(texts == [])
        }
    }

    // MARK: A database

    @Test func `a database is compared with all that is named`() throws {
        let folder = try TemporaryFolder()
        let path = folder("garage.sqlite")
        try sqlite(
            path,
            """
            CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT); CREATE TABLE cars (id INTEGER PRIMARY KEY, kindd TEXT, built TEXT);
            CREATE TABLE repair (id TEXT PRIMARY KEY); CREATE TABLE preferences (key TEXT PRIMARY KEY, val TEXT);
            CREATE TABLE grdb_migrations (identifier TEXT); CREATE VIEW repairs AS SELECT * FROM repair
            """)
        let tables = AppDefinition.check(yaml: Self.complete).tables
        let fit = try SchemaDifference(of: tables, with: path)
        #expect(
            fit.problems.map { "\($0.text). \($0.remedy)" } == [
                "line 26: the table preferences has no column value. Make the column, or name another one. There are: val.",
                "line 39: the table cars has no column kind. Did you mean kindd?",
                "line 42: the database has no table repairs. Did you mean repair?",
            ])
        #expect(fit.warnings.map(\.text) == ["line 33: the table cars has columns without a field: kindd"])
        #expect(fit.unmentionedTables == ["repair"])
        // The columns of what could be read are compared, whatever else is wrong with the definition.
        let broken = AppDefinition.check(yaml: Self.complete.replacing("key: id", with: "key: ident"))
        #expect(broken.definition == nil)
        #expect(try SchemaDifference(of: broken.tables, with: path) == fit)
        let missing = try #require(throws: BackupError.self) { try SchemaDifference(of: tables, with: folder("none.sqlite")) }
        #expect(missing.code == .notFound)
        try folder.write("not a database, but long enough to be taken for one by its length alone", to: "text.sqlite")
        let damaged = try #require(throws: BackupError.self) { try SchemaDifference(of: tables, with: folder("text.sqlite")) }
        #expect(damaged.code == .damagedContent)
    }
}
