import BackupCore
import Synchronization
import SystemIO

/// `control/`: a file for each thing that a person without a terminal may want. Writing into it, or setting its time, asks for
/// that; its text says how it went.
final class ControlFolder: FolderNode {
    let inode: InodeNumber
    private let context: TreeContext
    private let files: [(name: FileName, node: any Node)]

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
        files = ControlVerb.allCases.map { ($0.fileName, ControlFile($0, in: inode, context: context)) }.sorted { $0.0 < $1.0 }
    }

    func attributes() throws(BackupError) -> NodeAttributes { context.folderAttributes(inode, time: context.mountTime) }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard let file = files.first(where: { $0.name == name }) else { throw .notFound(name) }
        return file.node
    }

    func listing() throws(BackupError) -> FolderListing { FolderListing(files) }
}

extension ControlVerb {
    var fileName: FileName { FileName(rawValue) }
}

/// A file in `control/`.
final class ControlFile: FileNode {
    let inode: InodeNumber
    private let verb: ControlVerb
    private let context: TreeContext
    /// When a program last wrote or closed it, in nanoseconds of the monotonic clock. Opening it is no sign: touch(1) does that,
    /// too.
    private let writtenNanoseconds = Mutex<UInt64?>(nil)

    /// More than the name of a backup has.
    private static let textLimitBytes = 1_024
    /// Copy programs set the times of what they write, before they close it or after: that is not another request.
    private static let sameRequestNanoseconds: UInt64 = 2_000_000_000

    init(_ verb: ControlVerb, in folder: InodeNumber, context: TreeContext) {
        self.verb = verb
        inode = folder.child(verb.fileName)
        self.context = context
    }

    private var path: String { "control/\(verb.rawValue)" }
    var mimeType: String? { "text/plain" }

    func attributes() throws(BackupError) -> NodeAttributes {
        let state = context.services.controlText(verb)
        return NodeAttributes(
            inode: inode, kind: .file, permissions: context.filePermissions, size: UInt64(state.content.count),
            modificationTime: state.modificationTime)
    }

    /// For programs that wait for the end of what they asked for.
    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        context.services.controlState(verb).map { [(StateAttribute.name, $0.rawValue)] } ?? []
    }

    /// Shells truncate it before they write.
    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes {
        if let size = change.size {
            guard size == 0 else { throw .readOnlyHere }
        } else if change.modificationTime != nil {
            let written = writtenNanoseconds.withLock { $0 }
            let now = SystemClock.monotonicNanoseconds()
            if written.map({ now - $0 > Self.sameRequestNanoseconds }) ?? true { try context.services.control(verb, "") }
        }
        return try attributes()
    }

    private func noteWrite() { writtenNanoseconds.withLock { $0 = SystemClock.monotonicNanoseconds() } }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard flags.asksToWrite else {
            return OpenExtents(
                ExtentTable(literal: context.services.controlText(verb).content), repository: context.repository, path: path,
                isImmutable: false)
        }
        let tooLong = BackupError(.invalidArgument, "this is too long for the name of a backup", path: path)
        return OpenRequest(
            path: path, opener: process, limitBytes: Self.textLimitBytes, tooLong: tooLong, noteWrite: { [self] in noteWrite() }
        ) { [self] (bytes) throws(BackupError) in
            noteWrite()
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw BackupError(.invalidArgument, "this is not UTF-8", path: path)
            }
            var words = text[...]
            while words.last?.isWhitespace == true { words.removeLast() }
            try context.services.control(verb, String(words.drop { $0.isWhitespace }))
        }
    }
}
