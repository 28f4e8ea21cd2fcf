import BackupCore

/// `restore/`: a file copied in is restored with the app's default strategy.
final class RestoreFolder: DropFolder {
    let inode: InodeNumber
    let context: TreeContext
    let inbox = DropInbox()
    let purpose = DropSubmission.Purpose.restore
    private let preview: PreviewFolder
    private let strategies: [(name: FileName, node: any Node)]

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
        preview = PreviewFolder(inode: inode.child("preview"), context: context)
        strategies = context.services.strategies.map { name in
            (FileName(name), StrategyFolder(strategy: name, inode: inode.child(FileName(name)), context: context))
        }
    }

    func createFile(_ name: FileName) throws(BackupError) -> any FileNode {
        guard name == RestoreConfirmation.name else { return try createDroppedFile(name) }
        context.confirmation.begin()
        guard let grant = context.confirmation.current else { throw .notFound(name) }
        return ConfirmationFile(grant, in: inode, context: context)
    }

    func removeFile(_ name: FileName) throws(BackupError) {
        if name == RestoreConfirmation.name, context.confirmation.remove() { return }
        try removeDroppedFile(name)
    }

    func fixedNodes() throws(BackupError) -> [(name: FileName, node: any Node)] {
        var nodes: [(name: FileName, node: any Node)] = [("preview", preview)] + strategies
        if let grant = context.confirmation.current {
            nodes.append((RestoreConfirmation.name, ConfirmationFile(grant, in: inode, context: context)))
        }
        for report in context.services.restoreReports() {
            let name = FileName(report.name)
            let file = TextFile(name, in: inode, context: context, time: report.modificationTime) { report.content }
            nodes.append((name, file))
        }
        return nodes
    }
}

/// `restore/merge/` and similar folders: a file copied in is restored with that strategy.
final class StrategyFolder: DropFolder {
    let inode: InodeNumber
    let context: TreeContext
    let inbox = DropInbox()
    let purpose: DropSubmission.Purpose

    init(strategy: String, inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
        purpose = .strategy(strategy)
    }

    func fixedNodes() throws(BackupError) -> [(name: FileName, node: any Node)] { [] }
}

/// `restore/preview/`: a file copied in is checked, and `NAME.preview.txt` shows what restoring it would do.
final class PreviewFolder: DropFolder {
    let inode: InodeNumber
    let context: TreeContext
    let inbox = DropInbox()
    let purpose = DropSubmission.Purpose.preview

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
    }

    func fixedNodes() throws(BackupError) -> [(name: FileName, node: any Node)] {
        var nodes: [(name: FileName, node: any Node)] = []
        for (name, file) in inbox.sortedFiles {
            guard let outcome = file.outcome else { continue }
            for (suffix, content) in [(".preview.json", outcome.json), (".preview.txt", outcome.text)] where !content.isEmpty {
                let viewName = Self.viewName(name, suffix)
                let time = file.outcomeTime
                nodes.append((viewName, TextFile(viewName, in: inode, context: context, time: time) { content }))
            }
        }
        return nodes
    }

    /// A name that would be too long is truncated: otherwise it would be listed but could not be opened.
    private static func viewName(_ name: FileName, _ suffix: String) -> FileName {
        let room = FileName.byteCountLimit - suffix.utf8.count
        guard name.bytes.count > room else { return FileName(bytes: name.bytes + Array(suffix.utf8)) }
        // Not in the middle of a character.
        let end = name.bytes[..<room].lastIndex { $0 & 0xC0 != 0x80 } ?? room
        let kept = String(validating: name.bytes[..<room], as: UTF8.self) == nil ? end : room
        return FileName(bytes: Array(name.bytes[..<kept]) + Array(suffix.utf8))
    }
}

/// A folder that files are dropped into: the common part of `restore/` and `restore/preview/`.
protocol DropFolder: FolderNode {
    var context: TreeContext { get }
    var inbox: DropInbox { get }
    var purpose: DropSubmission.Purpose { get }
    /// Nodes besides the dropped files, by name.
    func fixedNodes() throws(BackupError) -> [(name: FileName, node: any Node)]
}

extension DropFolder {
    func attributes() throws(BackupError) -> NodeAttributes {
        context.folderAttributes(inode, time: context.mountTime)
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        if let file = inbox.file(named: name) { return file }
        guard let found = try fixedNodes().first(where: { $0.name == name }) else { throw .notFound(name) }
        return found.node
    }

    func listing() throws(BackupError) -> FolderListing {
        let dropped = inbox.sortedFiles.map { (name: $0.name, node: $0.file as any Node) }
        return FolderListing(try fixedNodes() + dropped)
    }

    func createFile(_ name: FileName) throws(BackupError) -> any FileNode { try createDroppedFile(name) }

    func createDroppedFile(_ name: FileName) throws(BackupError) -> any FileNode {
        guard name.isSafeComponent, !DropName.isTrash(name) else {
            throw BackupError(.notPermitted, "this name cannot be used here", path: name.description)
        }
        guard !DropName.isReserved(name, purpose: purpose) else { throw .readOnlyHere }
        if let existing = inbox.file(named: name) { return existing }
        let file = try DroppedFile(name: name, folder: inode, inbox: inbox, purpose: purpose, context: context)
        inbox.put(file, as: name)
        return file
    }

    func makeDirectory(_ name: FileName, unless isCancelled: () -> Bool) throws(BackupError) -> any Node {
        throw BackupError(.notPermitted, "folders cannot be restored; drop a single file", path: name.description)
    }

    func removeFile(_ name: FileName) throws(BackupError) { try removeDroppedFile(name) }

    func removeDroppedFile(_ name: FileName) throws(BackupError) {
        guard let file = inbox.take(name) else {
            guard try fixedNodes().contains(where: { $0.name == name }) else { throw .notFound(name) }
            throw .readOnlyHere
        }
        file.discard()
    }

    /// A rename to a final name, or a move to a folder where the content has another purpose, submits the file. If it is
    /// rejected, it keeps its old name.
    func rename(
        _ name: FileName, to newName: FileName, in newParent: any FolderNode, mayReplace: Bool
    ) throws(BackupError) {
        guard let file = inbox.file(named: name) else {
            guard try fixedNodes().contains(where: { $0.name == name }) else { throw .notFound(name) }
            throw .readOnlyHere
        }
        guard let target = newParent as? any DropFolder else { throw .readOnlyHere }
        guard newName.isSafeComponent, !DropName.isTrash(newName) else {
            throw BackupError(.notPermitted, "this name cannot be used here", path: newName.description)
        }
        guard !DropName.isReserved(newName, purpose: target.purpose) else { throw .readOnlyHere }
        if !mayReplace, target.inbox.file(named: newName) != nil {
            throw BackupError(.alreadyExists, "there is a file of that name already", path: newName.description)
        }
        try file.rename(to: newName, in: target.inbox, purpose: target.purpose)
        if inbox.file(named: name) === file { _ = inbox.take(name) }
        target.inbox.put(file, as: newName)
    }
}

/// What a name in `restore/` says about the file.
enum DropName {
    /// Of browsers, copy programs, editors' backups, and the files that SQLite keeps beside a database.
    private static let unfinishedSuffixes = [
        ".part", ".partial", ".filepart", ".crdownload", ".download", ".opdownload", ".aria2", ".tmp", "~", "-journal", "-wal",
        "-shm",
    ]
    /// Office programs' lock files.
    private static let unfinishedPrefixes = [".", "~$"]

    /// Names that copy programs use while they work: such files are kept, but not restored until they get a final name.
    static func isUnfinished(_ name: FileName) -> Bool {
        let text = name.description.lowercased()
        // `#x.json#` is Emacs' auto-save file while x.json is edited.
        if text.hasPrefix("#"), text.hasSuffix("#") { return true }
        return unfinishedPrefixes.contains { text.hasPrefix($0) } || unfinishedSuffixes.contains { text.hasSuffix($0) }
    }

    /// The name of the database that a file with this name would be a log or journal of.
    static func database(ofLog name: FileName) -> FileName? {
        for suffix in ["-wal", "-journal"] where name.bytes.count > suffix.utf8.count {
            if name.bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) {
                return FileName(bytes: name.bytes.dropLast(suffix.utf8.count))
            }
        }
        return nil
    }

    /// Names that this program uses itself: no file can be dropped under them.
    static func isReserved(_ name: FileName, purpose: DropSubmission.Purpose) -> Bool {
        switch purpose {
        // A strategy that the app does not have must not be treated as a file name: the file would be restored with another
        // strategy.
        case .restore:
            ["CONFIRM", "README.txt", "last.json", "last.txt", "preview", "replace", "merge", "skip"].contains(name.description)
                || name.description.hasPrefix(ReportText.lastResultStart)
        case .strategy: false
        case .preview: name.description.hasSuffix(".preview.txt") || name.description.hasSuffix(".preview.json")
        }
    }

    /// Folders that file managers try to create or look for.
    static func isTrash(_ name: FileName) -> Bool { name.description.hasPrefix(".Trash") }
}
