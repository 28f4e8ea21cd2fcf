import Foundation
import TestSupport
import Testing

@testable import Operations

/// Encrypted repositories on the command line: sources of passwords, and behavior without the right one.
struct PasswordTests {
    /// A store with a backup named "first", encrypted with the password in `$R/password`.
    private func makeRoom() throws -> Room {
        let room = try Room()
        try room.sh(
            """
            printf 'correct horse\\nnot a part of it\\n' > $R/password; echo wrong > $R/wrong
            backupfs init --encrypt --sample --store $S --password-file $R/password >/dev/null
            backupfs backup --label first --store $S --password-file $R/password >/dev/null
            """)
        return room
    }

    @Test func `the password comes from a file, a pipe or a variable that names a file`() throws {
        let room = try makeRoom()
        for way in [
            "backupfs ls first --store $S --password-file $R/password",
            "BACKUPFS_PASSWORD_FILE=$R/password backupfs ls first --store $S",
            "BACKUPFS_PASSWORD_FILE=$R/wrong backupfs ls first --store $S --password-file $R/password",
            "backupfs ls first --store $S --password-file <(cat $R/password)",
            "printf 'correct horse\\r\\n' | backupfs ls first --store $S --password-file /dev/stdin",
            "printf 'correct horse' | backupfs ls first --store $S --password-file /dev/stdin",
            "(printf corr; sleep 0.2; echo 'ect horse') | backupfs ls first --store $S --password-file /dev/stdin",
        ] {
            #expect(try room.sh(way).contains("export.json"), "\(way)")
        }
    }

    /// As the disaster page's `rsync` once did with a copy from before a password change.
    @Test func `an older key file that comes back does not shut the right password out`() throws {
        let room = try makeRoom()
        try room.sh(
            """
            cp -a $S/repository $R/copy; echo new > $R/new
            backupfs passwd --store $S --password-file $R/password --new-password-file $R/new
            rm $S/repository/key; cp $R/copy/key $S/repository/key
            for n in 1 2; do for p in password new; do backupfs ls first --store $S --password-file $R/$p >/dev/null; done; done
            """)
        let check = try room.run("backupfs check --store $S --password-file $R/new")
        #expect(check.status == 1 && (check.output + check.complaint).contains("two passwords may open"), "\(check)")
        try room.sh(
            """
            backupfs passwd --store $S --password-file $R/new --new-password-file $R/new
            backupfs check --store $S --password-file $R/new
            """)
        #expect(try room.run("backupfs ls first --store $S --password-file $R/password").status == 12)
    }

    @Test func `without the right password the exit code is 12`() throws {
        let room = try makeRoom()
        try room.sh("mkdir $R/mnt")
        for (way, message) in [
            ("--password-file $R/wrong", "the password is wrong"),
            ("</dev/null", "the repository is encrypted, and no password was given"),
        ] {
            for verb in [
                "snapshots", "backup", "ls first", "export first --zip -o -", "status", "passwd", "stats", "mount $R/mnt",
            ] {
                let result = try room.run("backupfs \(verb) --store $S \(way)")
                #expect(result.status == 12, "\(verb) \(way): \(result.complaint)")
                #expect(result.complaint.contains(message), "\(verb) \(way): \(result.complaint)")
                #expect(result.output == "")
            }
        }
        let json = try room.run("backupfs snapshots --json --store $S --password-file $R/wrong")
        #expect(json.complaint.contains(#""code":12,"error":"wrongPassword","message":"the password is wrong""#))
        let missing = try room.run("backupfs snapshots --store $S --password-file $R/none")
        #expect(missing.status == 1 && missing.complaint.contains("\(room.path)/none"))
        try room.sh("printf '\\nsecond line' > $R/empty; head -c 5000 /dev/zero | tr '\\0' x > $R/long")
        for file in ["empty", "long"] {
            #expect(try room.run("backupfs snapshots --store $S --password-file $R/\(file)").status == 2)
        }
        // A command must not continue without the encryption that its user relies on.
        try room.sh("backupfs init --store $R/plain >/dev/null")
        let plain = try room.run("backupfs snapshots --store $R/plain --password-file $R/password")
        #expect(plain.status == 2 && plain.complaint.contains("is not encrypted"), "\(plain.complaint)")
        try room.sh("BACKUPFS_PASSWORD_FILE=$R/password backupfs snapshots --store $R/plain")
    }

    @Test func `a terminal is asked, and does not show what is typed`() throws {
        let room = try makeRoom()
        let result = try room.onTerminal("correct horse\\n", "backupfs snapshots --store $S")
        #expect(result.status == 0, "\(result.output)\(result.complaint)")
        #expect(result.output.hasPrefix("Password of \(room.storePath)/repository: <answered>\nName "), "\(result.output)")
        // Ctrl-U deletes the line, backspace a character of two bytes.
        #expect(try room.onTerminal("nonsense\\x15correct hors\\u00fc\\x7fe\\n", "backupfs snapshots --store $S").status == 0)
        #expect(try room.onTerminal("nonsense\\n", "backupfs snapshots --store $S").status == 12)
        #expect(try room.onTerminal("\\n", "backupfs snapshots --store $S").status == 2)
        #expect(try room.onTerminal("corr\\x03", "backupfs snapshots --store $S").status == 130)
        // The terminal is in its previous state, also after Ctrl-C.
        let echo = try room.onTerminal("corr\\x03", "bash -c 'backupfs snapshots --store $S; stty -a'")
        #expect(
            echo.output.contains(" echo ") && echo.output.contains(" icanon ") && echo.output.contains("isig "), "\(echo.output)")
    }

    @Test func `a new password is asked for twice`() throws {
        let room = try Room()
        let differing = try room.onTerminal("one\\n|two\\n", "backupfs init --encrypt --store $S")
        #expect(differing.status == 2 && differing.output.contains("the two passwords differ"), "\(differing.output)")
        #expect(try room.sh("ls -d $S 2>/dev/null || echo none") == "none")
        let made = try room.onTerminal("one\\n|one\\n", "backupfs init --encrypt --store $S")
        #expect(made.status == 0 && made.output.contains("The backups are encrypted."), "\(made.output)")
        #expect(!made.output.contains("one"))
        let changed = try room.onTerminal("one\\n|three\\n|three\\n", "backupfs passwd --store $S")
        #expect(changed.output.hasSuffix("The password of \(room.storePath)/repository has been changed.\n"), "\(changed.output)")
        try room.sh("echo three | backupfs snapshots --store $S --password-file /dev/stdin")
        let noTerminal = try room.run("backupfs init --encrypt --store $R/other </dev/null")
        #expect(noTerminal.status == 2 && noTerminal.complaint.contains("no password was given"))
    }

    @Test func `stores around a repository that is there`() throws {
        let room = try makeRoom()
        let adopt = "backupfs init --repository $S/repository --store $R/again --json"
        #expect(try room.run("\(adopt) </dev/null").status == 12)
        #expect(try room.run("\(adopt) --encrypt --password-file $R/password").status == 2)
        #expect(try room.sh("ls -d $R/again* 2>/dev/null || echo none") == "none")
        #expect(try room.sh("\(adopt) --password-file $R/password").contains(#""app":"ev-charging-tracker","encrypted":true,"#))
        #expect(try room.sh("backupfs ls first --store $R/again --password-file $R/password").contains("export.json"))
        #expect(try room.sh("backupfs init --json --store $R/plain").contains(#""encrypted":false,"#))
    }

    /// An attacker with write access to the repository replaces its config with an unencrypted one. The store that knows the
    /// repository refuses it anyway.
    @Test func `a new store does not believe that a repository with a key file is not encrypted`() throws {
        let room = try makeRoom()
        try room.sh(
            """
            cp -a $S/repository $R/nas; backupfs init --store $R/plain; backupfs backup --store $R/plain
            sed "s/^id: .*/$(grep '^id: ' $R/nas/config)/" $R/plain/repository/config > $R/config
            cp $R/config $R/nas/config; cp $R/config $R/nas/config.copy; find $R/nas -type f | sort | xargs sha256sum > $R/sums
            """)
        func refuse(_ command: String) throws {
            let refused = try room.run("backupfs \(command)")
            #expect(
                refused.status == 1
                    && refused.complaint.contains("the repository has a key file, and its config says that it is not encrypted"),
                "\(command): \(refused)")
        }
        try refuse("init --repository $R/nas --store $R/other --new-source --sample")
        try room.sh("rm $R/nas/key")
        try refuse("init --repository $R/nas --store $R/other")
        // A store that switches to another repository, and one that has lost its identity.
        try room.sh("cp $R/nas/key.copy $R/nas/key; backupfs config set repository $R/nas --store $R/plain")
        try refuse("backup --store $R/plain")
        try room.sh("rm $R/plain/identity")
        try refuse("backup --store $R/plain")
        try room.sh("sha256sum --quiet -c $R/sums; [ ! -e $R/other ]; rm $R/nas/key $R/nas/key.copy")
        // The remains of an interrupted init, or of a lost repository, are set aside: the key may open data of that repository
        // that is found later.
        try room.sh("mkdir -p $R/new/packs; cp $S/repository/key $R/new; backupfs init --repository $R/new --store $R/first")
        try room.sh("cmp $S/repository/key $R/new/damaged/key")
        try room.sh("backupfs backup --store $R/first; backupfs init --repository $R/new --store $R/second --new-source")
    }

    @Test func `check and repair know sealed packs`() throws {
        let room = try makeRoom()
        let environment = ["BACKUPFS_PASSWORD_FILE": room("password")]
        try room.sh("backupfs check --read-data --store $S", environment)
        // A missing catalog, and a bit flip in the largest pack.
        try room.sh("rm -r $S/catalog")
        try Damage.flip(Damage.largestPack(of: room.storePath + "/repository"))
        let found = try room.run("backupfs check --read-data --store $S", environment)
        #expect(found.status == 1)
        let text = found.output + found.complaint
        #expect(text.contains("it does not open with the repository's key") && text.contains("first"), "\(text)")
        let repaired = try room.run("backupfs check --repair --yes --store $S", environment)
        #expect((repaired.output + repaired.complaint).contains("1 lost"), "\(repaired.output)\(repaired.complaint)")
        // Intact chunks were copied unchanged: everything but the one chunk still opens, and the same data fills the gap.
        try room.sh("backupfs backup --label second --store $S >/dev/null; backupfs check --read-data --store $S", environment)
        try room.sh("backupfs export first --zip -o $R/first.zip --store $S >/dev/null; unzip -tqq $R/first.zip", environment)
    }

    /// Which password opens the repository afterwards, and where the two key files differ.
    @Test(
        arguments: [
            ("password.copy-replaced", 9, "password", true), ("password.key-replaced", 9, "new", false),
            ("password.copy-replaced=fail", 1, "password", false), ("password.key-replaced=fail", 1, "password", false),
        ] as [(String, Int32, String, Bool)])
    func `a change of password that a crash or an error interrupts`(
        fault: String, status: Int32, valid: String, areDiffering: Bool
    ) throws {
        let room = try makeRoom()
        let before = try room.sh("cd $S/repository; find packs snapshots config -type f -exec sha256sum {} + | sort")
        try room.sh("echo new > $R/new")
        let result = try room.run(
            "backupfs passwd --store $S --password-file $R/password --new-password-file $R/new", ["BACKUPFS_FAULT": fault])
        #expect(result.status == status && result.output == "", "\(result)")
        #expect(result.complaint.contains("the password has not been changed") == (status == 1), "\(result)")
        #expect(try room.run("cmp $S/repository/key $S/repository/key.copy").status == (areDiffering ? 1 : 0))
        let other = valid == "new" ? "password" : "new"
        // Where they differ, each opens it.
        #expect(try room.run("backupfs snapshots --store $S --password-file $R/\(other)").status == (areDiffering ? 0 : 12))
        try room.sh("backupfs ls first --store $S --password-file $R/\(valid) >/dev/null")
        let check = try room.run("backupfs check --store $S --password-file $R/\(valid)")
        #expect(check.status == (areDiffering ? 1 : 0), "\(check)")
        #expect(try room.sh("cd $S/repository; find packs snapshots config -type f -exec sha256sum {} + | sort") == before)
        try room.sh(
            """
            backupfs passwd --store $S --password-file $R/\(valid) --new-password-file $R/\(other) --json | grep password_changed
            backupfs ls first --store $S --password-file $R/\(other) >/dev/null
            """)
        #expect(try room.run("backupfs snapshots --store $S --password-file $R/\(valid)").status == 12)
    }

    @Test func `a repository that is not encrypted has no password to change`() throws {
        let plain = try Room()
        let result = try plain.run(
            "backupfs init --store $S >/dev/null; echo new > $R/new; backupfs passwd --store $S --new-password-file $R/new")
        #expect(result.status == 1 && result.complaint.contains("is not encrypted"))
    }

    /// Neither a core file nor the runtime's register dump: both may contain the key.
    @Test func `a crash leaves nothing of what was in memory`() throws {
        let room = try makeRoom()
        let result = try room.run(
            """
            mkdir $R/work; cd $R/work; ulimit -c unlimited; touch $R/pause
            BACKUPFS_FAULT=backup.begun=pause:$R/pause backupfs backup --store $S --password-file $R/password & backup=$!
            for i in $(seq 3000); do [ -e $R/pause.reached ] && break; sleep 0.01; done
            kill -SEGV $backup; wait $backup; echo $?; ls -A; ls /proc/$backup 2>/dev/null
            """)
        #expect(result.output == "139\n" && !result.complaint.contains("rip") && !result.complaint.contains("crashed"))
    }
}
