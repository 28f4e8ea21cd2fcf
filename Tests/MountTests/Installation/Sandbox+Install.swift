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

    /// Runs a script, which must succeed, in its own mount namespace: its mounts are not visible elsewhere, and do not stay.
    /// Instead of the system's helpers for mount(8) there is only ours. Needs root.
    @discardableResult
    func inNamespace(_ script: String) throws -> String {
        try write("set -eu -o pipefail\nmount --bind $I/sbin $(realpath /sbin)\n\(script)", to: "inside.sh")
        return try sh("unshare --mount --propagation private bash $R/inside.sh 2>&1")
    }
}
