import BackupCore
import SystemIO

/// What the lists of checksums say that came with a source. For one thread.
final class SourceManifest {
    private static let namedLimit = 100

    private let root: DirectoryHandle
    private let index: ManifestIndex
    private let lists: [String]
    private let problems: ProblemList
    private var unlistedCount: UInt64 = 0
    private var linkCount: UInt64 = 0

    /// Those that the lists have.
    var algorithms: Set<HashAlgorithm> { index.algorithms }
    /// Files that are in a list and not in the source.
    private(set) var missingCount: UInt64 = 0

    private init(_ root: DirectoryHandle, _ index: ManifestIndex, _ lists: [String], _ problems: ProblemList) {
        self.root = root
        self.index = index
        self.lists = lists
        self.problems = problems
    }

    /// Reads the lists.
    /// - Parameters:
    ///   - path: of a file of the job, for what they say.
    ///   - problems: gets what differs, apart from digests.
    /// - Returns: `nil` when there are none, or they are not to be looked at.
    /// - Throws: for a list that is damaged, or that leads out of the source.
    static func load(
        _ root: DirectoryHandle, _ choice: SourceVerification, into path: String, _ problems: ProblemList
    ) throws(BackupError) -> SourceManifest? {
        if choice == .off { return nil }
        let index = try ManifestIndex(path)
        let reader = SourceLists(root: root, index: index, problems: problems)
        var lists: [String] = []
        if case .file(let list) = choice {
            try reader.read(list)
            lists = [list]
        } else {
            lists = try reader.readAll()
        }
        try index.finish()
        return lists.isEmpty ? nil : SourceManifest(root, index, lists, problems)
    }

    /// What the lists say of a file or link of the source. To be called for each of them once.
    func expectation(_ path: [UInt8], _ status: FileStatus) throws(BackupError) -> ExpectedFile? {
        let lines = try SaidOfPath(index.take(path)).expected
        guard status.kind == .regular else {
            // A list has the file that the link leads to.
            if !lines.isEmpty { linkCount += 1 }
            return nil
        }
        if lines.isEmpty {
            noteUnlisted(path)
            return nil
        }
        return ExpectedFile(lines: lines)
    }

    private func noteUnlisted(_ path: [UInt8]) {
        guard !isOwn(BytePath.components(of: path)) else { return }
        unlistedCount += 1
        guard unlistedCount <= Self.namedLimit else { return }
        problems.warn("\(root.path)/\(MessageText.name(path)): no list of checksums has this file")
    }

    /// Whether it is a list itself, or belongs to one.
    private func isOwn(_ names: [FileName]) -> Bool {
        guard let first = names.first, let last = names.last else { return true }
        if last == ".DS_Store" || names.contains(MHLFormat.folder) { return true }
        return names.count == 1 && (ListName.isBagFile(first) || lists.contains(MessageText.name(first.bytes)))
    }

    /// After the walk: names what the source lacks.
    /// - Parameter includesHidden: whether the walk has visited hidden names.
    func report(includesHidden: Bool) throws(BackupError) {
        if unlistedCount > Self.namedLimit {
            problems.warn(
                .plural(
                    unlistedCount, one: "\(unlistedCount) file of the source is in no list of checksums",
                    other: "\(unlistedCount) files of the source are in no list of checksums"))
        }
        if linkCount > 0 {
            problems.warn(
                .plural(
                    linkCount, one: "\(linkCount) link is in a list of checksums, and was not compared with it",
                    other: "\(linkCount) links are in a list of checksums, and were not compared with it"))
        }
        var hiddenCount: UInt64 = 0
        try index.forEachLeft { (lines) throws(BackupError) in
            guard let line = SaidOfPath(lines).missing else { return }
            let path = line.entry.path
            let names = BytePath.components(of: path)
            // What cannot be looked at is not where the list says that it is.
            if let name = names.last, (try? root.openFolder(at: names.dropLast())?.statusIfPresent(name)) ?? nil != nil {
                if !includesHidden, names.contains(where: { $0.bytes.first == UInt8(ascii: ".") }) { hiddenCount += 1 }
                return
            }
            missingCount += 1
            guard missingCount <= Self.namedLimit else { return }
            problems.add(
                BackupError(
                    .notFound, "it is in \(line.list) and not in the source", path: "\(root.path)/\(MessageText.name(path))",
                    remedy: "Look for it where the source comes from."))
        }
        if missingCount > Self.namedLimit {
            problems.add(
                BackupError(
                    .notFound,
                    .plural(
                        missingCount, one: "\(missingCount) file of its lists of checksums is not in the source",
                        other: "\(missingCount) files of its lists of checksums are not in the source"), path: root.path,
                    remedy: "Look for them where the source comes from."))
        }
        if hiddenCount > 0 {
            problems.warn(
                .plural(
                    hiddenCount,
                    one: "\(hiddenCount) file of a list begins with a dot and was left out: --hidden copies and compares it",
                    other: "\(hiddenCount) files of a list begin with a dot and were left out: --hidden copies and compares them")
            )
        }
    }
}

/// What histories and lists say of a path. Each history is for itself: one that was made after a file was damaged says that all
/// is well, whichever of them is in the folder above.
private struct SaidOfPath {
    /// Those that are about a file which the path still has.
    private(set) var expected: [ManifestIndex.Line] = []
    /// Of histories whose last word is that the file has another name.
    private var gone: [ManifestIndex.Line] = []

    init(_ lines: [ManifestIndex.Line]) {
        for line in lines {
            if line.isGone {
                // The path was that of another file before.
                expected.removeAll { $0.history == line.history }
                gone.append(line)
            } else {
                gone.removeAll { $0.history == line.history }
                expected.append(line)
            }
        }
    }

    /// A line that says that the file should be there, if no other history knows its new name.
    var missing: ManifestIndex.Line? {
        expected.first { line in !gone.contains { !$0.entry.digests.contradict(line.entry.digests) } }
    }
}

/// What lists say of one file.
struct ExpectedFile: Sendable {
    let lines: [ManifestIndex.Line]

    /// A digest whose algorithm this program does not have proves nothing.
    /// - Returns: `nil` when the file is what each list says.
    func difference(size: UInt64, _ digests: FileDigests) -> Message? {
        var seen: [String: Seen] = [:]
        for line in lines {
            // Of a history the first one counts: later generations were compared with it.
            let earlier = line.history.flatMap { seen[$0] } ?? Seen()
            if let history = line.history { seen[history] = earlier.with(line.entry) }
            if let expected = line.entry.size, !earlier.hasSize, expected != size {
                return "it has \(size) bytes, and \(line.list) says \(expected)"
            }
            for algorithm in line.entry.digests.algorithms.subtracting(earlier.algorithms) {
                guard let found = digests.text(algorithm), let expected = line.entry.digests.text(algorithm) else { continue }
                if found != expected {
                    return "its \(algorithm.rawValue) is \(found), and \(line.list) says \(expected)"
                }
            }
        }
        return nil
    }

    /// What a history has said already.
    private struct Seen {
        var hasSize = false
        var algorithms: Set<HashAlgorithm> = []

        func with(_ entry: ManifestEntry) -> Seen {
            Seen(hasSize: hasSize || entry.size != nil, algorithms: algorithms.union(entry.digests.algorithms))
        }
    }
}
