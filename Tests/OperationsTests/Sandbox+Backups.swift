import TestSupport
import Testing

extension Sandbox {
    /// A store of the example app with three different backups a, b and c.
    /// - Parameter environment: the clock for the backups.
    static func withThreeBackups(_ environment: [String: String]) throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample >/dev/null
            for n in a b c; do
                sqlite3 $S/app/database.sqlite "update expenses set notes = '$n ' || hex(randomblob(200))"
                backupfs backup --label $n --store $S >/dev/null
            done
            """, environment)
        return sandbox
    }
}
