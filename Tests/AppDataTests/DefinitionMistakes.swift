/// What can be wrong with a definition.
enum DefinitionMistakes {
    /// What is replaced in the shortest definition, by what, and what is said of it.
    static let texts: [(String, String, String)] = [
        ("schemaVersion: \"3\"", "schemaVersion: 3", "line 4: schemaVersion must be in quotes (\"1\")"),
        (
            "schemaVersion: \"3\"", "schemaVersion: \"3.5\"",
            "line 4: schemaVersion must be a whole number from 1 to 1000000"
        ),
        (
            "schemaVersion: \"3\"", "schemaVersion: \"1\"",
            "line 5: minimumSchemaVersion must not be above schemaVersion"
        ),
        ("format: \"1\"", "format: \"2\"", "line 1: format must be \"1\""),
        ("name: notes\n", "name: Notes!\n", "line 2: name must be of lower-case letters, digits and hyphens"),
        ("title: Notes", "titel: Notes", "line 3: the definition has no member called titel"),
        ("title: Notes", "name: notes", "line 2: name is there more than once"),
        ("title: Notes\n", "", "line 1: the definition has no title"),
        (
            "notes_{stamp}.json", "notes.json",
            "line 7: fileNames.export must be a file's name with {stamp} or {compactStamp} in it once"
        ),
        (
            "  safety: \"safety_{stamp}.json\"",
            "  safety: \"safety_{stamp}.json\"\n  channels: {production: \"\", development: dev_}",
            "line 8: fileNames.backup must be a file's name with {channel} and {stamp} (or {compactStamp}) in it once each"
        ),
        (
            "backup_{stamp}.json\"\n", "{channel}_{stamp}.json\"\n  channels: {production: \"\"}\n",
            "line 9: fileNames.channels has no development"
        ),
        (
            "backup_{stamp}.json\"\n", "{channel}_{stamp}.json\"\n  channels: {production: \"\", development: a/b}\n",
            "line 9: fileNames.channels.development must be a part of a file's name"
        ),
        (
            "backup_{stamp}.json\"\n", "{channel}_{stamp}.json\"\n  channels: {production: a, development: a}\n",
            "line 9: fileNames.channels.development is the same as the other"
        ),
        (
            "backup_{stamp}.json\"\n",
            "{channel}_{channel}_{stamp}.json\"\n  channels: {production: a, development: b}\n",
            "line 8: fileNames.backup must be a file's name with {channel} and {stamp} (or {compactStamp}) in it once each"
        ),
        (
            "safetyKeepLast: \"3\"", "safetyKeepLast: 3",
            "line 11: retention.safetyKeepLast must be in quotes (\"1\")"
        ),
        (
            "[notes, about]", "[notes, other]",
            "line 12: envelope[1] names other, which is neither a collection nor the metadata or settings"
        ),
        (
            "[notes, about]", "[notes]",
            "line 12: envelope must name the metadata, the settings and every collection exactly once"
        ),
        ("key: id", "key: body", "line 21: collections[0].key must name a required integer or text"),
        ("key: id", "key: ident", "line 21: collections[0].key names ident, which is not a field"),
        (
            "type: text, nullable: true", "type: string",
            "line 26: collections[0].fields[1].type must be one of integer, double, text, decimalText, boolean, date"
        ),
        (
            "type: text, nullable: true", "type: double, minimum: 0",
            "line 26: collections[0].fields[1].minimum must be in quotes (\"1\")"
        ),
        (
            "type: text, nullable: true", "type: text, minimum: \"0\"",
            "line 26: collections[0].fields[1].minimum is for numbers only"
        ),
        (
            "type: text, nullable: true", "type: text, nullable: maybe",
            "line 26: collections[0].fields[1].nullable must be true or false"
        ),
        (
            "type: text, nullable: true", "type: integer, references: cars.id",
            "line 26: collections[0].fields[1].references must name a collection and its key (cars.id)"
        ),
        (
            "type: text, nullable: true", "type: integer, references: notes.body",
            "line 19: collections[0] has the field body, which must refer to a key of the same type"
        ),
        (
            "name: body, column: body", "name: body, column: id",
            "line 19: collections[0] has the field or column body twice"
        ),
        (
            "folder: photos", "folder: ../photos",
            "line 27: media.folder must be a path below the database's folder"
        ),
        (
            "folder: photos", "folder: /photos",
            "line 27: media.folder must be a path below the database's folder"
        ),
        ("media: {folder: photos}", "media: {folder: photos", "line 28: "),
        (
            "notes_{stamp}.json", "notes_{stamp}_{compactStamp}.json",
            "line 7: fileNames.export must be a file's name with {stamp} or {compactStamp} in it once"
        ),
        (
            "title: Notes", "title: Notes\ndateNumbers: secondsSince1970",
            "line 4: dateNumbers must be one of secondsSince2001"
        ),
        (
            "type: text, nullable: true", "type: boolean, default: \"no\"",
            "line 26: collections[0].fields[1].default is no boolean"
        ),
        (
            "type: text, nullable: true", "type: epochMilliseconds, default: \"2026-01-11\"",
            "line 26: collections[0].fields[1].default is no epochMilliseconds"
        ),
        (
            "source: schemaVersion, type: integer}",
            "source: schemaVersion, type: integer}\n    - {name: kind, source: constant, type: text}",
            "line 18: metadata.fields[1] has no default"
        ),
        (
            "source: schemaVersion, type: integer}",
            "source: schemaVersion, type: integer}\n    - {name: a, key: a, type: text}\n    - {name: a.b, key: b, type: text}",
            "line 14: metadata has the field a, which is an object too"
        ),
        (
            "title: Notes", "title: Notes\nsecrets: [{table: notes}]",
            "line 4: secrets[0].table names notes, which is the table of a collection"
        ),
        (
            "title: Notes", "title: Notes\nsecrets: [{table: about}]",
            "line 4: secrets[0].table names about, which holds settings or metadata"
        ),
        ("title: Notes", "title: Notes\nsecrets: [{key: pin}]", "line 4: secrets[0] has no table"),
        (
            "title: Notes", "title: Notes\nlegacyFiles: [{file: a/b.json, member: notes}]",
            "line 4: legacyFiles[0].file must be a file's name"
        ),
        (
            "title: Notes", "title: Notes\nlegacyFiles: [{file: a.json, member: note}]",
            "line 4: legacyFiles[0].member names note, which is neither a collection nor the settings"
        ),
        (
            "  name: about\n", "  required: true\n",
            "line 12: envelope[1] names about, which is neither a collection nor the metadata or settings"
        ),
        (
            "title: Notes", "title: Notes\nstrategies: [merge, overwrite]",
            "line 4: strategies[1] must be one of replace, merge, skip"
        ),
        ("title: Notes", "title: Notes\nstrategies: []", "line 4: strategies is empty"),
        ("title: Notes", "title: Notes\nstrategies: [skip, skip]", "line 4: strategies[1] repeats skip"),
        ("title: Notes", "title: Notes\nstrategies: skip", "line 4: strategies must be a list"),
        (
            "title: Notes", "title: Notes\nstrategies: [merge]\nstrategy: skip",
            "line 5: strategy names skip, which is not among the strategies"
        ),
        (
            "key: id", "key: id\n    identity: [id, text]",
            "line 22: collections[0].identity[1] names text, which is not a field"
        ),
        ("key: id", "key: id\n    identity: []", "line 22: collections[0].identity is empty"),
        ("key: id", "key: id\n    identity: [body, body]", "line 22: collections[0].identity[1] repeats a field"),
        ("key: id", "key: id\n    identity: body", "line 22: collections[0].identity must be a list"),
        (
            "key: id", "key: id\n    onMerge: replace",
            "line 22: collections[0].onMerge must be one of update, keep"
        ),
        (
            "key: id", "key: id\n    keepOnReplace: body",
            "line 22: collections[0].keepOnReplace must name a boolean"
        ),
        (
            "key: id", "key: id\n    keepOnReplace: flag",
            "line 22: collections[0].keepOnReplace names flag, which is not a field"
        ),
        (
            "key: id", "key: id\n    mergedNote: \"Updated {text}\"",
            "line 22: collections[0].mergedNote names text, which is not a field"
        ),
        (
            "key: id", "key: id\n    mergedNote: \"Updated {id\"",
            "line 22: collections[0].mergedNote has a brace without its other one"
        ),
        (
            "  table: about\n", "  table: about\n  onMerge: update\n",
            "line 16: metadata.onMerge is for settings and collections only"
        ),
        (
            "type: text, nullable: true", "type: integer, media: true",
            "line 26: collections[0].fields[1].media is for text only"
        ),
        (
            "type: text, nullable: true", "type: text, nullable: true, mayDangle: true",
            "line 26: collections[0].fields[1].mayDangle is for nullable references only"
        ),
        (
            "type: text, nullable: true", "type: integer, references: notes.id, mayDangle: true",
            "line 26: collections[0].fields[1].mayDangle is for nullable references only"
        ),
        (
            "fields:\n      - {name: id",
            "identity: [up]\n    fields:\n      - {name: up, column: up, type: integer, references: notes.id, nullable: true, mayDangle: true}\n      - {name: id",
            "line 24: collections[0].identity[0] names a reference that may dangle"
        ),
        (
            "type: text, nullable: true", "type: text, media: often",
            "line 26: collections[0].fields[1].media must be true or false"
        ),
        (
            "fields:\n      - {name: id",
            "identity: [up]\n    fields:\n      - {name: up, column: up, type: integer, references: notes.id}\n      - {name: id",
            "line 24: collections[0].identity leads back to its own collection"
        ),
        (
            "title: Notes",
            "title: Notes\nprogress:\n  - {stage: media, percent: \"30\", message: a}\n  - {stage: data, percent: \"40\", message: b}",
            "line 6: progress[1] must come after the one before, and have no lower percentage"
        ),
        (
            "title: Notes",
            "title: Notes\nprogress:\n  - {stage: data, percent: \"30\", message: a}\n  - {stage: media, percent: \"20\", message: b}",
            "line 6: progress[1] must come after the one before, and have no lower percentage"
        ),
        (
            "title: Notes",
            "title: Notes\nprogress:\n  - {stage: media, percent: \"30\", message: a, each: \"{current} of {all}\"}",
            "line 5: progress[0].each must be a text with {current} and then {total} in it"
        ),
        (
            "title: Notes", "title: Notes\nprogress: []",
            "line 4: progress is empty"
        ),
        (
            "title: Notes", "title: Notes\nstatus:\n  - {heading: Backups, shows: [all]}",
            "line 5: status[0].shows[0] must be one of summary, remote, statistics, backups"
        ),
    ]

    /// All members that there are.
    static let members = [
        "format", "name", "title", "schemaVersion", "minimumSchemaVersion", "fileNames", "export", "backup", "safety",
        "strategy", "retention", "keepLast", "keepWithinDays", "safetyKeepLast", "envelope", "metadata", "settings",
        "collections", "media", "folder", "archiveLayout", "from", "to", "migrations", "sql", "table", "required", "fields",
        "source", "type", "key", "default", "currency", "singular", "plural", "dateRange", "column", "values", "dates",
        "nullable", "references", "years", "minimum", "above", "strategies", "identity", "onMerge", "keepOnReplace", "mergedNote",
        "notifications", "progress", "stage", "percent", "message", "each", "status", "heading", "shows", "actions", "label",
        "command",
    ]
}
