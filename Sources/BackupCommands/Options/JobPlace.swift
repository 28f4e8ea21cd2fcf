import ArgumentParser
import BackupCore
import CopyVerify
import Operations
import SystemIO

/// Where the folders of copy jobs are.
enum JobPlace {
    /// `jobs/` in the store, if there is one, else `$XDG_STATE_HOME/backupfs/jobs` or `~/.local/state/backupfs/jobs`.
    /// - Parameter options: a store that is named must exist.
    static func resolve(_ options: StoreOptions) throws(BackupError) -> String {
        let path = try? options.path()
        if let path, options.store != nil || StoreLocation.hasStore(path) {
            let paths = StorePaths(root: path)
            try paths.requireTrustedStore()
            return paths.jobs
        }
        if let state = Environment.text("XDG_STATE_HOME"), state.hasPrefix("/") { return "\(state)/backupfs/jobs" }
        if let home = Environment.text("HOME"), home.hasPrefix("/") { return "\(home)/.local/state/backupfs/jobs" }
        throw BackupError(
            .usage, "without a store and a home folder there is no place to record the copy", remedy: "Give --store DIR.")
    }

    /// The folders that a job copies, and copies to; none of a job that cannot be opened, or that programs copied into.
    /// - Parameters:
    ///   - name: its ID, or its folder.
    ///   - place: the folder of all jobs.
    static func folders(ofJob name: String, in place: String) -> [String] {
        guard let record = (try? JobFolder.open(name, in: place))?.record, record.kind == .copy else { return [] }
        return [record.source] + record.namedDestinations
    }

    /// The log of the store that has the jobs, or the file that `--log-file` names.
    /// - Parameter folders: the source and the destinations: a line of the log would change one of their files.
    /// - Returns: `nil` when the settings cannot be read: a copy must not fail because of a setting.
    /// - Throws: `usage` for a file that the log must not be.
    static func log(_ options: StoreOptions, besides folders: [String] = []) throws(BackupError) -> FolderCopyLog? {
        if let log = options.log.overrides.path {
            let file = try FileSystem.realPath(log)
            for folder in folders where file.hasPrefix("\(try FileSystem.realPath(folder))/") {
                throw BackupError(
                    .usage, "the log would be in a folder that is copied, or copied to", path: log,
                    remedy: "Name a file elsewhere.")
            }
        }
        let path = (try? options.path()).flatMap { options.store != nil || StoreLocation.hasStore($0) ? $0 : nil }
        do throws(BackupError) {
            return try FolderCopyLog(storeAt: path, options.log.overrides)
        } catch {
            guard error.code != .usage || options.log.logFile == nil else { throw error }
            Terminal.writeError("warning: the copy is not in the log: \(error)")
            return nil
        }
    }
}

extension VerificationMode: ExpressibleByArgument {}

extension ConflictPolicy: ExpressibleByArgument {}

extension HashAlgorithm: ExpressibleByArgument {}

extension ManifestKind: ExpressibleByArgument {}

extension CompletionKind {
    /// The IDs of copy jobs.
    static let job = CompletionKind.custom { words, _, _ in
        guard let options = try? StoreOptions.parse(SnapshotCompletion.storeOption(words).map { ["--store", $0] } ?? []),
            let place = try? JobPlace.resolve(options)
        else { return [] }
        return ((try? JobFolder.all(in: place)) ?? []).map(\.record.id)
    }
}
