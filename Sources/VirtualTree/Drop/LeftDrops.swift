import BackupCore
import SystemIO

/// Files that were copied into `restore/` under a name that is never submitted. `mv` has removed the original, so they are kept when the spool is cleared.
public enum LeftDrops {
    private static let spoolPrefix = "drop-"
    private static let noteSuffix = ".left"

    /// The path of the note that holds the name of such a file.
    static func notePath(of spoolPath: String) -> String { spoolPath + noteSuffix }

    /// The result of clearing a spool.
    public struct Outcome: Sendable {
        /// Their names in the folder for kept files.
        public var kept: [FileName] = []
        /// Why some stay in the spool, until it is cleared again.
        public var failure: BackupError?
    }

    /// Clears a spool of dropped files. It must not be served any more.
    /// - Parameter folder: for files that were never submitted; created when needed.
    public static func clear(_ spool: String, keepingIn folder: String) throws(BackupError) -> Outcome {
        var outcome = Outcome()
        var staying: Set<FileName> = []
        let names = try DirectoryReader(path: spool).names().filter { $0.description.hasPrefix(spoolPrefix) }
        for name in names where name.description.hasSuffix(noteSuffix) {
            let content = FileName(name.description.dropLast(noteSuffix.count))
            do throws(BackupError) {
                guard let status = try FileSystem.look("\(spool)/\(content)"), status.size > 0 else { continue }
                let note = FileName(bytes: try FileSystem.readFile("\(spool)/\(name)", limitBytes: FileName.byteCountLimit))
                // A damaged note has no valid name for it; the file is kept all the same.
                let kept = note.isSafeComponent ? note : content
                outcome.kept.append(try move(content, in: FileSystem.realPath(spool), to: folder, as: kept))
            } catch {
                outcome.failure = error
                staying.formUnion([content, name])
            }
        }
        for name in names where !staying.contains(name) { try FileSystem.removeFile("\(spool)/\(name)") }
        return outcome
    }

    /// - Returns: its name in the folder: existing files are not replaced.
    private static func move(
        _ content: FileName, in spool: String, to folder: String, as name: FileName
    ) throws(BackupError) -> FileName {
        try FileSystem.makeDirectories(folder)
        let (source, target) = (try FolderHandle(path: spool), try FolderHandle(path: folder))
        for number in 1... {
            let end = number == 1 ? [] : Array(".\(number)".utf8)
            let candidate = FileName(bytes: name.bytes.prefix(FileName.byteCountLimit - end.count) + end)
            do throws(BackupError) {
                try source.move(content, to: target, as: candidate)
            } catch let error where error.code == .alreadyExists {
                continue
            }
            try target.synchronize()
            return candidate
        }
        return name
    }
}
