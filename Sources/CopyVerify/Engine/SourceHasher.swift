import BackupCore
import SystemIO

/// Hashes the blocks of large files beside their reading, on one or two threads.
final class SourceHasher {
    private enum Command: Sendable {
        case data(BlockPool.Block)
        case zeros(UInt64)
        case end(FileTask)
        case abandon
        case finish
    }

    private struct Lane {
        let queue: WorkQueue<Command>
        let thread: SystemThread
    }

    private static let queueLimit = 4_096

    private var lanes: [Lane] = []

    /// How often the digests of a file are delivered in parts.
    var partCount: Int { lanes.count }

    init(_ algorithms: Set<HashAlgorithm>) throws(BackupError) {
        for lane in HashAlgorithm.lanes(algorithms) { lanes.append(try Self.lane(lane)) }
    }

    private static func lane(_ algorithms: Set<HashAlgorithm>) throws(BackupError) -> Lane {
        let queue = WorkQueue<Command>(limit: queueLimit)
        return Lane(
            queue: queue,
            thread: try SystemThread {
                var digester = FileDigester(algorithms)
                queue.forEach { command in
                    switch command {
                    case .data(let block): digester.update(block.bytes)
                    case .zeros(let count): digester.update(zeroCount: count)
                    case .end(let task): task.deliver(digester.finish())
                    case .abandon: _ = digester.finish()
                    case .finish: return false
                    }
                    return true
                }
            })
    }

    private func submit(_ command: Command) { for lane in lanes { lane.queue.push(command) } }

    func add(_ block: BlockPool.Block) { submit(.data(block)) }
    func add(zeroCount: UInt64) { if zeroCount > 0 { submit(.zeros(zeroCount)) } }
    /// The digests are delivered to the task.
    func end(_ task: FileTask) { submit(.end(task)) }
    func abandon() { submit(.abandon) }

    /// Ends the threads.
    func finish() {
        submit(.finish)
        for lane in lanes { lane.thread.join() }
        lanes = []
    }
}
