import BackupCore
import Glibc
import ObjectStorage
import Synchronization
import SystemIO

/// The packs of a repository in an object storage, as sparse files that are filled while they are read. Several processes can
/// share one cache.
///
/// A file is never emptied in place, because another reader may have just learned that a block is in it: an empty one with
/// another inode takes its place, and the name of a map has the inode of its file.
final class PackCache: Sendable {
    private struct Weak {
        weak var pack: CachedPack?
    }

    private struct Key: Hashable {
        let pack: PackID
        let inode: UInt64
    }

    /// A larger object is no pack. File systems refuse files of such sizes, and a map of one would take all memory.
    static let packLimitBytes: UInt64 = 64 << 30
    /// Above this number, entries of closed packs are forgotten.
    private static let openLimit = 256

    let layout: RepositoryLayout
    let transfers: RemoteTransfers
    private let maps: String
    /// For files that are being added. Not the repository's own folder, which each writer cleans.
    let temporaryFolder: String
    private let limitBytes: UInt64
    private let open = Mutex<[Key: Weak]>([:])

    /// - Parameters:
    ///   - layout: of the cached repository's folder.
    ///   - folder: of the cache: for the maps, and for what is being added.
    ///   - limitBytes: how much disk space the packs may take. It is looked at from time to time, so that they may take an
    ///     eighth more.
    init(_ storage: any ObjectStorage, layout: RepositoryLayout, folder: String, limitBytes: UInt64) {
        self.layout = layout
        maps = "\(folder)/maps"
        temporaryFolder = "\(folder)/tmp"
        self.limitBytes = limitBytes
        transfers = RemoteTransfers(storage, sweepIntervalBytes: max(limitBytes / 8, 1 << 20))
        transfers.useSweep { [weak self] isFull in self?.sweep(isFull: isFull) ?? false }
    }

    /// Where the packs are, for messages.
    var location: String { transfers.location }

    // MARK: Packs

    /// Opens a pack for reading.
    /// - Throws: `notFound` when the storage has no such pack; `offline` when the cache has lost it and the storage cannot be
    ///   asked.
    func open(_ id: PackID) throws(BackupError) -> SharedFile {
        do throws(BackupError) {
            return try cached(id).reader()
        } catch {
            guard error.code == .notFound else { throw error }
            // The cache can be removed at any time.
            let name = MirrorObject.pack(id).name
            guard let facts = try transfers.look(name) else {
                throw BackupError(.notFound, "the pack is gone", path: "\(location)/\(name)")
            }
            guard facts.sizeBytes <= Self.packLimitBytes else {
                throw BackupError(
                    .repositoryDamaged, "the pack has \(facts.sizeBytes) bytes, which is too much for a pack",
                    path: "\(location)/\(name)", remedy: "Look for damage with: backupfs check --remote")
            }
            try insert(id, sizeBytes: facts.sizeBytes)
            return try cached(id).reader()
        }
    }

    /// Makes the folders, also those that were removed while a program uses the cache.
    func makeFolders() throws(BackupError) {
        for path in [layout.temporary, temporaryFolder, maps] { try FileSystem.makeDirectories(path, isDurable: false) }
    }

    /// Replaces a small file of the cached repository, without waiting for the disk.
    func replaceFile(_ path: String, _ bytes: [UInt8], modificationTime: Timestamp? = nil) throws(BackupError) {
        try FileSystem.makeDirectories(FileSystem.parentPath(path), isDurable: false)
        try PrivateFile.publish(
            bytes, to: path, temporaryFolder: temporaryFolder, modificationTime: modificationTime, isDurable: false)
    }

    /// The open pack, which all readers of this process share.
    func cached(_ id: PackID) throws(BackupError) -> CachedPack {
        let path = layout.packPath(of: id)
        let file = try OwnedDescriptor.open(path, O_RDWR)
        let inode = try file.status().inode
        let key = Key(pack: id, inode: inode)
        if let known = open.withLock({ $0[key]?.pack }) { return known }
        let map = try OwnedDescriptor.open(mapPath(id, inode), O_RDWR | O_CREAT, permissions: 0o600)
        // The time of the last use, for the sweep.
        _ = futimens(map.rawValue, nil)
        let pack = try CachedPack(MirrorObject.pack(id).name, file, map, transfers)
        return open.withLock { open in
            if let known = open[key]?.pack { return known }
            if open.count > Self.openLimit { open = open.filter { $0.value.pack != nil } }
            open[key] = Weak(pack: pack)
            return pack
        }
    }

    /// Adds an empty file for a pack that is not in the cache, with its index.
    /// - Parameter sizeBytes: of the pack.
    /// - Throws: errors of the storage. A damaged pack is added as well: readers report it.
    func add(_ id: PackID, sizeBytes: UInt64) throws(BackupError) {
        try insert(id, sizeBytes: sizeBytes) { (pack) throws(BackupError) in try Self.fillIndex(of: id, pack) }
    }

    /// - Returns: whether the index is whole.
    @discardableResult
    private static func fillIndex(of id: PackID, _ pack: CachedPack) throws(BackupError) -> Bool {
        // The end first: with it comes most of the index. A small pack is transferred at once.
        let sizeBytes = pack.sizeBytes
        let tail = sizeBytes <= 1 << 20 ? sizeBytes : CachedPack.blockSizeBytes
        do throws(BackupError) {
            try pack.fill(sizeBytes - min(tail, sizeBytes)..<sizeBytes)
            try PackIndex.verifyIndex(pack.reader(), pack: id)
            return true
        } catch {
            guard error.code == .repositoryDamaged || error.code == .damagedContent else { throw error }
            return false
        }
    }

    /// Adds an empty file for a pack whose index is known otherwise. There may be a hundred thousand of them at once, so this
    /// makes as few system calls as possible; the folders of the cache must be there.
    /// - Parameter sizeBytes: of the pack.
    func addEmpty(_ id: PackID, sizeBytes: UInt64) throws(BackupError) {
        let path = layout.packPath(of: id)
        let draft = "\(temporaryFolder)/\(RandomToken.make())"
        let file = try PrivateFile.createFile(draft)
        do throws(BackupError) {
            try file.truncate(to: sizeBytes)
            // Of a file of the past that had this inode.
            try FileSystem.removeFile(mapPath(id, try file.status().inode))
            do throws(BackupError) {
                try FileSystem.rename(draft, to: path)
            } catch {
                guard error.code == .notFound else { throw error }
                try FileSystem.makeDirectories(FileSystem.parentPath(path), isDurable: false)
                try FileSystem.rename(draft, to: path)
            }
        } catch {
            try? FileSystem.removeFile(draft)
            throw error
        }
    }

    /// The same for packs that a batch of indexes names.
    func addEmpty(_ packs: [IndexBatch.PackPart]) throws(BackupError) {
        for pack in packs where pack.packSizeBytes <= Self.packLimitBytes {
            try addEmpty(pack.id, sizeBytes: pack.packSizeBytes)
        }
    }

    /// Takes over the file of a pack that the storage has just got. It is whole, so nothing of it need be transferred.
    /// - Parameter isStored: whether a check of the storage may use it, too. A check of a copy is about the bytes of the copy.
    func adopt(_ id: PackID, from file: String, isStored: Bool = true) throws(BackupError) {
        try makeFolders()
        let status = try FileSystem.status(file)
        let map = mapPath(id, status.inode)
        try FileSystem.removeFile(map)
        let count = (status.size + CachedPack.blockSizeBytes - 1) / CachedPack.blockSizeBytes
        let mark = isStored ? CachedPack.presentMark : CachedPack.adoptedMark
        try PrivateFile.createFile(map).writeAll([UInt8](repeating: mark, count: Int(count)))
        let path = layout.packPath(of: id)
        try FileSystem.makeDirectories(FileSystem.parentPath(path), isDurable: false)
        try FileSystem.rename(file, to: path)
        transfers.noteCached(status.size)
    }

    /// Forgets what was transferred of a pack, so that it is transferred again.
    func discard(_ id: PackID) throws(BackupError) {
        let path = layout.packPath(of: id)
        guard let status = try FileSystem.look(path) else { return }
        try insert(id, sizeBytes: status.size)
        try FileSystem.removeFile(mapPath(id, status.inode))
    }

    func renew(_ id: PackID) throws(BackupError) {
        guard let status = try FileSystem.look(layout.packPath(of: id)) else { return }
        guard try transfers.look(MirrorObject.pack(id).name) != nil else { return try remove(id) }
        try insert(id, sizeBytes: status.size) { (pack) throws(BackupError) in
            // Of a pack that is none, nothing more is worth a transfer.
            guard try Self.fillIndex(of: id, pack) else { return }
            do throws(BackupError) {
                try pack.fill(0..<pack.sizeBytes)
            } catch {
                guard error.code == .repositoryDamaged else { throw error }
            }
        }
        try FileSystem.removeFile(mapPath(id, status.inode))
    }

    /// Forgets the packs that were never read in the storage.
    func discardAdopted() throws(BackupError) {
        for name in try FileSystem.names(in: maps) {
            guard let id = Self.pack(ofMap: name), let file = try? OwnedDescriptor.open("\(maps)/\(name)", O_RDONLY),
                (try? file.readExactly(at: 0, count: 1)) == [CachedPack.adoptedMark]
            else { continue }
            try discard(id)
        }
    }

    /// Removes a pack that the storage has no longer.
    func remove(_ id: PackID) throws(BackupError) {
        let path = layout.packPath(of: id)
        guard let status = try FileSystem.look(path) else { return }
        try FileSystem.removeFile(path)
        try FileSystem.removeFile(mapPath(id, status.inode))
    }

    private func insert(
        _ id: PackID, sizeBytes: UInt64, prepare: (CachedPack) throws(BackupError) -> Void = { _ in }
    ) throws(BackupError) {
        let path = layout.packPath(of: id)
        try makeFolders()
        try FileSystem.makeDirectories(FileSystem.parentPath(path), isDurable: false)
        let draft = "\(temporaryFolder)/\(RandomToken.make())"
        let file = try PrivateFile.createFile(draft)
        var map: String?
        do throws(BackupError) {
            try file.truncate(to: sizeBytes)
            let mapPath = mapPath(id, try file.status().inode)
            map = mapPath
            // Of a file of the past that had this inode.
            try FileSystem.removeFile(mapPath)
            let marks = try OwnedDescriptor.open(mapPath, O_RDWR | O_CREAT, permissions: 0o600)
            try prepare(CachedPack(MirrorObject.pack(id).name, file, marks, transfers))
            try FileSystem.rename(draft, to: path)
        } catch {
            try? FileSystem.removeFile(draft)
            if let map { try? FileSystem.removeFile(map) }
            throw error
        }
    }

    private func mapPath(_ id: PackID, _ inode: UInt64) -> String { "\(maps)/\(id.hexadecimal).\(inode)" }

    // MARK: Space

    /// Empties the packs that were not used for the longest time, until the others take at most seven eighths of the limit.
    /// - Parameter isFull: the disk is full: half of what is there is given up.
    /// - Returns: whether any was emptied.
    @discardableResult
    func sweep(isFull: Bool = false) -> Bool {
        removeAbandoned()
        var used: [(pack: PackID, lastUse: Timestamp, bytes: UInt64)] = []
        for name in (try? FileSystem.names(in: maps)) ?? [] {
            let path = "\(maps)/\(name)"
            guard let map = FileSystem.statusIfPresent(path) else { continue }
            guard let id = Self.pack(ofMap: name), let status = FileSystem.statusIfPresent(layout.packPath(of: id)),
                mapPath(id, status.inode) == path
            else {
                // Of a pack that is being added, or of one that is gone.
                if map.modificationTime.secondsSince(SystemClock.now()) < -86_400 { try? FileSystem.removeFile(path) }
                continue
            }
            if status.allocatedBytes > 0 { used.append((id, map.modificationTime, status.allocatedBytes)) }
        }
        var total = used.reduce(UInt64(0)) { $0 + $1.bytes }
        let goal = isFull ? total / 2 : limitBytes / 8 * 7
        guard isFull || total > limitBytes else { return false }
        var isAnyEmptied = false
        for pack in used.sorted(by: { $0.lastUse < $1.lastUse }) where total > goal {
            // On a full disk, there may be no place for the empty file; then the pack is removed, and added when it is read.
            if (try? discard(pack.pack)) == nil, (try? remove(pack.pack)) == nil { continue }
            total -= pack.bytes
            isAnyEmptied = true
        }
        return isAnyEmptied
    }

    /// Removes what a killed program was adding.
    private func removeAbandoned() {
        for name in (try? FileSystem.names(in: temporaryFolder)) ?? [] {
            let path = "\(temporaryFolder)/\(name)"
            guard let status = FileSystem.statusIfPresent(path), status.kind == .regular else { continue }
            if SystemClock.systemTime().secondsSince(status.modificationTime) > 86_400 { try? FileSystem.removeFile(path) }
        }
    }

    private static func pack(ofMap name: FileName) -> PackID? {
        let digits = name.bytes.prefix(64)
        guard digits.count == 64, let digest = SHA256Digest(hexadecimal: String(decoding: digits, as: UTF8.self)) else {
            return nil
        }
        return PackID(digest)
    }
}
