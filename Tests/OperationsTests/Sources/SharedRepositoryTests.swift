import TestSupport
import Testing

/// Two stores or two machines with one repository: neither causes a loss for the other.
struct SharedRepositoryTests {
    private static func at(_ day: String) -> [String: String] { ["BACKUPFS_NOW": "\(day)T10:00:00Z"] }

    /// Runs a script as another installation with the same host name.
    private func onOtherMachine(_ sandbox: Sandbox, _ script: String, _ environment: [String: String] = [:]) throws -> Job.Result
    {
        try sandbox.write(String(repeating: "5", count: 32) + "\n", to: "machine")
        return try sandbox.runInNamespace("set -e\nmount --bind $R/machine /etc/machine-id\n\(script)", environment)
    }

    @Test(.enabled(if: MountPermission.isThere, "needs to mount"))
    func `a machine of the same name and with the same paths does not take over another one's backups unasked`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $R/one --sample; cp $R/one/app/database.sqlite $R/app.sqlite; rm -r $R/one
            backupfs init --store $R/one --database $R/app.sqlite --app ev-charging-tracker --repository $R/disk
            backupfs backup --store $R/one; mv $R/one $R/gone
            """)
        let adopt = "backupfs init --store $R/two --database $R/app.sqlite --app ev-charging-tracker --repository $R/disk"
        let refused = try onOtherMachine(sandbox, adopt)
        #expect(refused.exitCode == 2 && refused.errors.contains("--adopt"), "\(refused.output)\(refused.errors)")
        // On this machine it is the database in the backups.
        #expect(try sandbox.sh(adopt).contains("continues"))
    }

    @Test(.enabled(if: MountPermission.isThere, "needs to mount"))
    func `a store without identity continues the backups of its own machine only`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S --sample; backupfs backup --label one --store $S; cp -p $S/identity $R/identity")
        let own = "backupfs snapshots --json --store $S | jq -r '[.[] | select(.own) | .name] | join(\" \")'"
        try sandbox.sh("cp -a $S $R/kept; rm $S/identity")
        let elsewhere = try onOtherMachine(sandbox, "backupfs backup --label two --store $S >/dev/null; \(own)")
        #expect(elsewhere.output == "two\n", "\(elsewhere.output)\(elsewhere.errors)")
        try sandbox.sh("rm -r $S; cp -a $R/kept $S; rm $S/identity; backupfs backup --label two --store $S")
        #expect(try sandbox.sh(own) == "one two")
        // If the old store still exists, it detects this.
        try sandbox.sh("cp -p $R/identity $S/identity")
        #expect(try sandbox.run("backupfs status --store $S").output.contains("continues the backups of this store"))
    }

    @Test func `a damaged source document does not end the time of another store's removed backups`() throws {
        let sandbox = try Sandbox.withThreeBackups(Self.at("2026-01-01"))
        try sandbox.sh(
            """
            backupfs config set undelete-days 365 --store $S; backupfs backup --label d --store $S; backupfs delete a --yes --store $S
            backupfs init --store $R/other --repository $S/repository --sample --new-source
            """, Self.at("2026-01-02"))
        let document = try sandbox.sh(
            "echo $S/repository/sources/$(sed -n 's/^source: //p' $S/identity).source")
        try Damage.flip(document, at: 40)
        for command in ["prune", "prune --now"] {
            let output = try sandbox.sh("backupfs \(command) --max-unused 0 --store $R/other", Self.at("2026-03-01"))
            #expect(output.contains("Left alone, since it is damaged (see: backupfs check): \(document):"), "\(output)")
        }
        try sandbox.sh("backupfs undelete a --store $S; backupfs restore a --target $R/back --store $S", Self.at("2026-03-01"))
        #expect(try sandbox.run("backupfs check --read-data --store $R/other", Self.at("2026-03-01")).output.contains(document))
    }

    @Test func `what another store deletes for good during a prune is not missed afterwards`() throws {
        let sandbox = try Sandbox.withThreeBackups(Self.at("2026-01-01"))
        try sandbox.sh(
            """
            backupfs init --store $R/other --repository $S/repository --sample --new-source
            backupfs backup --label mine --store $R/other; backupfs delete a --yes --store $S
            """, Self.at("2026-01-02"))
        try sandbox.sh(
            """
            touch $R/pause; BACKUPFS_FAULT=prune.planned=pause:$R/pause backupfs prune --store $S & prune=$!
            wait_paused $R/pause $prune
            # Its own prune is refused, and the backup is deleted.
            backupfs delete mine --now --yes --store $R/other || [ $? = 11 ]
            rm $R/pause; wait $prune
            """, Self.at("2026-01-20"))
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/other | jq 'map(select(.own)) | length'") == "0")
        try sandbox.sh("backupfs prune --max-unused 0 --store $S", Self.at("2026-01-21"))
        #expect(try sandbox.run("backupfs check --read-data --store $S").exitCode == 0)
    }
}
