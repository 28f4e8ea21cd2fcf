import TestSupport
import Testing

/// The program with a server that is reached in another way: over HTTP/2, by an IPv6 address, through a proxy.
@Suite(.enabled(if: ServerFront.isPossible, Comment(rawValue: ServerFront.whyNot)), .rotating(oneIn: 3))
struct RemoteFrontTests {
    /// A store with a remote `off` and a front before its server.
    private struct Place {
        let sandbox: Sandbox
        let server: ObjectServer
        let front: ServerFront
        let bucket: String

        init() throws {
            server = try ObjectServer.shared()
            front = try ServerFront(target: "127.0.0.1:\(server.port)")
            bucket = try server.makeBucket()
            sandbox = try Sandbox()
            sandbox.variables.merge(server.administrator.variables) { $1 }
            sandbox.variables["AWS_REGION"] = server.region
            try sandbox.sh("backupfs init --app ev-charging-tracker --sample --store $S >/dev/null")
        }

        func addRemote(_ endpoint: String, _ options: String = "") throws -> Job.Result {
            try sandbox.run("backupfs remote add off s3:\(endpoint)/\(bucket)/cars \(options) --store $S")
        }

        func sync(_ variables: [String: String]) throws -> Job.Result {
            try sandbox.run("backupfs sync --store $S", variables)
        }

        /// Makes two backups, compares a restored one and all bytes of the copy.
        func useRemote() throws {
            try sandbox.sh(
                """
                for name in one two; do
                    sqlite3 $S/app/database.sqlite "UPDATE app_metadata SET value = '$name' WHERE key = 'device_name'"
                    sqlite3 $S/app/database.sqlite .dump > $R/$name
                    backupfs backup --label $name --store $S 2> $R/errors; [ ! -s $R/errors ]
                done
                [ "$(backupfs snapshots --remote off --json --store $S | jq -r '.[].name' | paste -sd ' ')" = 'one two' ]
                for name in one two; do
                    backupfs restore $name --remote off --target $R/out-$name --store $S
                    sqlite3 $R/out-$name/database.sqlite .dump | cmp - $R/$name
                done
                backupfs check --read-data --remote off --store $S | grep -qx 'No damage was found.'
                [ "$(backupfs sync --store $S)" = 'off: nothing to upload. Backups there: 2' ]
                """)
        }
    }

    @Test func `backups over HTTP version 2`() throws {
        let place = try Place()
        let refused = try place.addRemote(place.front.endpoint)
        let host = place.front.endpoint.dropFirst(8)
        #expect(refused.exitCode == 1)
        #expect(
            refused.errors.contains(
                "the certificate of \(host) is not trusted. Check the address and the clock. For a certificate of your own, name its file in the settings."
            ), "\(refused)")
        #expect(try place.front.requests().isEmpty)
        let added = try place.addRemote(place.front.endpoint, "--certificate-file \(place.front.certificatePath)")
        #expect(added.exitCode == 0, "\(added)")
        try place.useRemote()
        let requests = try place.front.requests(atLeast: 50)
        #expect(Set(requests.map(\.version)) == ["HTTP/2.0"])
        // Connections are kept: a program needs few for all its requests.
        #expect(Set(requests.map(\.port)).count * 2 < requests.count)
    }

    @Test(.enabled(if: ServerFront.hasIPv6, "NOT TESTED: this machine has no address ::1"), arguments: [true, false])
    func `backups to an IPv6 address`(usesTLS: Bool) throws {
        let place = try Place()
        let added =
            try usesTLS
            ? place.addRemote(place.front.secureEndpoint6, "--certificate-file \(place.front.certificatePath)")
            : place.addRemote(place.front.endpoint6)
        #expect(added.exitCode == 0, "\(added)")
        try place.useRemote()
        #expect(Set(try place.front.requests(atLeast: 50).map(\.version)) == [usesTLS ? "HTTP/2.0" : "HTTP/1.1"])
    }

    @Test func `a proxy from the environment is used, except for the hosts of no_proxy`() throws {
        let place = try Place()
        let front = place.front
        #expect(try place.addRemote(place.server.endpoint).exitCode == 0)
        #expect(try front.requests().isEmpty)
        place.sandbox.variables["http_proxy"] = front.proxy
        try place.useRemote()
        let requests = try front.requests(atLeast: 20)
        #expect(requests.allSatisfy { $0.path.hasPrefix("\(place.server.endpoint)/\(place.bucket)") })

        // What is left out of it reaches the server, too.
        let direct = try place.sync(["no_proxy": "127.0.0.1"])
        #expect(direct.exitCode == 0 && direct.output == "off: nothing to upload. Backups there: 2\n", "\(direct)")
        let count = try front.requests().count
        #expect(try place.sync(["http_proxy": "http://\(front.refusedHost)", "no_proxy": "localhost,127.0.0.1"]).exitCode == 0)
        let gone = try place.sync(["http_proxy": "http://\(front.refusedHost)"])
        #expect(gone.exitCode == 1 && gone.errors.contains("No internet connection."), "\(gone)")
        #expect(try front.requests().count == count)

        let locked = try place.sync(["http_proxy": front.lockedProxy])
        #expect(locked.exitCode == 1 && locked.errors.contains("the proxy demands a login"), "\(locked)")
        let opened = try place.sync(["http_proxy": Self.withLogin(front.lockedProxy)])
        #expect(opened.exitCode == 0, "\(opened)")
    }

    @Test func `a proxy makes a tunnel for HTTPS, which it cannot look into`() throws {
        let place = try Place()
        let front = place.front
        let secure = try ObjectServer.shared(usesTLS: true)
        let bucket = try secure.makeBucket()
        let certificate = try #require(secure.certificatePath)
        place.sandbox.variables.merge(secure.administrator.variables) { $1 }
        place.sandbox.variables["https_proxy"] = front.proxy
        // Not for https:.
        place.sandbox.variables["http_proxy"] = "http://\(front.refusedHost)"
        let added = try place.sandbox.run(
            "backupfs remote add off s3:\(secure.endpoint)/\(bucket)/cars --certificate-file \(certificate) --store $S")
        #expect(added.exitCode == 0, "\(added)")
        try place.useRemote()
        let requests = try front.requests(atLeast: 5)
        #expect(Set(requests.map(\.method)) == ["CONNECT"])
        #expect(Set(requests.map(\.path)) == ["127.0.0.1:\(secure.port)"])
        let locked = try place.sync(["https_proxy": front.lockedProxy])
        #expect(locked.exitCode == 1 && locked.errors.contains("the proxy demands a login"), "\(locked)")
        // It is not asked again: the answer would be the same.
        #expect(try front.requests().count { $0.status == 407 } == 1)
        #expect(try place.sync(["https_proxy": Self.withLogin(front.lockedProxy)]).exitCode == 0)
    }

    private static func withLogin(_ proxy: String) -> String { proxy.replacing("http://", with: "http://member:secret@") }
}
