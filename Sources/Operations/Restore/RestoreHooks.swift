import AppData
import BackupCore
import Glibc
import Restore
import SystemIO

/// Runs the user's commands around a restore. Once `before-restore` has begun, `after-restore` runs in any case, if need be at the next start: a
/// service that was stopped is not left so.
struct RestoreHooks {
    let store: Store

    private var settings: HookSettings { store.settings.hooks }

    /// - Returns: what was run.
    /// - Throws: `hookFailed` when the command fails or takes too long; nothing has been changed.
    func runBefore(_ fileName: String, _ strategy: ImportStrategy) throws(BackupError) -> [RestoreReport.Hook] {
        guard !settings.isEmpty else { return [] }
        try FileSystem.writeFileAtomically(store.paths.hookRecord, Array("after-restore\n".utf8))
        guard let command = settings.beforeRestore else { return [] }
        let hook = try run("before-restore", command, fileName, ["BACKUPFS_STRATEGY": strategy.rawValue])
        guard hook.isSuccess else {
            throw BackupError(
                .hookFailed, "the command before-restore failed: \(hook.told)", path: fileName,
                remedy: "Nothing was changed. Mend the command in \(store.paths.settings), or the service that it is for.",
                findings: hook.outputLines.map(Message.verbatim))
        }
        return [hook]
    }

    /// Does nothing when `runBefore` has not been called.
    /// - Parameter result: as in the report.
    /// - Returns: what was run. A failure is told in the report, and changes nothing.
    func runAfter(_ fileName: String, _ result: RestoreReport.Result) -> [RestoreReport.Hook] {
        // If it cannot be told, what was stopped is started all the same.
        guard (try? FileSystem.exists(store.paths.hookRecord)) != false else { return [] }
        var hooks: [RestoreReport.Hook] = []
        if let command = settings.afterRestore {
            do throws(BackupError) {
                hooks.append(try run("after-restore", command, fileName, ["BACKUPFS_RESULT": result.rawValue]))
            } catch {
                hooks.append(
                    RestoreReport.Hook(name: "after-restore", exitCode: 127, hasTimedOut: false, output: error.message.english))
            }
        }
        try? FileSystem.removeFile(store.paths.hookRecord)
        return hooks
    }

    private func run(
        _ name: String, _ text: String, _ fileName: String, _ variables: [String: String]
    ) throws(BackupError) -> RestoreReport.Hook {
        let command = ShellCommand(text, timeoutSeconds: Double(settings.timeoutSeconds), folder: store.paths.root)
        var environment = [
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
            "BACKUPFS_STORE": store.paths.root, "BACKUPFS_HOOK": name, "BACKUPFS_FILE": fileName,
        ]
        for name in ["HOME", "USER", "XDG_RUNTIME_DIR"] { environment[name] = getenv(name).map { String(cString: $0) } }
        environment.merge(variables) { _, new in new }
        let result = try command.run(environment: environment)
        return RestoreReport.Hook(
            name: name, exitCode: result.exitCode, hasTimedOut: result.hasTimedOut, output: result.output)
    }
}
