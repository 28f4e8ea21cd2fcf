import BackupCore
import Formats
import SystemIO

/// Looks for the jobs of this machine and for the records that jobs have left on volumes. A job that is found twice counts once.
public struct TransferSearch {
    /// How deep below a folder that was named.
    private static let depthLimit = 8
    private static let folderLimit = 200_000
    private static let problemLimit = 1_000

    /// Of each job, the state that is known last; the oldest job first.
    public var transfers: [TransferRecord] { found.values.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) } }
    /// What could not be read, and what was not looked at.
    public private(set) var problems: [BackupError] = []
    private var found: [String: TransferRecord] = [:]
    private var folderCount = 0

    public init() {}

    /// The jobs of a folder of jobs.
    /// - Parameter folders: if there are any, only jobs whose source or a destination is in one of them.
    public mutating func addJobs(of place: String, touching folders: [String]) throws(BackupError) {
        for name in try FileSystem.names(in: place) {
            try Cancellation.check()
            let path = "\(place)/\(name.description)"
            guard try FileSystem.exists("\(path)/job.json") else { continue }
            addJob(path, touching: folders)
        }
    }

    private mutating func addJob(_ path: String, touching folders: [String]) {
        do throws(BackupError) {
            let job = try JobFolder.open(path, in: "")
            let record = job.record
            let places = [record.source] + record.destinations.map(\.path)
            guard folders.isEmpty || places.contains(where: { place in folders.contains { Self.isInside(place, $0) } }) else {
                return
            }
            add(TransferRecord(try JobStory(job)))
        } catch {
            note(error)
        }
    }

    private static func isInside(_ path: String, _ folder: String) -> Bool {
        path == folder || path.hasPrefix(folder == "/" ? "/" : "\(folder)/")
    }

    private mutating func add(_ record: TransferRecord) {
        guard let other = found[record.id] else {
            found[record.id] = record
            return
        }
        // The record on a volume is older than the job, if the job was continued without the volume.
        let (new, old) = (record.endedAt ?? record.createdAt, other.endedAt ?? other.createdAt)
        if record.runCount > other.runCount || record.runCount == other.runCount && new > old { found[record.id] = record }
    }

    private mutating func note(_ error: BackupError) { if problems.count < Self.problemLimit { problems.append(error) } }

    /// What is below a folder: `Reports/transfers` of destinations, and folders of jobs. Links, hidden names and other file
    /// systems are left out.
    /// - Throws: for a folder that is not there or cannot be read; what is below it is a problem in the same case.
    public mutating func addVolume(_ path: String) throws(BackupError) {
        let root = try DirectoryHandle(path: path)
        try walk(root, at: path, device: try root.descriptor.status().device, depth: 0)
    }

    private mutating func walk(_ folder: DirectoryHandle, at path: String, device: UInt64, depth: Int) throws(BackupError) {
        try Cancellation.check()
        folderCount += 1
        guard folderCount <= Self.folderLimit else {
            if folderCount == Self.folderLimit + 1 {
                note(
                    BackupError(
                        .tooLarge, "there are more than \(Self.folderLimit) folders: not all were searched", path: path,
                        remedy: "Name the folders of the copies instead."))
            }
            return
        }
        for name in try folder.folderNames() where name.bytes.first != UInt8(ascii: ".") {
            do throws(BackupError) {
                guard let inner = try folder.openFolder(name), try inner.descriptor.status().device == device else { continue }
                let innerPath = "\(path)/\(name.description)"
                if try inner.statusIfPresent("job.json") != nil {
                    addJob(innerPath, touching: [])
                } else if name == Self.reports, let records = try inner.openFolder(Self.records) {
                    try read(records, at: "\(innerPath)/\(TransferRecord.folderName)")
                } else if depth < Self.depthLimit {
                    try walk(inner, at: innerPath, device: device, depth: depth + 1)
                }
            } catch {
                if error.code == .interrupted { throw error }
                note(error)
            }
        }
    }

    private static let reports = FileName(bytes: Array(TransferRecord.reportsName.utf8))
    private static let records = FileName(bytes: Array(TransferRecord.folderName.utf8))

    private mutating func read(_ folder: DirectoryHandle, at path: String) throws(BackupError) {
        for name in try folder.names() where name.bytes.suffix(5).elementsEqual(".json".utf8) {
            do throws(BackupError) {
                add(try TransferRecord(readingFrom: "\(path)/\(name.description)"))
            } catch {
                note(error)
            }
        }
    }
}
