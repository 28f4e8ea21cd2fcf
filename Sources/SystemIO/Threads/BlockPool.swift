/// Buffers of one size that are used again and again, a bounded number of them: whoever wants one more waits until another is given back.
public final class BlockPool: Sendable {
    /// A buffer; it goes back to its pool with its last reference.
    ///
    /// `@unchecked Sendable`: whoever took it fills it before others get to see it, and nobody writes to it after that.
    public final class Block: @unchecked Sendable {
        private let memory: UnsafeMutableRawBufferPointer
        private let pool: BlockPool
        /// Bytes of it that are in use.
        public var count = 0

        fileprivate init(_ memory: UnsafeMutableRawBufferPointer, _ pool: BlockPool) {
            self.memory = memory
            self.pool = pool
        }

        deinit { pool.giveBack(memory) }

        public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }
        public var writableBytes: UnsafeMutableRawBufferPointer { memory }
    }

    /// `@unchecked Sendable`: memory without an owner for the moment.
    private struct Memory: @unchecked Sendable {
        let buffer: UnsafeMutableRawBufferPointer
    }

    private struct State {
        var free: [Memory] = []
        var usedCount = 0
    }

    private let blockSizeBytes: Int
    private let limit: Int
    private let state = Monitor(State())

    public init(blockSizeBytes: Int, limit: Int) {
        self.blockSizeBytes = blockSizeBytes
        self.limit = limit
    }

    deinit {
        for memory in state.withLock({ $0.free }) { memory.buffer.deallocate() }
    }

    /// Waits while all blocks are in use. A thread that hands in the work which holds them takes them by `WorkGroup.take`.
    public func take() -> Block {
        let limit = limit
        let memory = state.wait(
            until: { $0.usedCount < limit },
            { state in
                state.usedCount += 1
                return state.free.popLast()
            })
        return Block(memory?.buffer ?? .allocate(byteCount: blockSizeBytes, alignment: 4_096), self)
    }

    /// - Returns: `nil` while all blocks are in use.
    func takeFree() -> Block? {
        let limit = limit
        let taken = state.withLock { state -> (isTaken: Bool, memory: Memory?) in
            guard state.usedCount < limit else { return (false, nil) }
            state.usedCount += 1
            return (true, state.free.popLast())
        }
        guard taken.isTaken else { return nil }
        return Block(taken.memory?.buffer ?? .allocate(byteCount: blockSizeBytes, alignment: 4_096), self)
    }

    private func giveBack(_ memory: UnsafeMutableRawBufferPointer) {
        let memory = Memory(buffer: memory)
        state.changeWakingOne { state in
            state.usedCount -= 1
            state.free.append(memory)
        }
    }
}
