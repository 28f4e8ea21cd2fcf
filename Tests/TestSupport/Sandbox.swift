import Glibc
import Synchronization
import SystemIO
import Testing

/// A folder and an environment of one test, and a shell in it.
///
/// Scripts see `$R` (the folder), `$S` (the store) and `$M` (the mountpoint), `backupfs` is the program under test, and they can
/// call the functions of `Sandbox.prelude`.
public final class Sandbox: Sendable {
    public let path: String
    /// Those of the shell in which `sh` runs a script.
    private let shellOptions: String
    private let removesItself: Bool
    private let environment: Mutex<[String: String]>
    private let otherHost = Mutex<OtherHost.Running?>(nil)
    private let jobCount = Atomic(0)

    public var storePath: String { "\(path)/store" }
    public var mountpoint: String { "\(path)/mnt" }

    /// The environment of its programs.
    public var variables: [String: String] {
        get { environment.withLock { $0 } }
        set { environment.withLock { $0 = newValue } }
    }

    /// The host that its programs run on from now on; `nil` for this machine.
    public var host: OtherHost.Running? {
        get { otherHost.withLock { $0 } }
        set { otherHost.withLock { $0 = newValue } }
    }

    /// - Parameters:
    ///   - path: an existing folder.
    ///   - folders: folders to make in it.
    ///   - variables: what the environment has besides or instead.
    ///   - removesItself: whether the folder goes with the last reference to this; otherwise the caller removes it.
    public init(
        at path: String, folders: [String] = [], variables: [String: String] = [:], shellOptions: String = "-e -o pipefail",
        removesItself: Bool = false
    ) throws {
        self.path = path
        self.shellOptions = shellOptions
        self.removesItself = removesItself
        let own = [
            "PATH": "\(path)/bin:" + (Machine.environment("PATH") ?? "/usr/bin:/bin") + ":/usr/sbin:/sbin", "TZ": "UTC",
            "R": path, "S": "\(path)/store", "M": "\(path)/mnt",
        ]
        environment = Mutex(own.merging(variables) { $1 })
        for folder in ["bin", ".jobs"] + folders {
            guard mkdir("\(path)/\(folder)", 0o755) == 0 else { throw Machine.Unusable("no folder \(folder) in \(path)") }
        }
        guard symlink(try Machine.binaryPath(), "\(path)/bin/backupfs") == 0 else { throw Machine.Unusable("no link in \(path)") }
        try writeFile(preludePath, Array(Self.prelude.utf8))
    }

    deinit { if removesItself { _ = try? remove() } }

    /// Removes the folder, but nothing that is mounted in it.
    @discardableResult
    public func remove() throws -> Job.Result {
        try run("chmod -R u+rwX '\(path)' 2>/dev/null; rm -rf --one-file-system '\(path)'")
    }

    private var preludePath: String { "\(path)/.jobs/prelude" }

    // MARK: Files

    /// The path of a file in it.
    public func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    /// - Parameter name: a path in the sandbox, or a whole one.
    /// - Returns: the file's path.
    @discardableResult
    public func write(_ bytes: [UInt8], to name: String) throws -> String {
        let path = name.hasPrefix("/") ? name : self(name)
        try writeFile(path, bytes)
        return path
    }

    @discardableResult
    public func write(_ text: String, to name: String) throws -> String { try write(Array(text.utf8), to: name) }

    // MARK: Programs

    /// Starts a program without waiting for it.
    public func start(_ command: [String], _ extra: [String: String] = [:]) throws -> Job {
        let number = jobCount.add(1, ordering: .relaxed).newValue
        let launcher = host?.launcher ?? []
        return try Job(launcher + command, environment: variables.merging(extra) { $1 }, scratch: "\(path)/.jobs/\(number)")
    }

    /// Starts a bash script without waiting for it.
    public func start(_ script: String, _ extra: [String: String] = [:]) throws -> Job {
        try start(["bash", "-c", withPrelude(script)], extra)
    }

    private func withPrelude(_ script: String) -> String { ". '\(preludePath)'\n\(script)" }

    /// Runs a bash script to completion.
    public func run(
        _ script: String, _ extra: [String: String] = [:], limitSeconds: Int = Sandbox.limitSeconds
    ) throws -> Job.Result {
        try finish(start(script, extra), limitSeconds: limitSeconds)
    }

    /// Starts a bash script in a mount namespace: its mounts are not visible elsewhere, and do not stay. Needs root.
    public func startInNamespace(_ script: String, _ extra: [String: String] = [:]) throws -> Job {
        let script = withPrelude("\(MountNamespace.prelude)leave_mounts \"$R\"\n\(script)")
        return try start(["unshare", "--mount", "--propagation", "private", "bash", "-c", script], extra)
    }

    /// Runs a bash script in a mount namespace to completion.
    public func runInNamespace(_ script: String, _ extra: [String: String] = [:]) throws -> Job.Result {
        try finish(startInNamespace(script, extra))
    }

    /// Runs a program to completion.
    public func run(
        _ command: [String], _ extra: [String: String] = [:], limitSeconds: Int = Sandbox.limitSeconds
    ) throws -> Job.Result {
        try finish(start(command, extra), limitSeconds: limitSeconds)
    }

    /// Waits, and removes what the output was kept in: there can be thousands.
    public func finish(_ job: Job, limitSeconds: Int = Sandbox.limitSeconds) throws -> Job.Result {
        defer { job.removeOutput() }
        return try job.wait(limitSeconds: limitSeconds)
    }

    /// Runs a bash script that must succeed, and returns its output without trailing newlines.
    @discardableResult
    public func sh(
        _ script: String, _ extra: [String: String] = [:], limitSeconds: Int = Sandbox.limitSeconds,
        at place: SourceLocation = #_sourceLocation
    ) throws -> String {
        let result = try run("set \(shellOptions)\n\(script)", extra, limitSeconds: limitSeconds)
        try #require(result.exitCode == 0, "\(script)\n→ \(result.exitCode): \(result.text)", sourceLocation: place)
        return result.trimmed
    }

    /// Runs a bash script that must fail with a message.
    @discardableResult
    public func fails(
        _ script: String, saying expected: String, exitCode: Int32? = nil, _ extra: [String: String] = [:],
        at place: SourceLocation = #_sourceLocation
    ) throws -> Job.Result {
        let result = try run(script, extra)
        #expect(result.exitCode != 0, "should have failed: \(script)\n\(result.text)", sourceLocation: place)
        #expect(result.text.contains(expected), "\(script)\nshould say: \(expected)\nsaid: \(result.text)", sourceLocation: place)
        if let exitCode { #expect(result.exitCode == exitCode, "\(script)\n\(result.text)", sourceLocation: place) }
        return result
    }

    /// A program that takes longer hangs.
    public static let limitSeconds = 600
}
