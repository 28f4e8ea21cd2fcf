import Foundation
import TestSupport
import Testing

/// `store.yaml`, read and changed by the program and by users.
struct ConfigTests {
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null")
        return sandbox
    }

    @Test func `what is set is in force, and comments stay`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("sed -i 's/^app:/# mine\\napp:/; $a # the end' $S/store.yaml; cp $S/store.yaml $R/before")
        try sandbox.sh(
            "backupfs config set keep-daily 7 --store $S; backupfs config set after-restore 'echo \"it'\\''s\" \\\\ # done' --store $S"
        )
        let changed = try sandbox.sh("diff $R/before $S/store.yaml | grep '^[<>]' || true")
        #expect(
            changed
                == """
                < # keep-daily: "7"
                > keep-daily: "7"
                < # after-restore: "systemctl start my-app"
                > after-restore: "echo \\"it's\\" \\\\\\\\ # done"
                """)
        #expect(try sandbox.sh("backupfs config get after-restore --store $S") == "echo \"it's\" \\\\ # done")
        #expect(
            try sandbox.sh("backupfs config get --json --store $S | jq -c '.[\"keep-daily\"], .schedule, .prune'") == """
                {"value":"7","from":"store.yaml"}
                {"value":"daily","from":"app"}
                {"value":"on","from":"default"}
                """)
        try sandbox.sh("backupfs config unset keep-daily --store $S; backupfs config unset after-restore --store $S")
        #expect(try sandbox.sh("diff $R/before $S/store.yaml | grep -c '^>' || true") == "1")
        #expect(try sandbox.run("backupfs config get after-restore --store $S").exitCode == 1)
        #expect(try sandbox.sh("stat -c %a $S/store.yaml") == "600")
    }

    @Test(arguments: [
        ("colour", "red", 2, "the setting colour is not known. Remove it. There are: formatVersion, app,"),
        ("keep-dayly", "7", 2, "Did you mean keep-daily?"), ("keep-daily", "0", 1, "takes a number from 1 on, or unlimited"),
        ("skip-unchanged", "maybe", 1, "Write yes or no."), ("retention", "sometimes", 1, "Write on or off."),
        ("retention-counts", "unnamd", 1, "Did you mean unnamed?"), ("hook-timeout-seconds", "1.5", 1, "from 1 to 86400"),
        ("keep-within", "a week", 1, "1y6mo or 30d"), ("formatVersion", "2", 2, "cannot be changed"),
        ("app", "nothing", 1, "there is no app called nothing"),
    ])
    func `what cannot be is refused, and nothing is changed`(name: String, value: String, status: Int32, message: String) throws {
        let sandbox = try sandbox()
        let before = try sandbox.sh("sha256sum $S/store.yaml")
        let result = try sandbox.run("backupfs config set '\(name)' '\(value)' --store $S")
        #expect(result.exitCode == status && result.errors.contains(message), "\(result)")
        #expect(try sandbox.sh("sha256sum $S/store.yaml") == before)
    }

    @Test func `a file that a user has edited reports all that is wrong with it`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("printf 'schedule: dayly\\nkeep-last: none\\n' >> $S/store.yaml")
        let result = try sandbox.run("backupfs config check --store $S")
        #expect(result.exitCode == 1)
        let lines = try sandbox.sh("wc -l < $S/store.yaml")
        let last = try #require(Int(lines.trimmingCharacters(in: .whitespaces)))
        #expect(
            result.errors.contains("store.yaml: line \(last - 1): schedule: “dayly” is not a schedule. Did you mean daily?"),
            "\(result)")
        #expect(result.errors.contains("line \(last): keep-last: takes a number"), "\(result)")
        // All other commands report the same, and do nothing.
        #expect(try sandbox.run("backupfs backup --store $S").errors.contains("line \(last - 1): schedule"))
        try sandbox.sh("head -n -2 $S/store.yaml > $R/s; cat $R/s > $S/store.yaml; echo 'schdule: daily' >> $S/store.yaml")
        #expect(
            try sandbox.run("backupfs status --store $S").errors.contains(
                "the setting schdule is not known. Did you mean schedule?"))
    }

    @Test func `what the settings name must be there`() throws {
        let sandbox = try sandbox()
        #expect(try sandbox.sh("backupfs config check --store $S") == "\(sandbox.storePath)/store.yaml is fine.")
        try sandbox.sh("backupfs config set database /nowhere/x.sqlite --store $S; backupfs config set media photos --store $S")
        let result = try sandbox.run("backupfs config check --json --store $S")
        #expect(result.exitCode == 1)
        let problems = try json(Array(result.output.utf8))["problems"] as? [String]
        #expect(problems?.count == 3, "\(result)")
        #expect(problems?[0] == "/nowhere/x.sqlite: database: there is no file. Change it, or make it.")
        #expect(problems?[2].contains("media: the app ev-charging-tracker has no media folder") == true)
        #expect(try sandbox.run("backupfs config check --store $R/none").exitCode == 10)
    }

    @Test func `what is written in a way of its own is left to people`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("printf 'schedule: >-\\n  daily\\nkeep-last: \"5\"\\n' >> $S/store.yaml; cp $S/store.yaml $R/before")
        #expect(try sandbox.sh("backupfs config get schedule --store $S") == "daily")
        let result = try sandbox.run("backupfs config set schedule weekly --store $S")
        #expect(result.exitCode == 1 && result.errors.contains("cannot be changed by a program"), "\(result)")
        #expect(try sandbox.sh("cmp $R/before $S/store.yaml && echo same") == "same")
    }
}
