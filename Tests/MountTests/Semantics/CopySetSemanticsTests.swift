import TestSupport
import Testing

/// The promises about `copy/`, as in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct CopySetSemanticsTests {
    @Test func `S82: what close has accepted is at every destination, also when the mount is killed then`() throws {
        try Sandbox.use { sandbox in
            try CopySetTests.make(in: sandbox)
            try sandbox.mount()
            try sandbox.sh("cp -a $R/card $M/copy/cards/")
            let process = try #require(sandbox.processes.first?.number)
            try sandbox.sh("kill -9 \(process); wait_until '! [ -e /proc/\(process) ]'; fusermount3 -uz $M")
            for destination in ["a", "b"] {
                #expect(
                    try sandbox.sh(
                        "diff -r --no-dereference $R/card $R/\(destination)/card; rsync -naXl --itemize-changes --delete $R/card/ $R/\(destination)/card/"
                    ) == "")
            }
            #expect(try sandbox.sh("find $R/a $R/b -name '*part*'") == "")
        }
    }

    @Test func `S83: the sets are listed with their attributes while the disk of one does not answer`() throws {
        try CopySetStallTests.withSets { sandbox, disk in
            try sandbox.sh(
                "chmod 705 $R/disk/slow; touch -d @1588748889 $R/disk/slow; chmod 751 $R/a; touch -d @1577934245 $R/a; setfattr -n user.note -v hello $R/a"
            )
            let listed = """
                def listed(slow):
                    words = ("stat", "-c", "%n %a %Y", "copy/cards", "copy/slow")
                    told = answers(words).splitlines()
                    assert told[0] == "copy/cards 751 1577934245" and told[1].startswith("copy/slow " + slow), told
                    for words in [("ls", "-l", "copy"), ("getfattr", "-d", "copy/slow"), ("getfattr", "-d", "copy/cards")]:
                        told = answers(words)
                        assert "?" not in told and ("hello" in told) == (words[-1] == "copy/cards"), (words, told)

                """
            // Nothing is known of it yet.
            disk.stall()
            try sandbox.looks(listed + "listed('700 ')")
            disk.goOn()
            try sandbox.sh("wait_until '[ $(stat -c %a $M/copy/slow) = 705 ]'")
            disk.stall()
            try sandbox.looks(
                listed + """
                    waiting = [start(*words) for words in [("ls", "copy/slow"), ("stat", "copy/slow/1")] for turn in range(10)]
                    begun(waiting)
                    assert all(each.poll() is None for each in waiting), "they wait"
                    listed("705 1588748889")
                    for each in waiting: each.kill()
                    for each in waiting: ends(each)
                    """)
            try sandbox.sh("chmod 711 $R/disk.files/slow")
            disk.goOn()
            try sandbox.sh(
                "wait_until '[ $(stat -c %a $M/copy/slow) = 711 ]'; cp $R/one $M/copy/slow/1; cmp $R/one $R/disk.files/slow/1")
        }
    }
}
