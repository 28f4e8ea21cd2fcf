import BackupCore
import CFUSE
import Glibc
import Synchronization
import SystemIO
import VirtualTree

/// Notifies the kernel of stale cache entries, from a separate thread: the kernel accepts such notifications only while no
/// request is in progress in the folder concerned, and the code that changes the tree must not wait for that.
final class KernelNotifier: Sendable {
    private enum News: Sendable {
        case name(FileName, in: InodeNumber)
        case attributes(InodeNumber)
    }

    private struct State {
        var news: [News] = []
        /// The total numbers of notifications queued and sent.
        var givenCount: UInt64 = 0
        var toldCount: UInt64 = 0
        var isEnding = false
    }

    /// The limit of the queue while the kernel does not accept notifications; beyond it, the kernel's caches only expire by their
    /// timeouts.
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

    /// Between a lookup and the mkdir(2) that it belongs to, the kernel has locked the folder already, but this program does not
    /// know it yet.
    private static let gapNanoseconds: UInt64 = 10_000_000
    private static let turnNanoseconds: UInt64 = 100_000_000

    /// - Parameters:
    ///   - session: mounted; must live until `end` has returned.
    ///   - changes: the changes in progress in the tree.
    init(_ session: OpaquePointer, _ changes: FolderChanges) throws(BackupError) {
        self.session = Session(pointer: session)
        self.changes = changes
        let thread = try SystemThread { [self] in serve() }
        self.thread.withLock { $0 = thread }
    }

    /// Ends the thread; unsent notifications are dropped. It may be waiting for a process that is busy in the tree, so requests
    /// must still be answered, or the mount must be gone. Call it once.
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

    /// The thread's main loop.
    private func serve() {
        while true {
            let news = state.wait(until: { $0.isEnding || !$0.news.isEmpty }) { state in
                defer { state.news = [] }
                return state.news
            }
            guard !news.isEmpty, !state.wait(until: { $0.isEnding }, forNanoseconds: Self.gapNanoseconds) else { return }
            for item in news {
                guard waitUntilFree(item) else { return }
                send(item)
                state.changeWakingAll { $0.toldCount += 1 }
            }
        }
    }

    /// Waits until nothing is being created in a folder: otherwise this thread would block
    /// in the kernel until then and could not end, even if this program were killed.
    /// - Returns: false when the mount is ending.
    private func waitUntilFree(_ news: News) -> Bool {
        guard case .name = news else { return true }
        while !changes.waitUntilNone(forNanoseconds: Self.turnNanoseconds) {
            if state.withLock({ $0.isEnding }) { return false }
        }
        return true
    }

    /// The result says whether the kernel knew the name or the file at all; both are fine.
    private func send(_ news: News) {
        switch news {
        case .name(let name, let parent):
            // libfuse sends one byte more than the length: the NUL at the end of a C string.
            _ = (name.bytes + [0]).withUnsafeBytes { bytes in
                fuse_lowlevel_notify_inval_entry(
                    session.pointer, parent.rawValue, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), name.bytes.count)
            }
        case .attributes(let inode):
            // A negative offset: only the attributes.
            fuse_lowlevel_notify_inval_inode(session.pointer, inode.rawValue, -1, 0)
        }
    }
}

/// Forwards the tree's notifications.
final class SessionObserver: TreeObserver {
    /// `nil` if its thread could not be started: the kernel's caches then only expire by their timeouts.
    private let notifier: KernelNotifier?
    private let loop: SessionLoop

    init(notifier: KernelNotifier?, loop: SessionLoop) {
        self.notifier = notifier
        self.loop = loop
    }

    func nameChanged(_ name: FileName, in parent: InodeNumber) { notifier?.nameChanged(name, in: parent) }
    func attributesChanged(_ inode: InodeNumber) { notifier?.attributesChanged(inode) }
    func waitUntilTold() { notifier?.waitUntilTold() }
    func pendingEnded() { loop.servePending() }
}
