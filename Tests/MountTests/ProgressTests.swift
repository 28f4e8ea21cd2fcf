import TestSupport
import Testing

/// The contents of a mount's `status.json` while a program's call is in progress.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ProgressTests {
    private static let members =
        #"[.operation, .phase, .message, .percent, .processedItems, .totalItems, .totalBytes, .processedBytes]"#

    @Test func `how far a mkdir is can be read meanwhile`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                backupfs init --app smilepile --store $S > /dev/null; touch $R/pause
                for i in 1 2 3; do head -c 100000 /dev/zero > $S/app/photos/$i.jpg; done
                """)
            try sandbox.mount(["BACKUPFS_FAULT": "backup.media-listed=pause:\(sandbox.path)/pause"])
            let told = try sandbox.sh(
                """
                mkdir $M/snapshots/one & mkdir=$!
                wait_until '[ "$(jq -r .operation.phase $M/status.json)" = "Copying photos" ]'
                jq -c '.state, (.operation | \(Self.members))' $M/status.json
                wait_until jq -e '.operation.elapsedSeconds >= 1' $M/status.json
                jq -c '.operation | .elapsedSeconds >= 1, .averageBytesPerSecond, .remainingSeconds' $M/status.json
                backupfs status --store $S | grep Running; stat -c '%s' $M/status.json | grep -q '^[1-9]'
                rm $R/pause; wait $mkdir; jq -c '.state, .operation, .lastBackup.name' $M/status.json
                """)
            #expect(
                told == """
                    "running"
                    ["backup","Copying photos","Copying photos",30,0,3,300000,0]
                    true
                    0
                    null
                    Running: backup, Copying photos, 30 %
                    "idle"
                    null
                    "one"
                    """)
            try sandbox.unmount()
        }
    }

    @Test func `how far a cp into restore is can be read meanwhile`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample; backupfs backup --store $S --label one; touch $R/pause")
            try sandbox.mount(["BACKUPFS_FAULT": "restore.before-commit=pause:\(sandbox.path)/pause"])
            let told = try sandbox.sh(
                """
                cp $M/live/export.json $R/x.json; size=$(stat -c %s $R/x.json)
                cp $R/x.json $M/restore/ & copy=$!
                wait_until [ -e $R/pause.reached ]
                wait_until jq -e '.operation | .phase == "Importing data..." and .averageBytesPerSecond > 0 and .remainingSeconds' $M/status.json
                jq -c ".state, (.operation | .operation, .percent >= 60 and .percent <= 99, .totalBytes == $size * 2, .processedBytes >= $size,
                  .averageBytesPerSecond > 0, .peakBytesPerSecond >= .averageBytesPerSecond, (.remainingSeconds | type))" $M/status.json
                rm $R/pause; wait $copy; jq -c .state $M/status.json
                """)
            #expect(told == "\"running\"\n\"restore\"\ntrue\ntrue\ntrue\ntrue\ntrue\n\"number\"\n\"idle\"")
            try sandbox.unmount()
        }
    }

    /// The backup runs in the process that serves the mount.
    @Test func `SCH-12: a backup goes on when the program that asked for it has its answer`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample; touch $R/pause")
            try sandbox.mount(["BACKUPFS_FAULT": "backup.begun=pause:\(sandbox.path)/pause", "BACKUPFS_MKDIR_WAITS": "never"])
            let told = try sandbox.sh(
                """
                mkdir $M/snapshots/one; wait_until [ -e $R/pause.reached ]
                jq -r .operation.operation $M/status.json; rm $R/pause; sync $M/snapshots/one
                jq -r '.state, .lastBackup.name' $M/status.json; cd $M/snapshots/one; sha256sum -c --quiet SHA256SUMS
                """)
            #expect(told == "backup\nidle\none")
            try sandbox.unmount()
        }
    }

    @Test func `a notification of what was requested through the mount keeps no program waiting`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                backupfs init --app keeptrack --store $S > /dev/null
                backupfs config set notify 'sleep 5; echo $BACKUPFS_OPERATION $BACKUPFS_NAME $BACKUPFS_RESULT >> told' --store $S
                """)
            try sandbox.mount()
            let seconds = try sandbox.sh("begin=$(date +%s); mkdir $M/snapshots/one; echo $(($(date +%s) - begin))")
            #expect(["0", "1", "2", "3"].contains(seconds))
            try sandbox.sh("wait_until grep -q 'backup one success' $S/told")
            try sandbox.sh("cp $M/snapshots/one/export.json $M/restore/x.json; ! mkdir $M/snapshots/one 2>/dev/null")
            try sandbox.sh("wait_until grep -q 'restore x.json success' $S/told; [ $(wc -l < $S/told) = 2 ]")
            try sandbox.sh("echo two > $M/control/backup; wait_until grep -q 'backup two success' $S/told")
            try sandbox.sh("echo > $M/control/backup; wait_until grep -qE 'backup 2[0-9_-]+ success' $S/told")
            try sandbox.unmount()
        }
    }
}
