import SystemIO

/// Scripts of Python that ask an S3-compatible server with boto3.
public struct Boto3: Sendable {
    private let endpoint: String
    private let region: String
    private let keys: ObjectServer.Keys

    /// - Parameter endpoint: `http://127.0.0.1:PORT`.
    public init(endpoint: String, region: String, keys: ObjectServer.Keys) {
        self.endpoint = endpoint
        self.region = region
        self.keys = keys
    }

    /// The script has the client as `s3`, and its arguments in `sys.argv`.
    /// - Returns: its output without trailing newlines.
    /// - Throws: when it fails, with what it printed.
    public func run(_ script: String, _ arguments: [String] = []) throws -> String {
        let folder = try TemporaryFolder()
        let prelude = """
            import boto3, os, sys, hashlib, json
            from botocore.config import Config
            s3 = boto3.client("s3", endpoint_url="\(endpoint)", region_name="\(region)",
                config=Config(s3={"addressing_style": "path"}, proxies={}))

            """
        try folder.write(prelude + script, to: "script.py")
        var environment = keys.variables
        for name in ["PATH", "HOME", "TMPDIR"] { environment[name] = Machine.environment(name) }
        let result = try Job(
            ["python3", folder("script.py")] + arguments, environment: environment, scratch: folder("job")
        ).wait()
        guard result.exitCode == 0 else { throw Machine.Unusable(result.errors) }
        return result.trimmed
    }
}
