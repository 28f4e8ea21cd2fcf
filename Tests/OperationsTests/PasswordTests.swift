import Foundation
import TestSupport
import Testing

@testable import Operations

/// Encrypted repositories on the command line: sources of passwords, and behavior without the right one.
struct PasswordTests {
    /// A store with a backup named "first", encrypted with the password in `$R/password`.
    private func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            printf 'correct horse\\nnot a part of it\\n' > $R/password; echo wrong > $R/wrong
            backupfs init --encrypt --sample --store $S --password-file $R/password >/dev/null
            """)
        try sandbox.makePasswordCheap(sandbox("password"))
        try sandbox.sh("backupfs backup --label first --store $S --password-file $R/password >/dev/null")
        return sandbox
    }

    @Test func `the password comes from a file, a pipe or a variable that names a file`() throws {
        let sandbox = try makeSandbox()
        for way in [
            "backupfs ls first --store $S --password-file $R/password",
            "BACKUPFS_PASSWORD_FILE=$R/password backupfs ls first --store $S",
            "BACKUPFS_PASSWORD_FILE=$R/wrong backupfs ls first --store $S --password-file $R/password",
            "backupfs ls first --store $S --password-file <(cat $R/password)",
            "printf 'correct horse\\r\\n' | backupfs ls first --store $S --password-file /dev/stdin",
            "printf 'correct horse' | backupfs ls first --store $S --password-file /dev/stdin",
            "(printf corr; sleep 0.2; echo 'ect horse') | backupfs ls first --store $S --password-file /dev/stdin",
        ] {
            #expect(try sandbox.sh(way).contains("export.json"), "\(way)")
        }
    }

    /// As the disaster page's `rsync` once did with a copy from before a password change.
    @Test func `an older key file that comes back does not shut the right password out`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh(
            """
            cp -a $S/repository $R/copy; echo new > $R/new
            backupfs passwd --store $S --password-file $R/password --new-password-file $R/new
            rm $S/repository/key; cp $R/copy/key $S/repository/key
            for n in 1 2; do for p in password new; do backupfs ls first --store $S --password-file $R/$p >/dev/null; done; done
            """)
        let check = try sandbox.run("backupfs check --store $S --password-file $R/new")
        #expect(check.exitCode == 1 && (check.output + check.errors).contains("two passwords may open"), "\(check)")
        try sandbox.sh(
            """
            backupfs passwd --store $S --password-file $R/new --new-password-file $R/new
            backupfs check --store $S --password-file $R/new
            """)
        #expect(try sandbox.run("backupfs ls first --store $S --password-file $R/password").exitCode == 12)
    }

    @Test func `without the right password the exit code is 12`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh("mkdir $R/mnt")
        for (way, message) in [
            ("--password-file $R/wrong", "the password is wrong"),
            ("</dev/null", "the repository is encrypted, and no password was given"),
        ] {
            for verb in [
                "snapshots", "backup", "ls first", "export first --zip -o -", "status", "passwd", "stats", "mount $R/mnt",
            ] {
                let result = try sandbox.run("backupfs \(verb) --store $S \(way)")
                #expect(result.exitCode == 12, "\(verb) \(way): \(result.errors)")
                #expect(result.errors.contains(message), "\(verb) \(way): \(result.errors)")
                #expect(result.output == "")
            }
        }
        let json = try sandbox.run("backupfs snapshots --json --store $S --password-file $R/wrong")
        #expect(json.errors.contains(#""code":12,"error":"wrongPassword","message":"the password is wrong""#))
        let missing = try sandbox.run("backupfs snapshots --store $S --password-file $R/none")
        #expect(missing.exitCode == 1 && missing.errors.contains("\(sandbox.path)/none"))
        try sandbox.sh("printf '\\nsecond line' > $R/empty; head -c 5000 /dev/zero | tr '\\0' x > $R/long")
        for file in ["empty", "long"] {
            #expect(try sandbox.run("backupfs snapshots --store $S --password-file $R/\(file)").exitCode == 2)
        }
        // A command must not continue without the encryption that its user relies on.
        try sandbox.sh("backupfs init --store $R/plain >/dev/null")
        let plain = try sandbox.run("backupfs snapshots --store $R/plain --password-file $R/password")
        #expect(plain.exitCode == 2 && plain.errors.contains("is not encrypted"), "\(plain.errors)")
        try sandbox.sh("BACKUPFS_PASSWORD_FILE=$R/password backupfs snapshots --store $R/plain")
    }

    @Test func `a terminal is asked, and does not show what is typed`() throws {
        let sandbox = try makeSandbox()
        let result = try sandbox.onTerminal("correct horse\\n", "backupfs snapshots --store $S")
        #expect(result.exitCode == 0, "\(result.output)\(result.errors)")
        #expect(result.output.hasPrefix("Password of \(sandbox.storePath)/repository: <answered>\nName "), "\(result.output)")
        // Ctrl-U deletes the line, backspace a character of two bytes.
        #expect(
            try sandbox.onTerminal("nonsense\\x15correct hors\\u00fc\\x7fe\\n", "backupfs snapshots --store $S").exitCode == 0)
        #expect(try sandbox.onTerminal("nonsense\\n", "backupfs snapshots --store $S").exitCode == 12)
        #expect(try sandbox.onTerminal("\\n", "backupfs snapshots --store $S").exitCode == 2)
        #expect(try sandbox.onTerminal("corr\\x03", "backupfs snapshots --store $S").exitCode == 130)
        // The terminal is in its previous state, also after Ctrl-C.
        let echo = try sandbox.onTerminal("corr\\x03", "bash -c 'backupfs snapshots --store $S; stty -a'")
        #expect(
            echo.output.contains(" echo ") && echo.output.contains(" icanon ") && echo.output.contains("isig "), "\(echo.output)")
    }

    @Test func `a new password is asked for twice`() throws {
        let sandbox = try Sandbox()
        let differing = try sandbox.onTerminal("one\\n|two\\n", "backupfs init --encrypt --store $S")
        #expect(differing.exitCode == 2 && differing.output.contains("the two passwords differ"), "\(differing.output)")
        #expect(try sandbox.sh("ls -d $S 2>/dev/null || echo none") == "none")
        let made = try sandbox.onTerminal("one\\n|one\\n", "backupfs init --encrypt --store $S")
        #expect(made.exitCode == 0 && made.output.contains("The backups are encrypted."), "\(made.output)")
        #expect(!made.output.contains("one"))
        let changed = try sandbox.onTerminal("one\\n|three\\n|three\\n", "backupfs passwd --store $S")
        #expect(
            changed.output.hasSuffix("The password of \(sandbox.storePath)/repository has been changed.\n"), "\(changed.output)")
        try sandbox.sh("echo three | backupfs snapshots --store $S --password-file /dev/stdin")
        let noTerminal = try sandbox.run("backupfs init --encrypt --store $R/other </dev/null")
        #expect(noTerminal.exitCode == 2 && noTerminal.errors.contains("no password was given"))
    }

    @Test func `stores around a repository that is there`() throws {
        let sandbox = try makeSandbox()
        let adopt = "backupfs init --repository $S/repository --store $R/again --json"
        #expect(try sandbox.run("\(adopt) </dev/null").exitCode == 12)
        #expect(try sandbox.run("\(adopt) --encrypt --password-file $R/password").exitCode == 2)
        #expect(try sandbox.sh("ls -d $R/again* 2>/dev/null || echo none") == "none")
        #expect(
            try sandbox.sh("\(adopt) --password-file $R/password").contains(#""app":"ev-charging-tracker","encrypted":true,"#))
        #expect(try sandbox.sh("backupfs ls first --store $R/again --password-file $R/password").contains("export.json"))
        #expect(try sandbox.sh("backupfs init --json --store $R/plain").contains(#""encrypted":false,"#))
    }

    /// An attacker with write access to the repository replaces its config with an unencrypted one. The store that knows the
    /// repository refuses it anyway.
    @Test func `a new store does not believe that a repository with a key file is not encrypted`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh(
            """
            cp -a $S/repository $R/nas; backupfs init --store $R/plain; backupfs backup --store $R/plain
            sed "s/^id: .*/$(grep '^id: ' $R/nas/config)/" $R/plain/repository/config > $R/config
            cp $R/config $R/nas/config; cp $R/config $R/nas/config.copy; find $R/nas -type f | sort | xargs sha256sum > $R/sums
            """)
        func refuse(_ command: String) throws {
            let refused = try sandbox.run("backupfs \(command)")
            #expect(
                refused.exitCode == 1
                    && refused.errors.contains("the repository has a key file, and its config says that it is not encrypted"),
                "\(command): \(refused)")
        }
        try refuse("init --repository $R/nas --store $R/other --new-source --sample")
        try sandbox.sh("rm $R/nas/key")
        try refuse("init --repository $R/nas --store $R/other")
        // A store that switches to another repository, and one that has lost its identity.
        try sandbox.sh("cp $R/nas/key.copy $R/nas/key; backupfs config set repository $R/nas --store $R/plain")
        try refuse("backup --store $R/plain")
        try sandbox.sh("rm $R/plain/identity")
        try refuse("backup --store $R/plain")
        try sandbox.sh("sha256sum --quiet -c $R/sums; [ ! -e $R/other ]; rm $R/nas/key $R/nas/key.copy")
        // The remains of an interrupted init, or of a lost repository, are set aside: the key may open data of that repository
        // that is found later.
        try sandbox.sh("mkdir -p $R/new/packs; cp $S/repository/key $R/new; backupfs init --repository $R/new --store $R/first")
        try sandbox.sh("cmp $S/repository/key $R/new/damaged/key")
        try sandbox.sh("backupfs backup --store $R/first; backupfs init --repository $R/new --store $R/second --new-source")
    }

    @Test func `check and repair know sealed packs`() throws {
        let sandbox = try makeSandbox()
        let environment = ["BACKUPFS_PASSWORD_FILE": sandbox("password")]
        try sandbox.sh("backupfs check --read-data --store $S", environment)
        // A missing catalog, and a bit flip in the largest pack.
        try sandbox.sh("rm -r $S/catalog")
        try Damage.flip(Damage.largestPack(of: sandbox.storePath + "/repository"))
        let found = try sandbox.run("backupfs check --read-data --store $S", environment)
        #expect(found.exitCode == 1)
        let text = found.output + found.errors
        #expect(text.contains("it does not open with the repository's key") && text.contains("first"), "\(text)")
        let repaired = try sandbox.run("backupfs check --repair --yes --store $S", environment)
        #expect((repaired.output + repaired.errors).contains("1 lost"), "\(repaired.output)\(repaired.errors)")
        // Intact chunks were copied unchanged: everything but the one chunk still opens, and the same data fills the gap.
        try sandbox.sh("backupfs backup --label second --store $S >/dev/null; backupfs check --read-data --store $S", environment)
        try sandbox.sh("backupfs export first --zip -o $R/first.zip --store $S >/dev/null; unzip -tqq $R/first.zip", environment)
    }

    /// Which password opens the repository afterwards, and where the two key files differ.
    @Test(
        arguments: [
            ("password.copy-replaced", 137, "password", true), ("password.key-replaced", 137, "new", false),
            ("password.copy-replaced=fail", 1, "password", false), ("password.key-replaced=fail", 1, "password", false),
        ] as [(String, Int32, String, Bool)])
    func `a change of password that a crash or an error interrupts`(
        fault: String, status: Int32, valid: String, areDiffering: Bool
    ) throws {
        let sandbox = try makeSandbox()
        let before = try sandbox.sh("cd $S/repository; find packs snapshots config -type f -exec sha256sum {} + | sort")
        try sandbox.sh("echo new > $R/new")
        let result = try sandbox.run(
            "backupfs passwd --store $S --password-file $R/password --new-password-file $R/new", ["BACKUPFS_FAULT": fault])
        #expect(result.exitCode == status && result.output == "", "\(result)")
        #expect(result.errors.contains("the password has not been changed") == (status == 1), "\(result)")
        #expect(try sandbox.run("cmp $S/repository/key $S/repository/key.copy").exitCode == (areDiffering ? 1 : 0))
        let other = valid == "new" ? "password" : "new"
        // Where they differ, each opens it.
        #expect(try sandbox.run("backupfs snapshots --store $S --password-file $R/\(other)").exitCode == (areDiffering ? 0 : 12))
        try sandbox.sh("backupfs ls first --store $S --password-file $R/\(valid) >/dev/null")
        let check = try sandbox.run("backupfs check --store $S --password-file $R/\(valid)")
        #expect(check.exitCode == (areDiffering ? 1 : 0), "\(check)")
        #expect(try sandbox.sh("cd $S/repository; find packs snapshots config -type f -exec sha256sum {} + | sort") == before)
        try sandbox.sh(
            """
            backupfs passwd --store $S --password-file $R/\(valid) --new-password-file $R/\(other) --json | grep password_changed
            backupfs ls first --store $S --password-file $R/\(other) >/dev/null
            """)
        #expect(try sandbox.run("backupfs snapshots --store $S --password-file $R/\(valid)").exitCode == 12)
    }

    @Test func `a repository that is not encrypted has no password to change`() throws {
        let plain = try Sandbox()
        let result = try plain.run(
            "backupfs init --store $S >/dev/null; echo new > $R/new; backupfs passwd --store $S --new-password-file $R/new")
        #expect(result.exitCode == 1 && result.errors.contains("is not encrypted"))
    }

    /// Neither a core file nor the runtime's register dump: both may contain the key.
    @Test func `a crash leaves nothing of what was in memory`() throws {
        let sandbox = try makeSandbox()
        let result = try sandbox.run(
            """
            mkdir $R/work; cd $R/work; ulimit -c unlimited; touch $R/pause
            BACKUPFS_FAULT=backup.begun=pause:$R/pause backupfs backup --store $S --password-file $R/password & backup=$!
            wait_paused $R/pause $backup
            kill -SEGV $backup; wait $backup; echo $?; ls -A; ls /proc/$backup 2>/dev/null
            """)
        #expect(result.output == "139\n" && !result.errors.contains("rip") && !result.errors.contains("crashed"))
    }
}
