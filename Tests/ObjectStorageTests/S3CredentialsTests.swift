import BackupCore
import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import ObjectStorage

@Suite struct S3CredentialsTests {
    private func files(_ credentials: String?, _ config: String? = nil) throws -> (AWSProfileFiles, TemporaryFolder) {
        let folder = try TemporaryFolder()
        if let credentials { try folder.write(credentials, to: "credentials") }
        if let config { try folder.write(config, to: "config") }
        return (AWSProfileFiles(credentialsPath: folder("credentials"), configPath: folder("config")), folder)
    }

    @Test func `the environment has a key with its secret`() throws {
        let variables = ["AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "S", "AWS_SESSION_TOKEN": "T"]
        let found = try #require(try S3CredentialSource.ofEnvironment { variables[$0] })
        #expect(found.isSame(as: try S3Credentials(accessKeyID: "A", secretAccessKey: "S", sessionToken: "T")))
        #expect(try S3CredentialSource.ofEnvironment { $0 == "AWS_ACCESS_KEY_ID" ? "A" : nil } == nil)
        #expect(errorCode { _ = try S3Credentials(accessKeyID: "A", secretAccessKey: "S\nX: y") } == .invalidArgument)
    }

    @Test func `profiles are read from both files`() throws {
        let (files, folder) = try files(
            "# comment\n[default]\naws_access_key_id = A\naws_secret_access_key=S=/+\n\n[ work ]\r\nAWS_ACCESS_KEY_ID = B\r\naws_secret_access_key = T\r\n aws_indented = x\naws_session_token = U\n",
            "[default]\nregion = x\n[profile other]\naws_access_key_id=C\naws_secret_access_key=V\ns3 =\n  max_concurrent_requests = 20\n"
        )
        func same(_ profile: String?, _ key: String, _ secret: String, _ token: String?) throws -> Bool {
            try files.credentials(profile: profile)
                .isSame(as: S3Credentials(accessKeyID: key, secretAccessKey: secret, sessionToken: token))
        }
        #expect(try same(nil, "A", "S=/+", nil))
        #expect(try same("work", "B", "T", "U"))
        #expect(try same("other", "C", "V", nil))
        #expect(errorCode { _ = try files.credentials(profile: "absent") } == .accessDenied)
        _ = folder
    }

    @Test func `a key is not joined with the secret or the session of another file`() throws {
        let (files, folder) = try files(
            "[default]\naws_access_key_id = A\n", "[default]\naws_secret_access_key = S\naws_session_token = T\n")
        #expect(errorCode { _ = try files.credentials(profile: nil) } == .accessDenied)
        _ = folder
    }

    @Test(arguments: [
        "[default", "[]", "[ ]", "key = value", "[default]\nno value", "[default]\n= value",
        "[default]\naws_secret_access_key: hidden",
    ])
    func `a damaged file is an error that names the line and shows no content`(text: String) throws {
        let (files, folder) = try files(text + "\naws_secret_access_key = verySecret\n")
        let error = failure { _ = try files.credentials(profile: nil) }
        #expect(error?.code == .invalidContent)
        #expect(error?.message.hasPrefix("line ") == true)
        #expect(error?.path == folder("credentials"))
        #expect(error.map { String(reflecting: $0).contains("ecret") } == false)
    }

    @Test func `a file that is no text is an error, none is no credentials`() throws {
        let folder = try TemporaryFolder()
        try folder.write([0x5B, 0xFF, 0xFE, 0x5D], to: "credentials")
        let files = AWSProfileFiles(credentialsPath: folder("credentials"), configPath: folder("config"))
        #expect(errorCode { _ = try files.credentials(profile: nil) } == .invalidContent)
        let (none, _) = try self.files(nil)
        let error = failure { _ = try none.credentials(profile: nil) }
        #expect(error?.code == .accessDenied)
        #expect(error?.remedy?.contains("AWS_ACCESS_KEY_ID") == true)
    }

    @Test func `a profile that needs another program says which`() throws {
        let (files, folder) = try files(nil, "[profile sso]\nsso_session = x\n[profile role]\nrole_arn = arn:aws:iam::1:role/x\n")
        for profile in ["sso", "role"] {
            #expect(failure { _ = try files.credentials(profile: profile) }?.remedy?.contains("export-credentials") == true)
        }
        _ = folder
    }

    @Test func `a command prints credentials, and is asked again before they expire and after a refusal`() throws {
        let folder = try TemporaryFolder()
        let script = """
            echo noise >&2; echo x >> \(folder("calls"))
            printf '{"Version": 1, "AccessKeyId": "K%s", "SecretAccessKey": "s\\\\/\\u0041", "SessionToken": null, \
            "Expiration": "2026-01-01T01:00:00Z"}' $(wc -l < \(folder("calls")))
            """
        let now = Mutex(Timestamp(seconds: 1_767_225_600))  // 2026-01-01T00:00:00Z
        let clock: @Sendable () -> Timestamp = { now.withLock { $0 } }
        let source = S3CredentialSource(.command(script), now: clock)
        let first = try source.current()
        #expect(first.isSame(as: try S3Credentials(accessKeyID: "K1", secretAccessKey: "s/A")))
        #expect(try source.current().accessKeyID == "K1")
        now.withLock { $0 = $0.adding(seconds: 3_301) }
        #expect(try source.current().accessKeyID == "K2")
        source.refuse(first)
        #expect(try source.current().accessKeyID == "K2")
        source.refuse(try source.current())
        #expect(try source.current().accessKeyID == "K3")
        // A failing command does not end what is still valid.
        try FileSystem.makeDirectories(folder("gone"))
        now.withLock { $0 = $0.adding(seconds: 600) }
        #expect(errorCode { _ = try source.current() } == .accessDenied)
    }

    @Test(arguments: [
        "", "no", "[]", "{", "{}", "{\"Version\": 2, \"AccessKeyId\": \"verySecret\", \"SecretAccessKey\": \"verySecret\"}",
        "{\"Version\": 1, \"AccessKeyId\": \"verySecret\"}",
        "{\"Version\": 1, \"AccessKeyId\": \"a\", \"SecretAccessKey\": {\"verySecret\": 1}}",
        "{\"Version\": 1, \"AccessKeyId\": \"a\", \"SecretAccessKey\": \"verySecret\", \"Expiration\": \"tomorrow\"}",
        "{\"Version\": 1, \"AccessKeyId\": \"a\", \"AccessKeyId\": \"b\", \"SecretAccessKey\": \"verySecret\"}",
        "{\"Version\": 1, \"AccessKeyId\": \"a\", \"SecretAccessKey\": \"verySecret\"} more",
        "{\"Version\": 1, \"AccessKeyId\": \"\\ud800\"}",
    ])
    func `another output of the command is an error without it`(output: String) {
        let error = failure { _ = try CredentialsCommand.credentials(from: output) }
        #expect(error?.code == .accessDenied)
        #expect(error.map { String(reflecting: $0).contains("verySecret") } == false)
    }

    @Test func `a command that fails is an error`() throws {
        #expect(errorCode { _ = try CredentialsCommand.run("echo verySecret; exit 3") } == .accessDenied)
        #expect(failure { _ = try CredentialsCommand.run("exit 3") }?.message.contains("exit code 3") == true)
    }

    @Test func `the command does not get the secrets of this process`() throws {
        let shown = "test -z \"$AWS_SECRET_ACCESS_KEY$AWS_SESSION_TOKEN$BACKUPFS_PASSWORD\" || exit 9; "
        let output = "printf '{\"Version\": 1, \"AccessKeyId\": \"a\", \"SecretAccessKey\": \"b\"}'"
        setenv("AWS_SESSION_TOKEN", "x", 1)
        defer { unsetenv("AWS_SESSION_TOKEN") }
        #expect(try CredentialsCommand.run(shown + output).accessKeyID == "a")
    }
}
