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

    /// `*` is what there was before the first one went.
    @Test func `PRG-10: stars of photos with one name are all removed by the names of one listing, and one by its queue file`()
        throws
    {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                for i in 1 2 3 4 5; do mkdir -p $R/Photos/$i; echo photo $i > $R/Photos/$i/IMG_1.jpg; done
                backupfs init --store $S --app photo-library --media $R/Photos >/dev/null
                backupfs star $R/Photos/?/IMG_1.jpg --no-wait --store $S
                """)
            try sandbox.mount()
            #expect(
                try sandbox.sh("ls $M/photos/starred")
                    == "IMG_1 (2).jpg\nIMG_1 (3).jpg\nIMG_1 (4).jpg\nIMG_1 (5).jpg\nIMG_1.jpg")
            try sandbox.sh("cd $M/photos/starred; rm -- *")
            #expect(try sandbox.sh("ls $M/photos/starred; backupfs star --list --json --store $S | jq length") == "0")
            // What another process stars is seen, too.
            try sandbox.sh("backupfs star $R/Photos/3/IMG_1.jpg --no-wait --store $S")
            try sandbox.sh("wait_until '[ -L $M/photos/starred/IMG_1.jpg ]'")
            #expect(try sandbox.sh("readlink $M/photos/starred/IMG_1.jpg") == "../../live/media/3/IMG_1.jpg")
            let id = try sandbox.sh("ls $M/photos/queue")
            #expect(
                try sandbox.sh("jq -r .path $M/photos/queue/\(id); [ -e $M/photos/queue/none.json ] || echo none")
                    == "3/IMG_1.jpg\nnone")
            try sandbox.sh("rm $M/photos/queue/\(id)")
            #expect(try sandbox.sh("ls $M/photos/queue $M/photos/starred | grep -c IMG || true") == "0")
            #expect(try sandbox.sh("backupfs star --list --json --store $S | jq length") == "0")
            try sandbox.fails("rm $M/photos/status/backup_status.json", saying: "No such file", exitCode: 1)
            try sandbox.unmount()
        }
    }

    @Test func `FPH-08: the status attribute says what has failed, and a photo without a star has none`() throws {
        try Sandbox.use { sandbox in
            // Something else has the name of the first photo in the bucket.
            try sandbox.sh(
                """
                mkdir $R/Photos; for i in 1 2 3; do echo photo $i > $R/Photos/$i.jpg; done
                for month in "$(date -u +%Y/%m)" "$(date -u -d '1 hour' +%Y/%m)"; do
                    mkdir -p $R/bucket/photos/$month
                    echo other > $R/bucket/photos/$month/$(md5sum $R/Photos/1.jpg | cut -c1-32).jpg
                done
                backupfs init --store $S --app photo-library --media $R/Photos >/dev/null
                backupfs remote add photos $R/bucket --kind photos --store $S >/dev/null
                backupfs star $R/Photos/1.jpg $R/Photos/2.jpg --no-wait --store $S
                """)
            try sandbox.mount()
            let status = "getfattr --only-values -n user.backupfs.status $M/live/media"
            try sandbox.sh("wait_until '\(status)/1.jpg | grep -qx failed:s3UploadFailed'")
            try sandbox.sh("wait_until '\(status)/2.jpg | grep -qx uploaded'")
            try sandbox.fails("\(status)/3.jpg", saying: "No such attribute", exitCode: 1)
            try sandbox.sh("backupfs unstar $R/Photos/1.jpg --store $S")
            try sandbox.fails("\(status)/1.jpg", saying: "No such attribute", exitCode: 1)
            try sandbox.unmount()
        }
    }
}
