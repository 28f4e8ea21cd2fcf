import BackupCore
import BackupRepository
import Glibc
import ObjectStorage
import SystemIO
import TestSupport
import Testing

@testable import VirtualTree

/// `remotes/`: what lies elsewhere, as files that can be read and not changed.
struct RemoteTests {
    private let test: TestTree

    /// One remote with the tree's two backups, one that cannot be reached.
    init() throws {
        test = try TestTree()
        let storage = try FolderStorage.make(at: test.path + "/bucket")
        var state = MirrorState()
        _ = try RepositoryMirror(of: test.repository, in: storage).update(&state)
        let remote = try RemoteRepository(in: storage, cacheFolder: test.path + "/cache")
        try remote.refresh()
        let repository = try remote.open(sharingKeysOf: test.repository)
        test.services.state.withLock { state in
            state.remotes = [
                "offsite": .success(repository),
                "attic": .failure(BackupError(.offline, "Cannot access attic. Check your internet connection.")),
            ]
        }
    }

    @Test func `the names and what is in them`() throws {
        let tree = test.tree
        #expect(try tree.names("remotes") == ["attic", "offsite"])
        #expect(try tree.names("remotes/offsite") == ["backups", "export_data"])
        #expect(try tree.names("remotes/offsite/backups") == ["first", "second"])
        #expect(try tree.names("remotes/offsite/export_data") == ["export_1000.json", "export_2000.json"])
        for path in [
            "export.json", "archive.zip", "media/photo.jpg", "data/cars.json", "SHA256SUMS", "media/sub/.hidden",
            "database.sqlite",
        ] {
            #expect(
                try tree.content("remotes/offsite/backups/second/" + path) == tree.content("snapshots/second/" + path), "\(path)")
        }
        #expect(try tree.content("remotes/offsite/export_data/export_1000.json") == Array("{\"name\": \"first\"}\n".utf8))
        #expect(
            try tree.attribute("user.checksum.sha256", "remotes/offsite/backups/first/media/photo.jpg")
                == tree.attribute("user.checksum.sha256", "snapshots/first/media/photo.jpg"))
        // Another inode than that of the same file here: both can be open at once.
        #expect(try tree.find("remotes/offsite/backups/first").inode != tree.find("snapshots/first").inode)
    }

    @Test func `a remote that cannot be reached is listed, and says why it cannot be read`() throws {
        let tree = test.tree
        #expect(try tree.names("remotes/attic") == ["backups", "export_data"])
        for path in ["backups", "export_data"] {
            #expect(errorCode { _ = try tree.names("remotes/attic/" + path) } == .offline)
            #expect(errorCode { try tree.find("remotes/attic/\(path)/first") } == .offline)
            // Probes of file managers need no network.
            #expect(errorCode { try tree.find("remotes/attic/\(path)/.hidden") } == .notFound)
        }
        #expect(errorCode { try tree.find("remotes/cellar") } == .notFound)
        #expect(try tree.names("snapshots").count == 3)
    }

    /// They must not use up the threads of requests for the local repository.
    @Test func `requests that may wait for the network have threads of their own`() throws {
        let tree = test.tree
        for path in ["backups", "backups/first", "backups/first/media", "export_data", "backups/first/media/photo.jpg"] {
            let inode = try tree.find("remotes/offsite/" + path).inode
            #expect(tree.wait(of: inode, for: .content) == .network, "\(path)")
        }
        #expect(try tree.wait(of: tree.find("remotes").inode, for: .content) == nil)
        #expect(try tree.wait(of: tree.find("remotes/offsite").inode, for: .content) == nil)
        #expect(try tree.wait(of: tree.find("remotes/offsite/backups").inode, for: .attributes) == nil)
        #expect(try tree.wait(of: tree.find("snapshots/first/media").inode, for: .content) == .repository)
    }

    @Test func `nothing in it can be changed`() throws {
        let tree = test.tree
        for path in ["remotes", "remotes/offsite", "remotes/offsite/backups", "remotes/offsite/export_data"] {
            let inode = try tree.find(path).inode
            #expect(errorCode { _ = try tree.makeDirectory("new", in: inode) } == .readOnly, "\(path)")
            #expect(
                errorCode { _ = try tree.createFile("new", in: inode, flags: O_WRONLY, process: getpid()) } == .readOnly,
                "\(path)")
        }
        let backups = try tree.find("remotes/offsite/backups").inode
        #expect(errorCode { try tree.removeDirectory("first", in: backups) } == .readOnly)
        #expect(errorCode { try tree.rename("first", in: backups, to: "x", in: backups, mayReplace: false) } == .readOnly)
        let first = try tree.find("remotes/offsite/backups/first").inode
        #expect(errorCode { try tree.setExtendedAttribute("user.backupfs.pinned", of: first, to: [49]) } == .readOnly)
        #expect(errorCode { try tree.removeExtendedAttribute("user.backupfs.pinned", of: first) } == .readOnly)
        #expect(test.repository.snapshots().allSatisfy { !$0.isPinned })
    }

    /// The local repository may not have the chunks, or has them in other packs.
    @Test func `a copy of a remote's file into restore is a copy of its bytes`() throws {
        let tree = test.tree
        let source = try tree.openFile(tree.find("remotes/offsite/backups/first/export.json").inode, flags: O_RDONLY, process: 7)
        let drop = try tree.createFile("old.json", in: tree.find("restore").inode, flags: O_WRONLY | O_CREAT, process: 7).file
        let count = try tree.copy(from: source.handle, at: 0, to: drop.handle, at: 0, count: 1 << 20)
        #expect(count == 18)
        // It does not end with a full stop.
        #expect(errorCode { try tree.flush(drop.handle, process: 7) } == .invalidContent)
        #expect(test.services.submissions == ["restore old.json: {\"name\": \"first\"}\n"])
        #expect(test.services.state.withLock { $0.storedSubmissionCount } == 0)
        tree.release(drop.handle)
        tree.release(source.handle)
    }
}
