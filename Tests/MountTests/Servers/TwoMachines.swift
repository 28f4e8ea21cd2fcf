import SystemIO
import TestSupport
import Testing

/// Two machines with a store each, on one bucket of a real server that both reach over a network.
///
/// On each, `$S` is the store that commands use without `--store`, `$URL` the repository, and the password is known.
struct TwoMachines {
    let alpha: Sandbox
    let beta: Sandbox
    let network: HostNetwork
    /// Before the server: it listens where both reach it.
    let proxy: FaultProxy

    /// - Parameter address: of the server.
    static func use(_ address: String = HostNetwork.address, _ body: (TwoMachines) throws -> Void) throws {
        let server = try ObjectServer.shared()
        let network = try HostNetwork(["alpha", "beta"])
        let proxy = try FaultProxy(targetPort: server.port, in: network.center)
        let url = "s3:http://\(address):\(proxy.port)/\(try server.makeBucket())/cars"
        func machine(_ number: Int, _ body: (Sandbox) throws -> Void) throws {
            try Sandbox.use { sandbox in
                sandbox.host = network.hosts[number]
                try sandbox.write("horse\n", to: "password")
                sandbox.variables.merge(server.administrator.variables) { $1 }
                sandbox.variables.merge([
                    "AWS_REGION": server.region, "BACKUPFS_STORE": sandbox.storePath,
                    "BACKUPFS_PASSWORD_FILE": sandbox("password"), "URL": url,
                ]) { $1 }
                // As its users have it: `mkdir` waits for two seconds.
                sandbox.variables["BACKUPFS_MKDIR_WAITS"] = nil
                try body(sandbox)
            }
        }
        let result = Result {
            try machine(0) { alpha in
                try machine(1) { beta in
                    try body(TwoMachines(alpha: alpha, beta: beta, network: network, proxy: proxy))
                }
            }
        }
        // Namespaces, links and mounts are gone with the last process in them.
        #expect(network.stop() == [])
        try result.get()
    }

    /// The first machine makes the repository, and the second one joins it. Both mount it.
    func setUp() throws {
        try alpha.sh("backupfs init --repository $URL --plain-http --encrypt --sample && backupfs $M")
        try beta.sh("backupfs init --repository $URL --plain-http --new-source --sample && backupfs $M")
    }

    /// Gives the app other data, so that the next backup has something new.
    static let change = """
        change() { sqlite3 $S/app/database.sqlite "UPDATE app_metadata SET value = '$1' WHERE key = 'device_name'"; }

        """

    /// Waits until each sees all of these backups and no others, safety backups left out. For names of what a mount shows.
    func expectNames(_ names: [String], at place: SourceLocation = #_sourceLocation) throws {
        let expected = names.sorted().joined(separator: " ")
        for machine in [alpha, beta] {
            // Documented: within seconds of a look. Each turn is a look.
            try machine.sh(
                """
                seen() { ls $M/snapshots | grep -vxE 'latest|.*[.]error[.]txt' | LC_ALL=C sort | tr '\\n' ' '; }
                wait_until "[ \\"\\$(seen)\\" = '\(expected) ' ]"
                """, at: place)
        }
    }

    /// Every backup of both is whole, as each of them finds on its own.
    func expectAllWhole(at place: SourceLocation = #_sourceLocation) throws {
        for machine in [alpha, beta] {
            try machine.sh(
                """
                backupfs verify --all > $R/verified
                { backupfs snapshots --json; backupfs snapshots --safety --json; } | jq -s 'add | length' > $R/count
                [ $(grep -c ': can be restored' $R/verified) = $(cat $R/count) ]
                backupfs check --read-data | grep -qx 'No damage was found.'
                """, at: place)
        }
    }

    func unmount() throws {
        for machine in [alpha, beta] { try machine.unmount() }
    }
}
