import TestSupport
import Testing

/// Command lines that mean something else than intended.
struct CommandLineTests {
    @Test func `U-A8: an option that is given twice with two values is refused`() throws {
        let sandbox = try Sandbox()
        for (line, option) in [
            ("init --database $R/a.sqlite --database $R/b.sqlite", "--database"), ("init --media=$R/a --media $R/b", "--media"),
            ("snapshots --store $R/a --store=$R/b", "--store"), ("export -o $R/a -o $R/b", "--output"),
            ("forget -l 3 --keep-last 4", "--keep-last"),
        ] {
            let result = try sandbox.run("backupfs \(line)")
            #expect(result.exitCode == 2, "\(line): \(result)")
            #expect("\(result)".contains("\(option) is given twice"), "\(result)")
        }
        // Repeating the same value is unambiguous; and some options collect their values.
        _ = try sandbox.run("backupfs init --store $R/s --store=$R/s; backupfs backup --store $R/s --label one")
        #expect(try sandbox.run("backupfs tag one --add a --add b --store $R/s").exitCode == 0)
        #expect(try sandbox.run("backupfs snapshots --tag a --tag b --store $R/s --json --json").exitCode == 0)
    }

    @Test func `U-A9: an age in m is refused, since it could be minutes or months`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.run("backupfs init --store $R/s; backupfs backup --store $R/s")
        for age in ["90m", "1m", "1y2m"] {
            let result = try sandbox.run("backupfs status --check \(age) --store $R/s")
            #expect(
                result.exitCode == 2 && "\(result)".contains("m is minutes to the schedule, and months to forget"), "\(result)")
        }
        #expect(try sandbox.run("backupfs status --check 1h --store $R/s").exitCode == 0)
        #expect(try sandbox.run("backupfs status --check 1y --store $R/s").exitCode == 0)
        // The same units everywhere.
        #expect(try sandbox.run("backupfs status --check 90min --store $R/s").exitCode == 0)
        #expect(try sandbox.run("backupfs status --check 1mo2w --store $R/s").exitCode == 0)
        let later = ["BACKUPFS_NOW": "2040-01-01T00:00:00Z"]
        #expect(try sandbox.run("backupfs backup --store $R/s", ["BACKUPFS_NOW": "2039-12-31T22:00:00Z"]).exitCode == 0)
        #expect(try sandbox.run("backupfs status --check 119min --store $R/s", later).exitCode == 1)
        #expect(try sandbox.run("backupfs status --check 121min --store $R/s", later).exitCode == 0)
        for within in ["1mo", "1m", "4w", "90min", "1y6mo", "1y6m"] {
            #expect(try sandbox.run("backupfs forget --keep-within \(within) -n --store $R/s").exitCode == 0, "\(within)")
            #expect(try sandbox.run("backupfs config set keep-within \(within) --store $R/s").exitCode == 0, "\(within)")
        }
        for schedule in ["every 90m", "every 90min", "every 1h30min", "every 2w"] {
            #expect(try sandbox.run("backupfs config set schedule '\(schedule)' --store $R/s").exitCode == 0, "\(schedule)")
        }
        for schedule in ["every 1mo", "every 1y", "every 30s", "every 5"] {
            #expect(try sandbox.run("backupfs config set schedule '\(schedule)' --store $R/s").exitCode != 0, "\(schedule)")
        }
    }

    @Test(arguments: [
        ("list", "ls"), ("unmount", "umount"), ("bakup", "backup"), ("snapshot", "snapshots"), ("histroy", "history"),
        ("Restore", "restore"),
    ])
    func `U-A11: a mistyped command is not taken for a mountpoint`(word: String, meant: String) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.run("backupfs init --store $R/s; mkdir $R/snapshot $R/mnt")
        for folder in [".", "$R"] {
            let result = try sandbox.run("cd \(folder); BACKUPFS_STORE=$R/s backupfs \(word)")
            #expect(result.exitCode == 2, "\(result)")
            #expect("\(result)".contains("Did you mean \(meant)?"), "\(result)")
        }
        for line in ["upload", "nothing-like-that", "move --help"] {
            let result = try sandbox.run("cd $R; backupfs \(line)")
            #expect(result.exitCode == 2 && "\(result)".lowercased().contains("there is no command "), "\(line): \(result)")
            #expect(!"\(result)".contains("mkdir") && !"\(result)".contains("Returns when the mount is ready"))
        }
        let result = try sandbox.run("cd $R; backupfs mnt --store $R/none")
        #expect(!"\(result)".contains("Did you mean"), "\(result)")
    }

    @Test func `U-A10: rows that a backup would hold and no restore would take are findings of app check`() throws {
        let sandbox = try Sandbox()
        try PhotoDiary.definition.replacing(
            "{name: caption, column: caption, type: text, nullable: true}",
            with: "{name: caption, column: caption, type: date, nullable: true}"
        ).write(toFile: sandbox("diary.yaml"), atomically: true, encoding: .utf8)
        let setUp = try sandbox.run(
            "backupfs init --store $R/s --app $R/diary.yaml; cp $R/s/app/database.sqlite $R/d.sqlite; backupfs app check $R/diary.yaml --database $R/s/app/database.sqlite"
        )
        #expect(setUp.exitCode == 0, "\(setUp)")
        let result = try sandbox.run(
            """
            sqlite3 $R/s/app/database.sqlite \
                "insert into photos values (1,'a.jpg','2026-11-22 18:40:52'),(2,'b.jpg','2026-11-22T18:40:52Z')"
            backupfs app check $R/diary.yaml --database $R/s/app/database.sqlite
            """
        )
        #expect(result.exitCode == 1, "\(result)")
        #expect(
            result.output.contains(
                #"no restore would take this: photo 1: caption "2026-11-22 18:40:52" is not an ISO 8601 date"#),
            "\(result)")
        #expect(!"\(result)".contains("photo 2"))
    }
}
