import AppData
import BackupCore

/// Checks an archive's media files against the export's manifest.
struct ManifestCheck {
    private static let findingLimit = 100

    let mediaPaths: ArchiveMediaPaths
    /// Whether every file that the export names must be present.
    let isComplete: Bool
    let pointer: MediaPointer?
    /// The archive, for messages.
    let archivePath: String
    let digests: [[UInt8]: Checksums]
    let sizes: [[UInt8]: UInt64]
    /// Whether files that differ from the export are left out, instead of the archive being refused.
    let allowsDamage: Bool
    /// Files that have already been left out and reported.
    let leftOut: Set<[UInt8]>

    struct Result {
        /// Entries whose files are present, with the paths of these.
        var entries: [(entry: ManifestEntry, path: [UInt8])] = []
        var warnings: [Message] = []
        /// Files that are left out, and why; the path is that of a present file.
        var losses: [(path: [UInt8]?, reason: Message)] = []
    }

    /// - Throws: `damagedContent` with a finding for each file that differs from the export (100 at most); `invalidContent` for a
    ///   name that leaves the folder.
    func run(_ manifest: [ManifestEntry]) throws(BackupError) -> Result {
        var result = Result()
        var findings: [Message] = []
        var foreign = pathsThatAreNotText()
        for entry in manifest {
            var entry = entry
            try requireInside(entry)
            var found = place(of: entry)
            if found == nil, let path = take(entry, from: &foreign) {
                let own = mediaPaths.mediaPath(of: path) ?? path
                entry = entry.called(pointer?.text(of: own) ?? own)
                found = path
            }
            guard let path = found else {
                if places(of: entry).contains(where: leftOut.contains) { continue }
                let message: Message = "\(MessageText.name(entry.archivePath)) of \(entry.label) is not in the archive"
                if !isComplete {
                    result.warnings.append(message)
                } else if allowsDamage {
                    result.losses.append((nil, message))
                } else {
                    findings.append(message)
                }
                continue
            }
            if let finding = difference(entry, path) {
                if allowsDamage {
                    result.losses.append((path, finding))
                    continue
                }
                findings.append(finding)
            }
            result.entries.append((entry, path))
        }
        if result.warnings.count > Self.findingLimit {
            let count = result.warnings.count - Self.findingLimit
            result.warnings.removeLast(count)
            result.warnings.append(
                .plural(
                    count, one: "\(count) more file is not in the archive", other: "\(count) more files are not in the archive"))
        }
        guard findings.isEmpty else {
            throw BackupError(
                .damagedContent, ImportMessages.corruptedFile, path: archivePath,
                findings: Array(findings.prefix(Self.findingLimit)))
        }
        return result
    }

    /// The location of the file: the path that the export names, or, in a folder that a user packed unchanged, the record's own
    /// path.
    private func place(of entry: ManifestEntry) -> [UInt8]? {
        if sizes[entry.archivePath] != nil { return entry.archivePath }
        return places(of: entry).first { sizes[$0] != nil }
    }

    private static let replacement = Array("\u{FFFD}".utf8)

    /// The archive's files whose names are not UTF-8, by their names in an export.
    private func pathsThatAreNotText() -> [[UInt8]: [[UInt8]]] {
        var paths: [[UInt8]: [[UInt8]]] = [:]
        for path in sizes.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let texts = PathText.texts(of: path)
            guard texts != [path] else { continue }
            for text in texts { paths[text, default: []].append(path) }
        }
        return paths
    }

    /// The file for an entry with such a name: of several, the one that matches its description.
    private func take(_ entry: ManifestEntry, from paths: inout [[UInt8]: [[UInt8]]]) -> [UInt8]? {
        for place in places(of: entry) where place.contains(Self.replacement[0]) {
            guard let named = paths[place], let first = named.first else { continue }
            let path = named.first { difference(entry, $0) == nil } ?? first
            for text in PathText.texts(of: path) { paths[text]?.removeAll { $0 == path } }
            return path
        }
        return nil
    }

    private func places(of entry: ManifestEntry) -> [[UInt8]] {
        [entry.archivePath] + (pointer?.paths(entry.recordPath) ?? [entry.recordPath]).map(mediaPaths.archivePath)
    }

    /// It may have any length: it is looked up in the archive, and renamed if a file cannot have the name.
    private func requireInside(_ entry: ManifestEntry) throws(BackupError) {
        let isInside = entry.archivePath.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .allSatisfy { FileName(bytes: Array($0)).isSafeComponent(upTo: .max) }
        guard !isInside else { return }
        throw BackupError(
            .invalidContent,
            ImportMessages.failure(
                "\(entry.label) names \(MessageText.name(entry.archivePath)), which is not in the media folder"),
            path: archivePath)
    }

    private func difference(_ entry: ManifestEntry, _ path: [UInt8]) -> Message? {
        if let size = entry.sizeBytes, let found = sizes[path], size != found {
            return "\(MessageText.name(path)) of \(entry.label) has \(found) bytes, the export says \(size)"
        }
        guard let checksums = digests[path] else { return nil }
        if let md5 = entry.md5, md5.lowercased() != checksums.md5.hexadecimal {
            return "the MD5 of \(MessageText.name(path)) of \(entry.label) is not the one in the export"
        }
        if let sha256 = entry.sha256, sha256.lowercased() != checksums.sha256.hexadecimal {
            return "the SHA-256 of \(MessageText.name(path)) of \(entry.label) is not the one in the export"
        }
        return nil
    }
}

/// One media file's entry in an export.
struct ManifestEntry: Sendable {
    /// The key of the record that has the file; the file's path, where each file is a record.
    let key: FieldValue
    /// "photo 3", for messages.
    let label: String
    /// The path in the record.
    let recordPath: [UInt8]
    /// The path in the archive.
    let archivePath: [UInt8]
    /// `nil` where the export does not say.
    let sizeBytes: UInt64?
    /// Lower-case hexadecimal digits; `nil` where the export does not say.
    let md5: String?
    let sha256: String?

    /// The same for a file that has another name here.
    func called(_ recordPath: [UInt8]) -> ManifestEntry {
        ManifestEntry(
            key: key, label: label, recordPath: recordPath, archivePath: archivePath, sizeBytes: sizeBytes, md5: md5,
            sha256: sha256)
    }
}

/// Collects the export's entries for its media files.
final class ManifestVisitor: RecordVisitor {
    private let definition: AppDefinition
    private(set) var entries: [ManifestEntry] = []
    /// Whether each file is a record: then a listed file that is not in the archive counts as missing.
    private(set) var listsAllFiles = false

    init(_ definition: AppDefinition) { self.definition = definition }

    func beginCollection(_ collection: Int) {
        if definition.collections[collection].source == .files { listsAllFiles = true }
    }

    func visit(record: RecordBuffer, of index: Int) throws(BackupError) {
        let collection = definition.collections[index]
        guard collection.source != .table else { return }
        func value(_ wanted: MediaValue) -> FieldValue? {
            collection.fields.firstIndex { $0.mediaValue == wanted }.map { record.value($0) }
        }
        func bytes(_ wanted: MediaValue) -> [UInt8]? {
            guard case .text(let bytes)? = value(wanted) else { return nil }
            return bytes
        }
        var size: UInt64?
        if case .integer(let number)? = value(.size) { size = UInt64(exactly: number) }
        let key = record.value(collection.keyIndex)
        let label = "\(collection.singular) \(key.messageText)"
        switch collection.source {
        case .table: return
        case .files:
            guard let path = bytes(.path) else { return }
            let archivePath = definition.archiveLayout.archivePath(of: Array("media/".utf8) + path) ?? path
            entries.append(
                ManifestEntry(
                    key: key, label: label, recordPath: path, archivePath: archivePath, sizeBytes: size,
                    md5: value(.md5)?.string, sha256: value(.sha256)?.string))
        case .manifest:
            guard let recordPath = bytes(.recordPath), let archivePath = bytes(.archivePath) else { return }
            entries.append(
                ManifestEntry(
                    key: value(.recordKey) ?? key, label: label, recordPath: recordPath, archivePath: archivePath,
                    sizeBytes: size, md5: value(.md5)?.string, sha256: value(.sha256)?.string))
        }
    }
}

/// Reads `SHA256SUMS` like GNU `sha256sum`: digest, space, space or asterisk, path; a leading backslash marks an escaped path.
enum ChecksumListingReader {
    /// - Throws: `damagedContent` for an invalid line or a path that is listed twice.
    static func read(_ text: [UInt8], path: String) throws(BackupError) -> [[UInt8]: SHA256Digest] {
        var digests: [[UInt8]: SHA256Digest] = [:]
        for line in text.split(separator: 10) {
            var line = line
            let isEscaped = line.first == UInt8(ascii: "\\")
            if isEscaped { line = line.dropFirst() }
            guard line.count > 66, let digest = SHA256Digest(hexadecimal: String(decoding: line.prefix(64), as: UTF8.self)),
                line.dropFirst(64).first == 32, let name = unescape(line.dropFirst(66), isEscaped),
                digests.updateValue(digest, forKey: name) == nil
            else {
                throw BackupError(
                    .damagedContent, "This backup file is corrupted and cannot be restored.", path: path,
                    findings: ["SHA256SUMS has a line that is not a digest and a path"])
            }
        }
        return digests
    }

    private static func unescape(_ text: ArraySlice<UInt8>, _ isEscaped: Bool) -> [UInt8]? {
        guard isEscaped else { return Array(text) }
        var output: [UInt8] = []
        var isAfterBackslash = false
        for byte in text {
            if isAfterBackslash {
                switch byte {
                case UInt8(ascii: "n"): output.append(10)
                case UInt8(ascii: "r"): output.append(13)
                case UInt8(ascii: "\\"): output.append(byte)
                default: return nil
                }
                isAfterBackslash = false
            } else if byte == UInt8(ascii: "\\") {
                isAfterBackslash = true
            } else {
                output.append(byte)
            }
        }
        return isAfterBackslash ? nil : output
    }
}
