import TestSupport
import Testing

/// What `make install` installs, as far as it is not run.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct InstallTests {
    @Test func `everything is installed where it belongs, runs, and is removed again`() throws {
        try Sandbox.withInstallation { sandbox in
            let files = try sandbox.sh("cd $I; find . -type f ! -path '*/doc/*' | sort").split(separator: "\n")
            #expect(
                files == [
                    "./bin/backupfs", "./lib/systemd/system/backupfs-backup@.service",
                    "./lib/systemd/system/backupfs-backup@.timer", "./lib/systemd/system/backupfs@.service",
                    "./lib/systemd/user/backupfs-backup.service", "./lib/systemd/user/backupfs-backup.timer",
                    "./lib/systemd/user/backupfs-serve.service", "./lib/systemd/user/backupfs.service",
                    "./libexec/backupfs/backupfs-media",
                    "./libexec/backupfs/backupfs-serve",
                    "./sbin/mount.backupfs",
                    "./share/Thunar/sendto/backupfs-delete.desktop", "./share/Thunar/sendto/backupfs-restore.desktop",
                    "./share/Thunar/sendto/backupfs-versions.desktop", "./share/applications/backupfs.desktop",
                    "./share/backupfs/bookmark.sh",
                    "./share/backupfs/health.sh", "./share/backupfs/updatedb.sh",
                    "./share/bash-completion/completions/backupfs", "./share/fish/vendor_completions.d/backupfs.fish",
                    "./share/kio/servicemenus/backupfs.desktop",
                    "./share/man/man1/backupfs.1", "./share/man/man5/backupfs.yaml.5", "./share/man/man8/mount.backupfs.8",
                    "./share/nautilus-python/extensions/backupfs.py", "./share/nemo/actions/backupfs-delete.nemo_action",
                    "./share/nemo/actions/backupfs-restore.nemo_action", "./share/nemo/actions/backupfs-versions.nemo_action",
                    "./share/zsh/site-functions/_backupfs",
                ])
            #expect(try sandbox.sh("$I/bin/backupfs --version") == sandbox.sh("backupfs --version"))
            #expect(
                try sandbox.sh("cd $I/share/doc/backupfs; ls README.md Docs/tutorial.md Docs/how-to/mount.md").contains(
                    "tutorial"))
            #expect(try sandbox.sh("grep -rl '@BINDIR@' $I || echo none") == "none")
            try sandbox.sh("touch $I/bin/other")
            try sandbox.install("uninstall")
            #expect(try sandbox.sh("cd $I; find . -type f") == "./bin/other")
            #expect(try sandbox.sh("cd $I/share; ls . doc").contains("backupfs") == false)
        }
    }

    @Test func `DESTDIR stands for the root of the system and is in none of the files`() throws {
        try Sandbox.withInstallation { sandbox in
            try sandbox.sh(
                """
                BINARY=$(realpath $R/bin/backupfs) PREFIX=/opt/backupfs DESTDIR=$R/root \
                '\(Machine.projectPath)/mount-scripts/install.sh' install
                """)
            #expect(try sandbox.sh("ls $R/root") == "opt\nusr")
            #expect(try sandbox.sh("ls $R/root/usr/sbin") == "mount.backupfs")
            #expect(try sandbox.sh("grep -h '^program=' $R/root/usr/sbin/mount.backupfs") == "program=/opt/backupfs/bin/backupfs")
            #expect(try sandbox.sh("grep -rIl \"$R\" $R/root || echo none") == "none")
            try sandbox.fails(
                "BINARY=$R/none '\(Machine.projectPath)/mount-scripts/install.sh' install", saying: "Run: make", exitCode: 1)
        }
    }

    @Test func `SCH-01: systemd has nothing against the units`() throws {
        try Sandbox.withInstallation { sandbox in
            // It reports errors but always exits with 0.
            let system = """
                SYSTEMD_UNIT_PATH=$I/lib/systemd/system: systemd-analyze verify --man=no \
                backupfs@cars.service backupfs-backup@cars.service backupfs-backup@cars.timer 2>&1
                """
            #expect(try sandbox.sh(system) == "")
            let user = """
                SYSTEMD_UNIT_PATH=$I/lib/systemd/user: XDG_RUNTIME_DIR=$R/tmp systemd-analyze --user verify --man=no \
                backupfs.service backupfs-serve.service backupfs-backup.service backupfs-backup.timer 2>&1
                """
            #expect(try sandbox.sh(user) == "")
            try sandbox.sh("echo Nonsense=1 >> $I/lib/systemd/system/backupfs@.service")
            #expect(try sandbox.sh(system).contains("Nonsense"))
        }
    }

    /// Settings that would hide the mount from all other processes.
    @Test func `the service that mounts gets no mounts of its own`() throws {
        try Sandbox.withInstallation { sandbox in
            for unit in ["system/backupfs@.service", "user/backupfs.service"] {
                let words = try sandbox.sh("grep -v '^#' $I/lib/systemd/\(unit) | cut -d= -f1 | sort -u").split(separator: "\n")
                for word in words {
                    #expect(
                        !word.hasPrefix("Private") && !word.hasPrefix("Protect") && !word.hasSuffix("Paths")
                            && !["MountFlags", "RootDirectory", "TemporaryFileSystem", "DynamicUser", "ProcSubset"].contains(
                                word),
                        "\(unit): \(word)")
                }
                #expect(words.contains("ExecStart") && words.contains("Type"))
            }
        }
    }

    @Test func `man pages are sound and tell of every verb, option, setting and exit code`() throws {
        try Sandbox.withInstallation { sandbox in
            for page in ["man1/backupfs.1", "man5/backupfs.yaml.5", "man8/mount.backupfs.8"] {
                // Includes all warnings.
                #expect(try sandbox.sh("groff -man -Tutf8 -Kutf8 -ww -z $I/share/man/\(page) 2>&1") == "", "\(page)")
                #expect(try sandbox.sh("head -1 $I/share/man/\(page)").contains("\"1970-01-02\" \"backupfs "), "\(page)")
            }
            let text = try sandbox.sh("groff -man -Tutf8 -Kutf8 -P-cbou $I/share/man/man1/backupfs.1")
            for verb in CommandTests.verbs {
                #expect(text.contains("   backupfs \(verb)\n"), "\(verb)")
                let options = try sandbox.sh("backupfs \(verb) --help").matches(of: /(?m)^  (?:-[a-z], )?(--[a-z-]+)/).map(\.1)
                #expect(!options.isEmpty)
                for option in options { #expect(text.contains(option), "\(verb) \(option)") }
            }
            #expect(text.contains("   backupfs app migrate\n"))
            #expect(!text.contains("--sample-expenses"), "hidden")
            for code in ["0", "1", "2", "3", "10", "11", "12", "13", "130"] {
                #expect(try text.contains(Regex("\n       \(code) +[a-z]")), "exit code \(code)")
            }
            for option in ["allow_other, allow_root", "password_file=FILE", "max_read=BYTES", "BACKUPFS_STORE"] {
                #expect(text.contains("\n       \(option)"), "\(option)")
            }
            let definition = try sandbox.sh("cat $I/share/man/man5/backupfs.yaml.5")
            for word in ["hook\\-timeout\\-seconds", "wholeDatabase", "keepOnReplace", "mayDangle"] {
                #expect(definition.contains("\n\\fB\(word)\\fP\n"), "\(word)")
            }
        }
    }
}
