import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository
@testable import Operations

/// Photos with times that no camera produces (T-A7, R-A16). In-memory file systems and btrfs keep every time; others the nearest
/// they can.
struct ExtremeMediaTests {
    @Test func `photos of any time are backed up, listed and restored`() throws {
        let sandbox = try Sandbox()
        let media = try TemporaryFolder(inMemory: true)
        let script = """
            import os, sys
            for number, seconds in enumerate([-2**63, -2**63 + 1, -62167219201, -1, 0, 1, 253402300800, 2**63 - 1]):
                path = f"{sys.argv[1]}/{number}.jpg"
                open(path, "w").write(str(number))
                os.utime(path, ns=(0, seconds * 10**9))
            """
        try sandbox.write(script, to: "times.py")
        try sandbox.sh(
            """
            export M=\(media.path)/photos; mkdir $M; python3 $R/times.py $M
            backupfs init --store $S --app photo-library --media $M
            backupfs backup --store $S --label a
            for command in "ls a" "ls a --json" "find *.jpg --json" "status"; do backupfs $command --store $S > /dev/null; done
            # The file system that it is tried on may not keep such times.
            backupfs verify a --store $S > /dev/null || [ $? -eq 1 ]
            rm $M/3.jpg; backupfs restore a --yes --store $S > /dev/null
            cat $M/*.jpg | tr -d '\\n' > $R/all; [ "$(cat $R/all)" = 01234567 ]
            """)
    }

    @Test func `space for whatever a repository claims is not there`() throws {
        let sandbox = try Sandbox()
        var reader = ByteReader([UInt8](repeating: 0xff, count: 56))
        let totals = try DirectoryTotals(decoding: &reader)
        #expect(errorCode { try FolderRestore.requireRoom(for: totals, moreBytes: .max, at: sandbox.path) } == .noSpace)
    }
}
