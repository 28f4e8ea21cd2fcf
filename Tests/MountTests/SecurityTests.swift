import Glibc
import TestSupport
import Testing

/// What other users of the machine must not be able to do: read a store, have their own store opened, plant links, get a password
/// or key.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct SecurityTests {
    private static let canBeOthers = Machine.isRoot && Machine.hasTool("setpriv")
    private static let stranger = "setpriv --reuid=65534 --regid=65534 --clear-groups"

    // MARK: Modes

    /// Everything that a store may contain: backups, restores, reports, logs, an encrypted repository's keys, exports.
    @Test(arguments: Rounds.part(of: ["000", "022", "077"], oneIn: 3))
    func `what lies in a store is its owner's alone, whatever the umask`(mask: String) throws {
        try Sandbox.use { sandbox in
            try PhotoDiary.setUp(sandbox)
            try sandbox.write("xyzzy\n", to: "password")
            try sandbox.sh(
                """
                umask \(mask); rm -rf $S; backupfs init --store $S --app $R/diary.yaml --encrypt --password-file $R/password
                printf one > $P/one.jpg; sqlite3 $S/app/database.sqlite "insert into photos values (1, 'one.jpg', 'first')"
                export BACKUPFS_PASSWORD_FILE=$R/password; backupfs mount --store $S $M; mkdir $M/snapshots/one
                cp $M/snapshots/one/archive.zip $M/restore/; cat $M/snapshots/one/archive.zip > $M/restore/merge/again.zip
                cp $R/diary.yaml $M/restore/ || true; cat $M/live/archive.zip >/dev/null
                backupfs backup --store $S --label two; backupfs restore one --store $S --yes
                backupfs check --store $S; backupfs forget two --store $S --yes --prune
                backupfs export --store $S --zip -o $R/out.zip; backupfs export --store $S --csv $R/csv
                """)
            // The app's own media files keep their original modes.
            let open = try sandbox.sh(
                "find $S $R/out.zip $R/csv/* ! -path '*/app/photos/*' ! -type l -perm /077 -printf '%m %P\\n'; stat -c '%a' $S")
            #expect(open == "700")
            #expect(
                try sandbox.sh("find $S -name 'key' -o -name mount.log -o -name backupfs.log | wc -l") == "3",
                "it held what it was to hold")
            try sandbox.unmount()
        }
    }

    @Test(.enabled(if: canBeOthers, "NOT TESTED: another user needs root and setpriv"))
    func `a copy that root makes never runs as root`() throws {
        try Sandbox.use { sandbox in
            try PhotoDiary.setUp(sandbox)
            try sandbox.sh(
                """
                cp /bin/true $P/tool; chmod 6755 $P/tool; mkdir $P/shared; chmod 3770 $P/shared; backupfs mount --store $S $M
                mkdir $M/snapshots/one; backupfs restore one --store $S --target $R/copy >/dev/null
                mkdir $R/tar $R/zip; tar -xpf $M/snapshots/one/archive.tar -C $R/tar; unzip -qK $M/snapshots/one/archive.zip -d $R/zip
                backupfs verify one --store $S >/dev/null
                """)
            #expect(try sandbox.sh("stat -c %a $P/tool $P/shared | paste -sd' '") == "6755 3770", "it was there")
            #expect(try sandbox.sh("cd $R; stat -c %a copy/media/tool copy/media/shared | paste -sd' '") == "755 1770")
            #expect(try sandbox.sh("find $R/copy $R/tar $R/zip $M -perm /6000") == "")
            // Restoring the archive does not bring it back either.
            try sandbox.sh("rm $P/tool; cp $M/snapshots/one/archive.tar $M/restore/")
            #expect(try sandbox.sh("stat -c %a $P/tool") == "755")
            try sandbox.unmount()
        }
    }

    // MARK: Stores of others

    /// `before-restore` of a planted store would run as the user who inspects it.
    @Test(.enabled(if: canBeOthers, "NOT TESTED: another user needs root and setpriv"))
    func `a store of another user is not opened, and nothing in it is touched`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                chmod 777 $R; backupfs init --store $S; echo untouched > $R/victim; chmod 644 $R/victim
                for name in backupfs.log mount.log operation.json operation.lock mount.lock restore.journal store.yaml.tmp-1; do
                ln -sf $R/victim $S/$name; done; rm -rf $S/spool; ln -s $R $S/spool
                echo 'before-restore: "touch $R/owned"' >> $S/store.yaml; chown -hR 65534 $S
                """)
            for command in [
                "backupfs snapshots", "backupfs backup", "backupfs mount $M", "backupfs mount -f $M", "backupfs status",
                "backupfs restore $R/victim --yes", "backupfs unlock",
            ] {
                try sandbox.fails(
                    "\(command) --store $S", saying: "this belongs to another user (65534)", exitCode: 1)
            }
            #expect(
                try sandbox.sh("cat $R/victim; stat -c %a $R/victim; ls $R | grep -c -e owned -e work- || true")
                    == "untouched\n644\n0")
            // Its settings alone are enough to do harm.
            try sandbox.sh("rm -r $S; backupfs init --store $S; chown 65534 $S/store.yaml")
            try sandbox.fails("backupfs snapshots --store $S", saying: "store/store.yaml: this belongs to another user (65534)")
            try sandbox.sh("chown 0 $S/store.yaml; chmod 646 $S/store.yaml")
            try sandbox.fails("backupfs snapshots --store $S", saying: "everybody may write to it")
            try sandbox.sh("chmod 600 $S/store.yaml; chmod 1777 $S")
            try sandbox.fails("backupfs snapshots --store $S", saying: "then: chmod o-w \(sandbox.storePath)")
            try sandbox.sh("chmod 770 $S; backupfs snapshots --store $S")
        }
    }

    @Test(.enabled(if: canBeOthers, "NOT TESTED: another user needs root and setpriv"))
    func `with sudo, or when it is named, a user's store is opened; and root's by a user who may read it`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("chmod 755 $R; backupfs init --store $S --sample; chown -R 65534 $S")
            try sandbox.fails("backupfs snapshots --store $S", saying: "name it: BACKUPFS_TRUSTED_STORES=\(sandbox.storePath)")
            try sandbox.sh("backupfs snapshots --store $S", ["SUDO_UID": "65534"])
            try sandbox.fails("backupfs snapshots --store $S", saying: "another user (65534)", ["SUDO_UID": "1000"])
            try sandbox.sh("backupfs snapshots --store $S", ["BACKUPFS_TRUSTED_STORES": "/srv/x:\(sandbox.storePath)"])
            try sandbox.fails(
                "backupfs snapshots --store $S", saying: "another user", ["BACKUPFS_TRUSTED_STORES": "\(sandbox.path)"])
            // A user who cannot become root that way gets no trust from the variable that sudo sets.
            try sandbox.sh("cp --remove-destination $(readlink -f $R/bin/backupfs) $R/bin/backupfs; chown -R 1 $S")
            try sandbox.sh("chmod 755 $S; chmod 644 $S/store.yaml")
            try sandbox.fails(
                "\(Self.stranger) backupfs snapshots --store $S", saying: "another user (1)", ["SUDO_UID": "1"])
        }
    }

    // MARK: Links of others

    /// A folder that other users can write to is a likely target: `/tmp/out`.
    @Test(.enabled(if: canBeOthers, "NOT TESTED: another user needs root and setpriv"))
    func `what others plant in a target folder is not followed`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                "backupfs init --store $S --sample; backupfs backup --store $S --label one; echo untouched > $R/victim; chmod 644 $R/victim"
            )
            let name = ".backupfs-restore-00112233445566778899aabbccddeeff"
            try sandbox.sh("mkdir -m 777 $R/out; ln -s $R/victim $R/out/\(name).lock; ln -s $R $R/out/\(name)")
            _ = try sandbox.run("backupfs restore one --store $S --target $R/out")
            #expect(
                try sandbox.sh("cat $R/victim; stat -c %a $R/victim; ls $S/store.yaml")
                    == "untouched\n644\n\(sandbox.storePath)/store.yaml")
            // A link in the place of an export is replaced, not followed.
            try sandbox.sh(
                "ln -s $R/victim $R/cars.json; backupfs export one --json -o $R/cars.json --store $S; jq -e .cars $R/cars.json >/dev/null"
            )
            #expect(try sandbox.sh("cat $R/victim; test ! -L $R/cars.json") == "untouched")
        }
    }

    @Test func `a mountpoint that is a link is what it leads to, in every record`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S; ln -s mnt $R/link; backupfs mount --store $S $R/link")
            #expect(sandbox.mounts == [sandbox.mountpoint])
            #expect(try sandbox.sh("cat $S/mountpoint") == sandbox.mountpoint)
            // Its later target does not matter.
            try sandbox.sh("mkdir $R/other; ln -sfn other $R/link; backupfs umount --store $S")
            #expect(sandbox.mounts == [])
        }
    }

    /// Users who can write to the app's folder of photos need not be the user who backs it up.
    @Test func `links, pipes, sockets and devices among the photos are neither followed nor waited for`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.write("only root may read this", to: "secret")
            try sandbox.sh(
                """
                cd $P; ln -s $R/secret outside; ln -s .. up; ln -s $R/secret 2024/outside; mkfifo pipe
                python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
                \(Machine.isRoot ? "mknod device c 1 5" : "true")
                """)
            let made = try sandbox.run("backupfs backup --store $S --label one")
            #expect(made.exitCode == 3 && made.text.contains("pipe: is neither a file nor a folder nor a link"), "\(made.text)")
            try sandbox.sh(
                "cat $M/live/archive.tar > $R/live.tar; cat $M/snapshots/one/archive.tar > $R/one.tar; ls -lR $M > $R/list")
            #expect(
                try sandbox.run("grep -laF 'only root may' $R/live.tar $R/one.tar; grep -raqF 'only root may' $S").exitCode == 1)
            #expect(
                try sandbox.sh("tar -tvf $R/one.tar | sed -n 's/.* media\\(.* -> .*\\)/\\1/p' | sed \"s|$R|R|\" | sort")
                    == "/2024/outside -> R/secret\n/outside -> R/secret\n/up -> ..")
        }
    }

    // MARK: Secrets

    /// A core file contains the whole memory of the process.
    @Test func `a process that has a key leaves no core file, and cannot be traced`() throws {
        try Sandbox.use { sandbox in
            try sandbox.write("xyzzy plugh\n", to: "password")
            try sandbox.sh(
                "backupfs init --store $R/plain; backupfs init --encrypt --store $S",
                ["BACKUPFS_PASSWORD_FILE": "\(sandbox.path)/password"])
            // In the background it gets its key through the pipe, in the foreground from the password.
            for foreground in [false, true] {
                let script = foreground ? "exec backupfs mount -f --store $S $M" : "backupfs mount --store $S $M"
                let job = try sandbox.start(
                    "ulimit -c unlimited; cd $R; \(script)", ["BACKUPFS_PASSWORD_FILE": "\(sandbox.path)/password"])
                try sandbox.wait(for: sandbox.mountpoint + "/status.json")
                let daemon = try #require(foreground ? job.process : Self.daemon(of: sandbox))
                #expect(
                    try sandbox.sh("grep '^Max core file size' /proc/\(daemon)/limits | tr -s ' '")
                        == "Max core file size 0 0 bytes ")
                // Files of a process that may not be dumped belong to root.
                #expect(try sandbox.sh("stat -c %u /proc/\(daemon)/mem /proc/\(daemon)/environ | uniq") == "0")
                if !foreground { _ = try job.wait() }
                try sandbox.unmount()
                if foreground { _ = try job.wait() }
            }
            // Without a key it is an ordinary program, so that a crash can be investigated.
            guard try sandbox.sh("ulimit -H -c") == "unlimited" else { return }
            let job = try sandbox.start("ulimit -c unlimited; cd $R; exec backupfs mount -f --store $R/plain $M")
            try sandbox.wait(for: sandbox.mountpoint + "/status.json")
            #expect(try sandbox.sh("grep -c '^Max core file size *unlimited' /proc/\(job.process)/limits") == "1")
            try sandbox.unmount()
            _ = try job.wait()
        }
    }

    /// The secret of a remote is as much worth as a password.
    @Test func `a process that has the key of a remote leaves no core file`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                backupfs init --app ev-charging-tracker --store $S >/dev/null
                end=$(tail -n 1 $S/store.yaml); sed -i '$d' $S/store.yaml
                printf 'remotes:\n  away:\n    url: s3:http://127.0.0.1:9/bucket/cars\n%s\n' "$end" >> $S/store.yaml
                """)
            let secrets = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "xyzzy"]
            let job = try sandbox.start("ulimit -c unlimited; cd $R; exec backupfs mount -f --store $S $M", secrets)
            try sandbox.wait(for: sandbox.mountpoint + "/status.json")
            #expect(
                try sandbox.sh("grep '^Max core file size' /proc/\(job.process)/limits | tr -s ' '")
                    == "Max core file size 0 0 bytes ")
            try sandbox.unmount()
            _ = try job.wait()
        }
    }

    /// Other users cannot read its environment, but can read its arguments.
    private static func daemon(of sandbox: Sandbox) throws -> pid_t? {
        pid_t(try sandbox.sh("pgrep -f -- '--foreground --store '$S"))
    }

    /// What another program of the same user sees of a process that has the repository open, and what even root does not find in
    /// its memory.
    @Test(.enabled(if: canBeOthers, "NOT TESTED: another user needs root and setpriv"))
    func `the password leaves the memory when it has been used, and the same user cannot look there`() throws {
        try Sandbox.use { sandbox in
            try sandbox.write("xyzzy plugh\n", to: "password")
            try sandbox.sh(
                """
                cp --remove-destination $(readlink -f $R/bin/backupfs) $R/bin/backupfs; chmod 755 $R $R/bin/*; mkfifo $R/input
                chown -R 65534 $R; \(Self.stranger) backupfs init --store $R/plain
                \(Self.stranger) backupfs init --store $S --encrypt --password-file $R/password
                """)
            for (store, isSecret) in [("store", true), ("plain", false)] {
                // It has opened the store, and waits for the data to restore.
                let job = try sandbox.start(
                    "exec 3<>$R/input; exec \(Self.stranger) backupfs restore - --yes --store $R/\(store) <$R/input",
                    isSecret ? ["BACKUPFS_PASSWORD_FILE": "\(sandbox.path)/password"] : [:])
                try sandbox.sh("wait_until 'ls -A $R/\(store)/spool | grep -q work-'")
                let look =
                    "\(Self.stranger) cat /proc/\(job.process)/environ >/dev/null; \(Self.stranger) ls /proc/\(job.process)/fd"
                if isSecret { try sandbox.fails(look, saying: "Permission denied") } else { try sandbox.sh(look) }
                try sandbox.write(Self.memorySearch, to: "search.py")
                let found = try sandbox.sh("python3 $R/search.py \(job.process) 'xyzzy plugh' '\(sandbox.path)/\(store)'")
                #expect(found.hasPrefix("0 ") && !found.hasSuffix(" 0"), "\(found)")
                job.send(SIGKILL)
                _ = try job.wait()
            }
        }
    }

    /// How often texts occur in the writable memory of a process.
    private static let memorySearch = #"""
        import re, sys
        process, texts = sys.argv[1], [text.encode() for text in sys.argv[2:]]
        counts = [0] * len(texts)
        with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as memory:
            for line in maps:
                found = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
                if not found: continue
                start, end = int(found[1], 16), int(found[2], 16)
                try:
                    memory.seek(start)
                    content = memory.read(end - start)
                except OSError: continue
                counts = [count + content.count(text) for count, text in zip(counts, texts)]
        print(*counts)
        """#

    @Test func `a command around a restore gets no key, no password file and no open file of the store`() throws {
        try Sandbox.use { sandbox in
            try sandbox.write("xyzzy plugh\n", to: "password")
            sandbox.variables["BACKUPFS_PASSWORD_FILE"] = "\(sandbox.path)/password"
            try sandbox.sh(
                """
                backupfs init --encrypt --sample --store $S; echo 'before-restore: "env; ls -l /proc/self/fd"' >> $S/store.yaml
                backupfs mount --store $S $M; mkdir $M/snapshots/one; cp $M/snapshots/one/export.json $M/restore/
                """)
            let output = try sandbox.report(".hooks[0].output")
            #expect(output.contains("BACKUPFS_HOOK=before-restore") && output.contains(" 0 -> /dev/null"), "\(output)")
            #expect(!output.contains("BACKUPFS_PASSWORD_FILE") && !output.contains("DESCRIPTOR"), "\(output)")
            let files = output.split(separator: "\n").filter { $0.contains(" -> ") }
            #expect(
                files.count == 4 && !files.contains { $0.contains(sandbox.storePath) || $0.contains("/dev/fuse") }, "\(files)")
            try sandbox.unmount()
        }
    }

    // MARK: Definitions of others

    @Test func `a definition's SQL reaches no other file`() throws {
        try Sandbox.use { sandbox in
            let attached = "      ATTACH '\(sandbox.path)/other.sqlite' AS other; CREATE TABLE other.owned (x);\n"
            let attaching = PhotoDiary.definition.replacing(
                "      CREATE TABLE photos", with: attached + "      CREATE TABLE photos")
            #expect(attaching.contains("ATTACH"))
            try sandbox.write(attaching, to: "evil.yaml")
            try sandbox.fails("backupfs init --store $S --app $R/evil.yaml", saying: "too many attached databases")
            #expect(try sandbox.sh("ls $R | grep -e other -e store || true") == "")
        }
    }
}
