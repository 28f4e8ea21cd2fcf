/// A bounded pool of reusable buffers of one size: a caller that needs one more blocks until another is returned.
public final class BlockPool: Sendable {
    /// A buffer; it returns to its pool with its last reference.
    ///
    /// `@unchecked Sendable`: the thread that took it fills it before other threads see it, and no thread writes to it after that.
    public final class Block: @unchecked Sendable {
        private let memory: UnsafeMutableRawBufferPointer
        private let pool: BlockPool
        /// The number of bytes in use.
        public var count = 0

        fileprivate init(_ memory: UnsafeMutableRawBufferPointer, _ pool: BlockPool) {
            self.memory = memory
            self.pool = pool
        }

        deinit { pool.giveBack(memory) }

        public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }
        public var writableBytes: UnsafeMutableRawBufferPointer { memory }
    }

    /// `@unchecked Sendable`: memory that has no owner at the moment.
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

    /// Blocks while all blocks are in use. A thread that submits the work that holds the blocks must use `WorkGroup.take`.
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
