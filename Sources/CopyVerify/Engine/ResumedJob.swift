import BackupCore
import SystemIO

/// A destination that is not there when a job is resumed.
struct AbsentDestination: Sendable {
    /// As it was when the job was made.
    let place: DestinationPlace
    /// What is wrong, with its path.
    let error: BackupError
}

extension CopyJob {
    /// The job of a folder once more, after the same checks. Destinations that are not there, or where another file system is
    /// now, are left out of this run, which fails for them; a later one brings them up to date.
    /// - Throws: when the source, or all destinations, are not there.
    public static func resume(
        _ folder: JobFolder, progress: @escaping @Sendable (UInt64, UInt64) -> Void = { _, _ in }
    ) throws(BackupError) -> CopyJob {
        let record = folder.record
        guard record.kind == .copy else {
            throw BackupError(
                .notSupported, "this job was made of files that were copied into \(record.source) of the mount",
                path: folder.path,
                remedy: "Copy the files into \(record.source) again: what is there already is not copied twice.")
        }
        let mounts = try MountTable.current()
        try requireSame(DestinationPlace.at(record.source, mounts: mounts), as: record.sourcePlace)
        var present: [DestinationPlace] = []
        var absent: [AbsentDestination] = []
        for place in record.destinations {
            do throws(BackupError) {
                try requireSame(
                    DestinationPlace.at(place.path, mounts: mounts, madeFolderLimit: place.path.utf8.count), as: place)
                present.append(place)
            } catch {
                absent.append(AbsentDestination(place: place, error: error))
            }
        }
        if present.isEmpty, let first = absent.first { throw first.error }
        let plan: CopyPlan
        do throws(BackupError) {
            var check = Self.check(record, present)
            plan = try check.run(progress: progress)
        } catch {
            guard present.count > 1, error.code != .interrupted else { throw error }
            // One that is full, or cannot be written, does not keep the others back.
            var fit: [DestinationPlace] = []
            for place in present {
                do throws(BackupError) {
                    var check = Self.check(record, [place])
                    _ = try check.run(progress: progress)
                    fit.append(place)
                } catch {
                    absent.append(AbsentDestination(place: place, error: error))
                }
            }
            guard !fit.isEmpty, fit.count < present.count else { throw error }
            present = fit
            var check = Self.check(record, present)
            plan = try check.run(progress: progress)
        }
        // Folders that the job has made get the modes and times of their originals.
        let destinations = zip(plan.destinations, present).map { now, before in
            DestinationPlace(
                path: now.path, mountPoint: now.mountPoint, fileSystemType: now.fileSystemType, device: now.device,
                isMade: now.isMade || before.isMade)
        }
        return CopyJob(
            folder: folder,
            plan: CopyPlan(
                info: plan.info, destinations: destinations, hiddenCount: plan.hiddenCount, unfinished: plan.unfinished),
            isResumed: true, absent: absent)
    }

    private static func check(_ record: JobRecord, _ places: [DestinationPlace]) -> CopyCheck {
        // The record has the folders that the labels named.
        var options = record.options
        options.label = nil
        return CopyCheck(
            source: record.source, destinations: places.map(\.path), options: options, resuming: record.token)
    }

    private static func requireSame(_ now: DestinationPlace, as before: DestinationPlace) throws(BackupError) {
        guard !now.isSameFileSystem(as: before) else { return }
        throw BackupError(
            .notFound,
            "another file system is here than when the job began: \(now.fileSystemType) at \(now.mountPoint), and before \(before.fileSystemType) at \(before.mountPoint)",
            path: now.path, remedy: "Mount the disk as it was, and resume the job, or begin a new copy.")
    }
}
