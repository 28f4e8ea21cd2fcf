import SystemIO
import TestSupport
import Testing

/// Stars, as promised in `Docs/reference/semantics.md`. The rest is in `PhotoCopyTests`.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct StarSemanticsTests {
    @Test func `S81: what is copied or moved into photos/starred is kept until a backup or the bucket has it`() throws {
        try Sandbox.use { sandbox in
            try PhotoCopyTests.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.sh(
                "mkdir $M/snapshots/one; cd $R/Photos; mv IMG_1.jpg $M/photos/starred/; cp IMG_2.jpg $M/photos/starred/")
            #expect(
                try sandbox.sh("ls $R/Photos; \(PhotoCopyTests.state); \(PhotoCopyTests.stars)")
                    == "IMG_2.jpg\nIMG_3.jpg\nnotes.txt\ntrip\nf IMG_1.jpg\nf IMG_2.jpg\n2 kept\nIMG_1.jpg\nIMG_2.jpg")
            try sandbox.sh("cd $M/photos/starred; for i in 1 2; do cmp IMG_$i.jpg $R/originals/IMG_$i.jpg; done")
            #expect(try sandbox.sh("stat -c '%a %s %Y' $S/photos/copies/* | sort -u") == "600 300000 1735787045")
            // The backup has both. Later ones will not have the photo that was moved.
            try sandbox.fails("rm $M/photos/starred/IMG_1.jpg", saying: "Operation not permitted", exitCode: 1)
            try PhotoCopyTests.addBucket(sandbox)
            try sandbox.sh(
                "wait_until 'backupfs star --list --store $S --json | jq -e \"map(.stage) == [\\\"uploaded\\\", \\\"uploaded\\\"]\"'"
            )
            #expect(
                try sandbox.sh("cat $R/bucket/photos/*/*/*.jpg | wc -c; sha256sum < $M/photos/starred/IMG_1.jpg | cut -c1-64")
                    == sandbox.sh("echo 600000; sha256sum < $R/originals/IMG_1.jpg | cut -c1-64"))
            // Young copies stay in any case. The mount may still have its queue.
            try sandbox.sh("wait_until backupfs star --upload --store $S")
            #expect(try sandbox.sh(PhotoCopyTests.state) == "f IMG_1.jpg\nf IMG_2.jpg\n2 kept")
            try sandbox.sh("export \(PhotoCopyTests.later); wait_until backupfs star --upload --store $S")
            #expect(try sandbox.sh(PhotoCopyTests.state) == "l IMG_1.jpg\nl IMG_2.jpg\n0 kept")
            try sandbox.sh("rm $M/photos/starred/IMG_1.jpg; backupfs restore --from-photos --flat --target $R/out --store $S")
            try sandbox.sh("cmp $R/out/IMG_1.jpg $R/originals/IMG_1.jpg")
            try sandbox.unmount()
        }
    }
}
