import BackupCore
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Errors keep what led to them; users see the same texts with and without it.
struct CauseTests {
    @Test func `an error in other words keeps its parts, and the one below it as its cause`() throws {
        let lower = SystemCall.error(EACCES, action: "open the file", path: "/secret/pack")
        let upper = lower.with(.inputOutput, "the repository cannot be reached: \(lower.message)", path: "/repository")
        #expect(upper.message == "the repository cannot be reached: could not open the file: Permission denied")
        #expect(upper.path == "/repository" && upper.remedy == lower.remedy && upper.code == .inputOutput)
        #expect(upper.causeChain == "accessDenied < open the file: EACCES")
        #expect(upper.at("/elsewhere").causeChain == upper.causeChain)
        guard case .error(let cause)? = upper.cause else { throw BackupError(.notFound, "no cause") }
        #expect(cause.path == "/secret/pack" && cause.message == lower.message)
    }

    @Test func `the chain has no values: neither paths nor new names`() throws {
        let name = "secret.jpg"
        #expect(SystemCall.error(EEXIST, action: "rename to \(name)", path: "/x").causeChain == "rename to {0}: EEXIST")
        #expect(BackupError(.busy, "it is busy").causeChain == nil)
        #expect(BackupError(.inputOutput, "it failed").caused(by: .sqlite(code: 266)).causeChain == "SQLite 266")
        #expect(SystemCall.name(ENOENT) == "ENOENT" && SystemCall.name(9_999) == "errno 9999")
    }

    @Test func `the log has the chain at the level debug alone`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null")
        func causes(_ level: String) throws -> String {
            try sandbox.sh(
                """
                rm -f $S/backupfs.log; ! backupfs export --json -o $R/none/x.json --log-level \(level) --store $S 2>/dev/null
                jq -r 'select(.phase == "ended") | .causes' $S/backupfs.log
                """)
        }
        #expect(try causes("debug").hasSuffix("open the file: ENOENT"))
        #expect(try causes("info") == "null")
    }
}
