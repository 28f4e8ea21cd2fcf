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
        let reader = SourceLists(root: root, index: index)
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
        let all = try index.take(path)
        // Before it got another name, the path was that of another file.
        let lines = all[(all.lastIndex(where: \.isGone).map { $0 + 1 } ?? 0)...]
        guard status.kind == .regular else {
            // A list has the file that the link leads to.
            if !lines.isEmpty { linkCount += 1 }
            return nil
        }
        if lines.isEmpty {
            noteUnlisted(path)
            return nil
        }
        return ExpectedFile(lines: Array(lines))
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
        return names.count == 1 && (BagFiles.isTagFile(first) || lists.contains(MessageText.name(first.bytes)))
    }

    /// After the walk: names what the source lacks.
    /// - Parameter includesHidden: whether the walk has visited hidden names.
    func report(includesHidden: Bool) throws(BackupError) {
        if unlistedCount > Self.namedLimit {
            problems.warn("\(unlistedCount) files of the source are in no list of checksums")
        }
        if linkCount > 0 { problems.warn("\(linkCount) links are in a list of checksums, and were not compared with it") }
        var hiddenCount: UInt64 = 0
        var reported: Set<[UInt8]> = []
        try index.forEachLeft { (line) throws(BackupError) in
            let path = line.entry.path
            guard !line.isGone, !reported.contains(path) else { return }
            // It got another name later.
            let isGoneLater = try index.take(path).last?.isGone ?? false
            guard !isGoneLater else { return }
            let names = BytePath.components(of: path)
            // What cannot be looked at is not where the list says that it is.
            if let name = names.last, (try? root.openFolder(at: names.dropLast())?.statusIfPresent(name)) ?? nil != nil {
                if !includesHidden, names.contains(where: { $0.bytes.first == UInt8(ascii: ".") }) { hiddenCount += 1 }
                return
            }
            missingCount += 1
            guard reported.count < Self.namedLimit else { return }
            reported.insert(path)
            problems.add(
                BackupError(
                    .notFound, "it is in \(line.list) and not in the source", path: "\(root.path)/\(MessageText.name(path))",
                    remedy: "Look for it where the source comes from."))
        }
        if missingCount > Self.namedLimit {
            problems.add(
                BackupError(
                    .notFound, "\(missingCount) files of its lists of checksums are not in the source", path: root.path,
                    remedy: "Look for them where the source comes from."))
        }
        if hiddenCount > 0 {
            problems.warn("\(hiddenCount) files of a list begin with a dot and were left out: --hidden copies and compares them")
        }
    }
}

/// What lists say of one file.
struct ExpectedFile: Sendable {
    let lines: [ManifestIndex.Line]

    /// A digest whose algorithm this program does not have proves nothing.
    /// - Returns: `nil` when the file is what each list says.
    func difference(size: UInt64, _ digests: FileDigests) -> Message? {
        var seen: Set<HashAlgorithm> = []
        var hasSize = false
        for line in lines {
            if let expected = line.entry.size, !(line.isHistory && hasSize) {
                hasSize = hasSize || line.isHistory
                if expected != size { return "it has \(size) bytes, and \(line.list) says \(expected)" }
            }
            for algorithm in line.entry.digests.algorithms {
                // Of a history the first one counts: later generations were compared with it.
                if line.isHistory, !seen.insert(algorithm).inserted { continue }
                guard let found = digests.text(algorithm), let expected = line.entry.digests.text(algorithm) else { continue }
                if found != expected {
                    return "its \(algorithm.rawValue) is \(found), and \(line.list) says \(expected)"
                }
            }
        }
        return nil
    }
}
