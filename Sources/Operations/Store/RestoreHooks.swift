import AppData
import BackupCore
import Glibc
import Restore
import SystemIO

/// Runs the user's commands around a restore. Once `before-restore` has begun, `after-restore` always runs, if necessary at the
/// next start, so that a stopped service is started again. It never runs beside an interrupted `before-restore`, which could stop
/// the service afterwards.
struct RestoreHooks {
    let store: Store

    private static let recordText = "after-restore\n"

    private var settings: HookSettings { store.settings.hooks }

    /// - Returns: the commands that ran.
    /// - Throws: `hookFailed` when the command fails or times out; nothing has been changed.
    func runBefore(_ fileName: String, _ strategy: ImportStrategy) throws(BackupError) -> [RestoreReport.Hook] {
        guard !settings.isEmpty else { return [] }
        try FileSystem.writeFileAtomically(store.paths.hookRecord, Array(Self.recordText.utf8))
        guard let command = settings.beforeRestore else { return [] }
        let hook = try run("before-restore", command, fileName, ["BACKUPFS_STRATEGY": strategy.rawValue]) { group in
            // If writing this record fails, a crash could leave the command running beside `after-restore`, but nothing worse.
            try? FileSystem.writeFileAtomically(store.paths.hookRecord, Array("\(Self.recordText)\(group.record)\n".utf8))
        }
        // Processes that it left in the background keep running.
        try FileSystem.writeFileAtomically(store.paths.hookRecord, Array(Self.recordText.utf8))
        guard hook.isSuccess else {
            throw BackupError(
                .hookFailed, "the command before-restore failed: \(hook.outcomeText)", path: fileName,
                remedy: "Nothing was changed. Mend the command in \(store.paths.settings), or the service that it is for.",
                findings: hook.outputLines.map(Message.verbatim))
        }
        return [hook]
    }

    /// Does nothing if `runBefore` was not called.
    /// - Parameter result: as in the report.
    /// - Returns: the commands that ran. The report includes a failure, which changes nothing.
    func runAfter(_ fileName: String, _ result: RestoreReport.Result) -> [RestoreReport.Hook] {
        // If that is unknown, the service is started anyway.
        guard (try? FileSystem.exists(store.paths.hookRecord)) != false else { return [] }
        endInterruptedCommand()
        var hooks: [RestoreReport.Hook] = []
        if let command = settings.afterRestore {
            do throws(BackupError) {
                hooks.append(
                    try Cancellation.shielded { () throws(BackupError) in
                        try run("after-restore", command, fileName, ["BACKUPFS_RESULT": result.rawValue])
                    })
            } catch {
                hooks.append(
                    RestoreReport.Hook(name: "after-restore", exitCode: 127, hasTimedOut: false, output: error.message.english))
            }
        }
        try? FileSystem.removeFile(store.paths.hookRecord)
        return hooks
    }

    /// Ends a `before-restore` whose restore was killed.
    private func endInterruptedCommand() {
        guard let bytes = try? FileSystem.readFile(store.paths.hookRecord, limitBytes: 4096) else { return }
        let record = String(decoding: bytes, as: UTF8.self).dropFirst(Self.recordText.count).prefix { $0 != "\n" }
        ProcessGroup(record: String(record))?.end(withinSeconds: Double(settings.timeoutSeconds))
    }

    private func run(
        _ name: String, _ text: String, _ fileName: String, _ variables: [String: String],
        onStart: ((ProcessGroup) -> Void)? = nil
    ) throws(BackupError) -> RestoreReport.Hook {
        let command = ShellCommand(text, timeoutSeconds: Double(settings.timeoutSeconds), folder: store.paths.root)
        var environment = [
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
            "BACKUPFS_STORE": store.paths.root, "BACKUPFS_HOOK": name, "BACKUPFS_FILE": fileName,
        ]
        for name in ["HOME", "USER", "XDG_RUNTIME_DIR"] { environment[name] = getenv(name).map { String(cString: $0) } }
        environment.merge(variables) { _, new in new }
        let result = try command.run(environment: environment, onStart: onStart)
        return RestoreReport.Hook(
            name: name, exitCode: result.exitCode, hasTimedOut: result.hasTimedOut, output: result.output)
    }
}
