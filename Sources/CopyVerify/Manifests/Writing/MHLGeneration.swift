import BackupCore
import Formats
import SystemIO

/// Adds a generation to the ASC MHL history of a destination, or begins the history.
struct MHLGeneration {
    private static let noteLimitBytes = 65_536

    let job: JobFolder
    /// Of the destination in the job.
    let index: Int
    let destination: DirectoryHandle
    /// Whose history goes on.
    let source: DirectoryHandle
    let rows: CopiedRows
    let problems: ProblemList
    /// Of this program.
    let version: String

    private var note: String { "\(job.path)/ascmhl-\(index).json" }
    private var token: String { job.record.token }

    /// Takes over the history of the source, without a new generation.
    func carryHistory() throws(BackupError) {
        guard let folder = try destination.openFolder(MHLFormat.folder) else { return }
        _ = try chain(in: folder, present: readChain(folder))
    }

    /// - Parameter own: lists that this job has written directly into the destination.
    func write(own: Set<FileName>) throws(BackupError) {
        try destination.makeDirectoryIfMissing(MHLFormat.folder)
        let folder = try destination.openDirectory(MHLFormat.folder)
        var chain = try chain(in: folder, present: readChain(folder))
        try removeInterrupted(folder, chain)
        if let last = chain.generations.last, written?.name == last.name, written?.state == rows.state {
            // A run that has copied nothing adds nothing.
            return try chain.verify(folder)
        }
        let history = try ManifestIndex("\(job.path)/history-\(index).jsonl")
        let earlier = try MHLHistory.read(folder, chain, history.add)
        try history.finish()
        let ignore = try MHLIgnore(
            earlier: earlier.ignoredPatterns, list: "\(folder.path)/\(chain.generations.last?.name ?? MHLFormat.chain)")
        let body = "\(job.path)/ascmhl-\(index).body"
        let writer = try collect(history, ignore, own, into: body)
        let number = (chain.generations.map(\.number).max() ?? 0) + 1
        let now = SystemClock.now()
        let name = try name(number, now)
        try FileSystem.writeFileAtomically(note, (["name": name.description, "state": rows.state] as OrderedJSON).prettyText)
        try FaultInjection.reached("copy.ascmhl-begun")
        try ManifestDraft.write(name, in: folder, token: token, .refuse) { (output) throws(BackupError) in
            try output.add(MHLText.head(version: version, now, root: writer.rootHashes, patterns: writer.patterns))
            if writer.hashCount > 0 {
                try output.add("  <hashes>\n")
                try output.add(contentOf: body)
                try output.add("  </hashes>\n")
            }
            try output.add("</hashlist>\n")
        }
        try FaultInjection.reached("copy.ascmhl-written")
        let c4 = try MHLChain.c4(of: SharedFile(folder.openFile(name)))
        chain.generations.append(MHLChain.Generation(number: number, name: name, c4: c4))
        try write(chain, folder)
        try destination.synchronize()
        try FileSystem.removeFile(body)
        if writer.otherCount > 0 {
            let count = writer.otherCount
            problems.warn(
                .plural(
                    count,
                    one:
                        "\(destination.path): \(count) file is not of this job; it is not in the new generation of the ASC MHL history, and its folders have no hashes there",
                    other:
                        "\(destination.path): \(count) files are not of this job; they are not in the new generation of the ASC MHL history, and their folders have no hashes there"
                ))
        }
    }

    /// Walks through the destination.
    private func collect(
        _ history: ManifestIndex, _ ignore: MHLIgnore, _ own: Set<FileName>, into path: String
    ) throws(BackupError) -> MHLWriter {
        let algorithms = (rows.algorithms ?? [.xxh128]).intersection(MHLFormat.algorithms)
        guard !algorithms.isEmpty else {
            throw BackupError(
                .notSupported, "the copies have no digest that an ASC MHL history can hold", path: destination.path,
                remedy: "Copy once more with --hash xxh128.")
        }
        let body = try BufferedOutput(making: path)
        let writer = MHLWriter(destination, history: history, algorithms, own: own, ignore: ignore, body: body)
        try ManifestWalk.run(destination, rows, writer)
        try body.flush()
        return writer
    }

    /// `0001_NAME_2026-01-11_143000Z.mhl`.
    private func name(_ number: Int, _ now: Timestamp) throws(BackupError) -> FileName {
        let time = LocalDateTime(utc: now)
        let end = "_\(time.dateText)_\(time.timeText(""))Z\(MHLFormat.ending)"
        let start = "\(LocalDateTime.padded(number, 4))_"
        let folder = FileSystem.lastComponent(try FileSystem.realPath(destination.path))
        let room = FileName.byteCountLimit - start.utf8.count - end.utf8.count
        var text = folder == "/" ? "root" : folder
        while text.utf8.count > room { text.removeLast() }
        return FileName(start + text + end)
    }

    // MARK: The chain

    private func readChain(_ folder: DirectoryHandle) throws(BackupError) -> MHLChain? {
        try folder.statusIfPresent(MHLFormat.chain) == nil ? nil : try MHLChain.read(folder)
    }

    /// The chain of the destination, which is that of the source or goes on after it.
    private func chain(in folder: DirectoryHandle, present: MHLChain?) throws(BackupError) -> MHLChain {
        let own = present ?? MHLChain()
        guard let sourceFolder = try source.openFolder(MHLFormat.folder) else { return own }
        let original = try MHLChain.read(sourceFolder)
        let (short, long) =
            own.generations.count < original.generations.count
            ? (own.generations, original) : (original.generations, own)
        guard long.generations.starts(with: short) else {
            throw BackupError(
                .conflict, "the ASC MHL history of the destination is not that of the source", path: folder.path,
                remedy: "Copy into another folder.")
        }
        if long.generations.count > own.generations.count { try write(long, folder) }
        return long
    }

    private func write(_ chain: MHLChain, _ folder: DirectoryHandle) throws(BackupError) {
        try ManifestDraft.write(MHLFormat.chain, in: folder, token: token, .replace) { (output) throws(BackupError) in
            try output.add(chain.text)
        }
    }

    // MARK: An interrupted run

    private var written: (name: FileName, state: String)? {
        let members = JSONMembers((try? FileSystem.readFile(note, limitBytes: Self.noteLimitBytes)) ?? [])
        guard let name = members.text("name"), let state = members.text("state") else { return nil }
        return (FileName(name), state)
    }

    /// A generation that is not in the chain yet.
    private func removeInterrupted(_ folder: DirectoryHandle, _ chain: MHLChain) throws(BackupError) {
        for name in try chain.strangers(folder) {
            guard written?.name == name else {
                throw BackupError(
                    .conflict, "the history has a generation that is not in its chain", path: "\(folder.path)/\(name)",
                    remedy: "Move it away, and resume the job.")
            }
            try folder.removeFile(name)
        }
    }
}
