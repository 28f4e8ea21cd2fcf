import Foundation
import SystemIO
import TestSupport
import Testing

/// Locks between processes, as users see them.
@Suite struct LockCommandTests {
    @Test func `busy says who and since when`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        let script = """
            touch $R/wait
            BACKUPFS_FAULT=backup.record-written=pause:$R/wait backupfs backup --label slow --store $S & job=$!
            wait_until 'ls $S/repository/locks/*.lock'
            echo "pid $job"
            backupfs backup --store $S; echo "backup $?"
            backupfs prune --store $S; echo "prune $?"
            backupfs unlock --store $S; echo "unlock $?"
            backupfs check --store $S >/dev/null; echo "check $?"
            rm $R/wait; wait $job; echo "ended $?"
            backupfs unlock --store $S
            """
        let result = try sandbox.run(script)
        let lines = result.output.split(separator: "\n").map(String.init)
        let process = try #require(lines.first?.split(separator: " ").last)
        #expect(
            lines.dropFirst().filter { !$0.hasPrefix("Held") } == [
                "backup 11", "prune 11", "unlock 0", "check 0", "slow", "ended 0", "There are no locks.",
            ])
        #expect(lines.contains { $0.hasPrefix("Held for backup, by process \(process) on ") })
        #expect(result.errors.contains("another operation is running: backup, by process \(process) on "))
        #expect(result.errors.contains(", since 20"))
    }

    /// Several processes back up and prune as fast as they can, in two stores that share a repository.
    @Test func `everybody at once`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("backupfs init --store $R/other --app $R/diary.yaml --repository $S/repository >/dev/null")
        let script = """
            work() {
              for turn in 1 2 3 4 5 6; do
                head -c 100000 /dev/urandom > $1/app/photos/$2.jpg
                backupfs backup --store $1 --label $2-$turn >/dev/null 2>>$R/why; code=$?
                case $code in 0|3|11) ;; *) echo "backup $code";; esac
                { backupfs forget --keep-last 3 --yes --store $1 && backupfs prune --now --store $1; } >/dev/null 2>>$R/why; code=$?
                case $code in 0|1|11) ;; *) echo "forget $code";; esac
              done
            }
            work $S a & work $S b & work $R/other c & wait
            """
        let result = try sandbox.run(script)
        #expect(result.output == "", "\(result.output)\(result.errors)")
        #expect(try sandbox.sh("(! grep -v -e 'another operation' -e 'there is no such snapshot' $R/why)") == "")
        try sandbox.sh(
            "backupfs check --read-data --store $S; backupfs prune --now --max-unused 0 --store $S; backupfs check --read-data --store $S"
        )
        #expect(try sandbox.sh("ls $S/repository/locks | wc -l; ls $S/repository/tmp | wc -l") == "0\n0")
    }
}
