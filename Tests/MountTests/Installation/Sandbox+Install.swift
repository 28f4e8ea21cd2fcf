import TestSupport
import Testing

extension Sandbox {
    /// Where `install` puts the files: `$I`. The mount helper is alone in `$I/sbin`.
    private var installationPath: String { "\(path)/installed" }

    /// Runs a test with everything that `make install` installs, in the sandbox.
    static func withInstallation(_ body: (Sandbox) throws -> Void) throws {
        try use { sandbox in
            sandbox.variables["I"] = sandbox.installationPath
            try sandbox.install("install")
            try body(sandbox)
        }
    }

    /// What the Makefile does, with the program under test.
    func install(_ action: String) throws {
        try sh(
            """
            BINARY=$(realpath $R/bin/backupfs) PREFIX=$I SBINDIR=$I/sbin SOURCE_DATE_EPOCH=86400 \
            '\(Machine.projectPath)/mount-scripts/install.sh' \(action)
            """)
    }

    /// Runs a script, which must succeed, in a mount namespace where instead of the system's helpers for mount(8) there is only
    /// ours. Needs root.
    /// - Returns: what it prints, and its errors.
    @discardableResult
    func inNamespace(_ script: String) throws -> String {
        let result = try runInNamespace("exec 2>&1; set -eu -o pipefail; mount --bind $I/sbin $(realpath /sbin)\n\(script)")
        try #require(result.exitCode == 0, "\(script)\n→ \(result.exitCode): \(result.text)")
        return result.trimmed
    }
}
