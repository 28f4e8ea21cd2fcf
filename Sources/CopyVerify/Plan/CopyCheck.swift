import BackupCore
import Glibc
import SystemIO

/// The result of the checks before a copy.
public struct CopyPlan: Sendable {
    public let info: SourceInfo
    /// In the order in which they were named.
    public let destinations: [DestinationPlace]
    /// Names that are left out since they begin with a dot. What is in a hidden folder is not counted.
    public let hiddenCount: UInt64
    /// Where the job makes folders that are named after the camera; `nil` without them.
    var labelled: LabelledDestinations?
    /// For each destination what an earlier run has left there: the space that the check counts on.
    var unfinished: [UnfinishedSpace] = []
}

/// Looks for everything that would make a copy fail, before anything is written.
public struct CopyCheck {
    private static let findingLimit = 100

    private let source: String
    private let destinations: [String]
    private let options: CopyOptions
    /// Of a job that goes on.
    private let token: String?
    private var problems: [BackupError] = []
    private var problemCount = 0

    /// - Parameters:
    ///   - source: a folder; absolute.
    ///   - destinations: absolute. Each exists, or the folder that holds it does.
    public init(source: String, destinations: [String], options: CopyOptions) {
        self.source = source
        self.destinations = destinations
        self.options = options
        token = nil
    }

    /// The same for a job that goes on. The space of its unfinished copies counts as free.
    init(source: String, destinations: [String], options: CopyOptions, resuming token: String) {
        self.source = source
        self.destinations = destinations
        self.options = options
        self.token = token
    }

    /// - Parameter progress: called with the numbers of files and bytes that were found, now and then.
    /// - Throws: all problems, as the findings of one error; its kind is that of the first one.
    public mutating func run(progress: @escaping @Sendable (UInt64, UInt64) -> Void = { _, _ in }) throws(BackupError) -> CopyPlan
    {
        let root = try openSource()
        let name = FileName(FileSystem.lastComponent(try FileSystem.realPath(source)))
        let camera = CardDetection.detect(root, name: name)
        let labelled = try options.label.map { (settings) throws(BackupError) in
            try LabelledDestinations(destinations, LabelFolders(settings, source: name, card: camera))
        }
        let places = try findPlaces(labelled)
        try requireSeparate(places)
        try requireOutsideBags(places)
        try throwProblems()
        for place in places { checkWritable(place) }
        try throwProblems()
        let mayRename = try places.map { (place) throws(BackupError) in try place.mayRename(options) }
        let scan = SourceScan(source: source, places: places, mayRename: mayRename, resuming: token, progress: progress)
        try SourceWalk(root: root, includesHidden: options.includesHidden, leavesOutChain: options.leavesOutChain, visitor: scan)
            .run()
        scan.add(camera)
        for problem in scan.problems { note(problem) }
        problemCount += scan.problemCount - scan.problems.count
        checkSpace(scan, places)
        if options.manifests.contains(.bagit) { try checkBags(scan, places) }
        try throwProblems()
        return CopyPlan(
            info: scan.info, destinations: places, hiddenCount: scan.hiddenCount, labelled: labelled, unfinished: scan.unfinished)
    }

    /// The same for files that come one by one, of which nothing is known yet: only the destinations are looked at.
    /// - Parameter forbidden: folders that have no destination in them.
    /// - Throws: all problems, as the findings of one error.
    mutating func runWithoutSource(
        awayFrom forbidden: [(name: Message, path: String)]
    ) throws(BackupError) -> [DestinationPlace] {
        let places = try findPlaces(nil)
        for place in places where place.fileSystemType == Self.ownFileSystemType {
            note(
                BackupError(
                    .usage, "the destination is in a mount of backupfs", path: place.path, remedy: "Name another folder."))
        }
        try throwProblems()
        let chains = try requireDifferent(places)
        try requireOutsideBags(places)
        for (name, path) in forbidden {
            let own = FileIdentity(try FileSystem.status(path))
            for chain in chains where chain.identities.contains(own) {
                note(
                    BackupError(
                        .usage, "the destination is inside \(name)", path: chain.place.path, remedy: "Name another folder."))
            }
        }
        try throwProblems()
        for place in places { checkWritable(place) }
        try throwProblems()
        return places
    }

    private static let ownFileSystemType = "fuse.backupfs"

    private mutating func note(_ problem: BackupError) {
        problemCount += 1
        if problems.count < Self.findingLimit { problems.append(problem) }
    }

    private func throwProblems() throws(BackupError) {
        guard let first = problems.first else { return }
        guard problemCount > 1 else { throw first }
        var findings = problems.map(\.summary)
        if problemCount > problems.count {
            let rest = problemCount - problems.count
            findings.append(.plural(rest, one: "and \(rest) more", other: "and \(rest) more"))
        }
        throw BackupError(
            first.code,
            .plural(
                problemCount, one: "nothing was copied, since there is \(problemCount) problem",
                other: "nothing was copied, since there are \(problemCount) problems"),
            path: source, findings: findings)
    }

    private func openSource() throws(BackupError) -> DirectoryHandle {
        guard let status = try FileSystem.look(source) else {
            throw BackupError(.notFound, "there is no such folder", path: source, remedy: "Name the folder to copy.")
        }
        guard status.kind == .directory else {
            throw BackupError(.notADirectory, "the source is not a folder", path: source, remedy: "Name the folder that has it.")
        }
        return try DirectoryHandle(path: source)
    }

    private mutating func findPlaces(_ labelled: LabelledDestinations?) throws(BackupError) -> [DestinationPlace] {
        let mounts = try MountTable.current()
        var places: [DestinationPlace] = []
        for destination in labelled?.paths ?? destinations {
            do throws(BackupError) {
                places.append(
                    try DestinationPlace.at(
                        destination, mounts: mounts,
                        madeFolderLimit: (labelled?.madeFolderLimit ?? 1) + (options.manifests.contains(.bagit) ? 1 : 0)))
            } catch {
                note(error)
            }
        }
        return places
    }

    /// By device and inode of all folders above, so that neither links nor mounts hide that two are one.
    private mutating func requireSeparate(_ places: [DestinationPlace]) throws(BackupError) {
        let sourceChain = try Self.identities(above: FileSystem.realPath(source))
        for chain in try requireDifferent(places) {
            let place = chain.place
            if !place.isMade, chain.identities.first == sourceChain.first {
                note(BackupError(.usage, "the destination is the source", path: place.path, remedy: "Name another folder."))
                continue
            }
            if let first = sourceChain.first, chain.identities.contains(first) {
                note(
                    BackupError(.usage, "the destination is inside the source", path: place.path, remedy: "Name another folder."))
            }
            if !place.isMade, let own = chain.identities.first, sourceChain.contains(own) {
                note(
                    BackupError(.usage, "the source is inside the destination", path: place.path, remedy: "Name another folder."))
            }
        }
    }

    private mutating func requireDifferent(_ places: [DestinationPlace]) throws(BackupError) -> [Chain] {
        var chains: [Chain] = []
        for place in places {
            let real = try FileSystem.realPath(place.existingPath)
            // A folder that the job makes has no inode yet: its name identifies it.
            let chain = (place: place, name: place.madePath, identities: try Self.identities(above: real))
            for other in chains { noteOverlap(of: chain, and: other) }
            chains.append(chain)
        }
        if Set(places.map(\.path)).count < Set(places.map { Array($0.path.utf8) }).count {
            note(
                BackupError(
                    .usage, "two destinations have the same name, or names that look the same", path: places[0].path,
                    remedy: "Name each destination once."))
        }
        return chains
    }

    private typealias Chain = (place: DestinationPlace, name: String, identities: [FileIdentity])

    private mutating func noteOverlap(of one: Chain, and other: Chain) {
        let isOne = one.identities.first == other.identities.first
        if isOne, one.name == other.name {
            return note(
                BackupError(
                    .usage, "two destinations are one folder: this one and \(other.place.path)", path: one.place.path,
                    remedy: "Name each destination once."))
        }
        for (outer, inner) in [(one, other), (other, one)] {
            let isInside =
                if outer.place.isMade {
                    isOne && inner.name.hasPrefix("\(outer.name)/")
                } else {
                    outer.identities.first.map(inner.identities.contains) == true && (!isOne || inner.place.isMade)
                }
            guard isInside else { continue }
            note(
                BackupError(
                    .usage, "a destination is inside another one: \(outer.place.path)", path: inner.place.path,
                    remedy: "Name folders that are not in one another."))
        }
    }

    /// That of a folder, and of all folders above it.
    private static func identities(above realPath: String) throws(BackupError) -> [FileIdentity] {
        var path = realPath
        var found: [FileIdentity] = []
        while true {
            found.append(FileIdentity(try FileSystem.status(path)))
            if path == "/" || path == "." { return found }
            path = FileSystem.parentPath(path)
        }
    }

    private mutating func checkWritable(_ place: DestinationPlace) {
        if FileSystem.isReadOnly(place.existingPath) {
            note(
                BackupError(
                    .readOnly, "the file system is mounted read-only", path: place.path, remedy: "Mount it for writing."))
        } else if !FileSystem.isWritable(place.existingPath) {
            note(
                BackupError(
                    .accessDenied, "you may not write into this folder", path: place.existingPath,
                    remedy: "Check the owner and the mode of the folder."))
        }
    }

    /// The list of a bag has each file of the payload: one more makes the bag invalid.
    private mutating func requireOutsideBags(_ places: [DestinationPlace]) throws(BackupError) {
        for place in places {
            guard let bag = try place.bag(around: options.manifests.contains(.bagit)) else { continue }
            note(
                BackupError(
                    .usage, "the destination is in the payload of the bag \(bag), which new files would make invalid",
                    path: place.path,
                    remedy: "Name a folder outside the bag. With --manifest bagit, a new folder becomes a bag of the copies."))
        }
    }

    /// The list of a bag that exists is not written again.
    private mutating func checkBags(_ scan: SourceScan, _ places: [DestinationPlace]) throws(BackupError) {
        for (place, need) in zip(places, scan.needs) where need.files > 0 {
            guard try place.isInBag else { continue }
            note(
                BackupError(
                    .conflict, "the destination is a bag already, and it lacks files of the source",
                    path: FileSystem.parentPath(place.path), remedy: "Name another folder."))
        }
    }

    /// Two destinations can share a file system.
    private mutating func checkSpace(_ scan: SourceScan, _ places: [DestinationPlace]) {
        var needs: [UInt64: (place: DestinationPlace, need: SpaceNeed)] = [:]
        for (index, place) in places.enumerated() {
            needs[place.device, default: (place, SpaceNeed())].need.add(scan.needs[index], scan.unfinished[index])
        }
        for (place, need) in needs.values.sorted(by: { $0.place.path < $1.place.path }) {
            guard let space = try? FileSystem.space(at: place.existingPath) else { continue }
            let availableBytes = space.availableBytes.addingSaturating(need.unfinishedBytes)
            if availableBytes < need.bytes {
                note(
                    BackupError(
                        .noSpace, "the copy needs \(need.bytes) bytes, and \(availableBytes) are free", path: place.path,
                        remedy: "Free some space, or name another disk."))
            }
            let freeCount = space.freeFileCount.addingSaturating(need.unfinishedCount)
            // Where inodes have no limit, there are none.
            if space.fileCount > 0, freeCount < need.files {
                note(
                    BackupError(
                        .noSpace,
                        "files and folders that the copy needs: \(need.files); that the file system can still hold: \(freeCount)",
                        path: place.path, remedy: "Remove some files, or name another disk."))
            }
        }
    }

    /// Of all destinations on a file system.
    private struct SpaceNeed {
        var bytes: UInt64 = 0
        var files: UInt64 = 0
        /// What the run removes before it copies.
        var unfinishedBytes: UInt64 = 0
        var unfinishedCount: UInt64 = 0

        mutating func add(_ need: (bytes: UInt64, files: UInt64), _ unfinished: UnfinishedSpace) {
            bytes = bytes.addingSaturating(need.bytes)
            files += need.files
            unfinishedBytes = unfinishedBytes.addingSaturating(unfinished.bytes)
            unfinishedCount += unfinished.fileCount
        }
    }
}
