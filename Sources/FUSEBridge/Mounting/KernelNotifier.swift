import BackupCore
import CFUSE
import Glibc
import Synchronization
import SystemIO
import VirtualTree

/// Notifies the kernel of stale cache entries, from a separate thread: it takes back the target of a link only when no request
/// about it is in progress, and the code that changes the tree must not wait for that in the kernel, where it could not be ended.
final class KernelNotifier: Sendable {
    private enum News: Sendable {
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
    private let state = Monitor(State())
    private let thread = Mutex<SystemThread?>(nil)

    /// - Parameter session: mounted; must live until `end` has returned.
    init(_ session: ServedSession) throws(BackupError) {
        self.session = session
        let thread = try SystemThread { [self] in serve() }
        self.thread.withLock { $0 = thread }
    }

    /// Ends the thread; unsent notifications are dropped. It may be waiting for an answer about a link, so requests must still be
    /// answered, or the mount must be gone. Call it once.
    func end() {
        state.changeWakingAll { state in
            state.isEnding = true
            state.news = []
        }
        thread.withLock { $0 }?.join()
    }

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
            guard !news.isEmpty else { return }
            for item in news {
                send(item)
                state.changeWakingAll { $0.sentCount += 1 }
            }
        }
    }

    private func send(_ news: News) {
        switch news {
        case .attributes(let inode): session.invalidateAttributes(of: inode)
        case .link(let inode): session.invalidateContent(of: inode)
        }
    }
}

/// Forwards the tree's notifications.
final class SessionObserver: TreeObserver {
    /// `nil` if its thread could not be started: the kernel's caches then only expire by their timeouts.
    private let attributes: KernelNotifier?
    /// For links, on a thread of its own: unlike the others, these can wait.
    private let links: KernelNotifier?
    private let loop: SessionLoop

    init(attributes: KernelNotifier?, links: KernelNotifier?, loop: SessionLoop) {
        self.attributes = attributes
        self.links = links
        self.loop = loop
    }

    func attributesChanged(_ inode: InodeNumber) { attributes?.attributesChanged(inode) }
    func linkReplaced(_ inode: InodeNumber) { links?.linkReplaced(inode) }
    var notifiesOfLinks: Bool { links != nil }
    func waitUntilLinksNotified() { links?.waitUntilNotified() }
    func waitUntilNotified() {
        attributes?.waitUntilNotified()
        links?.waitUntilNotified()
    }
    func pendingEnded() { loop.servePending() }
}
