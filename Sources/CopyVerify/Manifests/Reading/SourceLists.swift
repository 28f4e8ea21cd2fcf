import BackupCore
import SystemIO

/// Finds the lists of checksums that came with a source, and reads them.
struct SourceLists {
    private static let endings = [
        ".md5", ".sha1", ".sha256", ".sha512", ".xxh64", ".xxh128", "md5sums", "sha1sums", "sha256sums", "sha512sums",
        "md5sum.txt", "md5sums.txt", "sha1sums.txt", "sha256sums.txt", "sha512sums.txt",
    ]

    let root: DirectoryHandle
    let index: ManifestIndex

    /// Reads the ASC MHL histories, also those of folders in the source, and the other lists in the source's own folder.
    /// - Returns: their names.
    func readAll() throws(BackupError) -> [String] {
        var found: [String] = []
        if try readHistories(root, []) { found.append(MHLFormat.folder.description) }
        let names = try root.names()
        if names.contains(where: { $0.description == BagFiles.declaration }) { found += try readBag(names) }
        for name in names where Self.isSums(name) && !BagFiles.isTagFile(name) {
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
            try MHLHistory.read(path, list: name, isHistory: false, prefix: prefix, index.add)
        } else if BagFiles.isList(name), try FileSystem.exists("\(FileSystem.parentPath(path))/\(BagFiles.declaration)") {
            try readBagList(path, list: name, prefix, BagFiles.encodesPercent(FileSystem.parentPath(path)))
        } else {
            try readSums(path, list: name, prefix: prefix)
        }
    }

    private static func isSums(_ name: FileName) -> Bool {
        let text = name.description.lowercased()
        return endings.contains { text.hasSuffix($0) && !text.hasPrefix("._") }
    }

    /// - Returns: whether there is one.
    private func readHistories(_ folder: DirectoryHandle, _ prefix: [UInt8]) throws(BackupError) -> Bool {
        try Cancellation.check()
        var isFound = false
        // One that cannot be read is named by the copy.
        guard let names = try? folder.folderNames() else { return false }
        for name in names {
            guard let inner = try? folder.openFolder(name) else { continue }
            if name == MHLFormat.folder {
                let chain = try MHLChain.read(inner)
                try MHLHistory.read(inner, chain, prefix: prefix, index.add)
                isFound = isFound || !chain.generations.isEmpty
            } else if try readHistories(inner, BytePath.join(prefix, name.bytes)) {
                isFound = true
            }
        }
        return isFound
    }

    private func readBag(_ names: [FileName]) throws(BackupError) -> [String] {
        let encodesPercent = try BagFiles.encodesPercent(root.path)
        var found: [String] = []
        for name in names.map(\.description) where BagFiles.isList(name) {
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
        try index.add(ManifestIndex.Line(entry: inSource, list: list, isHistory: false, isGone: false))
    }
}
