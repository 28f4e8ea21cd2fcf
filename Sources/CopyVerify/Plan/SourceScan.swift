import BackupCore
import SystemIO

/// Adds up what a source has, what each destination still needs of it, and what a destination cannot hold.
final class SourceScan: SourceVisitor {
    private static let problemLimit = 100
    private static let reportInterval: UInt64 = 1_000
    /// Most file systems allocate space in blocks of this length.
    private static let blockByteCount: UInt64 = 4_096

    private(set) var info: SourceInfo
    private(set) var hiddenCount: UInt64 = 0
    /// For each destination.
    private(set) var needs: [(bytes: UInt64, files: UInt64)]
    /// For each destination what an earlier run of the job has left.
    private(set) var unfinished: [UnfinishedSpace]
    private(set) var problems: [BackupError] = []
    private(set) var problemCount = 0

    private var clips = ClipCounter()
    private let prefetch = StatusPrefetch()
    private let places: [DestinationPlace]
    private let rules: [TargetNames]
    /// For each destination the folders from the top down to the present one; `nil` where it does not exist yet.
    private var targets: [[DirectoryHandle?]]
    /// Whether each destination can hold links, once that was of interest.
    private var hasLinks: [Bool?]
    /// For each destination.
    private let mayRename: [Bool]
    private let token: String?
    private let progress: (UInt64, UInt64) -> Void

    /// - Parameters:
    ///   - mayRename: for each destination whether a copy whose name is taken may get another one; empty for none.
    ///   - token: of a job that goes on.
    init(
        source: String, places: [DestinationPlace], mayRename: [Bool] = [], resuming token: String? = nil,
        progress: @escaping (UInt64, UInt64) -> Void
    ) {
        info = SourceInfo(path: source)
        needs = places.map { _ in (0, 0) }
        unfinished = places.map { _ in UnfinishedSpace() }
        self.mayRename = mayRename.isEmpty ? places.map { _ in false } : mayRename
        self.token = token
        self.places = places
        rules = places.map { TargetNames(fileSystemType: $0.fileSystemType) }
        targets = places.map { _ in [] }
        hasLinks = rules.map(\.hasLinks)
        self.progress = progress
    }

    func enter(_ folder: SourceFolder, _ handle: DirectoryHandle, names: [FileName]) throws(BackupError) {
        try Cancellation.check()
        clips.begin(folder.components)
        prefetch.begin(names, in: handle)
        for (index, place) in places.enumerated() {
            let target: DirectoryHandle?
            if let name = folder.components.last {
                target = (targets[index].last ?? nil).flatMap { try? $0.openFolder(name) }
            } else {
                target = place.isMade ? nil : try DirectoryHandle(path: place.path)
            }
            targets[index].append(target)
            if target == nil { needs[index].files += 1 }
            if let target, let token { unfinished[index].add(target, at: folder.components, of: token, device: place.device) }
            if let name = folder.components.last, let problem = rules[index].problem(with: name) {
                note(problem, folder.path, place)
            }
            for (first, second) in rules[index].collisions(in: names) {
                note("this file system takes the name for the same as \(first)", folder.path(of: second), place)
            }
        }
    }

    func leave(_ folder: SourceFolder, _ handle: DirectoryHandle) throws(BackupError) {
        for index in targets.indices { targets[index].removeLast() }
        clips.end()
    }

    func visit(
        _ name: FileName, _ status: FileStatus, in folder: SourceFolder, _ handle: DirectoryHandle
    ) throws(BackupError) {
        guard status.kind == .regular || status.kind == .symbolicLink else { return }
        info.add(name, status)
        if status.kind == .regular { clips.add(name) }
        if info.fileCount.isMultiple(of: Self.reportInterval) {
            try Cancellation.check()
            progress(info.fileCount, info.totalBytes)
        }
        let bytes = dataBytes(name, status, handle)
        for (index, place) in places.enumerated() {
            if let problem = rules[index].problem(with: name) ?? rules[index].problem(withSize: status.size) {
                note(problem, folder.path(of: name), place)
            } else if status.kind == .symbolicLink, !canHoldLinks(index) {
                note("this file system has no symbolic links", folder.path(of: name), place)
            }
            if let target = targets[index].last ?? nil, hasCopy(of: name, status, target, mayRename: mayRename[index]) {
                continue
            }
            needs[index].files += 1
            needs[index].bytes = needs[index].bytes.addingSaturating(bytes)
        }
    }

    /// To be called at the end of the walk.
    /// - Parameter card: what recorded the source.
    func add(_ card: CameraCard) {
        info.camera = card
        info.camera.clipCount = clips.totals.clipCount
        info.camera.photoCount = clips.totals.photoCount
        info.camera.spans += clips.totals.spans
    }

    func skipHidden(_ count: Int) { hiddenCount += UInt64(count) }

    /// As if that had happened before.
    func miss(_ path: [UInt8]) {}

    /// The copy names it: the rest can be copied.
    func fail(_ path: [UInt8], _ error: BackupError) {}

    /// Whether a file of the name has the same size, or one of the names that the copy may get instead.
    private func hasCopy(
        of name: FileName, _ status: FileStatus, _ target: DirectoryHandle, mayRename: Bool
    ) -> Bool {
        var number = 1
        while let present = try? target.statusIfPresent(number == 1 ? name : CopyNames.numbered(name, number)) {
            if present.kind == status.kind, present.size == status.size { return true }
            number += 1
            guard mayRename, number < CopyNames.numberLimit else { return false }
        }
        return false
    }

    /// The space of a file without its holes.
    private func dataBytes(_ name: FileName, _ status: FileStatus, _ handle: DirectoryHandle) -> UInt64 {
        guard status.kind == .regular else { return 0 }
        var bytes = status.size
        if status.allocatedBytes < status.size, let file = try? handle.openFile(name) {
            bytes -= min(bytes, file.holeBytes(size: status.size))
        }
        let blocks = bytes / Self.blockByteCount + (bytes.isMultiple(of: Self.blockByteCount) ? 0 : 1)
        return blocks.multipliedSaturating(by: Self.blockByteCount)
    }

    private func canHoldLinks(_ index: Int) -> Bool {
        if let known = hasLinks[index] { return known }
        let found = Self.makesLinks(in: places[index].existingPath)
        hasLinks[index] = found
        return found
    }

    /// Tries it.
    private static func makesLinks(in path: String) -> Bool {
        let name = FileName(".\(RandomToken.make())\(CopyNames.mark)")
        do throws(BackupError) {
            let folder = try DirectoryHandle(path: path)
            try folder.createLink(name, to: Array("target".utf8), modificationTime: SystemClock.now())
            try folder.removeFile(name)
            return true
        } catch {
            // The copy finds other errors.
            return error.code != .notPermitted && error.code != .notSupported
        }
    }

    private func note(_ problem: Message, _ path: [UInt8], _ place: DestinationPlace) {
        problemCount += 1
        guard problems.count < Self.problemLimit else { return }
        problems.append(
            BackupError(
                .notSupported, "\(problem) (destination \(place.path))", path: MessageText.name(path),
                remedy: "Rename it, or name another disk."))
    }
}
