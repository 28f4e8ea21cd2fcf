import Testing

/// What becomes of what was not synchronized.
enum PowerCut: Sendable, CustomTestStringConvertible {
    /// The process was killed: nothing is lost.
    case processOnly
    /// All of it is lost: names and bytes.
    case losesAll
    /// All names are there, of files whose bytes are lost: they are as long as they were at their last fsync.
    case losesBytes
    /// All names and lengths are there; lost bytes are zeros.
    case zeroesBytes
    /// Some of it is there, by chance: names, whole writes, beginnings of writes.
    case tears(seed: UInt64)

    static let all: [PowerCut] = [.processOnly, .losesAll, .losesBytes, .zeroesBytes, .tears(seed: 1), .tears(seed: 2)]

    var testDescription: String { "\(self)" }

    /// What is found on the disk at the next start.
    /// - Parameter moment: makes each cut's chance a different one.
    func leftover(of disk: SimulatedDisk, moment: Int) -> DiskTree {
        var chance = TestData(seed: 1)
        if case .tears(let seed) = self { chance = TestData(seed: seed &* 1_000_003 &+ UInt64(moment) &+ 1) }
        for _ in 0..<8 { _ = chance.next() }
        var tree = DiskTree()
        var entries: [String: SimulatedDisk.Entry]
        switch self {
        case .processOnly, .losesBytes, .zeroesBytes: entries = disk.names
        case .losesAll: entries = disk.durableNames
        case .tears: entries = Self.someNames(of: disk, &chance)
        }
        // A folder that is lost takes along what is in it.
        for path in entries.keys.sorted() {
            let parent = path.lastIndex(of: "/").map { String(path[..<$0]) }
            guard let entry = entries[path], parent == nil || tree.folders.contains(parent ?? "") else { continue }
            switch entry {
            case .folder: tree.folders.insert(path)
            case .file(let number): tree.files[path] = bytes(of: disk.files[number], &chance)
            }
        }
        return tree
    }

    /// Each name in some state that it had since its folder was synchronized.
    private static func someNames(of disk: SimulatedDisk, _ chance: inout TestData) -> [String: SimulatedDisk.Entry] {
        var entries = disk.durableNames
        for path in Set(disk.pendingNames.map(\.path)).sorted() {
            let states = disk.pendingNames.filter { $0.path == path }
            let chosen = Int(chance.next() % UInt64(states.count + 1))
            if chosen > 0 { entries[path] = states[chosen - 1].entry }
        }
        return entries
    }

    private func bytes(of file: SimulatedDisk.File, _ chance: inout TestData) -> [UInt8] {
        switch self {
        case .processOnly: return file.bytes
        case .losesAll, .losesBytes: return file.durable
        case .zeroesBytes:
            if file.pending.isEmpty { return file.durable }
            var bytes = Array(file.durable.prefix(file.bytes.count))
            bytes.pad(to: file.bytes.count)
            return bytes
        case .tears:
            var bytes = file.durable
            for change in file.pending {
                switch chance.next() % 4 {
                case 0: continue
                case 1: change.apply(to: &bytes, upTo: Int(chance.next() % 5_000))
                default: change.apply(to: &bytes)
                }
            }
            // The length may be there without the bytes.
            if chance.next() % 2 == 0 { bytes.pad(to: file.bytes.count) }
            return bytes
        }
    }
}
