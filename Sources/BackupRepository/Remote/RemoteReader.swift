import BackupCore
import SystemIO

/// Supplies the contents of a cached repository's packs.
final class RemoteReader: PackSource {
    let cache: PackCache
    let refresher: RemoteRefresher

    init(_ cache: PackCache, _ refresher: RemoteRefresher) {
        self.cache = cache
        self.refresher = refresher
    }

    var location: String { cache.location }
    func open(_ id: PackID) throws(BackupError) -> SharedFile { try cache.open(id) }
    func discard(_ id: PackID) throws(BackupError) { try cache.discard(id) }
    func renew(_ id: PackID) throws(BackupError) { try cache.renew(id) }
    func storedIndex(of id: PackID) -> StoredPackIndex? { refresher.batches.storedIndex(of: id) }
    func prepareCheck() throws(BackupError) {
        try refresher.run(.verification)
        try cache.discardAdopted()
    }
    func findPacks() throws(BackupError) -> Bool { try refresher.findPacks() }
}
