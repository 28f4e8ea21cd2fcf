import BackupCore
import CFUSE
import Glibc
import Synchronization
import SystemIO
import VirtualTree

/// Tells the kernel what it should not believe any more, from a thread of its own: the kernel takes such news only when nobody else is busy
/// in the folder concerned, and whoever changes the tree must not wait for that.
final class KernelNotifier: TreeObserver {
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
    private let state = Monitor(State())
    private let thread = Mutex<SystemThread?>(nil)

    /// - Parameter session: mounted. It must live until `end` has returned.
    init(_ session: OpaquePointer) throws(BackupError) {
        self.session = Session(pointer: session)
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
            guard !news.isEmpty else { return }
            for item in news {
                tell(item)
                state.changeWakingAll { $0.toldCount += 1 }
            }
        }
    }

    /// The answer says whether the kernel knew the name or the file at all, and both are fine.
    private func tell(_ news: News) {
        switch news {
        case .name(let name, let parent):
            _ = name.bytes.withUnsafeBytes { bytes in
                fuse_lowlevel_notify_inval_entry(
                    session.pointer, parent.rawValue, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
            }
        case .attributes(let inode):
            // A negative offset: the attributes alone.
            fuse_lowlevel_notify_inval_inode(session.pointer, inode.rawValue, -1, 0)
        }
    }
}
