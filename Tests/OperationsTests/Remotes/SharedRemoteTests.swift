import Glibc
import TestSupport
import Testing

/// One remote for several machines, and its limits.
struct SharedRemoteTests {
    /// The second machine has got the repository from the remote. Both then make backups of the same names at the same time.
    @Test func `REM-02, REM-07: two machines with one remote lose nothing of each other`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir $R/cloud
            backupfs init --app ev-charging-tracker --sample --store $S >/dev/null
            backupfs remote add offsite $R/cloud --no-after-backup --store $S >/dev/null
            backupfs backup --label first --store $S >/dev/null; backupfs sync --store $S >/dev/null
            backupfs remote fetch $R/cloud $R/other >/dev/null
            backupfs init --new-source --app ev-charging-tracker --sample --store $R/two --repository $R/other >/dev/null
            backupfs remote add offsite $R/cloud --no-after-backup --store $R/two >/dev/null
            """)
        let script = """
            for n in 1 2 3 4 5 6 7 8; do
                sqlite3 $STORE/app/database.sqlite "UPDATE app_metadata SET value = '$NAME $n' WHERE key = 'device_name'"
                backupfs backup --label day-$n --store $STORE >/dev/null
                backupfs sync --store $STORE >/dev/null || true
            done
            backupfs sync --store $STORE >/dev/null || { sleep 0.$RANDOM; backupfs sync --store $STORE >/dev/null; }
            """
        let machines = try ["store", "two"].map { name in
            try sandbox.start(script, ["STORE": sandbox(name), "NAME": name])
        }
        for machine in machines {
            let result = try sandbox.finish(machine)
            #expect(result.exitCode == 0, "\(result.text)")
        }
        try sandbox.sh("for s in $S $R/two; do backupfs sync --store $s >/dev/null; done")
        let check = try sandbox.run("backupfs check --read-data --remote offsite --store $S")
        #expect(check.exitCode == 0 && check.output.contains("Checked backups: 17"), "\(check.text)")
        let names = try sandbox.sh("backupfs snapshots --json --remote offsite --store $S | jq -r '.[].name'").split(
            separator: "\n")
        #expect(names.count == 17 && Set(names).count == 17, "\(names)")
        var devices: [String: Int] = [:]
        for name in names where name != "first" {
            let device = try sandbox.sh(
                "backupfs export '\(name)' --json -o - --remote offsite --store $S | jq -er '.metadata.deviceName // .deviceName'"
            )
            devices[device, default: 0] += 1
            #expect(name.hasPrefix("day-\(device.split(separator: " ").last ?? "")"), "\(name): \(device)")
        }
        #expect(devices.count == 16, "\(devices)")
        // Neither machine has got anything of the other.
        for store in ["store", "two"] {
            #expect(try sandbox.sh("backupfs snapshots --json --store $R/\(store) | jq length") == "9")
        }
    }

    @Test func `REM-18: an upload keeps its limit`() throws {
        let server = try ObjectServer.shared()
        let bucket = try server.makeBucket()
        let sandbox = try Sandbox()
        sandbox.variables.merge(server.administrator.variables) { $1 }
        try sandbox.sh(
            """
            backupfs init --app ev-charging-tracker --sample --store $S >/dev/null
            sqlite3 $S/app/database.sqlite "UPDATE app_metadata SET value = hex(randomblob(524288)) WHERE key = 'device_name'"
            backupfs backup --label large --store $S >/dev/null
            backupfs remote add slow s3:\(server.endpoint)/\(bucket)/x --region \(server.region) --upload-limit 256KiB --store $S >/dev/null
            """)
        let uploadedBytes = try #require(Int(sandbox.sh("du -sb $S/repository/packs | cut -f1")))
        #expect(uploadedBytes > 900_000)
        let began = time(nil)
        try sandbox.sh("backupfs sync --store $S >/dev/null")
        #expect(time(nil) - began >= 2)
        #expect(try sandbox.run("backupfs check --read-data --remote slow --store $S").exitCode == 0)
    }
}
