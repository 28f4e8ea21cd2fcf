import BackupCore
import Glibc

/// A file, folder or link of the tree. Nodes hold what they need to answer requests; they never hold an open file.
protocol Node: AnyObject, Sendable {
    var inode: InodeNumber { get }
    func attributes() throws(BackupError) -> NodeAttributes
    /// The same, just after the folder has returned this node.
    func attributesWhenFound() throws(BackupError) -> NodeAttributes

    /// `nil` for nodes without checksums (folders, `README.txt`).
    func checksums() throws(BackupError) -> Checksums?
    /// Whether `checksums` returns any, without computing them.
    var hasChecksums: Bool { get }
    /// Whether the names of the checksums are listed. Programs that copy files with their attributes read everything that is
    /// listed, so checksums that require reading the file are not.
    var listsChecksums: Bool { get }
    /// `nil` for nodes that are not files.
    var mimeType: String? { get }
    /// Whether an access may wait for the app's database or its media folder.
    var looksAtTheApp: Bool { get }
    /// Whether an access may wait for the storage of the repository.
    var looksAtTheRepository: Bool { get }
    /// Whether an access may wait for the storage of the store, to which nothing of the repository belongs.
    var looksAtTheStore: Bool { get }
    /// Whether an access may wait for the network: the repository lies elsewhere.
    var waitsForNetwork: Bool { get }
    /// Whether its attributes are nevertheless available without waiting.
    var hasKnownAttributes: Bool { get }
    /// Whether its checksums are computed from all of its content when they are first requested.
    var computesChecksums: Bool { get }
    /// Whether opening it may have to read other files. Never blocks.
    var computesContent: Bool { get }
    /// Attributes besides the checksums and the MIME type, by full name.
    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)]
    /// The attributes that a file had when it was backed up; names reserved for this program are not among them.
    func storedExtendedAttributes() throws(BackupError) -> [ExtendedAttribute]
    /// The same, for a listing of their names.
    func listedExtendedAttributes() throws(BackupError) -> [ExtendedAttribute]
    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError)
    func removeExtendedAttribute(_ name: String) throws(BackupError)
    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes
}

extension Node {
    func attributesWhenFound() throws(BackupError) -> NodeAttributes { try attributes() }
    func checksums() throws(BackupError) -> Checksums? { nil }
    var hasChecksums: Bool { false }
    var listsChecksums: Bool { hasChecksums }
    var mimeType: String? { nil }
    var looksAtTheApp: Bool { false }
    var looksAtTheRepository: Bool { false }
    var looksAtTheStore: Bool { false }
    var waitsForNetwork: Bool { false }
    var hasKnownAttributes: Bool { false }
    var computesChecksums: Bool { false }
    var computesContent: Bool { false }
    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] { [] }
    func storedExtendedAttributes() throws(BackupError) -> [ExtendedAttribute] { [] }
    func listedExtendedAttributes() throws(BackupError) -> [ExtendedAttribute] { try storedExtendedAttributes() }

    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) { throw .readOnlyHere }
    func removeExtendedAttribute(_ name: String) throws(BackupError) { throw .readOnlyHere }
    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes { throw .readOnlyHere }
}

extension BackupError {
    /// The error for writing where nothing may be written.
    static var readOnlyHere: BackupError {
        BackupError(.readOnly, "nothing can be changed here", remedy: "Copy the file out and change the copy.")
    }

    static func notFound(_ name: FileName) -> BackupError {
        BackupError(.notFound, "there is no such file or folder", path: name.description)
    }
}

/// A file of the tree.
protocol FileNode: Node {
    /// - Parameters:
    ///   - flags: those of open(2).
    ///   - process: the process (thread group) that opens it; 0 when unknown.
    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile
    /// Whether the kernel may have the content of a small file before a program reads it: it never changes, and reading it does
    /// not wait for a network.
    var givesContent: Bool { get }
}

extension FileNode {
    var givesContent: Bool { false }
}

/// A symbolic link of the tree.
protocol LinkNode: Node {
    func target() throws(BackupError) -> [UInt8]
}

extension Int32 {
    /// Whether open(2) flags request writing or truncation.
    var asksToWrite: Bool { self & O_ACCMODE != O_RDONLY || self & O_TRUNC != 0 }
}

/// A folder of the tree. Operations that it does not allow fail with EROFS.
protocol FolderNode: Node {
    /// - Throws: `notFound`.
    func child(named name: FileName) throws(BackupError) -> any Node
    /// - Throws: the reason why the folder cannot be opened although it is listed.
    func requireOpenable() throws(BackupError)
    /// The current contents. A listing does not change while it is read.
    func listing() throws(BackupError) -> FolderListing
    /// Whether the listing never changes during the mount: the kernel may cache it.
    var isImmutable: Bool { get }
    /// How long the kernel may cache that a name does not exist, in seconds.
    func absenceTimeoutSeconds(of name: FileName) -> Double

    /// - Parameter isCancelled: whether the requesting program has stopped waiting; polled repeatedly.
    func makeDirectory(_ name: FileName, unless isCancelled: () -> Bool) throws(BackupError) -> any Node
    func removeDirectory(_ name: FileName) throws(BackupError)
    /// - Parameter permissions: for folders that keep them.
    func makeDirectory(_ name: FileName, permissions: UInt16, unless isCancelled: () -> Bool) throws(BackupError) -> any Node
    func createFile(_ name: FileName) throws(BackupError) -> any FileNode
    /// - Parameter permissions: for folders that keep them.
    func createFile(_ name: FileName, permissions: UInt16) throws(BackupError) -> any FileNode
    /// - Returns: the link.
    func makeSymbolicLink(_ name: FileName, to target: [UInt8]) throws(BackupError) -> any Node
    /// Gives a node of another folder a name in this one.
    func link(_ node: any Node, as name: FileName) throws(BackupError)
    func removeFile(_ name: FileName) throws(BackupError)
    func rename(_ name: FileName, to newName: FileName, in newParent: any FolderNode, mayReplace: Bool) throws(BackupError)
}

extension FolderNode {
    func requireOpenable() throws(BackupError) {}
    var isImmutable: Bool { false }
    func absenceTimeoutSeconds(of name: FileName) -> Double { 0 }

    func makeDirectory(_ name: FileName, unless isCancelled: () -> Bool) throws(BackupError) -> any Node {
        throw .readOnlyHere
    }
    func removeDirectory(_ name: FileName) throws(BackupError) { throw .readOnlyHere }
    func makeDirectory(_ name: FileName, permissions: UInt16, unless isCancelled: () -> Bool) throws(BackupError) -> any Node {
        try makeDirectory(name, unless: isCancelled)
    }
    func createFile(_ name: FileName) throws(BackupError) -> any FileNode { throw .readOnlyHere }
    func createFile(_ name: FileName, permissions: UInt16) throws(BackupError) -> any FileNode { try createFile(name) }
    func makeSymbolicLink(_ name: FileName, to target: [UInt8]) throws(BackupError) -> any Node { throw .noLinksHere(name) }
    func link(_ node: any Node, as name: FileName) throws(BackupError) { throw .noLinksHere(name) }
    func removeFile(_ name: FileName) throws(BackupError) { throw .readOnlyHere }

    func rename(
        _ name: FileName, to newName: FileName, in newParent: any FolderNode, mayReplace: Bool
    ) throws(BackupError) {
        throw .readOnlyHere
    }
}

/// The contents of a folder at one moment. Children are created on demand: a folder of 100,000 files costs only its names.
struct FolderListing: Sendable {
    typealias Child = (name: FileName, attributes: NodeAttributes)

    let count: Int
    private let describe: @Sendable (Int) throws(BackupError) -> Child
    private let make: @Sendable (Int) throws(BackupError) -> any Node

    /// - Parameters:
    ///   - child: describes a child in the listing.
    ///   - node: creates the node, when the kernel wants to keep it.
    init(
        count: Int, child: @escaping @Sendable (Int) throws(BackupError) -> Child,
        node: @escaping @Sendable (Int) throws(BackupError) -> any Node
    ) {
        self.count = count
        describe = child
        make = node
    }

    /// A listing of existing nodes. A node with unreadable attributes is listed all the same, so that it does not hide the
    /// others. A request for its own attributes gets the error.
    init(_ nodes: [(name: FileName, node: any Node)]) {
        self.init(nodes) { (node) throws(BackupError) in try node.attributes() }
    }

    /// The same, with the attributes that each node has when it was just found.
    init(found nodes: [(name: FileName, node: any Node)]) {
        self.init(nodes) { (node) throws(BackupError) in try node.attributesWhenFound() }
    }

    /// The same, without any attributes: the kernel asks for those that a program wants.
    init(namesOf nodes: [(name: FileName, node: any Node)]) {
        self.init(count: nodes.count) { index in
            (nodes[index].name, .unread(nodes[index].node.inode, Self.kind(of: nodes[index].node)))
        } node: { index in
            nodes[index].node
        }
    }

    private init(
        _ nodes: [(name: FileName, node: any Node)],
        attributes: @escaping @Sendable (any Node) throws(BackupError) -> NodeAttributes
    ) {
        self.init(count: nodes.count) { index in
            let node = nodes[index].node
            return (nodes[index].name, (try? attributes(node)) ?? .unread(node.inode, Self.kind(of: node)))
        } node: { index in
            nodes[index].node
        }
    }

    private static func kind(of node: any Node) -> FileKind {
        if node is any FolderNode { return .directory }
        return node is any LinkNode ? .symbolicLink : .file
    }

    func child(_ index: Int) throws(BackupError) -> Child { try describe(index) }
    func node(_ index: Int) throws(BackupError) -> any Node { try make(index) }

    /// This listing followed by another one.
    func followed(by other: FolderListing) -> FolderListing {
        FolderListing(count: count + other.count) { (index) throws(BackupError) in
            index < count ? try child(index) : try other.child(index - count)
        } node: { (index) throws(BackupError) in
            index < count ? try node(index) : try other.node(index - count)
        }
    }
}
