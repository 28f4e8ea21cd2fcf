import BackupCore
import Glibc
import ObjectStorage
import SystemIO

/// One pack of an object storage, of which the parts that were read are in a sparse file. Thread-safe; no lock is held during a
/// transfer.
///
/// The file has the pack's length, so that a folder of them looks like that of a local repository. Beside it, a map has one byte
/// for each block: 1 when the block's bytes are in the file, and 2 when they are and were never read in the storage. The bytes
/// are written before their mark, but nothing is synchronized: after a power cut, a marked block may hold zeros. No reader
/// believes a chunk that it has not compared with its checksum, and one that differs is transferred again.
///
/// Other processes may fill the same file: they write the same bytes.
final class CachedPack: FileFiller {
    static let blockSizeBytes: UInt64 = 128 << 10
    static let presentMark: UInt8 = 1
    static let adoptedMark: UInt8 = 2
    /// How much is read ahead at most, of a pack that is read from one end to the other. On a network, a request costs as much
    /// time as the transfer of a megabyte or more.
    private static let readAheadLimitBlocks = 64
    private static let firstReadAheadBlocks = 2
    /// Of how many readers at different places the positions are remembered.
    private static let sequenceCount = 8

    private enum Block: Sendable { case absent, requested, present }

    /// Requests that follow each other: of one reader, as a rule.
    private struct Sequence {
        /// The block after the last requested one: a request that begins here continues the sequence.
        var next = 0
        /// How many blocks its next request has.
        var readAheadBlocks = CachedPack.firstReadAheadBlocks
    }

    private struct State {
        var blocks: [Block]
        /// The one that was used last is at the end.
        var sequences: [Sequence] = []
    }

    private enum Step {
        case done, wait
        case transfer(Range<Int>)
    }

    let name: ObjectName
    /// Of the pack.
    let sizeBytes: UInt64
    private let file: OwnedDescriptor
    private let map: OwnedDescriptor
    private let transfers: RemoteTransfers
    private let state: Monitor<State>

    /// - Parameters:
    ///   - file: open for writing; of the pack's length.
    ///   - map: open for reading and writing.
    init(
        _ name: ObjectName, _ file: consuming OwnedDescriptor, _ map: consuming OwnedDescriptor, _ transfers: RemoteTransfers
    ) throws(BackupError) {
        self.name = name
        self.transfers = transfers
        sizeBytes = try file.status().size
        let count = Int((sizeBytes + Self.blockSizeBytes - 1) / Self.blockSizeBytes)
        var marks = [UInt8](repeating: 0, count: count)
        _ = try marks.withUnsafeMutableBytesThrowing { (bytes) throws(BackupError) in try map.readFully(at: 0, into: bytes) }
        state = Monitor(State(blocks: marks.map { $0 == Self.presentMark || $0 == Self.adoptedMark ? .present : .absent }))
        self.file = file
        self.map = map
    }

    /// Another descriptor of the file, for its readers.
    func reader() throws(BackupError) -> SharedFile {
        try SharedFile(OwnedDescriptor.duplicate(file, from: 0), filler: self)
    }

    // MARK: Filling

    func fill(_ range: Range<UInt64>) throws(BackupError) {
        guard !range.isEmpty else { return }
        let wanted = blocks(of: range)
        while true {
            switch state.withLock({ Self.step(&$0, wanted) }) {
            case .done: return
            case .wait:
                // The transfer may be of a thread that is not cancelled.
                try Cancellation.check()
                _ = state.wait(
                    until: { state in
                        state.blocks[wanted].contains(.absent) || !state.blocks[wanted].contains(.requested)
                    }, forNanoseconds: 100_000_000)
            case .transfer(let run): try transfer(run)
            }
        }
    }

    func expect(_ range: Range<UInt64>) {
        guard !range.isEmpty, state.withLock({ $0.blocks[blocks(of: range)].contains(.absent) }) else { return }
        transfers.inBackground { [self] in try? fill(range) }
    }

    private func blocks(of range: Range<UInt64>) -> Range<Int> {
        Int(range.lowerBound / Self.blockSizeBytes)..<Int((range.upperBound - 1) / Self.blockSizeBytes) + 1
    }

    /// Takes the next blocks that this thread transfers.
    private static func step(_ state: inout State, _ wanted: Range<Int>) -> Step {
        guard let first = wanted.first(where: { state.blocks[$0] == .absent }) else {
            return state.blocks[wanted].contains(.requested) ? .wait : .done
        }
        var sequence = Sequence()
        if let index = state.sequences.firstIndex(where: { $0.next == first }) {
            sequence = state.sequences.remove(at: index)
            sequence.readAheadBlocks = min(sequence.readAheadBlocks * 2, readAheadLimitBlocks)
        } else if state.sequences.count == sequenceCount {
            state.sequences.removeFirst()
        }
        // Reading ahead only pays off where blocks follow; a single wanted block at another place is taken with one more.
        let limit = min(state.blocks.count, max(wanted.upperBound, first + sequence.readAheadBlocks))
        let end = state.blocks[first..<limit].firstIndex { $0 != .absent } ?? limit
        for number in first..<end { state.blocks[number] = .requested }
        sequence.next = end
        state.sequences.append(sequence)
        return .transfer(first..<end)
    }

    private func transfer(_ run: Range<Int>) throws(BackupError) {
        let start = UInt64(run.lowerBound) * Self.blockSizeBytes
        let end = min(UInt64(run.upperBound) * Self.blockSizeBytes, sizeBytes)
        var position = start
        var done = run.lowerBound
        do throws(BackupError) {
            let facts = try transfers.read(name, start..<end) { (part) throws(BackupError) in
                guard UInt64(part.count) <= end - position else { throw damaged("the storage sent more than was requested") }
                try write(part, at: position)
                position += UInt64(part.count)
                let complete = position == end ? run.upperBound : Int(position / Self.blockSizeBytes)
                guard complete > done else { return }
                try mark(done..<complete)
                done = complete
            }
            guard facts.sizeBytes == sizeBytes else {
                throw damaged("the pack has \(facts.sizeBytes) bytes instead of \(sizeBytes)")
            }
            guard position == end else { throw damaged("the storage sent less than was requested") }
        } catch {
            state.changeWakingAll { state in for number in done..<run.upperBound { state.blocks[number] = .absent } }
            throw error
        }
    }

    private func write(_ part: UnsafeRawBufferPointer, at position: UInt64) throws(BackupError) {
        do throws(BackupError) {
            try file.writeAll(part, at: position)
        } catch {
            guard error.code == .noSpace, transfers.makeSpace() else { throw error }
            try file.writeAll(part, at: position)
        }
        transfers.noteCached(UInt64(part.count))
    }

    private func mark(_ blocks: Range<Int>) throws(BackupError) {
        let marks = [UInt8](repeating: Self.presentMark, count: blocks.count)
        try marks.withUnsafeBytesThrowing { (bytes) throws(BackupError) in
            try map.writeAll(bytes, at: UInt64(blocks.lowerBound))
        }
        state.changeWakingAll { state in for number in blocks { state.blocks[number] = .present } }
    }

    private func damaged(_ reason: Message) -> BackupError {
        BackupError(
            .repositoryDamaged, reason, path: "\(transfers.location)/\(name)",
            remedy: "Look for damage with: backupfs check --remote")
    }
}
