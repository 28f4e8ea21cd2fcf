import BackupCore
import SystemIO

/// A disk behind a cache that forgets at a power cut whatever was not synchronized. It keeps the rules that file systems give and
/// no others: fsync of a file keeps its bytes, fsync of a folder the names in it, and nothing else is certain.
///
/// Paths are relative to the folder that was recorded; the folder itself is the empty path.
struct SimulatedDisk {
    enum Entry: Equatable {
        case folder
        case file(Int)
    }

    enum Change {
        case write(offset: Int, bytes: [UInt8])
        case truncate(Int)
    }

    struct File {
        /// With everything that was written.
        var bytes: [UInt8] = []
        /// As of the last fsync.
        var durable: [UInt8] = []
        /// What came after it.
        var pending: [Change] = []
    }

    /// Can be changed to where the same files are found again.
    var root: String
    private(set) var files: [File] = []
    private(set) var names: [String: Entry] = [:]
    private(set) var durableNames: [String: Entry] = [:]
    private(set) var pendingNames: [(path: String, entry: Entry?)] = []
    private var renamedAway: Set<String> = []

    /// - Parameter tree: what is there, durably.
    init(root: String, tree: DiskTree) {
        self.root = root
        for path in tree.folders { names[path] = .folder }
        for (path, bytes) in tree.files {
            names[path] = .file(files.count)
            files.append(File(bytes: bytes, durable: bytes))
        }
        durableNames = names
    }

    /// Changes to the catalog are passed over: SQLite makes the most of them, unseen.
    mutating func apply(_ operation: FileOperation) {
        if DiskTree.isCatalog(operation.path) { return }
        switch operation {
        case .open(let path, let truncates):
            let path = relative(path)
            if let number = fileNumber(path) {
                if truncates { change(number, .truncate(0)) }
            } else if names[path] == nil {
                files.append(File())
                name(path, .file(files.count - 1))
            }
        case .write(let path, let offset, let bytes):
            if let number = fileNumber(relative(path)) { change(number, .write(offset: Int(offset), bytes: bytes)) }
        case .truncate(let path, let size):
            if let number = fileNumber(relative(path)) { change(number, .truncate(Int(size))) }
        case .makeDirectory(let path):
            if names[relative(path)] == nil { name(relative(path), .folder) }
        case .rename(let old, let new):
            guard let entry = names[relative(old)], entry != .folder else { fatalError("not simulated: \(operation)") }
            name(relative(old), nil)
            name(relative(new), entry)
            renamedAway.insert(relative(old))
        case .remove(let path), .removeDirectory(let path):
            if names[relative(path)] != nil { name(relative(path), nil) }
        case .synchronize(let path):
            synchronize(relative(path))
        case .synchronizeFileSystem:
            for number in files.indices { synchronizeFile(number) }
            durableNames = names
            pendingNames = []
        case .makeLink, .exchange:
            fatalError("not simulated: \(operation)")
        }
    }

    private func relative(_ path: String) -> String {
        guard path != root else { return "" }
        guard path.hasPrefix(root + "/") else { fatalError("\(path) is not below \(root)") }
        return String(path.dropFirst(root.count + 1))
    }

    private func fileNumber(_ path: String) -> Int? {
        // Operations on open files go by the path of opening; the simulation would lose them after a rename.
        if case .file(let number)? = names[path] { return number }
        precondition(!renamedAway.contains(path), "\(path) was written to after it was renamed")
        return nil
    }

    private mutating func change(_ number: Int, _ change: Change) {
        change.apply(to: &files[number].bytes)
        files[number].pending.append(change)
    }

    private mutating func name(_ path: String, _ entry: Entry?) {
        names[path] = entry
        pendingNames.append((path, entry))
        if entry != nil { renamedAway.remove(path) }
    }

    private mutating func synchronize(_ path: String) {
        if case .file(let number)? = names[path] { return synchronizeFile(number) }
        for (changed, entry) in pendingNames where FileSystem.relativeParent(changed) == path { durableNames[changed] = entry }
        pendingNames.removeAll { FileSystem.relativeParent($0.path) == path }
    }

    private mutating func synchronizeFile(_ number: Int) {
        files[number].durable = files[number].bytes
        files[number].pending = []
    }
}

extension SimulatedDisk.Change {
    /// - Parameter count: only so many bytes of a write.
    func apply(to bytes: inout [UInt8], upTo count: Int = .max) {
        switch self {
        case .truncate(let size):
            if size < bytes.count { bytes.removeLast(bytes.count - size) } else { bytes.pad(to: size) }
        case .write(let offset, let written):
            let part = written.prefix(count)
            bytes.pad(to: offset + part.count)
            bytes.replaceSubrange(offset..<offset + part.count, with: part)
        }
    }
}

extension [UInt8] {
    /// With zeros, as a file system shows what was never written.
    mutating func pad(to count: Int) {
        if count > self.count { append(contentsOf: repeatElement(0, count: count - self.count)) }
    }
}

extension FileSystem {
    /// The folder of a relative path; empty for one without a slash.
    static func relativeParent(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "" }
        return String(path[..<slash])
    }
}
