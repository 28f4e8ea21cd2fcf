import Glibc
import TestSupport
import Testing

/// The scripts that are installed for monitors, file managers and locate.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct HelperScriptTests {
    // MARK: health.sh

    @Test func `health: all is well, a failure, an old backup, not mounted, dead`() throws {
        try Sandbox.withInstallation { sandbox in
            let health = "$I/share/backupfs/health.sh -s $S"
            func expect(_ code: Int32, _ text: String, _ command: String, at place: SourceLocation = #_sourceLocation) throws {
                let result = try sandbox.run(command)
                #expect(result.exitCode == code, "\(command): \(result.text)", sourceLocation: place)
                #expect(result.trimmed.hasPrefix("backupfs \(text)"), "\(result.text)", sourceLocation: place)
                #expect(result.lines.count == 1 && result.errors == "", "\(result.text)", sourceLocation: place)
            }
            try sandbox.sh("backupfs init --store $S --sample")
            try expect(2, "CRITICAL: nothing is mounted at \(sandbox.mountpoint)", "\(health) $M")
            try sandbox.mount()
            try expect(0, "OK: mounted at \(sandbox.mountpoint), newest backup: none", "\(health) $M/")
            try expect(1, "WARNING: there is no backup yet", "\(health) -a 24 $M")
            try sandbox.sh("mkdir $M/snapshots/old", ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"])
            try expect(0, "OK", "\(health) -a 24 $M")
            try sandbox.sh("BACKUPFS_NOW=2026-01-11T14:30:00Z backupfs backup --store $S")
            // The newest one by its time is still the first.
            try sandbox.sh("rmdir $M/snapshots/old")
            try expect(1, "WARNING: the newest backup is ", "\(health) -a 24 $M")
            try expect(0, "OK", "\(health) $M")

            try sandbox.sh("mv $S/app/database.sqlite $S/app/away")
            try expect(1, "WARNING: databaseError: \(sandbox.storePath)/app/database.sqlite: ", "\(health) $M")
            try sandbox.fails("mkdir $M/snapshots/failing", saying: "No such file")
            try sandbox.sh("mv $S/app/away $S/app/database.sqlite; echo nonsense > $R/x.json")
            // A rejection is not a failure.
            try sandbox.fails("cp $R/x.json $M/restore/", saying: "Invalid argument")
            try expect(1, "WARNING: lastError: the database does not exist", "\(health) $M")
            // A later backup shows that all is well again. Times have whole seconds.
            try sandbox.sh("wait_second; mkdir $M/snapshots/new")
            try expect(0, "OK", "\(health) -a 1 $M")

            try expect(2, "CRITICAL: there is no backupfs store here", "$I/share/backupfs/health.sh -s $R/none $M")
            try expect(2, "CRITICAL: a file system of type proc is mounted at /proc", "\(health) /proc")
            for wrong in ["", "-x $M", "-t 0 $M", "-t soon $M", "$M $M"] {
                try expect(3, "UNKNOWN: ", "\(health) \(wrong)")
            }
            try sandbox.crash()
            try expect(2, "CRITICAL: cat: ", "\(health) $M")
            try sandbox.unmount()
        }
    }

    @Test func `health: a mount that hangs is reported in time`() throws {
        try Sandbox.withInstallation { sandbox in
            try sandbox.sh("backupfs init --store $S")
            try sandbox.mount()
            for daemon in sandbox.daemons { kill(daemon, SIGSTOP) }
            defer { for daemon in sandbox.daemons { kill(daemon, SIGCONT) } }
            let result = try sandbox.run("$I/share/backupfs/health.sh -s $S -t 1 $M", limitSeconds: 20)
            #expect(result.exitCode == 2)
            #expect(result.trimmed == "backupfs CRITICAL: no answer from \(sandbox.mountpoint) within 1 s")
            for daemon in sandbox.daemons { kill(daemon, SIGCONT) }
            try sandbox.sh("ls $M")
            try sandbox.unmount()
        }
    }

    // MARK: bookmark.sh

    @Test func `a bookmark is added once and removed, and the others stay`() throws {
        try Sandbox.withInstallation { sandbox in
            let script = "$I/share/backupfs/bookmark.sh"
            let file = "$R/home/.config/gtk-3.0/bookmarks"
            try sandbox.sh("\(script) remove; test ! -e $R/home/.config")
            try sandbox.sh("\(script) add; \(script) add")
            #expect(try sandbox.sh("cat \(file)") == "file:///mnt/backups Backups")
            try sandbox.sh("echo 'file:///home/me/Music' >> \(file); echo 'sftp://host/x Far away' >> \(file); chmod 600 \(file)")
            try sandbox.sh("\(script) add \"/mnt/my backups, 100% \u{41C}/\" 'Кар & Co'; \(script) add /mnt/backups Other")
            #expect(
                try sandbox.sh("cat \(file); stat -c %a \(file)") == """
                    file:///mnt/backups Other
                    file:///home/me/Music
                    sftp://host/x Far away
                    file:///mnt/my%20backups,%20100%25%20%D0%9C Кар & Co
                    600
                    """)
            // As the file managers' own library writes it.
            try sandbox.sh("mkdir -p \"$R/my backups, 100% \u{41C}\"")
            let uri = try sandbox.sh("gio info -a standard::name \"$R/my backups, 100% \u{41C}\" | sed -n 's/^uri: .*my/my/p'")
            #expect(try sandbox.sh("cat \(file)").contains("file:///mnt/\(uri) "))
            let before = try sandbox.sh("stat -c %i \(file)")
            try sandbox.sh("\(script) add /mnt/backups Other")
            #expect(try sandbox.sh("stat -c %i \(file)") == before, "written for nothing")
            try sandbox.sh("\(script) remove; \(script) remove \"/mnt/my backups, 100% \u{41C}\"; \(script) remove /mnt/none")
            #expect(try sandbox.sh("cat \(file)") == "file:///home/me/Music\nsftp://host/x Far away")
            // A link stays a link.
            try sandbox.sh(
                "mv \(file) $R/elsewhere; ln -s $R/elsewhere \(file); \(script) add; test -L \(file); grep -q Backups $R/elsewhere"
            )
            try sandbox.fails("\(script) add relative", saying: "no absolute path", exitCode: 2)
            try sandbox.fails("\(script) frobnicate", saying: "usage", exitCode: 2)
            #expect(try sandbox.sh("ls $R/home/.config/gtk-3.0") == "bookmarks")
        }
    }

    // MARK: updatedb.sh

    @Test func `locate is kept out once, and let in again`() throws {
        try Sandbox.withInstallation { sandbox in
            let script = "$I/share/backupfs/updatedb.sh"
            let settings = """
                PRUNE_BIND_MOUNTS="yes"
                # PRUNEFS="comment"
                PRUNEPATHS="/tmp /var/spool"
                PRUNEFS="NFS afs fuse.sshfs"   # network

                """
            try sandbox.write(settings, to: "updatedb.conf")
            try sandbox.sh("\(script) add $R/updatedb.conf; \(script) add $R/updatedb.conf")
            #expect(
                try sandbox.sh("cat $R/updatedb.conf; echo")
                    == settings.replacing("fuse.sshfs\"", with: "fuse.sshfs fuse.backupfs\"").dropLast())
            try sandbox.sh("\(script) remove $R/updatedb.conf; \(script) remove $R/updatedb.conf; \(script) remove $R/none")
            #expect(try sandbox.sh("cat $R/updatedb.conf; echo") == settings.dropLast())
            try sandbox.sh("echo 'PRUNEPATHS=\"/tmp\"' > $R/bare.conf; \(script) add $R/bare.conf")
            #expect(try sandbox.sh("cat $R/bare.conf") == "PRUNEPATHS=\"/tmp\"\nPRUNEFS=\"fuse.backupfs\"")
            try sandbox.fails("\(script) add $R/none", saying: "is not there", exitCode: 1)
            try sandbox.fails("\(script)", saying: "usage", exitCode: 2)
        }
    }
}
