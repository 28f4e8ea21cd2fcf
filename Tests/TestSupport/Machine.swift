import Glibc

/// What this machine supports, and where the project and the program under test are.
public enum Machine {
    public struct Unusable: Error, CustomStringConvertible {
        public let description: String

        public init(_ description: String) { self.description = description }
    }

    public static let skipsMountedTests = environment("BACKUPFS_SKIP_MOUNTED_TESTS") == "1"
    public static let isRoot = geteuid() == 0
    public static let projectPath = folder(of: folder(of: folder(of: #filePath)))

    /// A machine without FUSE fails these tests, unless they are skipped explicitly.
    public static func requireFUSE() throws(Unusable) {
        guard access("/dev/fuse", R_OK | W_OK) == 0 else {
            throw Unusable(
                "THERE IS NO USABLE /dev/fuse: mounted tests cannot run. "
                    + "Set BACKUPFS_SKIP_MOUNTED_TESTS=1 to go without them.")
        }
    }

    /// `$BACKUPFS_BINARY`, else the program beside the running test bundle, else the one in `.build/debug` of the package.
    public static func binaryPath() throws(Unusable) -> String {
        if let path = environment("BACKUPFS_BINARY") { return path }
        let own = linkTarget("/proc/self/exe") ?? CommandLine.arguments[0]
        let candidates = ["\(folder(of: own))/backupfs", "\(projectPath)/.build/debug/backupfs"]
        guard let found = candidates.first(where: { access($0, X_OK) == 0 }) else {
            throw Unusable(
                "The program under test is not there. Build it with `swift build`, or name it in BACKUPFS_BINARY. "
                    + "Looked for: \(candidates.joined(separator: ", "))")
        }
        return found
    }

    public static func hasTool(_ name: String) -> Bool {
        (environment("PATH") ?? "/usr/bin:/bin").split(separator: ":").contains { access("\($0)/\(name)", X_OK) == 0 }
    }

    /// A program that `mount-scripts/install-dependencies.sh` gets from PyPI; `nil` when it is not there.
    public static func pythonTool(_ name: String) -> String? {
        let folder =
            environment("BACKUPFS_TEST_TOOLS")
            ?? (environment("XDG_CACHE_HOME") ?? (environment("HOME") ?? "") + "/.cache") + "/backupfs-test"
        let path = "\(folder)/venv/bin/\(name)"
        return access(path, X_OK) == 0 ? path : nil
    }

    public static func environment(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }

    public static func linkTarget(_ path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { readlink(path, $0.assumingMemoryBound(to: CChar.self), bytes.count) } ?? -1
        }
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}
