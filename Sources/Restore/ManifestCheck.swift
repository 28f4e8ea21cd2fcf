import AppData
import BackupCore

/// Holds an archive's media files against what its export says of them.
struct ManifestCheck {
    private static let findingLimit = 100

    let mediaPaths: ArchiveMediaPaths
    /// Whether a file that the export names must be there.
    let isComplete: Bool
    let pointer: MediaPointer?
    /// The archive, for messages.
    let archivePath: String
    let digests: [[UInt8]: Checksums]
    let sizes: [[UInt8]: UInt64]
    /// Whether files that are not as the export says are left out, instead of the archive being refused.
    let allowsDamage: Bool
    /// Files that have been left out already, and told of.
    let leftOut: Set<[UInt8]>

    struct Result {
        /// Those whose files are there, with the paths at which they are.
        var entries: [(entry: ManifestEntry, path: [UInt8])] = []
        var warnings: [Message] = []
        /// What is left out and why; the path is that of a file that is there.
        var losses: [(path: [UInt8]?, reason: Message)] = []
    }

    /// - Throws: `damagedContent` whose findings are all files that are not as the export says; `invalidContent` for a name that leaves the folder.
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

    /// Where the file is: at the path that the export names, or, in a folder that somebody has packed as it lay, under its record's own name.
    private func place(of entry: ManifestEntry) -> [UInt8]? {
        if sizes[entry.archivePath] != nil { return entry.archivePath }
        return places(of: entry).first { sizes[$0] != nil }
    }

    private static let replacement = Array("\u{FFFD}".utf8)

    /// Those of the archive's files whose names are not UTF-8, by what an export calls them.
    private func pathsThatAreNotText() -> [[UInt8]: [[UInt8]]] {
        var paths: [[UInt8]: [[UInt8]]] = [:]
        for path in sizes.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let texts = PathText.texts(of: path)
            guard texts != [path] else { continue }
            for text in texts { paths[text, default: []].append(path) }
        }
        return paths
    }

    /// The file that an entry of such a name means: of several the one that it describes.
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

    /// It may be as long as it likes: a file of that name is looked for in the archive, and gets another one if it cannot have it.
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
