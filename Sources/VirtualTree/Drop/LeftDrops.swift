import BackupCore
import SystemIO

/// Files that were copied into `restore/` under a name that is never judged. `mv` has removed the original: they are kept when the spool is cleared.
public enum LeftDrops {
    private static let spoolPrefix = "drop-"
    private static let noteSuffix = ".left"

    /// Where the name of such a file is written down.
    static func notePath(of spoolPath: String) -> String { spoolPath + noteSuffix }

    /// What became of them.
    public struct Outcome: Sendable {
        /// Their names in the folder for what is kept.
        public var kept: [FileName] = []
        /// Why some stay in the spool, until it is cleared again.
        public var failure: BackupError?
    }

    /// Clears a spool of dropped files. Nothing may serve them any more.
    /// - Parameter folder: where what was never judged goes; made when there is something.
    public static func clear(_ spool: String, keepingIn folder: String) throws(BackupError) -> Outcome {
        var outcome = Outcome()
        var staying: Set<FileName> = []
        let names = try DirectoryReader(path: spool).names().filter { $0.description.hasPrefix(spoolPrefix) }
        for name in names where name.description.hasSuffix(noteSuffix) {
            let content = FileName(name.description.dropLast(noteSuffix.count))
            do throws(BackupError) {
                guard let status = try FileSystem.look("\(spool)/\(content)"), status.size > 0 else { continue }
                let note = FileName(bytes: try FileSystem.readFile("\(spool)/\(name)", limitBytes: FileName.byteCountLimit))
                // A note that was damaged has no name for it; the file is kept all the same.
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

    /// - Returns: the name that it got: nothing is replaced.
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
