import Foundation
import Glibc
import TestSupport
import Testing

/// Changes to media files that keep size and modification time.
struct HiddenChangeTests {
    private static let sftpServer = "/usr/lib/openssh/sftp-server"

    static let canMount =
        geteuid() == 0 && access("/dev/fuse", R_OK) == 0 && Machine.hasTool("sshfs") && access(sftpServer, X_OK) == 0

    /// A store whose media folder is an sshfs mount, with the server as its child. Scripts first mount it, in their own mount
    /// namespace.
    private static func makeDistant() throws -> Sandbox {
        let sandbox = try Sandbox(onDisk: true)
        try sandbox.write("#!/bin/sh\nexec \(sftpServer)\n", to: "bin/server")
        try sandbox.write(
            """
            set -euo pipefail
            sshfs -o ssh_command=$R/bin/server x:$R/far $R/media; trap 'umount $R/media' EXIT
            # Writes over a photo in place and sets its time back.
            hide() { touch -r $R/media/a.jpg $R/time; printf $1 | dd of=$R/media/a.jpg conv=notrunc status=none; touch -r $R/time $R/media/a.jpg; }
            backup() { BACKUPFS_NOW=$1 backupfs backup --store $S "${@:2}"; }
            # What a backup has of it.
            stored() { rm -rf $R/out; backupfs restore $1 --target $R/out --store $S >/dev/null; cat $R/out/media/a.jpg; echo; }

            """, to: "distant.sh")
        try sandbox.sh(
            """
            chmod 755 $R/bin/server; mkdir $R/media $R/far; printf aaaaa > $R/far/a.jpg; touch -d '2024-07-01 12:00' $R/far/a.jpg
            sqlite3 $R/app.sqlite 'create table t(id integer primary key, x text); insert into t values (1, 2)'
            backupfs init --store $S --database $R/app.sqlite --media $R/media >/dev/null
            backupfs config set schedule hourly --store $S; backupfs config set retention off --store $S
            """)
        return sandbox
    }

    private static func isolated(_ sandbox: Sandbox, _ script: String) throws -> String {
        try sandbox.write(script, to: "script.sh")
        let result = try sandbox.run(
            "cat $R/distant.sh $R/script.sh > $R/whole.sh; unshare -m --propagation private bash $R/whole.sh")
        #expect(result.exitCode == 0, "\(result)")
        return result.output
    }

    @Test(.enabled(if: canMount, "needs to be root, /dev/fuse and sshfs"))
    func `R-B5: where no change time is kept, --read-all and the next day's backup find a hidden change`() throws {
        let sandbox = try Self.makeDistant()
        let output = try Self.isolated(
            sandbox,
            """
            backup 2026-01-11T00:00:00Z --label one; hide bbbbb
            backup 2026-01-11T10:00:00Z --label believed; stored believed
            backup 2026-01-11T11:00:00Z --label two --read-all; stored two; hide ccccc
            backup 2026-01-12T06:59:59Z --label three; stored three
            backup 2026-01-12T07:00:00Z --label four; stored four; hide ddddd
            # A clock that was set back makes nothing recent.
            backup 2026-01-11T23:00:00Z --label five; stored five; hide eeeee
            backupfs config set read-again-hours 0 --store $S; backup 2026-01-11T23:00:01Z --label six; stored six
            """)
        #expect(
            output == """
                one\nbelieved\naaaaa\ntwo\nbbbbb\nthree\nbbbbb\nfour\nccccc\nfive\nddddd\nsix\neeeee

                """)
    }

    @Test(.enabled(if: canMount, "needs to be root, /dev/fuse and sshfs"))
    func `R-B5: an automatic backup that finds nothing new has read everything for a day`() throws {
        let sandbox = try Self.makeDistant()
        let output = try Self.isolated(
            sandbox,
            """
            backup 2026-01-11T00:30:00Z --label one
            backup 2026-01-11T22:00:00Z --if-due; hide bbbbb
            backup 2026-01-11T23:00:00Z --if-due; backup 2026-01-12T17:00:00Z --if-due
            backup 2026-01-12T18:00:00Z --if-due; stored latest
            """)
        let unchanged = "Nothing has changed since the backup one.\n"
        #expect(output == "one\n\(unchanged)\(unchanged)\(unchanged)2026-01-12_18-00-00\nbbbbb\n")
    }

    @Test(.enabled(if: canMount, "needs to be root, /dev/fuse and sshfs"))
    func `R-B5: before a restore replaces such files, and when they are compared, they are read`() throws {
        let sandbox = try Self.makeDistant()
        let output = try Self.isolated(
            sandbox,
            """
            backup 2026-01-11T00:00:00Z --label one; hide bbbbb
            backupfs diff one live --json --store $S | jq -r '.files.changes[].path'
            BACKUPFS_NOW=2026-01-11T01:00:00Z backupfs restore one --yes --store $S >/dev/null; cat $R/media/a.jpg; echo
            stored "$(backupfs stats --store $S --json | jq -r '.snapshots[] | select(.kind == "safety").name')"
            """)
        #expect(output == "one\nmedia/a.jpg\naaaaa\nbbbbb\n")
    }

    /// One page, written twice through mmap(2): the second store leaves no trace while the page is dirty.
    @Test func `R-B5: a store through mmap into a dirty page is in the next backup`() throws {
        let sandbox = try Sandbox(onDisk: true)
        _ = try sandbox.makeDiary()
        try sandbox.write(
            """
            import mmap, os, subprocess, time
            path = os.environ["S"] + "/app/photos/one.jpg"
            with open(path, "wb") as file: file.write(bytes(4096))
            def settle():
                while time.time() - os.stat(path).st_ctime < 2.2: time.sleep(0.02)
            def back_up(name): subprocess.run(["backupfs", "backup", "--label", name, "--store", os.environ["S"]], check=True)
            with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as page:
                page[0:5] = b"first"
                settle()
                back_up("one")
                page[0:5] = b"other"
                settle()
                back_up("two")
            """, to: "store.py")
        try sandbox.sh("python3 $R/store.py; for n in one two; do backupfs restore $n --target $R/$n --store $S; done")
        #expect(try sandbox.sh("head -c 5 $R/one/media/one.jpg; echo; head -c 5 $R/two/media/one.jpg") == "first\nother")
    }
}
