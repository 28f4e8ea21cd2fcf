import BackupCore
import BackupRepository
import Synchronization

/// The open repositories of the store's remotes, each with the caches of its part of the tree.
final class RemoteContexts: Sendable {
    private let services: any TreeServices
    private let isSharedWithOthers: Bool
    private let opened = Mutex<[String: TreeContext]>([:])

    init(services: any TreeServices, isSharedWithOthers: Bool) {
        self.services = services
        self.isSharedWithOthers = isSharedWithOthers
    }

    /// The remotes' names, sorted.
    var names: [String] { services.remoteNames.sorted() }

    /// - Throws: as `TreeServices.remoteRepository`.
    func context(of name: String) throws(BackupError) -> TreeContext {
        let repository = try services.remoteRepository(named: name)
        return opened.withLock { opened in
            if let known = opened[name], known.repository === repository { return known }
            let context = TreeContext(services: services, repository: repository, isSharedWithOthers: isSharedWithOthers)
            opened[name] = context
            return context
        }
    }
}
