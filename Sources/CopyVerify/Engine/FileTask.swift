import BackupCore
import SystemIO

/// One reading of a file, or a link, of the source.
final class FileTask: Sendable {
    let folder: SourceFolder
    let name: FileName
    /// As of the beginning of the reading.
    let status: FileStatus
    let attributes: [ExtendedAttribute]
    /// Of a link.
    let linkTarget: [UInt8]?
    /// What lists say that came with the source.
    let expected: ExpectedFile?

    private struct Delivery: Sendable {
        var digests = FileDigests()
        var missingCount: Int
    }

    private let delivery: Monitor<Delivery>

    /// - Parameter partCount: how often digests will be delivered.
    init(
        _ name: FileName, in folder: SourceFolder, _ status: FileStatus, attributes: [ExtendedAttribute] = [],
        linkTarget: [UInt8]? = nil, expected: ExpectedFile? = nil, partCount: Int = 0
    ) {
        self.folder = folder
        self.name = name
        self.status = status
        self.attributes = attributes
        self.linkTarget = linkTarget
        self.expected = expected
        delivery = Monitor(Delivery(missingCount: partCount))
    }

    /// Below the source.
    var path: [UInt8] { folder.path(of: name) }

    func deliver(_ digests: FileDigests) {
        delivery.changeWakingAll { delivery in
            delivery.digests = delivery.digests.filled(from: digests)
            delivery.missingCount -= 1
        }
    }

    /// The digests of the source; waits until they are there. Only for a file that was read to its end.
    func waitForDigests() -> FileDigests { delivery.wait(until: { $0.missingCount <= 0 }, { $0.digests }) }
}

/// What a destination gets, in the order of the source.
enum WriterCommand: Sendable {
    case folder(SourceFolder)
    /// A whole file: `begin`, its data and `end`. An empty one has no block.
    case small(FileTask, BlockPool.Block?)
    case begin(FileTask)
    case data(BlockPool.Block, offset: UInt64)
    /// The file was read to its end, and has not changed meanwhile.
    case end(FileTask)
    /// The file could not be read; without an error, it is read once more.
    case abandon(FileTask, BackupError?)
    case link(FileTask)
    /// Everything so far is to be made certain.
    case flush
    case finish
}

/// What has become of a file at a destination.
struct WrittenFile: Sendable {
    enum Outcome: Sendable {
        /// Under a temporary name.
        case written(FileName)
        /// The destination has the same bytes, in a file that had this status when they were compared.
        case present(UncachedFile.Method, FileStatus)
        /// A link, under its name.
        case linked(isNew: Bool)
        case failed(BackupError, isDropped: Bool)
    }

    let task: FileTask
    let outcome: Outcome
    /// The name of the copy.
    let target: FileName
}

/// Files of a destination that are made durable, verified and renamed together.
struct Batch: Sendable {
    static let fileLimit = 2_000
    static let byteLimit: UInt64 = 256 << 20
    /// A file that ends its batch.
    static let largeFileBytes: UInt64 = 8 << 20

    var files: [WrittenFile] = []
    var byteCount: UInt64 = 0
    /// Folders with new entries, as paths below the destination.
    var changedFolders: Set<[FileName]> = []

    var isEmpty: Bool { files.isEmpty && changedFolders.isEmpty }
    var isFull: Bool { files.count >= Self.fileLimit || byteCount >= Self.byteLimit }
}
