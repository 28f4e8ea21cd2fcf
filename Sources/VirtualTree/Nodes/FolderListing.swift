import BackupCore

/// What a folder holds, at one moment. Children are made when they are asked for: a folder of 100,000 files costs its names only.
struct FolderListing: Sendable {
    struct Child: Sendable {
        let name: FileName
        let attributes: NodeAttributes
        /// Makes the node, when the kernel wants to keep it.
        let node: @Sendable () throws(BackupError) -> any Node
    }

    let count: Int
    private let makeChild: @Sendable (Int) throws(BackupError) -> Child

    init(count: Int, child: @escaping @Sendable (Int) throws(BackupError) -> Child) {
        self.count = count
        makeChild = child
    }

    /// A listing of nodes that exist already.
    init(_ nodes: [(name: FileName, node: any Node)]) {
        count = nodes.count
        makeChild = { (index) throws(BackupError) in
            let (name, node) = nodes[index]
            return Child(name: name, attributes: try node.attributes(), node: { node })
        }
    }

    func child(_ index: Int) throws(BackupError) -> Child { try makeChild(index) }
}
