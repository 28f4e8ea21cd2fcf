import BackupCore
import SystemIO

/// What a walk through the source passes on, in the order of the names' bytes.
protocol SourceVisitor: AnyObject {
    /// How many files may be opened before the first of them is visited.
    var lookAheadCount: Int { get }
    /// Opens a file that is visited soon: its reading can begin.
    /// - Returns: its status; `nil` if it was not opened.
    func open(early name: FileName, in folder: SourceFolder, _ handle: DirectoryHandle) -> FileStatus?
    /// A folder begins. All names in it follow, unless this throws.
    /// - Parameter names: those that are copied.
    func enter(_ folder: SourceFolder, _ handle: DirectoryHandle, names: [FileName]) throws(BackupError)
    /// A file, a link, or what cannot be copied.
    func visit(
        _ name: FileName, _ status: FileStatus, in folder: SourceFolder, _ handle: DirectoryHandle
    ) throws(BackupError)
    /// What is left out since its name begins with a dot.
    func skipHidden(_ count: Int) throws(BackupError)
    /// An entry that was removed since its folder was listed, or whose card was pulled out.
    func miss(_ path: [UInt8]) throws(BackupError)
    /// A folder or an entry that could not be read.
    func fail(_ path: [UInt8], _ error: BackupError) throws(BackupError)
    /// A folder and all that is in it has been passed on.
    func leave(_ folder: SourceFolder, _ handle: DirectoryHandle) throws(BackupError)
}

extension SourceVisitor {
    var lookAheadCount: Int { 0 }
    func open(early name: FileName, in folder: SourceFolder, _ handle: DirectoryHandle) -> FileStatus? { nil }
}

/// Passes on a folder with all that is in it, and keeps no more than the names of the folders on the way.
struct SourceWalk {
    private static let dot = UInt8(ascii: ".")

    let root: DirectoryHandle
    let includesHidden: Bool
    /// Whether the chain of the folder's ASC MHL history is left out.
    var leavesOutChain = false
    /// Whether files and links are not of interest.
    var isOfFolders = false
    let visitor: any SourceVisitor

    /// - Throws: what the visitor throws, and what the source itself does.
    func run() throws(BackupError) {
        let status = try root.descriptor.status()
        try walk(SourceFolder(components: [], status: status), root, names(in: root))
    }

    /// A folder's entries, sorted by the bytes of their names.
    private typealias Entries = [(name: FileName, isFile: Bool)]

    private func names(in handle: DirectoryHandle) throws(BackupError) -> Entries {
        isOfFolders ? try handle.folderNames().sorted().map { ($0, false) } : try handle.sortedEntries()
    }

    private func walk(_ folder: SourceFolder, _ handle: DirectoryHandle, _ all: Entries) throws(BackupError) {
        var names = includesHidden ? all : all.filter { $0.name.bytes.first != Self.dot }
        if names.count < all.count { try visitor.skipHidden(all.count - names.count) }
        if leavesOutChain, folder.components == [MHLFormat.folder] { names.removeAll { $0.name == MHLFormat.chain } }
        try visitor.enter(folder, handle, names: names.map(\.name))
        // Used in turn: a folder can have any number of files.
        let placeCount = visitor.lookAheadCount + 1
        var ahead = [Result<FileStatus?, BackupError>](repeating: .success(nil), count: placeCount)
        var next = 0
        for (index, (name, _)) in names.enumerated() {
            while next < names.count, next < index + placeCount {
                ahead[next % placeCount] = look(names[next], in: folder, handle)
                next += 1
            }
            try pass(name, ahead[index % placeCount], in: folder, handle)
        }
        try visitor.leave(folder, handle)
    }

    private func look(
        _ entry: Entries.Element, in folder: SourceFolder, _ handle: DirectoryHandle
    ) -> Result<FileStatus?, BackupError> {
        if entry.isFile, let status = visitor.open(early: entry.name, in: folder, handle) { return .success(status) }
        do throws(BackupError) {
            return .success(try handle.statusIfPresent(entry.name))
        } catch {
            return .failure(error)
        }
    }

    private func pass(
        _ name: FileName, _ found: Result<FileStatus?, BackupError>, in folder: SourceFolder, _ handle: DirectoryHandle
    ) throws(BackupError) {
        let status: FileStatus
        let inner: (handle: DirectoryHandle, names: Entries)?
        do throws(BackupError) {
            guard let found = try found.get() else { return try visitor.miss(folder.path(of: name)) }
            status = found
            if found.kind == .directory {
                let opened = try handle.openDirectory(name)
                inner = (opened, try names(in: opened))
            } else {
                inner = nil
            }
        } catch {
            return try visitor.fail(folder.path(of: name), error)
        }
        if let inner {
            try walk(SourceFolder(components: folder.components + [name], status: status), inner.handle, inner.names)
        } else {
            try visitor.visit(name, status, in: folder, handle)
        }
    }
}
