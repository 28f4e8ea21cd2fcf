import AppData
import BackupCore

/// Where the media files of an archive go, and the paths that their records get.
///
/// A file whose record names it in this program's form (`photos/beach.jpg`) gets that name back. A path of another device means nothing here: the file
/// keeps its name in the archive, and the record gets its path. Files that no record names also keep their names.
struct MediaPlacement: Sendable {
    /// For entries that a manifest names: the target path below the media folder. There may be several.
    private(set) var targets: [[UInt8]: [[UInt8]]] = [:]
    /// New file paths for records, by their keys, where they differ from the records' own.
    private(set) var recordPaths: [FieldValue: [UInt8]] = [:]
    private var taken: [[UInt8]: Content] = [:]

    /// Identifies a file's content.
    private struct Content: Equatable {
        let archivePath: [UInt8]
        let digest: SHA256Digest?

        func isSame(as other: Content) -> Bool {
            archivePath == other.archivePath || (digest != nil && digest == other.digest)
        }
    }

    /// - Parameters:
    ///   - entries: the manifest's entries, with the paths of their files in the archive.
    ///   - others: files that no entry names.
    ///   - digests: of the entries' bytes.
    ///   - isOwn: whether the records are of this same folder: they keep their paths if their files can have them.
    init(
        _ entries: [(entry: ManifestEntry, path: [UInt8])], others: [(archivePath: [UInt8], path: [UInt8])],
        mediaPaths: ArchiveMediaPaths, pointer: MediaPointer?, digests: [[UInt8]: SHA256Digest],
        isOwn: Bool = false
    ) {
        for (entry, archivePath) in entries {
            let content = Content(archivePath: archivePath, digest: digests[archivePath])
            let usual = Self.fitting(mediaPaths.mediaPath(of: archivePath) ?? archivePath)
            guard let pointer else {
                place(content, at: [entry.recordPath, usual])
                continue
            }
            let own = Self.ownPath(entry.recordPath, pointer) ?? (isOwn ? pointer.paths(entry.recordPath).first : nil)
            let target = place(content, at: (own.map { [$0] } ?? []) + [usual])
            if isOwn, target == own { continue }
            let text = pointer.text(of: target)
            if text != entry.recordPath { recordPaths[entry.key] = text }
        }
        for other in others where targets[other.archivePath] == nil {
            let content = Content(archivePath: other.archivePath, digest: digests[other.archivePath])
            let target = place(content, at: [Self.fitting(other.path)])
            if target == other.path, targets[other.archivePath] == [target] { targets[other.archivePath] = nil }
        }
    }

    /// The path below the media folder, for a record that names its file in this program's form.
    private static func ownPath(_ recordPath: [UInt8], _ pointer: MediaPointer) -> [UInt8]? {
        let prefix = pointer.text(of: [])
        guard recordPath.starts(with: prefix) else { return nil }
        return pointer.paths(recordPath).first { pointer.text(of: $0) == recordPath }
    }

    /// Puts a file at the first free path; if none is free, numbers the last one.
    @discardableResult
    private mutating func place(_ content: Content, at candidates: [[UInt8]]) -> [UInt8] {
        var path = candidates.first { taken[$0].map(content.isSame) ?? true }
        var number = 2
        while path == nil, let last = candidates.last {
            let numbered = Self.numbered(last, number)
            if taken[numbered] == nil { path = numbered }
            number += 1
        }
        let target = path ?? content.archivePath
        if taken[target] == nil {
            taken[target] = content
            targets[content.archivePath, default: []].append(target)
        } else if targets[content.archivePath] == nil {
            // Another entry puts the same bytes there.
            targets[content.archivePath] = []
        }
        return target
    }

    /// Shortened to a valid file name.
    private static func fitting(_ path: [UInt8]) -> [UInt8] {
        BytePath.join(BytePath.folder(of: path), FileName.fitting(BytePath.lastComponent(of: path)))
    }

    /// `beach-2.jpg`.
    private static func numbered(_ path: [UInt8], _ number: Int) -> [UInt8] {
        BytePath.join(BytePath.folder(of: path), MediaPlan.numbered(BytePath.lastComponent(of: path), number))
    }

    /// The target paths of an entry.
    /// - Parameter path: the entry's own path below the media folder.
    func paths(of archivePath: [UInt8], usual path: [UInt8]) -> [[UInt8]] { targets[archivePath] ?? [path] }
}
