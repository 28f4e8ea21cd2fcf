import BackupCore
import CFUSE
import Glibc
import Synchronization
import SystemIO
import VirtualTree

/// Tells the kernel what it should not believe any more, from a thread of its own: the kernel takes such news only when nobody else is busy
/// in the folder concerned, and whoever changes the tree must not wait for that.
final class KernelNotifier: Sendable {
    private enum News: Sendable {
        case name(FileName, in: InodeNumber)
        case attributes(InodeNumber)
    }

    private struct State {
        var news: [News] = []
        /// News that were ever given and that were ever told.
        var givenCount: UInt64 = 0
        var toldCount: UInt64 = 0
        var isEnding = false
    }

    /// More than this many are not kept while the kernel does not listen; what it believes ends with its timeouts then.
    private static let newsLimit = 10_000
    private static let waitNanoseconds: UInt64 = 1_000_000_000

    /// libfuse sends from any thread; the session is destroyed after this thread was joined.
    private struct Session: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let session: Session
    private let changes: FolderChanges
    private let state = Monitor(State())
    private let thread = Mutex<SystemThread?>(nil)

    /// Between a look-up and the mkdir(2) that asked for it the kernel has the folder locked already, and this program does not know of it yet.
    private static let gapNanoseconds: UInt64 = 10_000_000
    private static let turnNanoseconds: UInt64 = 100_000_000

    /// - Parameters:
    ///   - session: mounted. It must live until `end` has returned.
    ///   - changes: what is being made in the tree.
    init(_ session: OpaquePointer, _ changes: FolderChanges) throws(BackupError) {
        self.session = Session(pointer: session)
        self.changes = changes
        let thread = try SystemThread { [self] in serve() }
        self.thread.withLock { $0 = thread }
    }

    /// Ends the thread; what was not told by then is not told any more. It may be waiting for somebody who is busy in the tree, so requests
    /// must still be answered, or the mount be gone. Call it once.
    func end() {
        state.changeWakingAll { state in
            state.isEnding = true
            state.news = []
        }
        thread.withLock { $0 }?.join()
    }

    func nameChanged(_ name: FileName, in parent: InodeNumber) { give(.name(name, in: parent)) }

    func attributesChanged(_ inode: InodeNumber) { give(.attributes(inode)) }

    func waitUntilTold() {
        let count = state.withLock { $0.givenCount }
        _ = state.wait(until: { $0.toldCount >= count || $0.isEnding }, forNanoseconds: Self.waitNanoseconds)
    }

    private func give(_ news: News) {
        state.changeWakingAll { state in
            guard !state.isEnding, state.news.count < Self.newsLimit else { return }
            state.news.append(news)
            state.givenCount += 1
        }
    }

    /// What the thread does.
    private func serve() {
        while true {
            let news = state.wait(until: { $0.isEnding || !$0.news.isEmpty }) { state in
                defer { state.news = [] }
                return state.news
            }
            guard !news.isEmpty, !state.wait(until: { $0.isEnding }, forNanoseconds: Self.gapNanoseconds) else { return }
            for item in news {
                guard waitUntilFree(item) else { return }
                tell(item)
                state.changeWakingAll { $0.toldCount += 1 }
            }
        }
    }

    /// Waits until nothing is being made in a folder: this thread would be stuck in the kernel until then, and could not end, also if this program were
    /// killed.
    /// - Returns: false when the mount is ending.
    private func waitUntilFree(_ news: News) -> Bool {
        guard case .name = news else { return true }
        while !changes.waitUntilNone(forNanoseconds: Self.turnNanoseconds) {
            if state.withLock({ $0.isEnding }) { return false }
        }
        return true
    }

    /// The answer says whether the kernel knew the name or the file at all, and both are fine.
    private func tell(_ news: News) {
        switch news {
        case .name(let name, let parent):
            // libfuse sends one byte more than the length: the NUL that a C string ends with.
            _ = (name.bytes + [0]).withUnsafeBytes { bytes in
                fuse_lowlevel_notify_inval_entry(
                    session.pointer, parent.rawValue, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), name.bytes.count)
            }
        case .attributes(let inode):
            // A negative offset: the attributes alone.
            fuse_lowlevel_notify_inval_inode(session.pointer, inode.rawValue, -1, 0)
        }
    }
}
