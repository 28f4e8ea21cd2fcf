import TestSupport
import Testing

/// Mounting without privileges, through fusermount3.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"), .serialized)
struct OrdinaryUserTests {
    /// As root: `nobody`. Other users run all the other tests as themselves.
    static let isPossible = Machine.isRoot && Machine.hasTool("setpriv") && Machine.hasTool("fusermount3")

    /// Runs a test as an unprivileged user, who owns the sandbox and can read a copy of the program.
    private func asNobody(_ body: (Sandbox, _ user: String) throws -> Void) throws {
        try Sandbox.use { sandbox in
            let mode = try sandbox.sh("stat -c %a /dev/fuse")
            try sandbox.sh("chmod 666 /dev/fuse")
            defer { _ = try? sandbox.sh("chmod \(mode) /dev/fuse") }
            try sandbox.sh(
                """
                cp --remove-destination $(readlink -f $R/bin/backupfs) $R/bin/backupfs; chown -R nobody $R
                chmod 755 $R $R/bin/*
                """
            )
            try body(sandbox, "setpriv --reuid=65534 --regid=65534 --clear-groups")
        }
    }

    @Test(.enabled(if: isPossible, "NOT TESTED: mounting as an ordinary user needs root, setpriv and fusermount3"))
    func `SEC-07: an ordinary user mounts, backs up, restores and unmounts`() throws {
        try asNobody { sandbox, user in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("chmod 644 $R/old.json")
            try sandbox.sh("\(user) backupfs $M")
            #expect(try sandbox.sh("\(user) ls $M").split(separator: "\n").map(String.init) == LifecycleTests.rootNames)
            // No other user has access, not even root.
            try sandbox.fails("ls $M", saying: "Permission denied")
            try sandbox.sh(
                """
                \(user) bash -e -c 'mkdir $M/snapshots/one; cp $R/old.json $M/restore/
                cd $M/snapshots/one; sha256sum -c SHA256SUMS
                stat -c "%U %a" $M/snapshots $M/README.txt | uniq'
                """)
            #expect(try sandbox.sh("\(user) jq -r '.cars[0].name' $M/live/export.json") == "Tesla Model 3")
            let readOnly = try sandbox.run("\(user) rm -rf $M/snapshots/one")
            #expect(readOnly.exitCode != 0 && readOnly.errors.contains("Read-only file system"), "\(readOnly.text)")
            try sandbox.sh("\(user) fusermount3 -u $M")
            #expect(sandbox.mounts == [])
        }
    }

    @Test(.enabled(if: isPossible, "NOT TESTED: mounting as an ordinary user needs root, setpriv and fusermount3"))
    func `an ordinary user's crashed mount is cleared by his next one, and umount works for him`() throws {
        try asNobody { sandbox, user in
            try sandbox.sh("\(user) backupfs $M")
            try sandbox.crash()
            try sandbox.sh("\(user) backupfs $M; \(user) ls $M; \(user) backupfs umount")
            #expect(sandbox.mounts == [])
            try sandbox.sh("mkdir $R/roots")
            try sandbox.fails(
                "\(user) backupfs $R/roots", saying: "a user can mount only on a folder that they can write to", exitCode: 1)
        }
    }

    @Test(.enabled(if: isPossible, "NOT TESTED: mounting as an ordinary user needs root, setpriv and fusermount3"))
    func `with allow_other others may look, and modes say so`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                "chmod 755 $R; backupfs init --store $S; backupfs mount --store $S $M -o allow_other; mkdir $M/snapshots/one")
            let user = "setpriv --reuid=65534 --regid=65534 --clear-groups"
            try sandbox.sh("\(user) bash -e -c 'ls $M/snapshots; cd $M/snapshots/one; sha256sum -c SHA256SUMS'")
            try sandbox.fails("\(user) mkdir $M/snapshots/two", saying: "Permission denied")
            #expect(try sandbox.sh("stat -c %a $M $M/snapshots/one $M/snapshots/one/export.json") == "755\n755\n644")
            #expect(try sandbox.sh("find $M -type f ! -perm 644 -o -type d ! -perm 755") == "")
            try sandbox.unmount()
            try sandbox.mount()
            try sandbox.fails("\(user) ls $M", saying: "Permission denied")
            #expect(try sandbox.sh("stat -c %a $M $M/snapshots/one $M/snapshots/one/export.json") == "700\n700\n600")
            try sandbox.unmount()
        }
    }

    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: allow_other needs root, or a line in /etc/fuse.conf"))
    func `with allow_other photos have modes of their own`() throws {
        try Sandbox.use { sandbox in
            try PhotoDiary.setUp(sandbox)
            try sandbox.sh(
                """
                chmod 755 $R; chmod 600 $P/2024/two.jpg; chmod 751 $P/2024; backupfs mount --store $S $M -o allow_other
                mkdir $M/snapshots/one
                """
            )
            for folder in ["snapshots/one", "live"] {
                #expect(
                    try sandbox.sh(
                        "cd $M/\(folder); stat -c %a media/one.jpg media/2024/two.jpg media/2024 data data/photos.json")
                        == "640\n600\n751\n755\n644")
            }
            try sandbox.unmount()
        }
    }

    @Test(.enabled(if: isPossible, "NOT TESTED: mounting as an ordinary user needs root, setpriv and fusermount3"))
    func `SEC-02: what a user mounts is his alone: neither root nor another user sees a name`() throws {
        try asNobody { sandbox, user in
            try sandbox.sh("\(user) bash -e -c 'backupfs $M; mkdir $M/snapshots/one'")
            for other in ["", "setpriv --reuid=1 --regid=1 --clear-groups"] {
                for look in [
                    "ls $M", "stat $M/snapshots", "cat $M/README.txt", "cat $M/snapshots/one/export.json",
                    "mkdir $M/snapshots/two",
                ] {
                    try sandbox.fails("\(other) \(look)", saying: "Permission denied")
                }
            }
            // Root's backup of the whole machine reports this, and continues.
            try sandbox.fails("cp -a $M $R/whole", saying: "Permission denied")
            try sandbox.fails(
                "rsync -ax --exclude /machine --exclude /tmp $R/ $R/machine/", saying: "Permission denied", exitCode: 23)
            #expect(try sandbox.sh("ls $R/machine/data; \(user) head -c 1 $M/snapshots/one/export.json") == "backupfs\n{")
            try sandbox.sh("\(user) fusermount3 -u $M")
        }
    }

    @Test(.enabled(if: isPossible, "NOT TESTED: allow_other needs root, and another user needs setpriv"))
    func `with allow_other others read what modes allow, and change nothing`() throws {
        try Sandbox.use { sandbox in
            try PhotoDiary.setUp(sandbox)
            try sandbox.sh(
                """
                chmod 755 $R $P; cd $P; chmod 644 one.jpg; chmod 600 2024/two.jpg; chmod 640 2024/summer/three.jpg; chmod 755 2024 2024/summer
                mkdir private; printf secret > private/four.jpg; chmod 644 private/four.jpg; chmod 700 private
                backupfs mount --store $S $M -o allow_other; mkdir $M/snapshots/one; cp $M/snapshots/one/export.json $R/
                chmod 644 $R/export.json; grep " $M " /proc/self/mounts | grep default_permissions | grep allow_other >/dev/null
                """)
            let user = "setpriv --reuid=65534 --regid=65534 --clear-groups"
            for folder in ["snapshots/one", "live"] {
                #expect(try sandbox.sh("\(user) cat $M/\(folder)/media/one.jpg") == "one")
                for file in ["2024/two.jpg", "2024/summer/three.jpg", "private/four.jpg"] {
                    try sandbox.fails("\(user) cat $M/\(folder)/media/\(file)", saying: "Permission denied")
                }
                try sandbox.fails("\(user) ls $M/\(folder)/media/private", saying: "Permission denied")
                // Members of the file's group may read it because of 0640.
                try sandbox.sh(
                    "setpriv --reuid=65534 --regid=0 --clear-groups cat $M/\(folder)/media/2024/summer/three.jpg >/dev/null")
            }
            for change in [
                "mkdir $M/snapshots/two", "rmdir $M/snapshots/one", "mv $M/snapshots/one $M/snapshots/two",
                "cp $R/export.json $M/restore/",
                "cp $R/export.json $M/restore/preview/", "setfattr -n user.backupfs.pinned -v 1 $M/snapshots/one",
            ] {
                try sandbox.fails("\(user) \(change)", saying: "Permission denied")
            }
            #expect(try sandbox.names("snapshots") == ["latest", "one"])
            #expect(try sandbox.names("safety") == [])
            #expect(try sandbox.sh("getfattr --only-values -n user.backupfs.pinned $M/snapshots/one") == "0")
            try sandbox.unmount()
        }
    }
}
