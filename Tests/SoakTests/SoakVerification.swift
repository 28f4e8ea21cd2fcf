import TestSupport
import Testing

/// What must be right when everything has come to rest.
struct SoakVerification {
    let world: SoakWorld

    /// - Returns: what is wrong.
    func problems(_ report: (String) -> Void) throws -> [String] {
        var problems: [String] = []
        func require(_ what: String, _ script: String) throws {
            let result = try world.sandbox.run("set -e -o pipefail\n\(script)")
            if result.exitCode != 0 || result.text.contains("WRONG") {
                problems.append("\(what): exit code \(result.exitCode): \(result.text)")
            }
        }
        // The next command finishes what the killed one left.
        try require("a backup after all", "mkdir $M/snapshots/last && sync $M/snapshots/last")
        for name in try world.sandbox.sh("backupfs snapshots --removed --json --store $S | jq -r '.[] | select(.own) | .id'")
            .split(
                separator: "\n")
        {
            try require("undelete \(name)", "backupfs undelete \(name) --as back-\(name.prefix(8)) --store $S")
        }
        let snapshots = world.snapshots
        if !snapshots.contains("first") { problems.append("the backup that was pinned is gone") }
        if !snapshots.contains(where: { $0.hasPrefix(SoakWorld.otherPrefix) }) {
            problems.append("the other store has no backup")
        }
        for name in snapshots {
            let folder = "$M/snapshots/\(name)"
            try require("sha256sum of \(name)", "cd \(folder); sha256sum --quiet --strict -c SHA256SUMS")
            try require("database and export of \(name)", "python3 $R/verify.py \(folder)")
            try require("archive.zip of \(name)", "unzip -tqq \(folder)/archive.zip")
        }
        for name in try world.sandbox.sh("ls $M/safety").split(separator: "\n") {
            try require("safety backup \(name)", "unzip -tqq \"$M/safety/\(name)\"")
        }
        // The newest backup equals the app's data: no process writes now.
        try require("the app's database", "[ \"$(sqlite3 -readonly $S/app/database.sqlite 'pragma integrity_check')\" = ok ]")
        try require(
            "the app's records",
            """
            cmp <(sqlite3 -readonly $S/app/database.sqlite 'select token, text, weight from notes order by token') \
            <(sqlite3 -readonly $M/snapshots/last/database.sqlite 'select token, text, weight from notes order by token')
            """)
        try require("the app's photos", "diff -r $S/app/photos $M/snapshots/last/media")
        try require("check --read-data", "backupfs check --store $S --read-data")
        try require("verify --all", "backupfs verify --store $S --all")
        try require(
            "what is left lying",
            """
            for place in spool app; do find $S/$place -mindepth 1 -maxdepth 1 ! -name CACHEDIR.TAG ! -name 'database.sqlite*' ! -name photos \
            ! -name draft ! -name 'drop-*' -printf 'WRONG left in %p\\n'; done; find $S -name '*.tmp-*' -printf 'WRONG draft %p\\n'
            """)
        let records = try world.sandbox.sh("sqlite3 -readonly $S/app/database.sqlite 'select count(*) from notes'")
        let photos = try world.sandbox.sh("find $S/app/photos -type f | wc -l")
        let size = try world.sandbox.sh("du -sm $S/repository | cut -f1")
        report("verified: \(snapshots.count) snapshots; \(records) notes, \(photos) photos, a repository of \(size) MiB")
        return problems
    }
}
