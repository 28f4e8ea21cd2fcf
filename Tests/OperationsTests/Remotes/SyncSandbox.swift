import TestSupport
import Testing

@testable import Operations

/// A store with one remote, `cloud`, that its users call iCloud.
struct SyncSandbox {
    let sandbox: Sandbox

    /// - Parameters:
    ///   - url: of the remote.
    ///   - settings: more lines of the remote in `store.yaml`.
    init(_ url: String, _ settings: [String] = [], _ variables: [String: String] = [:]) throws {
        sandbox = try Sandbox()
        sandbox.variables.merge(variables) { $1 }
        try sandbox.sh("backupfs init --app ev-charging-tracker --sample --store $S >/dev/null")
        let lines = ["remotes:", "  cloud:", "    url: \(url)", "    label: iCloud"] + settings.map { "    \($0)" }
        // Before the last line.
        try sandbox.sh("sed -i '$i \(lines.joined(separator: "\\n"))' $S/store.yaml")
    }

    /// Changes data, so that a backup has something new.
    func change(_ text: String) throws {
        try sandbox.sh(
            "sqlite3 $S/app/database.sqlite \"UPDATE app_metadata SET value = '\(text)' WHERE key = 'device_name'\"")
    }

    func backUp(_ label: String, _ options: String = "") throws -> Job.Result {
        try change(label)
        return try sandbox.run("backupfs backup --label \(label) \(options) --store $S")
    }

    func sync(_ options: String = "", _ extra: [String: String] = [:]) throws -> Job.Result {
        try sandbox.run("backupfs sync \(options) --store $S", extra)
    }

    /// From the status, by jq.
    func status(_ filter: String) throws -> String {
        try sandbox.sh("backupfs status --json --store $S | jq -c '.remotes[0] | \(filter)'")
    }

    /// The documents about remotes that a command has printed, by jq.
    func documents(of result: Job.Result, _ filter: String) throws -> String {
        try sandbox.write(result.output, to: "printed.json")
        return try sandbox.sh("jq -c 'select(.message_type == \"sync\") | \(filter)' $R/printed.json")
    }

    /// Files of the repository that a mirror must have, as names and sizes.
    func expectedObjects() throws -> String {
        try sandbox.sh(
            "cd $S/repository; find config config.copy packs snapshots labels -type f -printf '%p %s\\n' | sort")
    }
}

/// The same on a real server, behind a proxy that makes faults happen.
struct ServerSandbox {
    let server: ObjectServer
    let proxy: FaultProxy
    let bucket: String
    let store: SyncSandbox

    init() throws {
        server = try ObjectServer.shared()
        proxy = try FaultProxy(targetPort: server.port)
        bucket = try server.makeBucket()
        store = try SyncSandbox(
            "s3:\(proxy.endpoint)/\(bucket)/cars", ["region: \(server.region)"],
            server.administrator.variables)
    }

    /// Names and sizes of all objects below the prefix that a mirror must have, asked of the server by curl.
    func objects() throws -> String {
        let listing = try server.curl(["\(server.endpoint)/\(bucket)?list-type=2"])
        #expect(listing.exitCode == 0, "\(listing.text)")
        let script = """
            import re, sys
            text = sys.stdin.read()
            assert '<IsTruncated>false' in text, text
            for entry in re.findall(r'<Contents>(.*?)</Contents>', text, re.S):
                key, size = re.search('<Key>cars/(.*?)</Key>', entry)[1], re.search('<Size>(.*?)</Size>', entry)[1]
                if re.match('config|packs/|snapshots/|labels/', key): print(key, size)
            """
        try store.sandbox.write(script, to: "list.py")
        try store.sandbox.write(listing.output, to: "listing.xml")
        return try store.sandbox.sh("python3 $R/list.py < $R/listing.xml | LC_ALL=C sort")
    }

    /// How many packs clients have tried to store since the last `reset`.
    func packUploadCount() throws -> Int {
        try proxy.requests().count { $0.method == "PUT" && $0.path.contains("/packs/") }
    }
}
