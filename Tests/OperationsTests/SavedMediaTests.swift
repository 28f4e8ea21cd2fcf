import BackupCore
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository
@testable import Operations
@testable import Restore

struct SavedMediaTests {
    /// A file that is not held must not be removed.
    @Test func `R-C11: a stored file without a checksum does not hold a file that changes while it is read`() throws {
        let room = try Room()
        try room.sh("mkdir $R/media; printf new > $R/media/x; touch -d 2024-01-01 $R/media/x")
        let old = try FileSystem.status(room("media/x"))
        // Size and modification time stay, but not the change time.
        try room.sh("touch -d 2024-01-01 $R/media/x; chmod 600 $R/media/x")
        let file = ReplacedFile(
            "x", in: try DirectoryHandle(path: room("media"), followsLink: false), path: Array("x".utf8), old,
            changeTime: old.changeTime)
        #expect(try file.digest() == nil)
        let entry = TreeEntry(
            name: "x", kind: .file, mode: 0o100600, modificationTime: old.modificationTime,
            content: FileContent(literal: Array("old".utf8)), checksums: nil, totals: nil, sourceIdentity: nil, metadata: nil)
        #expect(try !entry.holds(file))
    }
}
