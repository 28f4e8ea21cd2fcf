import Glibc
import Testing

/// Where the project and the program under test lie.
enum Machine {
    struct Unusable: Error, CustomStringConvertible {
        let description: String
    }

    static let skipsMountedTests = Shell.environment("BACKUPFS_SKIP_MOUNTED_TESTS") == "1"
    static let projectPath = folder(of: folder(of: folder(of: #filePath)))

    /// A machine without FUSE fails these tests: whoever wants that otherwise must say so.
    static func requireFUSE() throws(Unusable) {
        guard access("/dev/fuse", R_OK | W_OK) == 0 else {
            throw Unusable(
                description: "THERE IS NO USABLE /dev/fuse: mounted tests cannot run. "
                    + "Set BACKUPFS_SKIP_MOUNTED_TESTS=1 to go without them.")
        }
    }

    /// `$BACKUPFS_BINARY`, else the program beside the running test bundle, else the one in `.build/debug` of the package.
    static func binaryPath() throws(Unusable) -> String {
        if let path = Shell.environment("BACKUPFS_BINARY") { return path }
        let own = realpath("/proc/self/exe", nil)
        defer { free(own) }
        let beside = own.map { folder(of: String(cString: $0)) } ?? "."
        let candidates = ["\(beside)/backupfs", "\(projectPath)/.build/debug/backupfs"]
        guard let found = candidates.first(where: { access($0, X_OK) == 0 }) else {
            throw Unusable(
                description: "The program under test is not there. Build it with `swift build`, or name it in BACKUPFS_BINARY. "
                    + "Looked for: \(candidates.joined(separator: ", "))")
        }
        return found
    }

    private static func folder(of path: String) -> String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "." }
}
