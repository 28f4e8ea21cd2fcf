import BackupCore
import CFUSE
import Glibc
import Synchronization
import SystemIO
import VirtualTree

/// Notifies the kernel of stale cache entries, from a separate thread: the kernel accepts such notifications only while no
/// request is in progress in the folder or link concerned, and the code that changes the tree must not wait for that in the
/// kernel, where it could not be ended.
final class KernelNotifier: Sendable {
    private enum News: Sendable {
        case name(FileName, in: InodeNumber)
        case attributes(InodeNumber)
        case link(InodeNumber)
    }

    private struct State {
        var news: [News] = []
        /// The total numbers of notifications queued and sent.
        var givenCount: UInt64 = 0
        var sentCount: UInt64 = 0
        var isEnding = false
    }

    /// The limit of the queue while the kernel does not accept notifications; beyond it, the kernel's caches only expire by their
    /// timeouts.
    private static let newsLimit = 10_000
    private static let waitNanoseconds: UInt64 = 1_000_000_000

    private let session: ServedSession
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
    init(_ session: ServedSession, _ changes: FolderChanges) throws(BackupError) {
        self.session = session
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

    func linkReplaced(_ inode: InodeNumber) { give(.link(inode)) }

    func waitUntilNotified() {
        let count = state.withLock { $0.givenCount }
        _ = state.wait(until: { $0.sentCount >= count || $0.isEnding }, forNanoseconds: Self.waitNanoseconds)
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
            guard !news.isEmpty, !needsGap(news) || !state.wait(until: { $0.isEnding }, forNanoseconds: Self.gapNanoseconds)
            else { return }
            for item in news {
                guard waitUntilFree(item) else { return }
                send(item)
                state.changeWakingAll { $0.sentCount += 1 }
            }
        }
    }

    private func needsGap(_ news: [News]) -> Bool {
        news.contains { if case .name = $0 { true } else { false } }
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

    private func send(_ news: News) {
        switch news {
        case .name(let name, let parent): session.invalidate(name, in: parent)
        case .attributes(let inode): session.invalidateAttributes(of: inode)
        case .link(let inode): session.invalidateContent(of: inode)
        }
    }
}

/// Forwards the tree's notifications.
final class SessionObserver: TreeObserver {
    /// `nil` if its thread could not be started: the kernel's caches then only expire by their timeouts.
    private let names: KernelNotifier?
    /// For links, on a thread of its own: a change of `snapshots/` waits for these notifications, and those about names wait for
    /// the change.
    private let links: KernelNotifier?
    private let loop: SessionLoop

    init(names: KernelNotifier?, links: KernelNotifier?, loop: SessionLoop) {
        self.names = names
        self.links = links
        self.loop = loop
    }

    func nameChanged(_ name: FileName, in parent: InodeNumber) { names?.nameChanged(name, in: parent) }
    func attributesChanged(_ inode: InodeNumber) { names?.attributesChanged(inode) }
    func linkReplaced(_ inode: InodeNumber) { links?.linkReplaced(inode) }
    var notifiesOfLinks: Bool { links != nil }
    func waitUntilLinksNotified() { links?.waitUntilNotified() }
    func waitUntilNotified() {
        names?.waitUntilNotified()
        links?.waitUntilNotified()
    }
    func pendingEnded() { loop.servePending() }
}
