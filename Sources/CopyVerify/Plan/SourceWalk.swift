import BackupCore
import SystemIO

/// What a walk through the source passes on, in the order of the names' bytes.
protocol SourceVisitor: AnyObject {
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

/// Passes on a folder with all that is in it, and keeps no more than the names of the folders on the way.
struct SourceWalk {
    private static let dot = UInt8(ascii: ".")

    let root: DirectoryHandle
    let includesHidden: Bool
    /// Whether the chain of the folder's ASC MHL history is left out.
    var leavesOutChain = false
    let visitor: any SourceVisitor

    /// - Throws: what the visitor throws, and what the source itself does.
    func run() throws(BackupError) {
        let status = try root.descriptor.status()
        try walk(SourceFolder(components: [], status: status), root, root.names())
    }

    private func walk(_ folder: SourceFolder, _ handle: DirectoryHandle, _ all: [FileName]) throws(BackupError) {
        var names = includesHidden ? all : all.filter { $0.bytes.first != Self.dot }
        if names.count < all.count { try visitor.skipHidden(all.count - names.count) }
        if leavesOutChain, folder.components == [MHLFormat.folder] { names.removeAll { $0 == MHLFormat.chain } }
        try visitor.enter(folder, handle, names: names)
        for name in names { try pass(name, in: folder, handle) }
        try visitor.leave(folder, handle)
    }

    private func pass(_ name: FileName, in folder: SourceFolder, _ handle: DirectoryHandle) throws(BackupError) {
        let status: FileStatus
        let inner: (handle: DirectoryHandle, names: [FileName])?
        do throws(BackupError) {
            guard let found = try handle.statusIfPresent(name) else { return try visitor.miss(folder.path(of: name)) }
            status = found
            if found.kind == .directory {
                let opened = try handle.openDirectory(name)
                inner = (opened, try opened.names())
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
