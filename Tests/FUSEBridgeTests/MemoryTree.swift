import BackupCore
import Glibc
import Synchronization
import SystemIO
import VirtualTree

/// A tree in memory, as plain as it can be, that the tests mount. Some names in it have a meaning:
/// - looking up `error-CODE` fails with that code,
/// - that `never-…` is not there may be believed for an hour,
/// - the flush of a file that was written to and whose content begins with `CODE!` fails with that code.
final class MemoryTree: TreeOperations {
    enum Content: Sendable {
        case file([UInt8])
        case directory([FileName: InodeNumber])
        case symbolicLink([UInt8])
    }

    struct Node: Sendable {
        var content: Content
        var permissions: UInt16
        var modificationTime = Timestamp(seconds: 1_700_000_000, nanoseconds: 123_456_789)
        var attributes: [String: [UInt8]] = [:]
        var parent: InodeNumber
        var lookUpCount: UInt64 = 0
    }

    struct OpenFile: Sendable {
        let inode: InodeNumber
        let opener: Int32
        var isWritten = false
    }

    struct State: Sendable {
        var nodes: [InodeNumber: Node] = [:]
        var nextInode: UInt64 = 2
        var nextHandle: UInt64 = 1
        var files: [HandleNumber: OpenFile] = [:]
        var directories: [HandleNumber: [(FileName, InodeNumber)]] = [:]
        var flushes: [(process: Int32, opener: Int32)] = []
        var openFlags: [Int32] = []
        var ownerChangeCount = 0
        var foreignAttributeCount = 0
        var readSizes: [Int] = []
        var lookedUp: [FileName] = []
        var listingCount = 0
        var observer: (any TreeObserver)?
        var writeSizes: [Int] = []
    }

    let state: Mutex<State>
    /// Folders that are being removed, and lookups of names that begin with `stalls`: while `doStall`, each waits, as for storage
    /// that does not answer.
    let stalls = Monitor((doStall: false, count: 0))
    /// What open tells the kernel of every file.
    private let usesDirectIO: Bool
    private let timeoutSeconds: Double
    /// What open tells the kernel of every folder.
    private let keepsListings: Bool

    init(usesDirectIO: Bool = false, timeoutSeconds: Double = 0, keepsListings: Bool = false) {
        self.usesDirectIO = usesDirectIO
        self.timeoutSeconds = timeoutSeconds
        self.keepsListings = keepsListings
        var state = State()
        state.nodes[.root] = Node(content: .directory([:]), permissions: 0o755, parent: .root)
        self.state = Mutex(state)
    }

    @discardableResult
    func add(_ name: FileName, _ content: Content, permissions: UInt16 = 0o644, in parent: InodeNumber = .root) -> InodeNumber {
        state.withLock { Self.add(name, content, permissions: permissions, in: parent, &$0) }
    }

    func content(_ name: FileName) -> [UInt8]? {
        state.withLock { state in
            guard case .directory(let children) = state.nodes[.root]?.content, let inode = children[name],
                case .file(let bytes) = state.nodes[inode]?.content
            else { return nil }
            return bytes
        }
    }

    private static func add(
        _ name: FileName, _ content: Content, permissions: UInt16, in parent: InodeNumber, _ state: inout State
    ) -> InodeNumber {
        let inode = InodeNumber(state.nextInode)
        state.nextInode += 1
        state.nodes[inode] = Node(content: content, permissions: permissions, parent: parent)
        guard var folder = state.nodes[parent], case .directory(var children) = folder.content else { return inode }
        children[name] = inode
        folder.content = .directory(children)
        state.nodes[parent] = folder
        return inode
    }

    private func describe(_ inode: InodeNumber, _ node: Node) -> NodeAttributes {
        let (kind, size): (FileKind, Int) =
            switch node.content {
            case .file(let bytes): (.file, bytes.count)
            case .directory: (.directory, 4096)
            case .symbolicLink(let target): (.symbolicLink, target.count)
            }
        return NodeAttributes(
            inode: inode, kind: kind, permissions: node.permissions, size: UInt64(size),
            modificationTime: node.modificationTime, entryTimeoutSeconds: timeoutSeconds,
            attributeTimeoutSeconds: timeoutSeconds)
    }

    /// Runs `body` under the lock; typed throws go through a result, which `Mutex` does not do by itself.
    private func locked<Result>(_ body: (inout State) throws(BackupError) -> Result) throws(BackupError) -> Result {
        try state.withLock { state throws(BackupError) in try body(&state) }
    }

    private static func node(_ inode: InodeNumber, _ state: State) throws(BackupError) -> Node {
        guard let node = state.nodes[inode] else { throw BackupError(.notFound, "no such node") }
        return node
    }

    private static func children(of inode: InodeNumber, _ state: State) throws(BackupError) -> [FileName: InodeNumber] {
        guard case .directory(let children) = try node(inode, state).content else {
            throw BackupError(.notADirectory, "not a folder")
        }
        return children
    }

    private func stall() {
        stalls.changeWakingAll { $0.count += 1 }
        stalls.wait(until: { !$0.doStall }) { _ in }
    }

    func lookUp(_ name: FileName, in parent: InodeNumber) throws(BackupError) -> NodeAttributes {
        if name.description.hasPrefix("stalls") { stall() }
        if name.description.hasPrefix("error-"), let code = BackupError.Code(rawValue: String(name.description.dropFirst(6))) {
            throw BackupError(code, "asked for")
        }
        return try locked { state throws(BackupError) in
            state.lookedUp.append(name)
            guard let inode = try Self.children(of: parent, state)[name] else { throw BackupError(.notFound, "no such name") }
            var node = try Self.node(inode, state)
            node.lookUpCount += 1
            state.nodes[inode] = node
            return describe(inode, node)
        }
    }

    func absenceTimeoutSeconds(of name: FileName, in parent: InodeNumber) -> Double {
        name.description.hasPrefix("never-") ? 3600 : 0
    }

    func setObserver(_ observer: (any TreeObserver)?) { state.withLock { $0.observer = observer } }

    func forget(_ inode: InodeNumber, count: UInt64) {
        state.withLock { $0.nodes[inode]?.lookUpCount -= count }
    }

    func attributes(of inode: InodeNumber, handle: HandleNumber?) throws(BackupError) -> NodeAttributes {
        try locked { state throws(BackupError) in describe(inode, try Self.node(inode, state)) }
    }

    func setAttributes(
        of inode: InodeNumber, to change: AttributeChange, handle: HandleNumber?
    ) throws(BackupError) -> NodeAttributes {
        try locked { state throws(BackupError) in
            var node = try Self.node(inode, state)
            if change.changesOwner {
                state.ownerChangeCount += 1
                throw BackupError(.notPermitted, "the owner stays")
            }
            if let size = change.size, case .file(var bytes) = node.content {
                bytes = Array(bytes.prefix(Int(size)))
                bytes += [UInt8](repeating: 0, count: Int(size) - bytes.count)
                node.content = .file(bytes)
            }
            if let permissions = change.permissions { node.permissions = permissions }
            if let time = change.modificationTime { node.modificationTime = time }
            state.nodes[inode] = node
            return describe(inode, node)
        }
    }

    func readLink(_ inode: InodeNumber) throws(BackupError) -> [UInt8] {
        try locked { state throws(BackupError) in
            guard case .symbolicLink(let target) = try Self.node(inode, state).content else {
                throw BackupError(.invalidArgument, "not a link")
            }
            return target
        }
    }

    func openFile(_ inode: InodeNumber, flags: Int32, process: Int32) throws(BackupError) -> OpenedFile {
        try locked { state throws(BackupError) in
            if flags & O_TRUNC != 0 { state.nodes[inode]?.content = .file([]) }
            return open(inode, flags, process, &state)
        }
    }

    private func open(_ inode: InodeNumber, _ flags: Int32, _ process: Int32, _ state: inout State) -> OpenedFile {
        let handle = HandleNumber(state.nextHandle)
        state.nextHandle += 1
        state.files[handle] = OpenFile(inode: inode, opener: process)
        state.openFlags.append(flags)
        return OpenedFile(handle: handle, keepsCache: false, usesDirectIO: usesDirectIO)
    }

    func createFile(
        _ name: FileName, in parent: InodeNumber, flags: Int32, process: Int32
    ) throws(BackupError) -> (attributes: NodeAttributes, file: OpenedFile) {
        try locked { state throws(BackupError) in
            guard try Self.children(of: parent, state)[name] == nil else { throw BackupError(.alreadyExists, "exists") }
            let inode = Self.add(name, .file([]), permissions: 0o600, in: parent, &state)
            state.nodes[inode]?.lookUpCount = 1
            return (describe(inode, try Self.node(inode, state)), open(inode, flags, process, &state))
        }
    }

    func read(
        _ handle: HandleNumber, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) -> Int {
        try locked { state throws(BackupError) in
            state.readSizes.append(buffer.count)
            guard let file = state.files[handle] else { throw BackupError(.badHandle, "no such handle") }
            guard case .file(let bytes) = try Self.node(file.inode, state).content else { return 0 }
            guard offset < bytes.count else { return 0 }
            let part = bytes[Int(offset)..<min(bytes.count, Int(offset) + buffer.count)]
            buffer.copyBytes(from: part)
            return part.count
        }
    }

    func write(_ handle: HandleNumber, at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        try locked { state throws(BackupError) in
            state.writeSizes.append(bytes.count)
            guard let file = state.files[handle] else { throw BackupError(.badHandle, "no such handle") }
            state.files[handle]?.isWritten = true
            guard case .file(var content)? = state.nodes[file.inode]?.content else { return }
            state.nodes[file.inode]?.content = .file([])
            let end = Int(offset) + bytes.count
            if content.count < end { content += [UInt8](repeating: 0, count: end - content.count) }
            content.replaceSubrange(Int(offset)..<end, with: bytes)
            state.nodes[file.inode]?.content = .file(content)
        }
    }

    func copy(
        from source: HandleNumber, at sourceOffset: UInt64, to handle: HandleNumber, at offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64 {
        var bytes = [UInt8](repeating: 0, count: Int(min(count, 1 << 20)))
        let size = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try read(source, at: sourceOffset, into: buffer)
        }
        try bytes.withUnsafeBytesThrowing { (buffer) throws(BackupError) in
            try write(handle, at: offset, UnsafeRawBufferPointer(rebasing: buffer[..<size]))
        }
        return UInt64(size)
    }

    func flush(_ handle: HandleNumber, process: Int32) throws(BackupError) {
        try locked { state throws(BackupError) in
            guard let file = state.files[handle] else { throw BackupError(.badHandle, "no such handle") }
            state.flushes.append((process, file.opener))
            guard file.isWritten, case .file(let bytes) = try Self.node(file.inode, state).content else { return }
            let word = String(decoding: bytes.prefix { $0 != UInt8(ascii: "!") }.prefix(40), as: UTF8.self)
            if let code = BackupError.Code(rawValue: word) { throw BackupError(code, "refused") }
        }
    }

    func synchronize(_ handle: HandleNumber) throws(BackupError) {}

    func release(_ handle: HandleNumber) { state.withLock { _ = $0.files.removeValue(forKey: handle) } }

    func openDirectory(_ inode: InodeNumber) throws(BackupError) -> OpenedDirectory {
        try locked { state throws(BackupError) in
            let handle = HandleNumber(state.nextHandle)
            state.nextHandle += 1
            let children = try Self.children(of: inode, state).sorted { $0.key < $1.key }
            let parent = try Self.node(inode, state).parent
            state.directories[handle] = [(".", inode), ("..", parent)] + children.map { ($0.key, $0.value) }
            return OpenedDirectory(handle: handle, keepsCache: keepsListings)
        }
    }

    func readDirectory(
        _ handle: HandleNumber, from offset: UInt64, countsLookUps: Bool,
        _ body: (_ name: FileName, _ attributes: NodeAttributes, _ nextOffset: UInt64) -> Bool
    ) throws(BackupError) {
        try locked { state throws(BackupError) in
            state.listingCount += 1
            guard let list = state.directories[handle] else { throw BackupError(.badHandle, "no such handle") }
            for (index, (name, inode)) in list.enumerated().dropFirst(Int(offset)) {
                guard let node = state.nodes[inode] else { continue }
                guard body(name, describe(inode, node), UInt64(index + 1)) else { return }
                if countsLookUps, index > 1 { state.nodes[inode]?.lookUpCount += 1 }
            }
        }
    }

    func releaseDirectory(_ handle: HandleNumber) { state.withLock { _ = $0.directories.removeValue(forKey: handle) } }

    func makeDirectory(
        _ name: FileName, in parent: InodeNumber, unless isCancelled: () -> Bool
    ) throws(BackupError) -> NodeAttributes {
        try locked { state throws(BackupError) in
            guard try Self.children(of: parent, state)[name] == nil else { throw BackupError(.alreadyExists, "exists") }
            let inode = Self.add(name, .directory([:]), permissions: 0o700, in: parent, &state)
            state.nodes[inode]?.lookUpCount = 1
            return describe(inode, try Self.node(inode, state))
        }
    }

    func wait(of inode: InodeNumber, for aim: RequestAim) -> RequestWait? { aim == .change ? .change : nil }

    func removeDirectory(_ name: FileName, in parent: InodeNumber) throws(BackupError) {
        stall()
        try locked { state throws(BackupError) in
            state.lookedUp.append(name)
            guard let inode = try Self.children(of: parent, state)[name] else { throw BackupError(.notFound, "no such name") }
            guard try Self.children(of: inode, state).isEmpty else { throw BackupError(.notEmpty, "not empty") }
            try Self.remove(name, from: parent, &state)
        }
    }

    func removeFile(_ name: FileName, in parent: InodeNumber) throws(BackupError) {
        try locked { state throws(BackupError) in try Self.remove(name, from: parent, &state) }
    }

    private static func remove(_ name: FileName, from parent: InodeNumber, _ state: inout State) throws(BackupError) {
        var children = try children(of: parent, state)
        guard children.removeValue(forKey: name) != nil else { throw BackupError(.notFound, "no such name") }
        state.nodes[parent]?.content = .directory(children)
    }

    func rename(
        _ name: FileName, in parent: InodeNumber, to newName: FileName, in newParent: InodeNumber, mayReplace: Bool
    ) throws(BackupError) {
        try locked { state throws(BackupError) in
            state.lookedUp.append(name)
            guard let inode = try Self.children(of: parent, state)[name] else { throw BackupError(.notFound, "no such name") }
            var children = try Self.children(of: newParent, state)
            guard mayReplace || children[newName] == nil else { throw BackupError(.alreadyExists, "exists") }
            children[newName] = inode
            state.nodes[newParent]?.content = .directory(children)
            state.nodes[inode]?.parent = newParent
            try Self.remove(name, from: parent, &state)
        }
    }

    func extendedAttribute(_ name: String, of inode: InodeNumber) throws(BackupError) -> [UInt8] {
        try locked { state throws(BackupError) in
            if !name.hasPrefix("user.") { state.foreignAttributeCount += 1 }
            guard let value = try Self.node(inode, state).attributes[name] else { throw BackupError(.noAttribute, "none") }
            return value
        }
    }

    func extendedAttributeNames(of inode: InodeNumber) throws(BackupError) -> [String] {
        try locked { state throws(BackupError) in try Self.node(inode, state).attributes.keys.sorted() }
    }

    func setExtendedAttribute(_ name: String, of inode: InodeNumber, to value: [UInt8]) throws(BackupError) {
        state.withLock { $0.nodes[inode]?.attributes[name] = value }
    }

    func removeExtendedAttribute(_ name: String, of inode: InodeNumber) throws(BackupError) {
        try locked { state throws(BackupError) in
            guard state.nodes[inode]?.attributes.removeValue(forKey: name) != nil else {
                throw BackupError(.noAttribute, "none")
            }
        }
    }

    func space() throws(BackupError) -> FileSystemSpace { try FileSystem.space(at: "/tmp") }
}
