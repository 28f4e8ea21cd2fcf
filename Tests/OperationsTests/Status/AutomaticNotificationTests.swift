import BackupCore
import TestSupport
import Testing

@testable import AppData
@testable import Operations

/// Notices of failed automatic backups: when, how often, by which commands, and whatever the clock and the disk do.
struct AutomaticNotificationTests {
    private static let note = "echo $BACKUPFS_EVENT,$BACKUPFS_RESULT,$BACKUPFS_FAILURES,$BACKUPFS_MESSAGE >> told"
    private static let fault = ["BACKUPFS_FAULT": "backup.begun=fail"]
    private static let failure = "an injected fault at backup.begun"

    private func sandbox(_ settings: String = "notify: '\(note)'", app: String = "keeptrack") throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --app \(app) --store $S >/dev/null
            backupfs config set schedule daily --store $S; backupfs config set skip-unchanged no --store $S
            """)
        let text = try sandbox.sh("cat $S/store.yaml")
        try sandbox.write(text + "\n\(settings)\n", to: "store/store.yaml")
        #expect(try due(sandbox, "2026-01-10T10:00:00Z").exitCode == 0)
        return sandbox
    }

    @discardableResult
    private func due(_ sandbox: Sandbox, _ now: String, _ extra: [String: String] = [:]) throws -> Job.Result {
        try sandbox.run("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": now].merging(extra) { $1 })
    }

    private func told(_ sandbox: Sandbox, _ file: String = "told") throws -> [String] {
        try sandbox.sh("cat $S/\(file) 2>/dev/null || true").split(separator: "\n").map(String.init)
    }

    // MARK: - When

    @Test func `U-B4: after three failures in a row a user is notified once, each day, and once when it works again`() throws {
        let sandbox = try sandbox()
        for minute in [10, 20] { #expect(try due(sandbox, "2026-01-11T00:\(minute):00Z", Self.fault).exitCode == 1) }
        #expect(try told(sandbox) == [])
        for minute in [30, 40, 50] { #expect(try due(sandbox, "2026-01-11T00:\(minute):00Z", Self.fault).exitCode == 1) }
        let first = "failing,failed,3,Automatic backups fail: \(Self.failure)"
        #expect(try told(sandbox) == [first])
        // Not before a day has passed, and again after a day.
        for now in ["2026-01-12T00:29:00Z", "2026-01-12T00:30:00Z", "2026-01-12T00:45:00Z"] { try due(sandbox, now, Self.fault) }
        let second = "failing,failed,7,Automatic backups fail: \(Self.failure)"
        #expect(try told(sandbox) == [first, second])
        #expect(try due(sandbox, "2026-01-12T01:00:00Z").exitCode == 0)
        let end = "recovered,success,0,Automatic backups work again. The newest one is 2026-01-12_01-00-00."
        #expect(try told(sandbox) == [first, second, end])
        // It is over: neither the next one nor a few more failures are reported.
        try due(sandbox, "2026-01-13T01:00:00Z")
        for minute in [10, 20] { try due(sandbox, "2026-01-14T00:\(minute):00Z", Self.fault) }
        #expect(try told(sandbox) == [first, second, end])
        #expect(
            try sandbox.sh(
                "jq -c 'select(.op == \"schedule\" and .level != \"warning\") | [.level, .phase, .error]' $S/backupfs.log")
                    == """
                    ["error","failing","inputOutput"]
                    ["error","failing","inputOutput"]
                    ["notice","recovered",null]
                    """)
    }

    @Test func `one failure between backups that succeed has no notification`() throws {
        let sandbox = try sandbox()
        for day in 11...15 {
            try due(sandbox, "2026-01-\(day)T00:10:00Z", Self.fault)
            try due(sandbox, "2026-01-\(day)T00:20:00Z", Self.fault)
            #expect(try due(sandbox, "2026-01-\(day)T00:30:00Z").exitCode == 0)
        }
        #expect(try told(sandbox) == [])
    }

    @Test func `U-B4: an app that holds its database for days is reported`() throws {
        let sandbox = try sandbox()
        try sandbox.sh(
            DatabaseInUseTests.hold + """
                for minute in 10 20 30; do
                  BACKUPFS_NOW=2026-01-11T00:$minute:00Z backupfs backup --if-due --store $S 2>/dev/null && exit 1; [ $? = 13 ] || exit 1
                done
                \(DatabaseInUseTests.letGo)
                """)
        let lines = try told(sandbox)
        #expect(lines.count == 1 && lines[0].hasPrefix("failing,failed,3,Automatic backups fail: "), "\(lines)")
        #expect(lines.first?.contains("the app holds its database locked. Close the app") == true, "\(lines)")
    }

    @Test func `U-B4: a repository that is not there is reported, also before the store opens`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("mv $S/repository $R/away")
        // Not due yet.
        #expect(try due(sandbox, "2026-01-10T20:00:00Z").exitCode == 10)
        for minute in [10, 20, 30, 40] { #expect(try due(sandbox, "2026-01-11T00:\(minute):00Z").exitCode == 10) }
        let lines = try told(sandbox)
        #expect(lines.count == 1 && lines[0].hasPrefix("failing,failed,3,Automatic backups fail: "), "\(lines)")
        #expect(try sandbox.sh("grep failures $S/schedule.state") == "failures: 4")
        try sandbox.sh("mv $R/away $S/repository")
        #expect(try due(sandbox, "2026-01-11T00:50:00Z").exitCode == 0)
        #expect(try told(sandbox).last?.hasPrefix("recovered,success,0,") == true)
    }

    @Test func `another operation is no failure, until none was made for days`() throws {
        let sandbox = try sandbox()
        #expect(try due(sandbox, "2026-01-11T00:00:00Z").exitCode == 0)
        // The next one is due at midnight of the 12th.
        try sandbox.sh(
            """
            trap 'rm -f $R/pause' EXIT; touch $R/pause; BACKUPFS_FAULT=backup.begun=pause:$R/pause backupfs backup --label two --store $S >/dev/null & backup=$!
            wait_until 'backupfs status --json --store $S | jq -e .operation'
            for now in 12T00:00 13T00:00 14T00:00 14T23:59 15T00:00 15T06:00; do
              BACKUPFS_NOW=2026-01-$now:00Z backupfs backup --if-due --store $S 2>/dev/null && exit 1; [ $? = 11 ] || exit 1
              if [ -e $S/told ]; then wc -l < $S/told; else echo 0; fi
            done > $R/counts; rm $R/pause; wait $backup
            """)
        #expect(try sandbox.sh("paste -sd' ' $R/counts") == "0 0 0 0 1 1")
        let start = "overdue,failed,0,No automatic backup has succeeded since 2026-01-11 00:00:00: "
        #expect(try told(sandbox).first?.hasPrefix(start) == true)
        #expect(try told(sandbox).first?.contains("another operation is running: backup, by process") == true)
    }

    @Test func `U-B4: none for three days after one was due is reported, though fewer have failed`() throws {
        let sandbox = try sandbox("notify: '\(Self.note)'\nnotify-failures: 100")
        try due(sandbox, "2026-01-11T00:10:00Z")
        for day in [12, 13, 14] { try due(sandbox, "2026-01-\(day)T00:10:00Z", Self.fault) }
        #expect(try told(sandbox) == [])
        // Due at midnight of the 12th.
        try due(sandbox, "2026-01-14T23:59:00Z", Self.fault)
        #expect(try told(sandbox) == [])
        for minute in ["00", "10"] { try due(sandbox, "2026-01-15T00:\(minute):00Z", Self.fault) }
        #expect(
            try told(sandbox) == ["overdue,failed,5,No automatic backup has succeeded since 2026-01-11 00:10:00: \(Self.failure)"]
        )
    }

    @Test func `a weekly backup is not missed after three days`() throws {
        let sandbox = try sandbox("notify: '\(Self.note)'\nnotify-failures: 100")
        try sandbox.sh("backupfs config set schedule weekly --store $S")
        try due(sandbox, "2026-01-12T00:00:00Z")
        #expect(try due(sandbox, "2026-01-19T00:00:00Z").output == "2026-01-19_00-00-00\n")
        try due(sandbox, "2026-01-26T00:00:00Z", Self.fault)
        try due(sandbox, "2026-01-28T23:00:00Z", Self.fault)
        #expect(try told(sandbox) == [])
        try due(sandbox, "2026-01-29T00:00:00Z", Self.fault)
        #expect(try told(sandbox).count == 1)
    }

    // MARK: - By what, and in what way

    @Test func `all of them are reported where a user wants that, by both commands`() throws {
        let sandbox = try sandbox(
            """
            notify: 'echo $BACKUPFS_EVENT,$BACKUPFS_NAME >> told'
            automatic-hook: 'echo $BACKUPFS_HOOK,$BACKUPFS_EVENT,$BACKUPFS_AUTOMATIC,$BACKUPFS_NAME,$BACKUPFS_SUCCEEDED_AT >> hooked'
            notify-automatic: all
            """)
        try sandbox.sh("backupfs config set skip-unchanged yes --store $S")
        try due(sandbox, "2026-01-11T00:00:00Z")
        try due(sandbox, "2026-01-12T00:00:00Z")
        #expect(try told(sandbox) == ["made,2026-01-11_00-00-00", "unchanged,2026-01-11_00-00-00"])
        #expect(
            try told(sandbox, "hooked") == [
                "automatic-hook,made,yes,2026-01-11_00-00-00,2026-01-11T00:00:00Z",
                "automatic-hook,unchanged,yes,2026-01-11_00-00-00,2026-01-12T00:00:00Z",
            ])
        // Only `notify` reports operations that a user requested.
        try sandbox.sh("backupfs backup --label mine --store $S")
        #expect(try told(sandbox).last == ",mine")
        #expect(try told(sandbox, "hooked").count == 2)
    }

    @Test(arguments: [
        ("notify-automatic: off", 0, 0), ("notifications: off", 0, 1), ("notifications: on", 1, 1), ("notify-failures: 1", 1, 1),
    ])
    func `each command is run as the settings say`(setting: String, toldCount: Int, hookedCount: Int) throws {
        // The app's definition has `notifications: off`: the app reports its own backups, and does not know of these.
        let sandbox = try sandbox(
            "notify: 'echo $BACKUPFS_EVENT >> told'\nautomatic-hook: 'echo $BACKUPFS_EVENT >> hooked'\n\(setting)",
            app: "ev-charging-tracker")
        for minute in [10, 20, 30] { try due(sandbox, "2026-01-11T00:\(minute):00Z", Self.fault) }
        #expect(try told(sandbox).count == toldCount)
        #expect(try told(sandbox, "hooked").count == hookedCount)
    }

    @Test(arguments: ["exit 7", "kill -9 $$", "/no/such/program", "yes", "sleep 300"])
    func `whatever the hook does, the backup is made and in time`(command: String) throws {
        let sandbox = try sandbox("automatic-hook: '\(command)'\nnotify-automatic: all\nhook-timeout-seconds: 1")
        let result = try sandbox.run(
            "time -p backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-11T00:00:00Z"])
        #expect(result.exitCode == 0 && result.output == "2026-01-11_00-00-00\n", "\(result)")
        #expect(!result.errors.contains("backupfs"))
        let seconds = try #require(result.errors.firstMatch(of: /real ([0-9]+)/)?.1)
        #expect(Int(seconds) ?? 100 <= 30)
    }

    @Test func `values that cannot be are refused, and the hook of others is not taken over`() throws {
        let sandbox = try sandbox("")
        for (name, value) in [
            ("notify-automatic", "yes"), ("notify-failures", "0"), ("notify-failures", "many"), ("notify-overdue-days", "0"),
        ] {
            let result = try sandbox.run("backupfs config set \(name) \(value) --store $S")
            #expect(result.exitCode != 0, "\(name) \(value)")
        }
        try sandbox.sh(
            """
            backupfs config set automatic-hook 'touch $R/run' --store $S; backupfs config set notify-failures 7 --store $S
            backupfs backup --label one --store $S
            backupfs init --store $R/new --repository $S/repository --adopt $(backupfs status --json --store $S | jq -r .source) > $R/said 2>&1 || \
              backupfs init --store $R/new --repository $S/repository > $R/said 2>&1
            """)
        #expect(
            try sandbox.sh("grep -c '^automatic-hook' $R/new/store.yaml || true; grep '^notify-failures' $R/new/store.yaml")
                == "0\nnotify-failures: \"7\"")
        #expect(try sandbox.sh("grep -c automatic-hook $R/said") != "0")
    }

    // MARK: - Two processes, wrong clocks, full disks

    @Test func `of several processes that fail at the same time one tells it`() throws {
        let sandbox = try sandbox()
        try sandbox.sh(
            """
            for i in 1 2 3 4 5 6 7 8; do
              BACKUPFS_NOW=2026-01-11T00:00:00Z BACKUPFS_FAULT=backup.begun=fail backupfs backup --if-due --store $S 2>/dev/null &
            done; wait
            """)
        for _ in 0..<3 { try due(sandbox, "2026-01-11T00:00:00Z", Self.fault) }
        #expect(try told(sandbox).count == 1)
    }

    @Test func `a clock that jumps neither silences it for ever nor tells it each time`() throws {
        let sandbox = try sandbox()
        for minute in [10, 20, 30] { try due(sandbox, "2100-01-11T00:\(minute):00Z", Self.fault) }
        #expect(try told(sandbox).count == 1)
        // Back in time: not again immediately, but again after a day.
        for now in ["2026-01-11T01:00:00Z", "2026-01-11T01:01:00Z", "2026-01-12T00:59:00Z"] { try due(sandbox, now, Self.fault) }
        #expect(try told(sandbox).count == 1)
        for now in ["2026-01-12T01:00:00Z", "2026-01-12T01:01:00Z"] { try due(sandbox, now, Self.fault) }
        #expect(try told(sandbox).count == 2)
        // A start without a clock battery, which the network corrects.
        for now in ["1970-01-01T00:00:10Z", "1970-01-01T00:01:00Z", "2026-01-12T02:00:00Z", "1970-01-01T00:00:10Z"] {
            try due(sandbox, now, Self.fault)
        }
        #expect(try told(sandbox).count == 2)
        try due(sandbox, "2026-01-13T01:00:00Z", Self.fault)
        #expect(try told(sandbox).count == 3)
    }

    @Test func `a clock that goes to and fro each minute has it reported once a day`() throws {
        let schedule = try Schedule(parsing: "daily")
        var state = NotificationState(begunAt: Timestamp(seconds: 1_700_000_000))
        var notices = 0
        for minute in 0..<(2 * 1_440) {
            for year in [0, 2_334_000_000] as [Int64] {
                let now = Timestamp(seconds: 1_700_000_000 + year + Int64(minute) * 60)
                if state.note(.failed, at: now, schedule: schedule, NotificationSettings()) != nil { notices += 1 }
            }
        }
        #expect((2...4).contains(notices), "\(notices)")
    }

    @Test func `where nothing can be remembered a failure is reported at once`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("rm -f $S/notice.state; mkdir $S/notice.state")
        #expect(try due(sandbox, "2026-01-11T00:00:00Z", Self.fault).exitCode == 1)
        #expect(try told(sandbox) == ["failing,failed,1,Automatic backups fail: \(Self.failure)"])
        // A success sends none.
        #expect(try due(sandbox, "2026-01-11T00:10:00Z").exitCode == 0)
        #expect(try told(sandbox).count == 1)
    }

    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: mounting a small disk needs root"))
    func `on a full disk it is reported once as well`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("mkdir $R/disk; mount -t tmpfs -o size=8m,mode=700 tmpfs $R/disk")
        defer { _ = try? sandbox.run("umount -l $R/disk") }
        let store = "--store $R/disk/store"
        try sandbox.sh(
            """
            backupfs init --app keeptrack \(store) >/dev/null; backupfs config set schedule daily \(store)
            backupfs config set skip-unchanged no \(store)
            backupfs config set notify 'echo $BACKUPFS_EVENT,$BACKUPFS_ERROR >> ../../told' \(store)
            BACKUPFS_NOW=2026-01-10T10:00:00Z backupfs backup --if-due \(store)
            BACKUPFS_NOW=2026-01-11T00:00:00Z backupfs backup --if-due \(store)
            dd if=/dev/zero of=$R/disk/fill bs=64k 2>/dev/null || true; dd if=/dev/zero of=$R/disk/rest bs=1 2>/dev/null || true
            for minute in 00 10 20 30 40; do
              BACKUPFS_NOW=2026-01-12T00:$minute:00Z backupfs backup --if-due \(store) 2>/dev/null && exit 1; [ $? = 1 ] || exit 1
            done
            """)
        #expect(try sandbox.sh("cat $R/told") == "failing,noSpace")
        try sandbox.sh("rm $R/disk/fill; BACKUPFS_NOW=2026-01-12T01:00:00Z backupfs backup --if-due \(store)")
        #expect(try sandbox.sh("cat $R/told") == "failing,noSpace\nrecovered,")
    }
}
