import SystemIO
import TestSupport
import Testing

/// Stars while a store is mounted.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct MountedStarTests {
    @Test func `STR-05, FPH-08: the mount uploads what is starred, and status.json says so`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                mkdir $R/Photos; for i in 1 2 3; do echo photo $i > $R/Photos/$i.jpg; done
                backupfs init --store $S --app photo-library --media $R/Photos >/dev/null
                backupfs remote add photos $R/bucket --kind photos --store $S
                backupfs star $R/Photos/*.jpg --no-wait --store $S
                backupfs status --json --store $S | jq -e '.photos.queued == 3 and .photos.uploaded == 0'
                """)
            try sandbox.mount()
            try sandbox.sh("wait_until \"jq -e '.photos.uploaded == 3 and .photos.queued == 0' $M/status.json\"")
            #expect(
                try sandbox.sh("ls $R/bucket/photos/*/*/*.jpg | wc -l; jq -s length $R/bucket/catalog/catalog.jsonl") == "3\n3")
            #expect(try sandbox.sh("jq -c .progress $S/photos/status/backup_status.json") == #"{"done":3,"total":3}"#)
            try sandbox.unmount()
        }
    }
}
