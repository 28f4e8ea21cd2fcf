import BackupCore
import SystemIO

/// Makes the files of one destination durable, verifies them, gives them their names and writes their rows, on a thread of its
/// own: while it does so with one batch, the next one is written.
///
/// A file gets its name only after it was verified, and its row only after the name is durable.
final class DestinationFinisher {
    /// More of them are synchronized together.
    private static let singleLimit = 16

    private let destination: Destination
    private let context: CopyContext
    private let folders: TargetFolders
    private let readBack: ReadBack
    private let attributes: CopiedAttributes
    /// More copies are read back at once.
    private static let readLimit = UncachedReads.fileCountLimit
    /// Whether the file system has failed to make something durable. It reports that once, and for whatever was written.
    private var hasLostWrites = false

    init(_ destination: Destination, _ context: CopyContext) {
        self.destination = destination
        self.context = context
        folders = TargetFolders(destination, keepsLast: context.keepsFolders)
        readBack = ReadBack(context, destination)
        attributes = CopiedAttributes(destination: destination.place, problems: context.problems)
    }

    func execute(_ batch: Batch) {
        var rows: [ResultRow] = []
        do throws(BackupError) {
            // A full disk has room for the names of what was written before.
            if let error = destination.error, hasLostWrites || error.code != .noSpace { throw error }
            if context.mustStop { throw CopyContext.cancelled }
            try destination.requirePresent()
            hasLostWrites = true
            let failures = try synchronizeFiles(batch)
            hasLostWrites = false
            try FaultInjection.reached("copy.batch-durable")
            for start in stride(from: 0, to: batch.files.count, by: Self.readLimit) {
                let part = start..<min(start + Self.readLimit, batch.files.count)
                let findings = verifySmall(batch.files, part, failures)
                for index in part { rows.append(complete(batch.files[index], failures[index], findings[index])) }
            }
            try FaultInjection.reached("copy.batch-named")
            hasLostWrites = true
            try synchronizeFolders(batch.changedFolders)
            hasLostWrites = false
            try FaultInjection.reached("copy.batch-certain")
        } catch {
            if error.code != .interrupted { destination.fail(error) }
            rows = giveUp(batch, error)
        }
        do throws(BackupError) {
            try context.record(rows)
            try FaultInjection.reached("copy.rows-written")
            destination.finishedCount.add(UInt64(rows.count), ordering: .relaxed)
        } catch {
            // Without rows, the job's result would be unknown.
            context.problems.add(error)
            context.requestStop()
        }
    }

    /// The rows of a batch that cannot be finished: nothing of it is believed.
    private func giveUp(_ batch: Batch, _ error: BackupError) -> [ResultRow] {
        var isFirst = true
        return batch.files.map { file in
            if case .failed(let own, let isDropped) = file.outcome { return row(file, failure: own, isDropped: isDropped) }
            if case .written(let name) = file.outcome { remove(name, file) }
            defer { isFirst = false }
            return row(file, failure: error, isDropped: !isFirst && error.code != .interrupted)
        }
    }

    private func remove(_ name: FileName, _ file: WrittenFile) {
        try? folders.open(file.task.folder.components).removeFile(name)
    }

    // MARK: Durability

    /// - Returns: the errors of single files, by their places in the batch.
    /// - Throws: those of the destination.
    private func synchronizeFiles(_ batch: Batch) throws(BackupError) -> [Int: BackupError] {
        var names: [(Int, FileTask, FileName)] = []
        for (index, file) in batch.files.enumerated() {
            switch file.outcome {
            case .written(let name): names.append((index, file.task, name))
            case .present: names.append((index, file.task, file.target))
            case .linked, .failed: break
            }
        }
        guard !names.isEmpty else { return [:] }
        if names.count > Self.singleLimit, try canSynchronizeAll(batch.changedFolders) {
            try destination.root.descriptor.synchronizeFileSystem()
            return [:]
        }
        var failures: [Int: BackupError] = [:]
        for (index, task, name) in names {
            do throws(BackupError) {
                try folders.open(task.folder.components).openFile(name).synchronize()
            } catch {
                guard !Destination.isOfDevice(error) else { throw error }
                failures[index] = error
            }
        }
        return failures
    }

    private func synchronizeFolders(_ paths: Set<[FileName]>) throws(BackupError) {
        if paths.count > Self.singleLimit, try canSynchronizeAll(paths) {
            return try destination.root.descriptor.synchronizeFileSystem()
        }
        for path in paths { try folders.open(path).synchronize() }
    }

    /// A folder of a destination can be a mountpoint itself.
    private func canSynchronizeAll(_ paths: Set<[FileName]>) throws(BackupError) -> Bool {
        guard destination.root.descriptor.hasReliableFileSystemSync() else { return false }
        for path in paths where !folders.hasOtherDevice { _ = try folders.open(path) }
        return !folders.hasOtherDevice
    }

    // MARK: Files

    /// Verifies the small copies of a part of a batch.
    /// - Returns: by the places in the batch; those that are not there are to be read alone.
    private func verifySmall(
        _ files: [WrittenFile], _ part: Range<Int>, _ failures: [Int: BackupError]
    ) -> [Int: Result<ReadBack.Finding, BackupError>] {
        var (places, copies): ([Int], [ReadBack.Copy]) = ([], [])
        for index in part where failures[index] == nil && readBack.isSmall(files[index].task) && !context.mustStop {
            guard case .written(let name) = files[index].outcome,
                let folder = try? folders.open(files[index].task.folder.components)
            else { continue }
            places.append(index)
            copies.append(ReadBack.Copy(task: files[index].task, name: name, folder: folder))
        }
        return measuringTime {
            var findings: [Int: Result<ReadBack.Finding, BackupError>] = [:]
            for (place, finding) in zip(places, readBack.verifySmall(copies)) { findings[place] = finding }
            return findings
        }
    }

    /// - Parameters:
    ///   - failure: why it is not durable.
    ///   - finding: of a copy that was verified.
    private func complete(
        _ file: WrittenFile, _ failure: BackupError?, _ finding: Result<ReadBack.Finding, BackupError>?
    ) -> ResultRow {
        if let failure {
            if case .written(let name) = file.outcome { remove(name, file) }
            return row(file, failure: failure, isDropped: false)
        }
        switch file.outcome {
        case .failed(let error, let isDropped): return row(file, failure: error, isDropped: isDropped)
        case .linked(let isNew):
            guard let folder = try? folders.open(file.task.folder.components),
                (try? folder.readLinkIfPresent(file.target)) == file.task.linkTarget
            else { return row(file, failure: changed(file), isDropped: false) }
            return finished(file, file.target, isNew ? newStatus : .present, .init())
        case .present(let method, let status):
            guard let folder = try? folders.open(file.task.folder.components),
                (try? folder.statusIfPresent(file.target)) == status
            else { return row(file, failure: changed(file), isDropped: false) }
            if context.options.verification.readsBack {
                destination.verifiedBytes.add(file.task.status.size, ordering: .relaxed)
            }
            return finished(
                file, file.target, .present, .init(digests: file.task.waitForDigests(), method: method, status: status))
        case .written(let name):
            do throws(BackupError) {
                if context.mustStop { throw CopyContext.cancelled }
                let folder = try folders.open(file.task.folder.components)
                let finding =
                    if let finding { try finding.get() } else {
                        try verify(ReadBack.Copy(task: file.task, name: name, folder: folder))
                    }
                if let status = finding.status { attributes.warn(ofLossIn: status, file.task.status) }
                let target = try rename(name, in: folder, file)
                return finished(file, target, newStatus, finding)
            } catch {
                remove(name, file)
                if Destination.isOfDevice(error), error.code != .noSpace { destination.fail(error) }
                return row(file, failure: error, isDropped: false)
            }
        }
    }

    private func verify(_ copy: ReadBack.Copy) throws(BackupError) -> ReadBack.Finding {
        try measuringTime { () throws(BackupError) in try readBack.verify(copy) }
    }

    private func measuringTime<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let start = SystemClock.monotonicNanoseconds()
        defer { destination.verifyingNanoseconds.add(SystemClock.monotonicNanoseconds() - start, ordering: .relaxed) }
        return try body()
    }

    /// Gives a copy its name, or the next free one if the job may.
    private func rename(_ name: FileName, in folder: DirectoryHandle, _ file: WrittenFile) throws(BackupError) -> FileName {
        var target = file.target
        var number = 1
        while true {
            do throws(BackupError) {
                try folder.move(name, to: folder, as: target)
                return target
            } catch {
                guard error.code == .alreadyExists else { throw error }
                guard destination.mayRename, number < CopyNames.numberLimit else { throw destination.conflict(folder, target) }
            }
            number += 1
            target = CopyNames.numbered(file.task.name, number)
        }
    }

    // MARK: Rows

    /// Of a copy that was made and passed the verification.
    private var newStatus: RowStatus { context.options.verification == .quick ? .copied : .verified }

    private func finished(
        _ file: WrittenFile, _ target: FileName, _ status: RowStatus, _ finding: ReadBack.Finding
    ) -> ResultRow {
        do throws(BackupError) {
            var row = row(file, status)
            let copy =
                if let status = finding.status { status } else {
                    try folders.open(file.task.folder.components).status(target)
                }
            row.digests = finding.digests
            if !finding.digests.algorithms.isEmpty { row.hashedAt = SystemClock.now() }
            row.readBack = finding.method
            if let difference = file.task.expected?.difference(size: row.size, finding.digests) {
                row.status = .sourceMismatch
                row.error = sourceMismatch(file, difference)
                destination.failedCount.add(1, ordering: .relaxed)
            }
            if target != file.task.name { row.target = file.task.folder.path(of: target) }
            row.targetInode = copy.inode
            row.targetTime = copy.modificationTime
            return row
        } catch {
            return row(file, failure: error, isDropped: false)
        }
    }

    /// The copy is kept: it is what the source has now, and may be all that is left of it.
    private func sourceMismatch(_ file: WrittenFile, _ difference: Message) -> BackupError {
        BackupError(
            .damagedContent, "the source is not what its list of checksums says, and the copy is as the source is: \(difference)",
            path: "\(context.source.path)/\(MessageText.name(file.task.path))",
            remedy: "Look for another copy of the file. The source is damaged, or it has changed since the list was written.")
    }

    private func changed(_ file: WrittenFile) -> BackupError {
        BackupError(
            .stale, "another program changes the file in the destination",
            path: "\(destination.place.path)/\(MessageText.name(file.task.path))", remedy: "Resume the job when it does not.")
    }

    private func row(_ file: WrittenFile, failure: BackupError, isDropped: Bool) -> ResultRow {
        destination.failedCount.add(1, ordering: .relaxed)
        var row = row(file, RowStatus(failure))
        row.error = failure
        row.isDropped = isDropped
        return row
    }

    private func row(_ file: WrittenFile, _ status: RowStatus) -> ResultRow {
        ResultRow(
            path: file.task.path, destination: destination.place.path, size: file.task.status.size,
            modificationTime: file.task.status.modificationTime, status: status,
            isLink: file.task.status.kind == .symbolicLink)
    }
}
