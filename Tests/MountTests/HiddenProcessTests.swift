import TestSupport
import Testing

/// A mount of an ordinary user who cannot see the processes of other users: `/proc` is mounted `hidepid=2`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct HiddenProcessTests {
    /// Opens in one thread and closes in another; prints the errno of the close, 0 for none.
    private static let copy = """
        import os, sys, threading
        text = open(sys.argv[1], "rb").read()
        codes = []
        def close(descriptor):
            try: os.close(descriptor); codes.append(0)
            except OSError as error: codes.append(error.errno)
        def run(body):
            thread = threading.Thread(target=body); thread.start(); thread.join()
        found = []
        run(lambda: found.append(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)))
        os.write(found[0], text)
        run(lambda: close(found[0]))
        print(codes[0])
        """

    @Test(
        .enabled(if: OrdinaryUserTests.isPossible && Machine.hasTool("unshare"), "needs root, setpriv, unshare and fusermount3"))
    func `T-B6: root, whom the mount cannot examine, gets a refusal in any of its threads`() throws {
        try Sandbox.use { sandbox in
            let mode = try sandbox.sh("stat -c %a /dev/fuse")
            try sandbox.sh("chmod 666 /dev/fuse")
            defer { _ = try? sandbox.sh("chmod \(mode) /dev/fuse") }
            try sandbox.write(SampleDocument.text, to: "good.json")
            try sandbox.write(String(SampleDocument.text.dropLast(200)), to: "half.json")
            try sandbox.write(Self.copy, to: "copy.py")
            try sandbox.write("user_allow_other\n", to: "fuse.conf")
            try sandbox.write(
                """
                mount -t proc -o hidepid=2 proc /proc; mount --bind $R/fuse.conf /etc/fuse.conf
                user="setpriv --reuid=65534 --regid=65534 --clear-groups"
                $user cat /proc/1/status 2>/dev/null && echo visible
                $user backupfs mount --store $R/store $M -o allow_other
                for name in half good; do python3 $R/copy.py $R/$name.json $M/restore/$name.json; done
                $user jq -r .result $M/restore/last.json
                $user backupfs umount --store $R/store $M
                """, to: "hidden.sh")
            try sandbox.sh(
                """
                cp --remove-destination $(readlink -f $R/bin/backupfs) $R/bin/backupfs; chown -R nobody $R; chmod 755 $R $R/bin/*
                chown root $R/fuse.conf; setpriv --reuid=65534 --regid=65534 --clear-groups backupfs init --store $R/store
                """)
            #expect(try sandbox.sh("unshare -m --propagation private bash -e $R/hidden.sh") == "22\n0\nsuccess")
        }
    }
}
