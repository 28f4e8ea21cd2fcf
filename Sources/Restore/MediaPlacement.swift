import AppData
import BackupCore

/// Where the media files of an archive go, and what their records then say of them.
///
/// A record that calls its file as this program does (`photos/beach.jpg`) gets it back under that name. A path of another device says nothing
/// here: the file keeps the name that it has in the archive, and the record gets its path. Files that no record names keep their names, too.
struct MediaPlacement: Sendable {
    /// Of entries that are named by a manifest: where each goes, below the media folder. It may go to several places.
    private(set) var targets: [[UInt8]: [[UInt8]]] = [:]
    /// What records are to say of their files, by their keys, where that is something else than they say.
    private(set) var recordPaths: [FieldValue: [UInt8]] = [:]
    private var taken: [[UInt8]: Content] = [:]

    /// What makes two files the same.
    private struct Content: Equatable {
        let archivePath: [UInt8]
        let digest: SHA256Digest?

        func isSame(as other: Content) -> Bool {
            archivePath == other.archivePath || (digest != nil && digest == other.digest)
        }
    }

    /// - Parameters:
    ///   - entries: what the manifest says, with the paths in the archive at which the files are.
    ///   - others: files that no entry names.
    ///   - digests: of the entries' bytes.
    ///   - isOwn: whether the records are of this very folder: they keep their paths where their files can lie there.
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

    /// The path below the media folder, of a record that calls its file as this program does.
    private static func ownPath(_ recordPath: [UInt8], _ pointer: MediaPointer) -> [UInt8]? {
        let prefix = pointer.text(of: [])
        guard recordPath.starts(with: prefix) else { return nil }
        return pointer.paths(recordPath).first { pointer.text(of: $0) == recordPath }
    }

    /// Puts a file at the first path that is free; the last one gets a number if it is not.
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
            // Another entry brings the same bytes there.
            targets[content.archivePath] = []
        }
        return target
    }

    /// With a name that a file can have.
    private static func fitting(_ path: [UInt8]) -> [UInt8] {
        BytePath.join(BytePath.folder(of: path), FileName.fitting(BytePath.lastComponent(of: path)))
    }

    /// `beach-2.jpg`.
    private static func numbered(_ path: [UInt8], _ number: Int) -> [UInt8] {
        BytePath.join(BytePath.folder(of: path), MediaPlan.numbered(BytePath.lastComponent(of: path), number))
    }

    /// Where an entry goes.
    /// - Parameter path: the entry's, below the media folder.
    func paths(of archivePath: [UInt8], usual path: [UInt8]) -> [[UInt8]] { targets[archivePath] ?? [path] }
}
