import TestSupport
import Testing

extension Room {
    /// A store of the example app with three different backups a, b and c.
    /// - Parameter environment: the clock for the backups.
    static func withThreeBackups(_ environment: [String: String]) throws -> Room {
        let room = try Room()
        try room.sh(
            """
            backupfs init --store $S --sample >/dev/null
            for n in a b c; do
                sqlite3 $S/app/database.sqlite "update expenses set notes = '$n ' || hex(randomblob(200))"
                backupfs backup --label $n --store $S >/dev/null
            done
            """, environment)
        return room
    }
}
