import BackupCore
import Formats

/// The clips and photos of a source.
public struct ClipTotals: Sendable, Equatable {
    private static let spanLimit = 100

    /// Clips of several files count once.
    public fileprivate(set) var clipCount: UInt64 = 0
    /// Files of one stem count once.
    public fileprivate(set) var photoCount: UInt64 = 0
    /// Clips that are not whole, by the numbers of their parts; at most 100.
    public fileprivate(set) var spans: [ClipSpan] = []

    init() {}

    fileprivate mutating func add(_ span: ClipSpan) { if spans.count < Self.spanLimit { spans.append(span) } }
}

/// Counts the clips of a source while it is walked through, a folder after the other: the files of a clip are in one folder.
struct ClipCounter: Sendable {
    private struct Clip {
        let firstFile: FileName
        var parts: Set<Int>
        /// Whether all its files are QuickTime movies.
        var isMovie: Bool
    }

    private struct Folder {
        let path: [FileName]
        let keys: [[UInt8]]
        /// Whether it, or a folder above it, has files that belong to clips in other folders.
        let isBeside: Bool
        var clips: [[UInt8]: Clip] = [:]
        var photos: Set<[UInt8]> = []
    }

    private(set) var totals = ClipTotals()
    private var folders: [Folder] = []

    /// A folder begins; those that are in it begin and end before it ends.
    /// - Parameter path: below the source.
    mutating func begin(_ path: [FileName]) {
        let key = path.last.map { NamePattern.key($0.bytes) }
        let isBeside = folders.last?.isBeside == true || key.map(ClipName.isBeside) == true
        folders.append(Folder(path: path, keys: (folders.last?.keys ?? []) + (key.map { [$0] } ?? []), isBeside: isBeside))
    }

    /// A file of the folder that has begun last.
    mutating func add(_ name: FileName) {
        guard folders.last?.isBeside == false else { return }
        let key = NamePattern.key(name.bytes)
        let last = folders.count - 1
        switch ClipName(key, in: folders[last].keys) {
        case .other: break
        case .photo(let stem): folders[last].photos.insert(stem)
        case .clip(let clip, let part):
            let isMovie = key.suffix(4).elementsEqual(".MOV".utf8)
            var found = folders[last].clips[clip] ?? Clip(firstFile: name, parts: [], isMovie: true)
            found.isMovie = found.isMovie && isMovie
            if let part { found.parts.insert(part) }
            folders[last].clips[clip] = found
        }
    }

    /// The folder that has begun last ends.
    mutating func end() {
        guard let folder = folders.popLast() else { return }
        totals.photoCount += UInt64(folder.photos.count)
        let clips = folder.clips.sorted { $0.value.firstFile < $1.value.firstFile }
        for (stem, clip) in clips {
            // The movie of a live photo belongs to the photo.
            if clip.isMovie, folder.photos.contains(stem) { continue }
            totals.clipCount += 1
            guard let first = clip.parts.min(), let last = clip.parts.max() else { continue }
            let file = String(decoding: BytePath.joined(folder.path + [clip.firstFile]), as: UTF8.self)
            if first > 1 { totals.add(ClipSpan(clip: file, note: .continued)) }
            if last - first + 1 > clip.parts.count { totals.add(ClipSpan(clip: file, note: .incomplete)) }
        }
    }
}
