import Glibc
import SystemIO

/// A script in `mount-scripts/object-servers`, which starts and stops a server of the tests.
struct ServerScript: Sendable {
    /// Without its ending.
    let name: String
    /// With the server's data and logs.
    let folder: String
    var options: [String] = []

    /// The server ends with the process of the tests, however that ends, and the folder goes with it.
    /// - Returns: what the script says of the server.
    /// - Throws: when it does not answer, with what it printed. Nothing of it is left then.
    func startForTests() throws(Machine.Unusable) -> [String: String] {
        do {
            return Self.values(try run(["start", folder, "--until-end-of", "\(getpid())"] + options))
        } catch {
            try? FileSystem.removeTree(folder)
            throw error
        }
    }

    /// After `stop`: on the same ports, with the same data.
    func start() throws(Machine.Unusable) -> [String: String] { Self.values(try run(["start", folder] + options)) }

    /// Ends the server's processes. The folder stays.
    func stop() throws(Machine.Unusable) { _ = try run(["stop", folder]) }

    func remove() {
        try? stop()
        try? FileSystem.removeTree(folder)
    }

    static func makeFolder() throws(Machine.Unusable) -> String {
        try TemporaryFolder.make((Machine.environment("TMPDIR") ?? "/tmp") + "/backupfs-server")
    }

    private func run(_ arguments: [String]) throws(Machine.Unusable) -> String {
        let scratch = try TemporaryFolder.make((Machine.environment("TMPDIR") ?? "/tmp") + "/backupfs-server-output")
        defer { try? FileSystem.removeTree(scratch) }
        let script = "\(Machine.projectPath)/mount-scripts/object-servers/\(name).sh"
        let result = try Job(["bash", script] + arguments, scratch: "\(scratch)/script").wait(limitSeconds: 300)
        guard result.exitCode == 0 else { throw Machine.Unusable("\(script) \(arguments): \(result.text)") }
        return result.output
    }

    /// Of lines `key=value`.
    private static func values(_ output: String) -> [String: String] {
        var values: [String: String] = [:]
        for line in output.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            values[String(line[..<equals])] = String(line[line.index(after: equals)...])
        }
        return values
    }
}
