import BackupCore
import SystemIO
import TestSupport
import Testing

/// A disk behind a cache that forgets at a power cut what was not synchronized: fsync of a file keeps its bytes, fsync of a
/// folder the names in it, and nothing else is certain.
struct CutDisk {
    /// What becomes of what was not synchronized.
    enum Cut: Sendable, CustomTestStringConvertible {
        /// The process was killed: nothing is lost.
        case processOnly
        case losesAll
        /// All names are there; bytes that were not synchronized are not.
        case losesBytes
        /// Some names and some writes are there, by chance.
        case tears(seed: UInt64)

        static let all: [Cut] = [.processOnly, .losesAll, .losesBytes] + (1...8).map { .tears(seed: $0) }

        var testDescription: String { "\(self)" }
    }

    private enum Entry { case folder, file(Int) }

    private struct File {
        var durable: [UInt8] = []
        /// Each as the whole content after it.
        var states: [[UInt8]] = []
    }

    private let root: String
    private var files: [File] = []
    private var names: [String: Entry] = [:]
    private var durableNames: [String: Entry] = [:]
    private var pendingNames: [(path: String, entry: Entry?)] = []

    init(root: String) { self.root = root }

    mutating func apply(_ operation: FileOperation) {
        switch operation {
        case .open(let path, _):
            guard names[path] == nil else { return }
            files.append(File())
            name(path, .file(files.count - 1))
        case .write(let path, let offset, let bytes):
            guard case .file(let number)? = names[path] else { preconditionFailure("\(path) is not open") }
            let old = files[number].states.last ?? files[number].durable
            files[number].states.append(Array(old.prefix(Int(offset))) + bytes)
        case .makeDirectory(let path):
            if names[path] == nil { name(path, .folder) }
        case .rename(let old, let new):
            let entry = names[old]
            name(new, entry)
            name(old, nil)
        case .remove(let path):
            if names[path] != nil { name(path, nil) }
        case .synchronize(let path):
            if case .file(let number)? = names[path] {
                files[number] = File(durable: files[number].states.last ?? files[number].durable)
            }
            for (changed, entry) in pendingNames where FileSystem.parentPath(changed) == path { durableNames[changed] = entry }
            pendingNames.removeAll { FileSystem.parentPath($0.path) == path }
        default: preconditionFailure("not simulated: \(operation)")
        }
    }

    private mutating func name(_ path: String, _ entry: Entry?) {
        names[path] = entry
        pendingNames.append((path, entry))
    }

    /// Makes what is found at the next start.
    func write(to target: String, after cut: Cut, moment: Int) throws {
        var chance = SeededGenerator(seed: UInt64(moment))
        if case .tears(let seed) = cut { chance = SeededGenerator(seed: seed &* 1_000 &+ UInt64(moment)) }
        var entries = durableNames
        switch cut {
        case .losesAll: break
        case .processOnly, .losesBytes: entries = names
        case .tears:
            // Each name is in some state that it had since its folder was synchronized.
            for path in Set(pendingNames.map(\.path)).sorted() {
                let states = pendingNames.filter { $0.path == path }.map(\.entry)
                let chosen = Int.random(in: 0...states.count, using: &chance)
                if chosen > 0 { entries[path] = states[chosen - 1] }
            }
        }
        try FileSystem.makeDirectories(target)
        var folders: Set = [root]
        for path in entries.keys.sorted() {
            // A folder that is lost takes along what is in it.
            guard let entry = entries[path], folders.contains(FileSystem.parentPath(path)) else { continue }
            let copy = target + path.dropFirst(root.utf8.count)
            switch entry {
            case .folder:
                folders.insert(path)
                try FileSystem.makeDirectories(copy)
            case .file(let number): try writeFile(copy, bytes(of: files[number], cut, &chance))
            }
        }
    }

    private func bytes(of file: File, _ cut: Cut, _ chance: inout SeededGenerator) -> [UInt8] {
        switch cut {
        case .processOnly: return file.states.last ?? file.durable
        case .losesAll, .losesBytes: return file.durable
        case .tears:
            let state = ([file.durable] + file.states).randomElement(using: &chance) ?? []
            return state.count > file.durable.count ? Array(state.prefix(.random(in: 0...state.count, using: &chance))) : state
        }
    }
}
