import BackupCore
import BackupRepository
import SnapshotFormats

/// `history/`: a folder for each collection of the app, with a folder for each record, with a file for each state that the record
/// had in the backups of this store.
final class HistoryFolder: FolderNode {
    let inode: InodeNumber
    private let context: TreeContext

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
    }

    var looksAtTheRepository: Bool { true }
    var waitsForNetwork: Bool { context.isRemote }
    var hasKnownAttributes: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes {
        context.folderAttributes(inode, time: context.newestTime(.snapshot, ofOwn: true))
    }

    private func names() throws(BackupError) -> [FileName] {
        try context.services.recordHistories.collections(context.ownSnapshots(.snapshot)).filter(\.isSafeComponent)
    }

    private func node(_ name: FileName) -> HistoryCollection {
        HistoryCollection(name, inode: inode.child(name), context: context)
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard try names().contains(name) else { throw .notFound(name) }
        return node(name)
    }

    func listing() throws(BackupError) -> FolderListing { FolderListing(try names().map { ($0, node($0)) }) }
}

/// A collection in `history/`. It lists the first records only, but every record of any backup can be opened by its key.
final class HistoryCollection: FolderNode {
    let inode: InodeNumber
    private let name: FileName
    private let context: TreeContext

    init(_ name: FileName, inode: InodeNumber, context: TreeContext) {
        self.name = name
        self.inode = inode
        self.context = context
    }

    /// Says how to open others.
    private static let moreName: FileName = "MORE RECORDS.txt"

    var looksAtTheRepository: Bool { true }
    var waitsForNetwork: Bool { context.isRemote }
    var hasKnownAttributes: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes {
        var attributes = context.folderAttributes(inode, time: context.newestTime(.snapshot, ofOwn: true))
        // It disappears with the last backup that has it.
        attributes.entryTimeoutSeconds = TreeContext.snapshotTimeoutSeconds
        return attributes
    }

    private func records() throws(BackupError) -> RecordNames {
        let found = try context.services.recordHistories.records(of: name, context.ownSnapshots(.snapshot))
        guard let found else { throw .notFound(name) }
        return found
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        // First, since a record of that name may be unknown because of the damage. Listed records have their names.
        if name == DamageText.name || name == Self.moreName, let text = try texts(records()).first(where: { $0.name == name }) {
            return text.node
        }
        let history = try context.services.recordHistories.history(
            of: name, in: self.name, context.ownSnapshots(.snapshot))
        guard let history else { throw .notFound(name) }
        return record(name, history.modificationTime)
    }

    private func record(_ name: FileName, _ time: Timestamp) -> HistoryRecord {
        HistoryRecord(name, of: self.name, time: time, inode: inode.child(name), context: context)
    }

    func listing() throws(BackupError) -> FolderListing {
        let records = try records()
        let names = records.names
        // None of them is looked for in the backups.
        let folders = FolderListing(count: names.count) { [self] index in
            let (name, time) = names[index]
            return (name, HistoryRecord.attributes(inode.child(name), time, context))
        } node: { [self] index in
            record(names[index].name, names[index].changedAt)
        }
        return folders.followed(by: FolderListing(texts(records)))
    }

    private func texts(_ records: RecordNames) -> [(name: FileName, node: any Node)] {
        var texts: [(name: FileName, node: any Node)] = []
        if !records.failures.isEmpty {
            texts.append((DamageText.name, DamageText.file(records.failures, in: inode, context: context)))
        }
        if records.areMore {
            let text = TextFile(Self.moreName, in: inode, context: context) { [context, name] in
                let lines: [Message] = [
                    "There are more records than are listed here. Those whose key is no number or text, or is too long, have no folder.",
                    "The others can be opened by their keys: for the record 42, open the folder history/\(MessageText.name(name.bytes))/42.",
                ]
                return Array((lines.map { context.services.text($0) }.joined(separator: "\n") + "\n").utf8)
            }
            texts.append((Self.moreName, text))
        }
        return texts.filter { text in !records.names.contains { $0.name == text.name } }
    }
}

/// A record in `history/`: a file for each of its states, and `changes.txt`.
final class HistoryRecord: FolderNode {
    let inode: InodeNumber
    private let name: FileName
    private let collection: FileName
    private let time: Timestamp
    private let context: TreeContext

    /// - Parameter time: of its last change.
    init(_ name: FileName, of collection: FileName, time: Timestamp, inode: InodeNumber, context: TreeContext) {
        self.name = name
        self.collection = collection
        self.time = time
        self.inode = inode
        self.context = context
    }

    private static let changesName: FileName = "changes.txt"

    var looksAtTheRepository: Bool { true }
    var waitsForNetwork: Bool { context.isRemote }
    var hasKnownAttributes: Bool { true }

    private func history() throws(BackupError) -> RecordHistory {
        let found = try context.services.recordHistories.history(of: name, in: collection, context.ownSnapshots(.snapshot))
        guard let found else { throw .notFound(name) }
        return found
    }

    func attributes() throws(BackupError) -> NodeAttributes { Self.attributes(inode, time, context) }

    static func attributes(_ inode: InodeNumber, _ time: Timestamp, _ context: TreeContext) -> NodeAttributes {
        var attributes = context.folderAttributes(inode, time: time)
        // It disappears with the last backup that has the record.
        attributes.entryTimeoutSeconds = TreeContext.snapshotTimeoutSeconds
        return attributes
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard let found = try nodes().first(where: { $0.name == name }) else { throw .notFound(name) }
        return found.node
    }

    func listing() throws(BackupError) -> FolderListing { FolderListing(try nodes()) }

    private func nodes() throws(BackupError) -> [(name: FileName, node: any Node)] {
        let history = try history()
        let names = UniqueFileNames.make(history.states.map { "\($0.snapshot.stamp).json" })
        var nodes: [(name: FileName, node: any Node)] = zip(names, history.states).map { text, state in
            let name = FileName(text)
            return (name, HistoryState(name, state, in: inode, context: context))
        }
        let changes = TextFile(Self.changesName, in: inode, context: context, time: history.modificationTime) {
            history.changes
        }
        nodes.append((Self.changesName, changes))
        if !history.failures.isEmpty {
            nodes.append((DamageText.name, DamageText.file(history.failures, in: inode, context: context)))
        }
        return nodes.sorted { $0.name < $1.name }
    }
}

/// One state of a record.
final class HistoryState: FileNode {
    let inode: InodeNumber
    private let name: FileName
    private let state: RecordHistory.State
    private let context: TreeContext

    init(_ name: FileName, _ state: RecordHistory.State, in folder: InodeNumber, context: TreeContext) {
        self.name = name
        self.state = state
        self.context = context
        // The kernel keeps the bytes of a number, and another backup may give this name to another state.
        inode = folder.snapshot(state.snapshot.id).child(name)
    }

    var looksAtTheRepository: Bool { true }
    var waitsForNetwork: Bool { context.isRemote }
    var mimeType: String? { MIMEType.of(name) }
    var hasChecksums: Bool { true }
    var listsChecksums: Bool { context.archives.hasChecksums(of: inode) }
    var computesChecksums: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes {
        NodeAttributes(
            inode: inode, kind: .file, permissions: context.filePermissions, size: state.file.size,
            modificationTime: state.snapshot.creationTime, isImmutable: true,
            // The name disappears with the backup.
            entryTimeoutSeconds: TreeContext.snapshotTimeoutSeconds,
            attributeTimeoutSeconds: TreeContext.immutableTimeoutSeconds)
    }

    func checksums() throws(BackupError) -> Checksums? {
        try context.archives.checksums(of: inode) { () throws(BackupError) in
            (try context.repository.checksums(of: state.file), true)
        }
    }

    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        [(VersionFile.backupName, MessageText.shortened(state.snapshot.name.description, limit: 255))]
    }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard !flags.asksToWrite else { throw .readOnlyHere }
        return OpenExtents(
            state.file, repository: context.repository, path: "\(state.snapshot.name)/\(name)", isImmutable: true,
            isOwnMaking: true)
    }
}
