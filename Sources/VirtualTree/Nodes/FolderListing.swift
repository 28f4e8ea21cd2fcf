import BackupCore

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

    /// A listing of existing nodes. A node with unreadable attributes is listed all the same, so that it does not hide the others. A request for its own
    /// attributes gets the error.
    init(_ nodes: [(name: FileName, node: any Node)]) {
        self.init(count: nodes.count) { index in
            let node = nodes[index].node
            return (nodes[index].name, (try? node.attributes()) ?? .unread(node.inode, Self.kind(of: node)))
        } node: { index in
            nodes[index].node
        }
    }

    private static func kind(of node: any Node) -> NodeAttributes.Kind {
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
