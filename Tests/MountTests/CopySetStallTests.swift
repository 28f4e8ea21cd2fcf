import TestSupport
import Testing

/// The disk of one copy set does not respond: the other sets and the rest of the mount go on.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct CopySetStallTests {
    /// A mounted store with the sets `cards`, and `slow`, which has a destination on the disk.
    static func withSets(_ body: (Sandbox, SandboxDisk) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.withDisk { disk in
                try CopySetTests.make(in: sandbox)
                try sandbox.sh(
                    #"""
                    mkdir $R/disk/slow
                    sed -i "/^# End of settings/i \  slow:\n    destinations: [\"$R/disk/slow\"]\n    verify: \"thorough\"" $S/store.yaml
                    echo one > $R/one
                    """#)
                try sandbox.mount(["BACKUPFS_COPY_IDLE_SECONDS": "60"])
                try body(sandbox, disk)
                disk.goOn()
                if sandbox.mounts.contains(sandbox.mountpoint) { try sandbox.unmountStore() }
            }
        }
    }

    @Test func `a set whose settings change while its disk stalls keeps no other set waiting`() throws {
        try Self.withSets { sandbox, disk in
            try sandbox.sh("cp $R/one $M/copy/slow/1; cp $R/one $M/copy/cards/1")
            let daemon = try #require(sandbox.daemons.first)
            disk.stall()
            try sandbox.sh("sed -i 's/thorough/paranoid/' $S/store.yaml; kill -HUP \(daemon)")
            try sandbox.looks(
                """
                until(lambda: "paranoid" in open(S + "/store.yaml").read())
                waiting = [start("cp", R + "/one", f"copy/slow/{number}") for number in [2, 3]]
                begun(waiting)
                for number in range(2, 6): answers(("cp", R + "/one", f"copy/cards/{number}"), 10)
                assert answers(("ls", "copy"), 10) == "cards\\nslow\\n"
                assert [each.poll() for each in waiting] == [None, None]
                """)
            disk.goOn()
            // With the new settings.
            try sandbox.sh("wait_until 'cp $R/one $M/copy/slow/4'; cmp $R/one $R/disk.files/slow/4; cmp $R/one $R/b/5")
            try sandbox.unmountStore()
            #expect(
                try sandbox.sh(
                    "cat $S/jobs/*/state | sort -u; jq -r '\"\\(.source) \\(.verify)\"' $S/jobs/*/job.json | sort -u")
                    == "completed\ncopy/cards paranoid\ncopy/cards thorough\ncopy/slow paranoid\ncopy/slow thorough")
        }
    }

    @Test func `however many wait for the stalled disk of a set, other sets take files, and the mount answers`() throws {
        try Self.withSets { sandbox, disk in
            try sandbox.sh("cp $R/one $M/copy/slow/1; mkdir $M/copy/slow/d{1..70}")
            try sandbox.python(
                """
                writing = "import os, sys; f = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT); os.write(f, b'one'); print('open', flush=True); input(); os.close(f)"
                writers = [subprocess.Popen([sys.executable, "-c", writing, f"copy/slow/w{number}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                    for number in range(20)]
                for each in writers: assert each.stdout.readline() == "open\\n"
                os.kill(\(disk.process), signal.SIGSTOP)
                for each in writers: each.stdin.write("\\n"); each.stdin.flush()
                waiting = list(writers)
                waiting += [subprocess.Popen(["stat", "copy/slow/1"], stdout=subprocess.DEVNULL) for _ in range(20)]
                waiting += [subprocess.Popen(["ls", "copy/slow"], stdout=subprocess.DEVNULL) for _ in range(70)]
                waiting += [subprocess.Popen(["mkdir", f"copy/slow/d{number}/new"], stdout=subprocess.DEVNULL) for number in range(1, 71)]
                begun(waiting)
                def ended(*words):
                    assert subprocess.run(words, stdout=subprocess.DEVNULL, timeout=60).returncode == 0, words
                ended("ls", "copy")
                ended("cp", "-r", R + "/card/DCIM", "copy/cards/")
                ended("mkdir", "copy/cards/folder")
                ended("ls", "-l", "copy/cards/DCIM")
                ended("mkdir", "snapshots/one")
                ended("cat", "status.json")
                assert all(each.poll() is None for each in writers)
                # They wait for nothing that a signal cannot end.
                for each in waiting[20:]: each.kill()
                for each in waiting[20:]: each.wait(60)
                os.kill(\(disk.process), signal.SIGCONT)
                for each in writers: assert each.wait(60) == 0
                """)
            #expect(
                try sandbox.sh(
                    "cat $R/disk.files/slow/w19; diff -r --no-dereference $R/card/DCIM $R/b/DCIM; ls $R/disk.files/slow/w* | wc -l"
                )
                    == "one20")
        }
    }
}
