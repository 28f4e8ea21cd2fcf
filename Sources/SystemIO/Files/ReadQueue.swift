import BackupCore
import CLinux
import Glibc

/// Reads of the beginnings of many files that run at the same time (io_submit(2)): the storage works at all of them together, and
/// no read waits for the one before it. They are direct reads (`O_DIRECT`): other reads run one after the other. For one thread.
public final class ReadQueue {
    /// One read.
    public final class Read {
        fileprivate let file: Int32
        fileprivate let memory: UnsafeMutableRawBufferPointer
        /// What keeps the memory: the kernel writes there until the read has ended.
        private let owner: AnyObject?
        /// A number of bytes, or a negative errno value; `nil` while it runs.
        fileprivate(set) var result: Int?

        /// - Parameters:
        ///   - file: open, for direct reads; it may be closed while the read runs.
        ///   - memory: aligned to `UncachedFile.alignmentBytes`, and a multiple of it long.
        ///   - owner: of the memory; `nil` where it outlives the read by other means.
        public init(_ file: borrowing OwnedDescriptor, into memory: UnsafeMutableRawBufferPointer, owner: AnyObject?) {
            self.file = file.rawValue
            self.memory = memory
            self.owner = owner
        }
    }

    /// More reads do not run at once.
    public static let limit = Int(backupfs_read_queue_limit)

    private let queue: UInt
    /// The reads that run. Their places are their numbers.
    private var running = [Read?](repeating: nil, count: ReadQueue.limit)
    private var free = Array((0..<ReadQueue.limit).reversed())

    /// - Returns: `nil` where the kernel has no such reads, or no room for more of them.
    public convenience init?() {
        var queue: UInt = 0
        guard backupfs_make_read_queue(UInt32(Self.limit), &queue) == 0 else { return nil }
        self.init(queue: queue)
    }

    /// - Parameter queue: of io_setup(2), which is ended with this; of another one, the kernel refuses all reads.
    init(queue: UInt) { self.queue = queue }

    // io_destroy(2) waits for the reads that run, and their memory is released after it.
    deinit { backupfs_end_read_queue(queue) }

    /// Begins the reads, together where there is room for all of them. A refused one gets its result at once.
    public func begin(_ reads: [Read]) {
        var rest = reads[...]
        while !rest.isEmpty {
            while free.isEmpty { awaitSome() }
            let part = rest.prefix(free.count)
            let places = part.map { place($0) }
            let requests = zip(part, places).map { read, place in
                backupfs_read(
                    file: read.file, buffer: read.memory.baseAddress, length: UInt(read.memory.count), number: UInt64(place))
            }
            let taken = backupfs_begin_reads(queue, requests, Int32(requests.count))
            let failure = taken < 0 ? errno : EAGAIN
            let count = max(0, taken)
            for place in places[count...] { _ = release(place) }
            rest = rest[(rest.startIndex + count)...]
            // The first of the others can be at fault, or the kernel has no room now.
            if count == 0 { rest.removeFirst().result = -Int(failure) }
        }
    }

    /// Waits until a read has ended.
    /// - Returns: the number of bytes; `nil` if it has failed.
    public func wait(for read: Read) -> Int? {
        while true {
            if let result = read.result { return result >= 0 ? result : nil }
            awaitSome()
        }
    }

    private func place(_ read: Read) -> Int {
        let place = free.removeLast()
        running[place] = read
        return place
    }

    private func release(_ place: Int) -> Read? {
        free.append(place)
        defer { running[place] = nil }
        return running[place]
    }

    private func awaitSome() {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.limit) { numbers in
            withUnsafeTemporaryAllocation(of: Int.self, capacity: Self.limit) { results in
                let ended = SystemCall.retrying { backupfs_await_reads(queue, numbers.baseAddress, results.baseAddress) }
                precondition(ended >= 0, "io_getevents of a queue that exists")
                for index in 0..<ended { release(Int(numbers[index]))?.result = results[index] }
            }
        }
    }
}
