import BackupCore
import SystemIO

/// Finds the lists of checksums that came with a source, and reads them.
struct SourceLists {
    let root: DirectoryHandle
    let index: ManifestIndex
    let problems: ProblemList

    /// Reads the ASC MHL histories, also those of folders in the source, and the other lists in the source's own folder.
    /// - Returns: their names.
    func readAll() throws(BackupError) -> [String] {
        var found: [String] = []
        var histories = Histories()
        try readHistories(root, [], &histories)
        try require(histories)
        if !histories.generations.isEmpty { found.append(MHLFormat.folder.description) }
        let names = try root.names()
        if names.contains(where: { $0.description == BagFiles.declaration }) { found += try readBag(names) }
        for name in names where ListName.isSums(name) && !ListName.isBagFile(name) {
            guard let status = try root.statusIfPresent(name), status.kind == .regular, status.size > 0 else { continue }
            try readSums("\(root.path)/\(name)", list: MessageText.name(name.bytes), prefix: [])
            found.append(MessageText.name(name.bytes))
        }
        return found
    }

    /// Reads one list. Its paths are below its own folder, if that is in the source, and else below the source.
    func read(_ path: String) throws(BackupError) {
        guard try FileSystem.look(path) != nil else {
            throw BackupError(.notFound, "there is no such list of checksums", path: path, remedy: "Name the file.")
        }
        let source = try FileSystem.realPath(root.path)
        var folder = try FileSystem.parentPath(FileSystem.realPath(path))
        let name = FileSystem.lastComponent(path)
        let isMHL = name.hasSuffix(MHLFormat.ending)
        // A generation is about the folder that has the history.
        if isMHL, FileSystem.lastComponent(folder) == MHLFormat.folder.description { folder = FileSystem.parentPath(folder) }
        let prefix = folder.hasPrefix("\(source)/") ? Array(folder.utf8.dropFirst(source.utf8.count + 1)) : []
        if isMHL {
            try MHLHistory.read(path, list: name, history: nil, prefix: prefix, index.add)
        } else if ListName.isBagList(name), try FileSystem.exists("\(FileSystem.parentPath(path))/\(BagFiles.declaration)") {
            try readBagList(path, list: name, prefix, BagFiles.encodesPercent(FileSystem.parentPath(path)))
        } else {
            try readSums(path, list: name, prefix: prefix)
        }
    }

    // MARK: ASC MHL histories

    private struct Histories {
        /// By their paths below the source.
        var generations: [[UInt8]: SHA512Digest] = [:]
        var references: [MHLHistory.Reference] = []
    }

    private func readHistories(_ folder: DirectoryHandle, _ prefix: [UInt8], _ found: inout Histories) throws(BackupError) {
        try Cancellation.check()
        // One that cannot be read is named by the copy.
        guard let names = try? folder.folderNames() else { return }
        for name in names {
            guard let inner = try? folder.openFolder(name) else { continue }
            let path = BytePath.join(prefix, name.bytes)
            guard name == MHLFormat.folder else {
                try readHistories(inner, path, &found)
                continue
            }
            let chain = try MHLChain.read(inner)
            found.references += try MHLHistory.read(inner, chain, prefix: prefix, index.add).references
            for generation in chain.generations { found.generations[BytePath.join(path, generation.name.bytes)] = generation.c4 }
        }
    }

    /// A history leaves the files of a history below it to that one: without it, none would be missed.
    private func require(_ histories: Histories) throws(BackupError) {
        // A folder that was renamed since then has its history with it.
        let known = Set(histories.generations.values)
        for reference in histories.references {
            let place = MessageText.name(reference.path)
            if let present = histories.generations[reference.path] {
                guard present == reference.c4 else {
                    throw ManifestEntry.invalid("its C4 ID is not the one that \(reference.list) has", "\(root.path)/\(place)")
                }
            } else if reference.isOfLast {
                problems.add(
                    BackupError(
                        .notFound, "it refers to a generation that is not in the source: \(place)",
                        path: "\(root.path)/\(reference.list)", remedy: "Look for it where the source comes from."))
            } else if !known.contains(reference.c4) {
                // Later generations of the history above have the files themselves, or nothing of them.
                problems.warnOnce(
                    "history \(place)",
                    "\(root.path)/\(place): this generation of an ASC MHL history is not in the source; an earlier generation of the history above refers to it (\(reference.list))"
                )
            }
        }
    }

    // MARK: Other lists

    private func readBag(_ names: [FileName]) throws(BackupError) -> [String] {
        let encodesPercent = try BagFiles.encodesPercent(root.path)
        var found: [String] = []
        for name in names.map(\.description) where ListName.isBagList(name) {
            try readBagList("\(root.path)/\(name)", list: name, [], encodesPercent)
            found.append(name)
        }
        return found
    }

    private func readBagList(_ path: String, list: String, _ prefix: [UInt8], _ encodesPercent: Bool) throws(BackupError) {
        try BagFiles.read(path, encodesPercent: encodesPercent) { (entry) throws(BackupError) in
            try add(entry, list, prefix)
        }
    }

    private func readSums(_ path: String, list: String, prefix: [UInt8]) throws(BackupError) {
        var sums = try SumsFile(path: path)
        while let entry = try sums.next() { try add(entry, list, prefix) }
    }

    private func add(_ entry: ManifestEntry, _ list: String, _ prefix: [UInt8]) throws(BackupError) {
        let inSource = ManifestEntry(path: BytePath.join(prefix, entry.path), size: entry.size, digests: entry.digests)
        try index.add(ManifestIndex.Line(entry: inSource, list: list, history: nil, isGone: false))
    }
}
