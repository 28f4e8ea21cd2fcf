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
        let sandbox = try Sandbox()
        try sandbox.sh("mkdir $R/media; printf new > $R/media/x; touch -d 2024-01-01 $R/media/x")
        let old = try FileSystem.status(sandbox("media/x"))
        // Size and modification time stay, but not the change time.
        try sandbox.sh("touch -d 2024-01-01 $R/media/x; chmod 600 $R/media/x")
        let file = ReplacedFile(
            "x", in: try DirectoryHandle(path: sandbox("media"), followsLink: false), path: Array("x".utf8), old,
            changeTime: old.changeTime)
        #expect(try file.digest() == nil)
        let entry = TreeEntry(
            name: "x", kind: .file, mode: 0o100600, modificationTime: old.modificationTime,
            content: FileContent(literal: Array("old".utf8)), recorded: nil, totals: nil, sourceIdentity: nil, metadata: nil)
        #expect(try !entry.holds(file))
    }
}
