import Glibc
import TestSupport
import Testing

/// A folder in the media folder whose server no longer responds.
struct HungMediaTests {
    /// Mounts sshfs on `$R/media/net`, stops its server or sshfs itself, starts a backup, ends it, and resumes the server.
    private static let script = """
        set -uo pipefail
        sshfs -o ssh_command=$R/bin/server,cache=no,attr_timeout=0,entry_timeout=0 x:$R/far $R/media/net
        stopped=$([ $WHO = server ] && cat $R/server.pid || pgrep -f "x:$R/far $R/media/net")
        trap 'kill -CONT $stopped; umount $R/media/net' EXIT
        backupfs backup --label before --store $S; kill -STOP $stopped
        backupfs backup --label hung --store $S >$R/said 2>&1 & backup=$!
        # It waits in the kernel.
        wait_until 'grep -q request_wait_answer /proc/$backup/task/*/wchan'
        if [ $WAY = cancel ]; then timeout 50 backupfs cancel --store $S; else kill -TERM $backup; fi
        # A request that the server has taken keeps its thread until it is answered; the store is free before that.
        wait_until 'flock -n $S/operation.lock true && grep -q "does not answer" $R/said'
        cat $R/said; backupfs snapshots --store $S --json | jq -r '.[].name'
        kill -CONT $stopped; wait $backup; echo "exit $?"
        backupfs backup --label after --store $S; backupfs ls after:media/net --store $S | grep -o 'media/net/.*'
        """

    /// The same for `mkdir` in a mount of the store, which is asked to end and then mounted again.
    private static let mountScript = """
        set -uo pipefail
        sshfs -o ssh_command=$R/bin/server,cache=no,attr_timeout=0,entry_timeout=0 x:$R/far $R/media/net
        stopped=$(cat $R/server.pid); mkdir $R/mnt
        trap 'kill -CONT $stopped; umount -l $R/mnt; umount $R/media/net' EXIT
        BACKUPFS_MKDIR_WAITS=always backupfs mount -f --store $S $R/mnt >$R/said 2>&1 & mount=$!
        wait_until [ -e $R/mnt/status.json ]
        mkdir $R/mnt/snapshots/before; kill -STOP $stopped
        LC_ALL=C mkdir $R/mnt/snapshots/hung >$R/answer 2>&1 & made=$!
        wait_until 'grep -q request_wait_answer /proc/$mount/task/*/wchan'
        kill -TERM $mount
        # The storage still does not answer.
        wait_until '! kill -0 $made'
        sed 's/.*: //' $R/answer; cat $R/said
        flock -n $S/operation.lock backupfs snapshots --store $S --json | jq -r '.[].name'
        kill -CONT $stopped; wait $mount; echo "exit $?"
        backupfs mount --store $S $R/mnt; mkdir $R/mnt/snapshots/after; ls $R/mnt/snapshots/after/media/net; backupfs umount --store $S
        """

    private func run(_ script: String, _ variables: [String: String] = [:]) throws -> Job.Result {
        let sandbox = try Sandbox()
        try sandbox.write(
            "#!/bin/sh\necho $$ > \(sandbox.path)/server.pid; exec /usr/lib/openssh/sftp-server\n", to: "bin/server")
        try sandbox.sh(
            """
            chmod 755 $R/bin/server; mkdir -p $R/media/net $R/far; printf near > $R/media/near.jpg; printf far > $R/far/far.jpg
            sqlite3 $R/app.sqlite 'create table t(id integer primary key, x text); insert into t values (1, 2)'
            backupfs init --store $S --database $R/app.sqlite --media $R/media >/dev/null
            """)
        return try sandbox.runInNamespace(script, variables)
    }

    @Test(.enabled(if: HiddenChangeTests.canMount, "needs to be root, /dev/fuse and sshfs"))
    func `T-B8: mkdir in a mount that waits for a hung folder ends with the mount`() throws {
        let result = try run(Self.mountScript)
        #expect(result.output.hasPrefix("Software caused connection abort\nbackupfs: the storage does not answer"), "\(result)")
        #expect(result.output.hasSuffix("\nbefore\nexit 130\nfar.jpg\n"), "\(result)")
    }

    @Test(
        .enabled(if: HiddenChangeTests.canMount, "needs to be root, /dev/fuse and sshfs"),
        arguments: ["sshfs", "server"], ["cancel", "terminate"])
    func `T-B8: a backup that waits for a hung folder can be ended`(who: String, way: String) throws {
        let result = try run(Self.script, ["WHO": who, "WAY": way])
        let ended = way == "cancel" ? "Ended: backup\n" : ""
        #expect(
            result.output.hasPrefix("before\n\(ended)backupfs: ") && result.output.contains("the storage does not answer"),
            "\(result)")
        #expect(result.output.hasSuffix("\nbefore\nexit 130\nafter\nmedia/net/far.jpg\n"), "\(result)")
    }
}
