import TestSupport
import Testing

/// The promise about `copy/`, as in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct CopySetSemanticsTests {
    @Test func `S82: what close has accepted is at every destination, also when the mount is killed then`() throws {
        try Sandbox.use { sandbox in
            try CopySetTests.make(in: sandbox)
            try sandbox.mount()
            try sandbox.sh("cp -a $R/card $M/copy/cards/")
            let process = try #require(sandbox.processes.first?.number)
            try sandbox.sh("kill -9 \(process); wait_until '! [ -e /proc/\(process) ]'; fusermount3 -uz $M")
            for destination in ["a", "b"] {
                #expect(
                    try sandbox.sh(
                        "diff -r --no-dereference $R/card $R/\(destination)/card; rsync -naXl --itemize-changes --delete $R/card/ $R/\(destination)/card/"
                    ) == "")
            }
            #expect(try sandbox.sh("find $R/a $R/b -name '*part*'") == "")
        }
    }
}
