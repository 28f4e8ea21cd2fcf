import BackupCore
import SystemIO

/// Collects the hashes of a new generation of ASC MHL while a destination is walked through.
final class MHLWriter: ManifestSink {
    private static let linkLimit = 10_000

    private let root: DirectoryHandle
    private let history: ManifestIndex
    private let algorithms: Set<HashAlgorithm>
    private let own: Set<FileName>
    private let ignore: MHLIgnore
    private let body: BufferedOutput
    private var directories: DirectoryHashes
    /// How many folders deep the walk is in one that is left out.
    private var ignoredDepth = 0

    /// Of the whole destination; `nil` when something in it is not of the job.
    private(set) var rootHashes: DirectoryHashes.Pair?
    private(set) var hashCount = 0
    /// Files that are not of the job.
    private(set) var otherCount = 0
    /// Patterns of names that are left out.
    private(set) var patterns: [String]

    /// - Parameters:
    ///   - history: the earlier generations.
    ///   - algorithms: those that the generation will have.
    ///   - own: lists that this job has written directly into the destination.
    ///   - body: gets the hashes.
    init(
        _ root: DirectoryHandle, history: ManifestIndex, _ algorithms: Set<HashAlgorithm>, own: Set<FileName>, ignore: MHLIgnore,
        body: BufferedOutput
    ) {
        self.root = root
        self.history = history
        self.algorithms = algorithms
        self.own = own
        self.ignore = ignore
        self.body = body
        patterns = ignore.patterns
        directories = DirectoryHashes(algorithms)
        if !ignore.isUnderstood { hasDirectoryHashes = false }
    }

    private var hasDirectoryHashes = true

    // MARK: Folders

    func enter(_ folder: SourceFolder) throws(BackupError) {
        if ignoredDepth > 0 || (!folder.components.isEmpty && ignore.matches(folder.components, isFolder: true)) {
            if ignoredDepth == 0, folder.components.count > 1, folder.components.last == MHLFormat.folder {
                throw BackupError(
                    .notSupported, "a folder in the copy has an ASC MHL history of its own", path: MessageText.name(folder.path),
                    remedy: "Copy that folder by itself, or add the generation with the ascmhl tool.")
            }
            ignoredDepth += 1
            return
        }
        directories.enter()
    }

    func leave(_ folder: SourceFolder) throws(BackupError) {
        if ignoredDepth > 0 {
            ignoredDepth -= 1
            return
        }
        let pair = directories.leave(folder.components.last)
        guard hasDirectoryHashes, let pair else { return }
        if folder.components.isEmpty {
            rootHashes = pair
        } else {
            hashCount += 1
            try body.add(MHLText.directoryHash(text(folder.path), pair))
        }
    }

    // MARK: Files

    func add(_ file: CopiedFile) throws(BackupError) {
        guard ignoredDepth == 0, !ignore.matches(BytePath.components(of: file.path), isFolder: false) else { return }
        let digests = try judge(file)
        guard !digests.isEmpty else { throw file.lacksDigest }
        directories.add(file.name, file.digests)
        hashCount += 1
        try body.add(MHLText.hash(text(file.path), file, digests))
    }

    /// Compares a file with the earlier generations.
    private func judge(_ file: CopiedFile) throws(BackupError) -> [MHLText.Digest] {
        let earlier = try history.take(file.path).filter { !$0.isGone }.reduce(into: FileDigests()) {
            // The first one of each algorithm counts.
            $0 = $0.filled(from: $1.entry.digests)
        }
        let texts = MHLFormat.order.filter(algorithms.contains).compactMap { algorithm in
            file.digests.text(algorithm).map { (algorithm: algorithm, text: $0) }
        }
        if earlier.algorithms.isEmpty {
            let action = file.isMismatch ? "failed" : "original"
            return texts.map { MHLText.Digest(algorithm: $0.algorithm, text: $0.text, action: action) }
        }
        let known = texts.filter { earlier.has($0.algorithm) }
        guard !known.isEmpty else {
            let names = earlier.algorithms.map(\.rawValue).sorted().joined(separator: ", ")
            throw BackupError(
                .notSupported, "the history knows only its \(names), which this job has not computed",
                path: MessageText.name(file.path), remedy: "Copy once more with --hash, and one of these.")
        }
        let hasFailed = known.contains { earlier.text($0.algorithm) != $0.text }
        if hasFailed || file.isMismatch {
            // A digest of another algorithm would be taken for one that was compared.
            return known.map { MHLText.Digest(algorithm: $0.algorithm, text: $0.text, action: action($0, earlier, file)) }
        }
        return texts.map { MHLText.Digest(algorithm: $0.algorithm, text: $0.text, action: "verified") }
    }

    private func action(
        _ digest: (algorithm: HashAlgorithm, text: String), _ earlier: FileDigests, _ file: CopiedFile
    ) -> String { file.isMismatch || earlier.text(digest.algorithm) != digest.text ? "failed" : "verified" }

    private func text(_ path: [UInt8]) throws(BackupError) -> String {
        if let text = XMLText.valid(path) { return text }
        throw BackupError(
            .notSupported, "an ASC MHL history cannot have this name: it is not UTF-8, or has control characters",
            path: MessageText.name(path), remedy: "The copies are complete; rename it, or copy without --manifest ascmhl.")
    }

    func addLink(_ path: [UInt8]) throws(BackupError) {
        guard ignoredDepth == 0 else { return }
        // Programs that read the history would follow the link, and take it for a file.
        patterns.append(MHLIgnore.pattern(of: try text(path)))
        guard patterns.count <= Self.linkLimit else {
            throw BackupError(
                .notSupported, "an ASC MHL history cannot leave out more than \(Self.linkLimit) links", path: root.path,
                remedy: "The copies are complete; copy without --manifest ascmhl.")
        }
    }

    func addOther(
        _ name: FileName, in folder: SourceFolder, _ handle: DirectoryHandle, _ status: FileStatus
    ) throws(BackupError) {
        guard ignoredDepth == 0, !ignore.matches(folder.components + [name], isFolder: false) else { return }
        guard folder.components.isEmpty, own.contains(name), status.kind == .regular else {
            otherCount += 1
            return directories.addUnknown()
        }
        try add(
            CopiedFile(
                path: name.bytes, name: name, size: status.size, modificationTime: status.modificationTime,
                digests: digests(of: SharedFile(handle.openFile(name))), hashedAt: SystemClock.now(), isMismatch: false))
    }

    private func digests(of file: SharedFile) throws(BackupError) -> FileDigests {
        var digester = FileDigester(algorithms)
        var offset: UInt64 = 0
        while true {
            let part = try file.bytes(at: offset, upTo: 1 << 20)
            if part.isEmpty { return digester.finish() }
            part.withUnsafeBytes { digester.update($0) }
            offset += UInt64(part.count)
        }
    }

    func addUnreadable(_ path: [UInt8]) {
        guard ignoredDepth == 0 else { return }
        otherCount += 1
        directories.addUnknown()
    }
}
