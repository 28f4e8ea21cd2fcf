import BackupCore
import SystemIO
import Yams

/// Parses YAML into a definition, and refuses unknown members: a misspelt one would silently check nothing. Reading continues
/// after the first problem.
enum AppDefinitionReader {
    static let formatVersion = "1"
    private static let counts = 1...1_000_000

    static func check(_ yaml: String) -> DefinitionCheck {
        let findings = DefinitionFindings()
        let definition = parse(yaml, findings).flatMap { node in
            read(
                DefinitionNode(node: node, place: "", findings: findings),
                digest: SHA256Hasher.hash(Array(yaml.utf8)))
        }
        return DefinitionCheck(
            definition: findings.problems.isEmpty ? definition : nil, problems: DefinitionFindings.sorted(findings.problems),
            warnings: DefinitionFindings.sorted(findings.warnings), tables: findings.tables)
    }

    private static func parse(_ yaml: String, _ findings: DefinitionFindings) -> Node? {
        func refuse(
            _ line: Int, _ message: Message, _ remedy: Message = "Correct the YAML; the mistake may be in the line before."
        ) {
            findings.add(DefinitionProblem(line: line, message: message, remedy: remedy))
        }
        do {
            if let node = try Yams.compose(yaml: yaml, .basic) { return node }
            refuse(1, "the definition is empty", "Begin with format: \"\(formatVersion)\".")
        } catch let error as YamlError {
            switch error {
            case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
                .composer(_, let problem, let mark, _):
                refuse(mark.line, .verbatim(problem))
            case .duplicatedKeysInMapping(let names, let context):
                let list = names.sorted().joined(separator: ", ")
                refuse(context.mark.line, "\(list) is there more than once", "Remove all but one.")
            default: refuse(1, .verbatim("\(error)"))
            }
        } catch {
            refuse(1, .verbatim("\(error)"))
        }
        return nil
    }

    private static func read(_ root: DefinitionNode, digest: SHA256Digest) -> AppDefinition? {
        guard
            root.requireMapping(keys: [
                "format", "name", "title", "schemaVersion", "minimumSchemaVersion", "fileNames", "strategy", "strategies",
                "schedule", "scheduleSwitch", "syncSwitch", "retention", "notifications", "progress", "status", "wholeDatabase",
                "schemaDrift", "style", "dateNumbers", "envelope", "metadata", "settings", "collections", "wireFormats", "media",
                "archiveLayout", "migrations", "legacyFiles", "secrets",
            ])
        else { return nil }
        checkFormat(root)
        let name = root.required("name").flatMap(identifier)
        let title = root.required("title")?.text()
        let versions = versions(root)
        let fileNames = root.required("fileNames").flatMap(fileNames)
        let strategies = DefinitionMergeRules.strategies(root)
        let schedule = root.optional("schedule").map(schedule)
        let retention = root.required("retention").flatMap(retention)
        let media = root.optional("media").flatMap(media)
        let archiveLayout = archiveLayout(root)
        let migrations = migrations(root)
        let formats = ParsedWireFormat.read(root, versions: versions)
        let legacyFiles = legacyFiles(root)
        let backupPhases = DefinitionStatus.phases(root)
        let statusBlocks = DefinitionStatus.blocks(root)
        let announcements = root.optional("notifications").flatMap { $0.choice(AppNotifications.self) }
        guard let name, let title, let fileNames, let strategies, let retention, let formats else {
            // Checked anyway.
            _ = DefinitionSecrets.read(root, formats: nil)
            return nil
        }
        // What the wire formats of an app do not share is in the format.
        func make(_ format: ParsedWireFormat) -> AppDefinition {
            let (own, all) = (format.versions, (format.others + [format]).map(\.versions))
            return AppDefinition(
                name: name, title: title, schemaVersion: own.upperBound,
                minimumSchemaVersion: all.map(\.lowerBound).min() ?? own.lowerBound,
                newestSchemaVersion: all.map(\.upperBound).max() ?? own.upperBound, formatVersions: own,
                isWritten: format.isWritten, otherFormats: format.others.map(make), style: format.style,
                writtenVersion: own.upperBound, dateNumbers: format.dateNumbers,
                coversWholeDatabase: format.schemaDrift != nil, schemaDrift: format.schemaDrift ?? .refuse, fileNames: fileNames,
                envelope: format.layout.envelope, metadata: format.metadata, settings: format.settings,
                collections: format.layout.collections, media: media, archiveLayout: archiveLayout, migrations: migrations,
                schedule: schedule ?? .off, retention: retention, defaultStrategy: strategies.first ?? .replace,
                strategies: strategies, legacyFiles: legacyFiles, backupPhases: backupPhases, statusBlocks: statusBlocks,
                announcements: announcements ?? .on, digest: digest)
        }
        let definition = make(formats)
        return definition.replacing(secrets: DefinitionSecrets.read(root, formats: definition.formats))
            .replacing(scheduleSwitch: root.optional("scheduleSwitch").flatMap { booleanSetting($0, definition) })
            .replacing(syncSwitch: root.optional("syncSwitch").flatMap { booleanSetting($0, definition) })
    }

    private static func checkFormat(_ root: DefinitionNode) {
        guard let format = root.required("format"), let version = format.quoted(), version != formatVersion else { return }
        format.note(
            "must be \"\(formatVersion)\"", remedy: "Write \"\(formatVersion)\", the only format that this program reads.")
    }

    private static func versions(_ root: DefinitionNode) -> ClosedRange<Int>? {
        let minimumNode = root.required("minimumSchemaVersion")
        let current = root.required("schemaVersion")?.quotedInteger(in: counts)
        let minimum = minimumNode?.quotedInteger(in: counts)
        guard let current, let minimum else { return nil }
        guard minimum <= current else {
            minimumNode?.note("must not be above schemaVersion", remedy: "Write \"\(current)\" or less.")
            return nil
        }
        return minimum...current
    }

    /// Lower-case words joined by hyphens: it becomes part of paths and attributes.
    private static func identifier(_ node: DefinitionNode) -> String? {
        guard let text = node.text() else { return nil }
        let isFine = text.utf8.allSatisfy { byte in
            (97...122).contains(byte) || (48...57).contains(byte) || byte == UInt8(ascii: "-")
        }
        if !isFine || text.isEmpty || text.utf8.count > 64 {
            node.note("must be of lower-case letters, digits and hyphens", remedy: "Write 1 to 64 of them, such as photo-diary.")
        }
        return text
    }

    private static func fileNames(_ node: DefinitionNode) -> FileNamePatterns? {
        guard node.requireMapping(keys: ["export", "backup", "safety", "channels"]) else { return nil }
        let channels = node.optional("channels").flatMap(channels)
        let export = node.required("export").flatMap { pattern($0) }
        let backup = node.required("backup").flatMap { pattern($0, channels?.values.sorted()) }
        let safety = node.required("safety").flatMap { pattern($0) }
        guard let export, let backup, let safety else { return nil }
        return FileNamePatterns(export: export, backup: backup, safety: safety, channels: channels)
    }

    private static func channels(_ node: DefinitionNode) -> [Channel: String]? {
        guard node.requireMapping(keys: Channel.allCases.map(\.rawValue)) else { return nil }
        var texts: [Channel: String] = [:]
        for channel in Channel.allCases {
            guard let member = node.required(channel.rawValue), let text = member.quotedOrPlain() else { continue }
            if text.utf8.count > 64 || !FileName("a\(text)").isSafeComponent {
                member.note(
                    "must be a part of a file's name", remedy: "Write a short text without a slash, such as \"dev_\", or \"\".")
                // The names are checked as if it were right: report one problem only once.
                texts[channel] = ""
                continue
            }
            if texts.values.contains(text) {
                member.note("is the same as the other", remedy: "Write another text, so that the names differ.")
            }
            texts[channel] = text
        }
        return texts.count == Channel.allCases.count ? texts : nil
    }

    private static func pattern(_ node: DefinitionNode, _ channels: [String]? = nil) -> FileNamePattern? {
        guard let text = node.text() else { return nil }
        guard let pattern = FileNamePattern(text, channels: channels) else {
            if channels != nil {
                node.note(
                    "must be a file's name with {channel} and {stamp} (or {compactStamp}) in it once each",
                    remedy: "Write it like \"notes_{channel}{stamp}.json\".")
                return nil
            }
            node.note(
                "must be a file's name with {stamp} or {compactStamp} in it once", remedy: "Write it like \"notes_{stamp}.json\"."
            )
            return nil
        }
        return pattern
    }

    private static func retention(_ node: DefinitionNode) -> RetentionDefinition? {
        guard node.requireMapping(keys: ["keepLast", "keepWithinDays", "counted", "safetyKeepLast"]) else { return nil }
        let keepLast = node.optional("keepLast")?.quotedInteger(in: counts)
        let keepWithinDays = node.optional("keepWithinDays")?.quotedInteger(in: counts)
        guard let safetyKeepLast = node.required("safetyKeepLast")?.quotedInteger(in: counts) else { return nil }
        let counted = node.optional("counted").flatMap { $0.choice(RetentionScope.self) }
        return RetentionDefinition(
            keepLast: keepLast, keepWithinDays: keepWithinDays, safetyKeepLast: safetyKeepLast, counted: counted ?? .unnamed)
    }

    private static func schedule(_ node: DefinitionNode) -> Schedule {
        guard let text = node.text() else { return .off }
        do {
            return try Schedule(parsing: text)
        } catch {
            node.note("is not a schedule: “\(MessageText.shortened(text))”", remedy: error.remedy ?? "Write off.")
            return .off
        }
    }

    /// The name of a boolean setting, in each format of the app's data.
    private static func booleanSetting(_ node: DefinitionNode, _ definition: AppDefinition) -> String? {
        guard let name = node.text() else { return nil }
        for format in definition.formats {
            let switches = (format.settings?.fields ?? []).filter { $0.type == .boolean }.map(\.name)
            guard !switches.contains(name) else { continue }
            node.note(
                "names \(name), which is not a boolean setting",
                remedy: DefinitionNode.suggestion(for: name, among: switches))
            return nil
        }
        return name
    }

    private static func media(_ node: DefinitionNode) -> MediaDefinition? {
        let keys = ["folder", "archiveNames", "storageView", "photos", "duplicates", "archiveThumbnails"]
        guard node.requireMapping(keys: keys),
            let folder = node.required("folder"), let text = folder.text()
        else {
            return nil
        }
        if !isSafeRelativePath(text) {
            folder.note("must be a path below the database's folder", remedy: "Write the folder's name, such as photos.")
        }
        let naming = node.optional("archiveNames").flatMap { $0.choice(ArchiveNaming.self) } ?? .plain
        let hasPhotos = node.optional("photos")?.boolean() ?? false
        let thumbnails = node.optional("archiveThumbnails")
        if let thumbnails, !hasPhotos {
            thumbnails.note("needs the app's files to be photos", remedy: "Write photos: true beside it, or leave it out.")
        }
        return MediaDefinition(
            folder: text, archiveNaming: naming, hasStorageView: node.optional("storageView")?.boolean() ?? false,
            hasPhotos: hasPhotos, duplicates: node.optional("duplicates").flatMap { $0.choice(MediaIdentity.self) } ?? .name,
            archiveThumbnails: thumbnails.flatMap(archiveThumbnails))
    }

    private static func archiveThumbnails(_ node: DefinitionNode) -> ArchiveThumbnails? {
        guard node.requireMapping(keys: ["prefix", "pixels", "quality", "entryLimit", "sizeLimitBytes"]) else { return nil }
        let prefixNode = node.required("prefix")
        let prefix = prefixNode?.quotedOrPlain()
        if let prefix, prefix.contains("/") {
            prefixNode?.note("has a slash", remedy: "Write what the names begin with. The folder is in archiveLayout.")
        }
        guard let prefix, let pixels = node.required("pixels")?.quotedInteger(in: 1...256),
            let quality = node.required("quality")?.quotedInteger(in: 1...100),
            let entryLimit = node.required("entryLimit")?.quotedInteger(in: 1...1_000_000),
            let sizeLimitBytes = node.required("sizeLimitBytes")?.quotedInteger(in: 1...999_999_999_999_999_999)
        else { return nil }
        return ArchiveThumbnails(
            prefix: prefix, pixels: pixels, quality: quality, entryLimit: entryLimit, sizeLimitBytes: sizeLimitBytes)
    }

    private static func archiveLayout(_ root: DefinitionNode) -> ArchivePathMap {
        var rules: [ArchivePathMap.Rule] = []
        var places: [DefinitionNode?] = []
        for node in root.optional("archiveLayout")?.elements() ?? [] where node.requireMapping(keys: ["from", "to"]) {
            let fromNode = node.required("from")
            let from = fromNode?.text()
            let to = node.required("to")
            let target = to?.quotedOrPlain()
            if let target, !target.isEmpty, !isSafeRelativePath(target) {
                to?.note("must be a relative path", remedy: "Write a path without \"..\" and without a slash at its beginning.")
            }
            guard let from, let target else { continue }
            rules.append(ArchivePathMap.Rule(from: from, to: target))
            places.append(fromNode)
        }
        if let overlap = ArchivePathMap.firstOverlap(of: rules) {
            places[overlap.rule]?.note(
                "matches files that the rule for \"\(rules[overlap.earlier].from)\" matches too",
                remedy: "Give each file of the backup one rule.")
        }
        return ArchivePathMap(rules)
    }

    private static func legacyFiles(_ root: DefinitionNode) -> [LegacyFile] {
        let known = ["collections", "settings"].flatMap { name -> [String] in
            guard let node = root.optional(name) else { return [] }
            if name == "settings" { return [node.optional("name")?.node.scalar?.string].compactMap { $0 } }
            return node.node.sequence?.compactMap { $0.mapping?["name"]?.scalar?.string } ?? []
        }
        return (root.optional("legacyFiles")?.elements() ?? []).compactMap { node in
            guard node.requireMapping(keys: ["file", "member"]) else { return nil }
            let file = node.required("file")
            let name = file?.text()
            if let name, !FileName(name).isSafeComponent {
                file?.note("must be a file's name", remedy: "Write a name without a slash, such as entries.json.")
            }
            let member = node.required("member")
            let memberName = member?.text()
            if let memberName, !known.contains(memberName) {
                member?.note(
                    "names \(memberName), which is neither a collection nor the settings",
                    remedy: DefinitionNode.suggestion(for: memberName, among: known))
            }
            guard let name, let memberName else { return nil }
            return LegacyFile(name: name, member: memberName)
        }
    }

    private static func isSafeRelativePath(_ text: String) -> Bool {
        let trimmed = text.hasSuffix("/") ? text.dropLast() : text[...]
        let parts = trimmed.split(separator: "/", omittingEmptySubsequences: false)
        return !parts.isEmpty && parts.allSatisfy { FileName($0).isSafeComponent }
    }

    private static func migrations(_ root: DefinitionNode) -> [MigrationDefinition] {
        var migrations: [MigrationDefinition] = []
        for node in root.optional("migrations")?.elements() ?? [] {
            guard node.requireMapping(keys: ["name", "sql"]) else { continue }
            let name = node.required("name")?.text()
            let sql = node.required("sql")?.text()
            if let name, migrations.contains(where: { $0.name == name }) {
                node.note("is a second \(name)", remedy: "Give each migration a name of its own, and never change it.")
            }
            if let name { migrations.append(MigrationDefinition(name: name, sql: sql ?? "")) }
        }
        return migrations
    }
}

extension AppDefinition {
    /// - Throws: `notFound` for a name that is not in `builtInNames`
    public static func builtIn(named name: String) throws(BackupError) -> AppDefinition {
        try load(yaml: builtInText(named: name), path: "\(name).yaml")
    }

    /// Reads a definition.
    /// - Throws: `invalidContent`; its message is the first problem and begins with the line ("line 12: …"), its findings are all
    ///   problems.
    public static func load(yaml: String, path: String? = nil) throws(BackupError) -> AppDefinition {
        let check = check(yaml: yaml)
        if let definition = check.definition { return definition }
        throw BackupError(
            .invalidContent, check.problems.first?.text ?? "the definition cannot be read", path: path,
            remedy: check.problems.first?.remedy, findings: check.problems.map(\.text))
    }

    /// Reads a definition and reports all its problems.
    public static func check(yaml: String) -> DefinitionCheck { AppDefinitionReader.check(yaml) }
}
