import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Where the catalog lies: beside the packs only where its lengths give nothing away and no other machine can use it.
@Suite struct CatalogLocationTests {
    private let folder: TemporaryFolder
    private var path: String { folder("repository") }
    private static let photo = TestData.random(100_000, seed: 1)
    private static let secret = EncryptionTests.secret("correct horse")

    init() throws { folder = try TemporaryFolder() }

    private var home: CatalogHome { .folder(folder("store")) }

    private func createEncrypted() throws -> Repository {
        try Repository.create(at: path, password: Self.secret, catalogHome: home, cost: EncryptionTests.cheap)
    }

    private func openEncrypted(_ home: CatalogHome) throws -> Repository {
        try Repository.open(at: path, secret: { (_) throws(BackupError) in .password(Self.secret) }, catalogHome: home)
    }

    /// What lies in the repository's folder and begins so.
    private func catalogFiles(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("catalog.sqlite") }.sorted()
    }

    @Test("R-A20: the catalog of an encrypted repository lies in the store, not in the repository")
    func theCatalogOfAnEncryptedRepositoryLiesInTheStore() throws {
        let repository = try createEncrypted()
        try repository.makeWriter().commit(named: "a", files: [("photo", Self.photo, .media)])
        #expect(repository.catalog.path.hasPrefix(folder("store/\(repository.id)/")))
        #expect(try FileSystem.exists(repository.catalog.path))
        #expect(try catalogFiles(path) == [])
        let again = try openEncrypted(home)
        #expect(again.catalog.path == repository.catalog.path && again.catalog.damage == nil)
        #expect(try again.file("photo", in: "a") == Self.photo)
        #expect(try catalogFiles(path) == [])
        #expect(try FileSystem.status(repository.catalog.path).mode & 0o777 == 0o600)
        #expect(try FileSystem.status(FileSystem.parentPath(repository.catalog.path)).mode & 0o777 == 0o700)
    }

    @Test("R-A20: the catalog that an older program left in an encrypted repository is removed once there is another")
    func anOutdatedCatalogIsRemoved() throws {
        let repository = try createEncrypted()
        try repository.makeWriter().commit(named: "a", files: [("photo", Self.photo, .media)])
        // As an older program leaves it: the same tables beside the packs.
        let beside = CatalogLocation(folder: path, isBesidePacks: true)
        do {
            let old = try CatalogDatabase.open(beside, repositoryID: repository.id)
            #expect(try FileSystem.exists(old.path))
        }
        try FileSystem.removeTree(folder("store"))
        let again = try openEncrypted(home)
        #expect(try catalogFiles(path) == [])
        #expect(try again.file("photo", in: "a") == Self.photo)
        // Where nothing but memory takes its place, it stays: nothing is gained but time.
        do { _ = try CatalogDatabase.open(beside, repositoryID: repository.id) }
        _ = try openEncrypted(.memory)
        #expect(try catalogFiles(path).contains("catalog.sqlite"))
    }

    @Test("A plain repository on a file system of this machine has its catalog beside the packs")
    func aPlainRepositoryHasItBesideThePacks() throws {
        let repository = try Repository.create(at: path, catalogHome: home)
        try repository.makeWriter().commit(named: "a", files: [("photo", Self.photo, .media)])
        #expect(repository.catalog.path == path + "/catalog.sqlite")
        #expect(try !FileSystem.exists(folder("store")))
    }

    @Test("R-B1: on a shared file system the catalog lies in a folder of this machine's own")
    func onASharedFileSystemItLiesElsewhere() throws {
        let repository = try Repository.create(at: path)
        let layout = repository.layout
        func places(_ home: CatalogHome, isEncrypted: Bool = false, shared: [String]) -> [String] {
            let places = CatalogLocations(layout, repositoryID: "id", isEncrypted: isEncrypted, home: home) { path in
                shared.contains { path.hasPrefix($0) }
            }
            return places.all.map(\.folder)
        }
        let store = folder("store")
        #expect(places(.folder(store), shared: []).first == path)
        let onShare = places(.folder(store), shared: [path])
        #expect(onShare.first?.hasPrefix(store + "/id/") == true && !onShare.contains(path))
        // A store on a share as well: the cache of this machine comes first.
        let cache = try #require(Environment.text("XDG_CACHE_HOME") ?? Environment.text("HOME"))
        #expect(places(.folder(store), shared: [path, store]).first?.hasPrefix(cache) == true)
        #expect(places(.cache, isEncrypted: true, shared: []).first?.hasPrefix(cache) == true)
        #expect(places(.memory, isEncrypted: true, shared: []).isEmpty)
        // Two copies of a repository have two catalogs.
        let copy = CatalogLocations(RepositoryLayout(path: folder("copy")), repositoryID: "id", isEncrypted: true, home: .cache)
        #expect(copy.all.map(\.folder) != places(.cache, isEncrypted: true, shared: []))
        // And one that is there is used: with a catalog elsewhere everything is found.
        try repository.makeWriter().commit(named: "a", files: [("photo", Self.photo, .media)])
        let elsewhere = CatalogLocations(layout, repositoryID: repository.id, isEncrypted: false, home: home) { _ in true }
        let catalog = try Catalog(layout: layout, repositoryID: repository.id, places: elsewhere, protection: .none)
        #expect(try catalog.totals() == repository.totals() && catalog.path.hasPrefix(store))
        // Older programs, and other machines, go on with theirs.
        #expect(try FileSystem.exists(path + "/catalog.sqlite"))
    }

    @Test("FUSE is a shared file system, and what the system lies on is none")
    func sharedFileSystemsAreKnown() throws {
        #expect(try !FileSystem.isShared("/dev/shm/not/there"))
        #expect(!FileSystem.isReadOnly(folder.path))
    }

    @Test(
        "R-A18: on a read-only medium the catalog that is there is used, and not one in memory",
        .enabled(if: Machine.isRoot, "only root can mount a medium read-only"))
    func onAReadOnlyMediumTheFileIsUsed() throws {
        do {
            let repository = try Repository.create(at: path)
            try repository.makeWriter().commit(named: "a", files: [("photo", Self.photo, .media)])
        }
        #expect(try run(["mount", "--bind", path, path]).status == 0)
        defer { _ = try? run(["umount", path]) }
        try #require(run(["mount", "-o", "remount,bind,ro", path]).status == 0)
        #expect(FileSystem.isReadOnly(path))
        let before = try catalogFiles(path)
        let repository = try Repository.open(at: path, catalogHome: home)
        #expect(repository.catalog.path == path + "/catalog.sqlite")
        #expect(try repository.file("photo", in: "a") == Self.photo)
        #expect(try catalogFiles(path) == before)
        #expect(try !FileSystem.exists(folder("store")))
    }

    @Test(
        "R-A18: where the catalog of a read-only medium lacks a pack, another is made in the store and kept",
        .enabled(if: Machine.isRoot, "only root can mount a medium read-only"))
    func anIncompleteCatalogOfAReadOnlyMediumIsMadeElsewhere() throws {
        do {
            let repository = try Repository.create(at: path)
            try repository.makeWriter().commit(named: "a", files: [("photo", Self.photo, .media)])
            let catalog = try readFile(path + "/catalog.sqlite")
            try repository.makeWriter().commit(named: "b", files: [("other", TestData.random(9_000, seed: 2), .media)])
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + "/catalog.sqlite" + suffix) }
            try writeFile(path + "/catalog.sqlite", catalog)
        }
        #expect(try run(["mount", "--bind", path, path]).status == 0)
        defer { _ = try? run(["umount", path]) }
        try #require(run(["mount", "-o", "remount,bind,ro", path]).status == 0)
        let repository = try Repository.open(at: path, catalogHome: home)
        #expect(repository.catalog.path.hasPrefix(folder("store")))
        #expect(try repository.file("other", in: "b") == TestData.random(9_000, seed: 2))
        let number = try FileSystem.status(repository.catalog.path).inode
        let again = try Repository.open(at: path, catalogHome: home)
        #expect(try FileSystem.status(again.catalog.path).inode == number)
        #expect(try again.file("photo", in: "a") == Self.photo)
    }

    /// A mount goes on reading while the disk is exchanged for another one.
    @Test(arguments: [true, false]) func `reading makes no catalog in another repository at the same path`(isEncrypted: Bool)
        throws
    {
        let repository = try Repository.create(at: path)
        try repository.makeWriter().commit(named: "a", files: [("photo", Self.photo, .media)])
        try FileManager.default.moveItem(atPath: path, toPath: folder("away"))
        if isEncrypted { _ = try createEncrypted() } else { _ = try Repository.create(at: path, catalogHome: home) }
        let before = try catalogFiles(path)
        let bytes = try before.map { try readFile("\(path)/\($0)") }
        _ = try? repository.refresh()
        _ = try? repository.packs()
        _ = try? repository.catalog.reconcile()
        #expect(throws: BackupError.self) { try repository.catalog.locate([ChunkID(SHA256Hasher.hash([1]))]) }
        #expect(try catalogFiles(path) == before)
        #expect(try before.map { try readFile("\(path)/\($0)") } == bytes)
        // The right disk is back.
        try FileManager.default.moveItem(atPath: path, toPath: folder("other"))
        try FileManager.default.moveItem(atPath: folder("away"), toPath: path)
        try repository.refresh()
        #expect(try repository.file("photo", in: "a") == Self.photo)
    }
}
