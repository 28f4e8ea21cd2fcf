import TestSupport
import Testing

/// Remotes in a bucket that locks its objects or encrypts them.
@Suite struct RemoteLockTests {
    private static let removeAll = """
        for entry in s3.list_object_versions(Bucket=sys.argv[1], Prefix="cars/")["Versions"]:
            key, version = entry["Key"], entry["VersionId"]
            if not key.split("/")[1] in ("packs", "snapshots", "labels", "config", "config.copy"): continue
            try:
                s3.delete_object(Bucket=sys.argv[1], Key=key, VersionId=version)
                print("removed", key)
            except s3.exceptions.ClientError as error:
                if error.response["Error"]["Code"] != "AccessDenied": raise
        """
    /// What lies in the bucket without its markers, in a folder.
    private static let fetchAll = """
        for entry in s3.list_object_versions(Bucket=sys.argv[1], Prefix="cars/")["Versions"]:
            path = os.path.join(sys.argv[2], entry["Key"][5:])
            if "/locks/" in path or "/backupfs-probe/" in path or os.path.exists(path): continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            data = s3.get_object(Bucket=sys.argv[1], Key=entry["Key"], VersionId=entry["VersionId"])["Body"].read()
            open(path, "wb").write(data)
        """

    /// A store with three backups, which are uploaded.
    private func store(
        _ server: ObjectServer, through proxy: FaultProxy? = nil, _ bucket: String, _ options: String
    ) throws -> Sandbox {
        let endpoint = proxy?.endpoint ?? server.endpoint
        let sandbox = try Sandbox()
        sandbox.variables.merge(server.administrator.variables) { $1 }
        try sandbox.sh(
            """
            backupfs init --app ev-charging-tracker --sample --store $S >/dev/null
            backupfs remote add off s3:\(endpoint)/\(bucket)/cars \(options) --region \(server.region) --store $S >/dev/null
            for name in one two three; do
                sqlite3 $S/app/database.sqlite "UPDATE app_metadata SET value = hex(randomblob(60000)) WHERE key = 'device_name'"
                sqlite3 $S/app/database.sqlite .dump > $R/$name
                backupfs backup --label $name --store $S
            done
            """)
        return sandbox
    }

    @Test func `with object lock, backups go on, and what is removed can be had from the bucket`() throws {
        let server = try ObjectServer.shared()
        let bucket = try server.makeBucket(locksObjects: true)
        let sandbox = try store(server, bucket, "--object-lock governance:1d")
        try sandbox.sh(
            """
            backupfs config set undelete-days 0 --store $S
            backupfs delete one --yes --store $S; backupfs delete one --yes --remote off --store $S
            backupfs prune --remote off --now --max-unused 0 --store $S
            [ "$(backupfs snapshots --remote off --json --store $S | jq -r '.[].name' | sort | paste -sd ' ')" = 'three two' ]
            backupfs check --read-data --remote off --store $S | grep -qx 'No damage was found.'
            backupfs sync --store $S
            """)
        // With the store's own key, which may do everything but end a lock.
        #expect(try server.boto3(Self.removeAll, [bucket]) == "")
        try sandbox.sh(
            """
            backupfs restore two --remote off --target $R/out --store $S; sqlite3 $R/out/database.sqlite .dump | cmp - $R/two
            backupfs check --read-data --remote off --store $S | grep -qx 'No damage was found.'
            """)
        // All versions together have the backup that was removed.
        _ = try server.boto3(Self.fetchAll, [bucket, sandbox("fetched")])
        try sandbox.sh(
            """
            rm -rf $R/fetched/removed $R/fetched/doomed $R/fetched/register
            backupfs init --new-source --app ev-charging-tracker --sample --repository $R/fetched --store $R/other >/dev/null
            backupfs restore one --target $R/out-one --store $R/other; sqlite3 $R/out-one/database.sqlite .dump | cmp - $R/one
            """)
    }

    /// As a policy of the bucket, or a server that knows no markers, does.
    @Test func `a prune whose removals are refused says so, and loses nothing`() throws {
        let server = try ObjectServer.shared()
        let bucket = try server.makeBucket(locksObjects: true)
        let proxy = try FaultProxy(targetPort: server.port)
        let sandbox = try store(server, through: proxy, bucket, "--object-lock governance:1d")
        try proxy.set(FaultProxy.Fault(.answer(status: 403, code: "AccessDenied"), method: "DELETE", times: nil))
        try sandbox.sh("backupfs delete one --yes --store $S")
        for command in ["delete one --yes", "prune --now --max-unused 0"] {
            let refused = try sandbox.run("backupfs \(command) --remote off --store $S")
            #expect(refused.exitCode == 1 && refused.errors.contains("denies access"), "\(refused)")
        }
        try sandbox.sh(
            """
            [ "$(backupfs snapshots --remote off --json --store $S | jq -r '.[].name' | sort | paste -sd ' ')" = 'one three two' ]
            backupfs check --read-data --remote off --store $S | grep -qx 'No damage was found.'
            backupfs restore one --remote off --target $R/out --store $S; sqlite3 $R/out/database.sqlite .dump | cmp - $R/one
            """)
    }

    @Test(arguments: ["managed", "kms:backup-key"])
    func `with the server's encryption, what comes back is what was there`(encryption: String) throws {
        let server = try ObjectServer.shared()
        let bucket = try server.makeBucket()
        let sandbox = try store(server, bucket, "--encryption \(encryption) --storage-class STANDARD_IA")
        try sandbox.sh(
            """
            for name in one two three; do
                backupfs restore $name --remote off --target $R/out-$name --store $S
                sqlite3 $R/out-$name/database.sqlite .dump | cmp - $R/$name
            done
            backupfs check --read-data --remote off --store $S | grep -qx 'No damage was found.'
            """)
        let kinds = try server.boto3(
            """
            for entry in s3.list_objects_v2(Bucket=sys.argv[1], Prefix="cars/")["Contents"]:
                head = s3.head_object(Bucket=sys.argv[1], Key=entry["Key"])
                print(head.get("ServerSideEncryption"), head.get("SSEKMSKeyId"))
            """, [bucket])
        #expect(
            Set(kinds.split(separator: "\n")) == [encryption == "managed" ? "AES256 None" : "aws:kms backup-key"], "\(kinds)")
    }
}
