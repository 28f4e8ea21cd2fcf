import BackupCore
import Foundation
import TestSupport
import Testing

@testable import VirtualTree

/// What is kept of a spool that is cleared.
struct RemainingDropsTests {
    private func sh(_ folder: TemporaryFolder, _ script: String) throws -> String {
        let result = try run(["bash", "-ec", script], in: folder.path)
        try #require(result.status == 0, "\(result)")
        return result.output.trimmingCharacters(in: .newlines)
    }

    @Test func `a file whose note cannot be read stays`() throws {
        let folder = try TemporaryFolder()
        _ = try sh(
            folder,
            """
            mkdir spool; cd spool; for name in good bad odd judged; do echo $name > drop-$name; done
            printf movie.part > drop-good.left; printf ../x > drop-odd.left; head -c 300 /dev/zero > drop-bad.left
            : > drop-empty; printf empty.part > drop-empty.left
            """)
        let outcome = try RemainingDrops.clear(folder("spool"), keepingIn: folder("left"))
        #expect(outcome.kept == ["movie.part", "drop-odd"] && outcome.failure?.code == .tooLarge)
        #expect(try sh(folder, "cd left; head *") == "==> drop-odd <==\nodd\n\n==> movie.part <==\ngood")
        #expect(try sh(folder, "cat spool/drop-bad; ls spool | paste -sd' '") == "bad\ndrop-bad drop-bad.left")
    }
}
