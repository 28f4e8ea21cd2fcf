import Glibc
import SystemIO
import TestSupport

/// The people and programs that use the store at the same time, each with choices of its own.
enum SoakUsers {
    /// What one of them does next.
    typealias Choice = @Sendable (inout SeededGenerator, SoakWorld) -> SoakOperation?

    /// - Parameters:
    ///   - pauseSeconds: between two things that it does.
    ///   - choose: `nil` when there is nothing to do yet.
    static func start(
        _ number: UInt64, _ world: SoakWorld, _ daemon: SoakDaemon, pauseSeconds: ClosedRange<Double>, _ choose: @escaping Choice
    ) throws -> SystemThread {
        let seed = SoakPlan.current.seed &* 1_000 &+ number
        return try SystemThread {
            var random = SeededGenerator(seed: seed)
            while world.pause(seconds: Double.random(in: pauseSeconds, using: &random)) {
                choose(&random, world)?.run(in: world, daemon)
            }
        }
    }

    /// Backs up, by the mount and by the command, which is sometimes killed.
    static let backer: Choice = { random, world in
        let name = "b\(UInt32.random(in: 0...UInt32.max, using: &random))"
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5:
            return SoakOperation(
                kind: "backup by mkdir",
                // EIO tells that files could not be read; which they are stands in the manifest.
                script:
                    "mkdir $M/snapshots/\(name) && sync $M/snapshots/\(name) || { jq -c .unreadable $M/snapshots/\(name)/manifest.json; exit 3; }"
            )
        case 5..<8:
            return SoakOperation(
                kind: "backup by command", script: "exec backupfs backup --store $S --label \(name) --tag soak", usesMount: false)
        default:
            return SoakOperation(
                kind: "backup by command", script: "exec backupfs backup --store $S --label \(name)", usesMount: false,
                killedAfterSeconds: Double.random(in: 0...0.8, using: &random))
        }
    }

    /// Reads backups and live data through the mount, with programs that check what they read.
    static let reader: Choice = { random, world in
        guard let name = world.snapshots.randomElement(using: &random) else { return nil }
        func read(_ kind: String, _ script: String) -> SoakOperation {
            SoakOperation(kind: "read " + kind, script: script, snapshot: name)
        }
        switch Int.random(in: 0..<11, using: &random) {
        case 0, 1: return read("export and database", "python3 $R/verify.py $M/snapshots/$N")
        case 2: return read("archive.zip", "unzip -tqq $M/snapshots/$N/archive.zip")
        case 3: return read("archive.tar", "tar -xf $M/snapshots/$N/archive.tar -O >/dev/null")
        case 4, 5: return read("SHA256SUMS", "cd $M/snapshots/$N && sha256sum --quiet --strict -c SHA256SUMS")
        case 6:
            return read(
                "checksum attribute",
                """
                file=$M/snapshots/$N/\(["export.json", "database.sqlite", "archive.zip"].randomElement(using: &random) ?? "")
                told=$(getfattr --only-values -n user.checksum.sha256 $file); found=$(sha256sum < $file)
                [ "$told" = "${found%% *}" ] || { echo "WRONG checksum of $file: $told"; exit 1; }
                """)
        case 7: return read("tree", "find $M/snapshots/$N -printf '%p %s\\n' >/dev/null")
        case 8:
            let other = world.snapshots.randomElement(using: &random) ?? name
            return SoakOperation(
                kind: "diff", script: "exec backupfs diff --store $S $N \(other) >/dev/null",
                snapshot: name, otherSnapshot: other,
                usesMount: false)
        case 9: return SoakOperation(kind: "read live", script: "python3 $R/verify.py $M/live", readsLive: true)
        default:
            return SoakOperation(
                kind: "read status",
                script: "jq -e .app $M/status.json >/dev/null; ls -l $M >/dev/null; ls $M/exports $M/safety >/dev/null")
        }
    }

    /// Restores in every way there is; sometimes what cannot be restored, and sometimes it is killed. What was dropped is removed
    /// again: until then the mount keeps it, and its memory would grow with each.
    static let restorer: Choice = { random, world in
        guard let name = world.ownSnapshots.randomElement(using: &random) else { return nil }
        let folder = ["restore", "restore/merge", "restore/skip", "restore/replace"].randomElement(using: &random) ?? ""
        let strategy = ["merge", "skip", "replace"].randomElement(using: &random) ?? ""
        let copy = "x\(UInt32.random(in: 0...UInt32.max, using: &random))"
        let command = "exec backupfs restore --store $S --yes --strategy \(strategy)"
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1:
            return SoakOperation(
                kind: "cp archive.zip \(folder)", script: "D=$M/\(folder)/\(copy).zip; cp $M/snapshots/$N/archive.zip $D; rm $D",
                snapshot: name)
        case 2, 3:
            return SoakOperation(
                kind: "cp export.json \(folder)", script: "D=$M/\(folder)/\(copy).json; cp $M/snapshots/$N/export.json $D; rm $D",
                snapshot: name)
        case 4:
            return SoakOperation(
                kind: "cat database.sqlite \(folder)",
                script: "D=$M/\(folder)/\(copy).sqlite; cat $M/snapshots/$N/database.sqlite > $D; rm $D",
                snapshot: name)
        case 5, 6:
            return SoakOperation(
                kind: "restore \(strategy) by command", script: "\(command) $N >/dev/null", snapshot: name, usesMount: false)
        case 7, 8, 9:
            return SoakOperation(
                kind: "restore \(strategy) by command", script: "\(command) $N >/dev/null", snapshot: name, usesMount: false,
                killedAfterSeconds: Double.random(in: 0...1.5, using: &random))
        case 10:
            return SoakOperation(
                kind: "preview",
                script: "cp $M/snapshots/$N/export.json $M/restore/preview/\(copy).json; rm $M/restore/preview/\(copy).json",
                snapshot: name)
        default:
            return SoakOperation(
                kind: "cut off export",
                script: "head -c 3000 $M/snapshots/$N/export.json > $R/tmp/\(copy); cp $R/tmp/\(copy) $M/restore/\(copy).json",
                snapshot: name, refusal: "Invalid argument")
        }
    }

    /// Deletes, renames, prunes and checks.
    static let keeper: Choice = { random, world in
        let oldest = world.ownSnapshots.randomElement(using: &random)
        switch Int.random(in: 0..<11, using: &random) {
        case 0, 1:
            return SoakOperation(
                kind: "forget", script: "exec backupfs forget --store $S --keep-last 8 --yes >/dev/null", usesMount: false)
        case 2:
            return SoakOperation(
                kind: "forget and prune", script: "exec backupfs forget --store $S --keep-last 6 --yes --prune >/dev/null",
                usesMount: false)
        case 3:
            return SoakOperation(
                kind: "prune", script: "exec backupfs prune --store $S --now --max-unused 0 >/dev/null", usesMount: false)
        case 4:
            return SoakOperation(
                kind: "prune", script: "exec backupfs prune --store $S --now --max-unused 0 >/dev/null", usesMount: false,
                killedAfterSeconds: Double.random(in: 0...0.6, using: &random))
        case 5: return SoakOperation(kind: "check", script: "exec backupfs check --store $S", usesMount: false)
        case 6:
            return SoakOperation(
                kind: "check --read-data", script: "exec backupfs check --store $S --read-data", usesMount: false)
        case 7:
            // What was removed last comes back, unless it has been given up meanwhile or its name is taken.
            return SoakOperation(
                kind: "undelete",
                script: """
                    id=$(backupfs snapshots --removed --json --store $S | jq -r '[.[] | select(.own)][-1].id // empty'); [ -n "$id" ] || exit 0
                    backupfs undelete $id --as u-${id:0:8} --store $S 2>$R/tmp/undelete ||
                        grep -q -e 'no removed backup' -e 'no such removed' -e 'another operation' $R/tmp/undelete || { cat $R/tmp/undelete; exit 1; }
                    """, usesMount: false)
        case 8:
            let clock = ["1970-01-02", "2020-02-29", "2100-12-31"].randomElement(using: &random) ?? ""
            return SoakOperation(
                kind: "backup by a wrong clock",
                script:
                    "BACKUPFS_NOW=\(clock)T10:00:00Z exec backupfs backup --store $S --label w\(UInt32.random(in: 0...UInt32.max, using: &random))",
                usesMount: false)
        case 9:
            guard world.snapshots.count > 4, let oldest else { return nil }
            return SoakOperation(kind: "rmdir", script: "rmdir $M/snapshots/$N", snapshot: oldest)
        default:
            guard let oldest else { return nil }
            let name = "m\(UInt32.random(in: 0...UInt32.max, using: &random))"
            return SoakOperation(kind: "rename", script: "mv -T $M/snapshots/$N $M/snapshots/\(name)", snapshot: oldest)
        }
    }

    /// Has a store of its own in the same repository: none of what it does may touch the first one's backups, and the other way
    /// round.
    static let neighbour: Choice = { random, world in
        let name = "\(SoakWorld.otherPrefix)\(UInt32.random(in: 0...UInt32.max, using: &random))"
        func command(_ kind: String, _ script: String, killedAfterSeconds: Double? = nil) -> SoakOperation {
            SoakOperation(kind: "neighbour: \(kind)", script: script, usesMount: false, killedAfterSeconds: killedAfterSeconds)
        }
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1, 2: return command("backup", "exec backupfs backup --store $O --label \(name)")
        case 3:
            return command(
                "backup", "exec backupfs backup --store $O --label \(name)",
                killedAfterSeconds: Double.random(in: 0...0.8, using: &random))
        case 4: return command("forget", "exec backupfs forget --store $O --keep-last 3 --yes >/dev/null")
        case 5: return command("prune", "exec backupfs prune --store $O --now --max-unused 0 >/dev/null")
        case 6: return command("restore", "exec backupfs restore latest --store $O --yes >/dev/null")
        default:
            var operation = command("restore of the first store's backup", "exec backupfs restore first --store $O --yes")
            operation.refusal = "--other-source"
            return operation
        }
    }
}
