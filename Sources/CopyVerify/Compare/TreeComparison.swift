import BackupCore
import SystemIO

/// Compares two sides: walks both at the same time, in the order of their names' bytes.
///
/// In memory are the names of the folders on the way, and what `MoveFinder` keeps.
public final class TreeComparison {
    private static let reportInterval: UInt64 = 500

    /// A folder that is being compared; a side that does not have it has no names.
    private struct Level {
        let path: [UInt8]
        let source: (any ComparedFolder)?
        let destination: (any ComparedFolder)?
        var sourceNames: ArraySlice<FileName>
        var destinationNames: ArraySlice<FileName>

        func folder(_ side: ComparisonSide) -> (any ComparedFolder)? { side == .source ? source : destination }
    }

    private let source: any ComparedSide
    private let destination: any ComparedSide
    private let options: ComparisonOptions
    private let progress: ProgressHandler
    private let found: (ComparisonFinding) throws(BackupError) -> Void
    private let contents = ContentComparison()
    private let algorithm: HashAlgorithm?
    private var moves: MoveFinder?
    private var totals = ComparisonTotals()
    private var seenCount: UInt64 = 0
    private var seenBytes: UInt64 = 0

    /// - Parameter found: called with each finding.
    /// - Throws: `notSupported` for two sides that this method cannot compare.
    public init(
        _ source: any ComparedSide, _ destination: any ComparedSide, _ options: ComparisonOptions,
        progress: @escaping ProgressHandler = { _ in },
        found: @escaping (ComparisonFinding) throws(BackupError) -> Void
    ) throws(BackupError) {
        self.source = source
        self.destination = destination
        self.options = options
        self.progress = progress
        self.found = found
        algorithm = ContentComparison.algorithm(source.onlyAlgorithms, destination.onlyAlgorithms)
        if options.method == .bytes, let side = [source, destination].first(where: { !$0.hasBytes }) {
            throw BackupError(
                .notSupported, "a manifest has checksums and no bytes to compare", path: side.title,
                remedy: "Compare with: --checksum")
        }
        let knowsSizes = source.knowsSizes && destination.knowsSizes
        if options.findsMoves, let algorithm, knowsSizes || options.method == .checksum {
            moves = MoveFinder(algorithm, knowsSizes: knowsSizes)
        }
    }

    /// Call it once.
    /// - Throws: when a side cannot be read at all; what `found` throws; `interrupted`.
    public func run() throws(BackupError) -> ComparisonTotals {
        let (left, right) = (try source.root(), try destination.root())
        let (names, others) = (try left.names(), try right.names())
        var levels = [level([], left, right, names, others)]
        while let path = levels.last?.path {
            let count = levels.count
            guard
                let name = [levels[count - 1].sourceNames.first, levels[count - 1].destinationNames.first]
                    .compactMap({ $0 }).min()
            else {
                levels.removeLast()
                continue
            }
            try Cancellation.check()
            try FaultInjection.reached("compare.pair")
            let isSource = levels[count - 1].sourceNames.first == name
            let isDestination = levels[count - 1].destinationNames.first == name
            if isSource { levels[count - 1].sourceNames.removeFirst() }
            if isDestination { levels[count - 1].destinationNames.removeFirst() }
            let inner = try compare(
                name, BytePath.join(path, name.bytes), levels[count - 1], isSource: isSource, isDestination: isDestination)
            if let inner { levels.append(inner) }
        }
        try findMoves(left, right)
        try require(.source, source, names)
        try require(.destination, destination, others)
        report()
        return totals
    }

    private func require(_ side: ComparisonSide, _ state: any ComparedSide, _ names: [FileName]) throws(BackupError) {
        do throws(BackupError) {
            try state.requireUnchanged(names)
        } catch {
            try miss(SideFailure(side: side, error: error), [])
        }
    }

    // MARK: Folders

    private func level(
        _ path: [UInt8], _ source: (any ComparedFolder)?, _ destination: (any ComparedFolder)?, _ left: [FileName],
        _ right: [FileName]
    ) -> Level {
        let (shownLeft, shownRight) = (shown(left), shown(right))
        totals.hiddenSourceCount += UInt64(left.count - shownLeft.count)
        totals.hiddenDestinationCount += UInt64(right.count - shownRight.count)
        return Level(
            path: path, source: source, destination: destination, sourceNames: shownLeft, destinationNames: shownRight)
    }

    private func shown(_ names: [FileName]) -> ArraySlice<FileName> {
        options.includesHidden ? names[...] : names.filter { $0.bytes.first != UInt8(ascii: ".") }[...]
    }

    /// - Returns: the folder to go on in, for a name that is one on either side.
    private func compare(
        _ name: FileName, _ path: [UInt8], _ level: Level, isSource: Bool, isDestination: Bool
    ) throws(BackupError) -> Level? {
        do throws(SideFailure) {
            let left = try isSource ? item(.source, name, level) : nil
            let right = try isDestination ? item(.destination, name, level) : nil
            note(left, right)
            if left?.kind == .folder || right?.kind == .folder {
                return try compareFolders(name, path, level, left, right)
            }
            guard let left, let right else {
                if let left { try addOnly(.source, path, left) }
                if let right { try addOnly(.destination, path, right) }
                return nil
            }
            try emit(.common(path: path))
            try compareFiles(name, path, level, left, right)
        } catch {
            try miss(error, path)
        }
        return nil
    }

    /// - Throws: for what has gone since its folder was listed, too: it was there, and is not equal to anything.
    private func item(
        _ side: ComparisonSide, _ name: FileName, _ level: Level
    ) throws(SideFailure) -> ComparedItem? {
        guard let folder = level.folder(side) else { return nil }
        let found = try ContentComparison.value(side, Result { () throws(BackupError) in try folder.item(name) })
        guard let found else {
            throw SideFailure(
                side: side,
                error: BackupError(.stale, "it was removed during the comparison", remedy: "Compare once more."))
        }
        return found
    }

    /// A folder, and a folder, nothing or something else.
    private func compareFolders(
        _ name: FileName, _ path: [UInt8], _ level: Level, _ left: ComparedItem?, _ right: ComparedItem?
    ) throws(SideFailure) -> Level {
        if let left, let right, left.kind != right.kind { try emit(.different(path: path, .kind(left.kind, right.kind))) }
        if let left, left.kind != .folder { try addOnly(.source, path, left) }
        if let right, right.kind != .folder { try addOnly(.destination, path, right) }
        let first = try left?.kind == .folder ? open(.source, name, level) : nil
        let second = try right?.kind == .folder ? open(.destination, name, level) : nil
        if first == nil, source.knowsFolders { try emit(.onlyFolder(.destination, path: path)) }
        if second == nil, destination.knowsFolders { try emit(.onlyFolder(.source, path: path)) }
        return self.level(path, first?.folder, second?.folder, first?.names ?? [], second?.names ?? [])
    }

    private func open(
        _ side: ComparisonSide, _ name: FileName, _ level: Level
    ) throws(SideFailure) -> (folder: any ComparedFolder, names: [FileName])? {
        guard let folder = level.folder(side) else { return nil }
        return try ContentComparison.value(
            side,
            Result { () throws(BackupError) in
                let inner = try folder.folder(name)
                return (inner, try inner.names())
            })
    }

    // MARK: Files

    private func compareFiles(
        _ name: FileName, _ path: [UInt8], _ level: Level, _ left: ComparedItem, _ right: ComparedItem
    ) throws(SideFailure) {
        guard let source = level.source, let destination = level.destination else { return }
        guard left.kind == right.kind else { return try emit(.different(path: path, .kind(left.kind, right.kind))) }
        switch left.kind {
        case .file:
            try compare(
                path, ComparedPlace(folder: source, name: name, item: left),
                ComparedPlace(folder: destination, name: name, item: right))
        case .link:
            let target = try ContentComparison.value(.source, Result { () throws(BackupError) in try source.linkTarget(name) })
            let other = try ContentComparison.value(
                .destination, Result { () throws(BackupError) in try destination.linkTarget(name) })
            if target == other { addSame(0) } else { try emit(.different(path: path, .target(target, other))) }
        case .folder, .pipe, .socket, .device: addSame(0)
        }
    }

    private func compare(_ path: [UInt8], _ left: ComparedPlace, _ right: ComparedPlace) throws(SideFailure) {
        let (one, other) = (left.item, right.item)
        if let size = one.sizeBytes, let otherSize = other.sizeBytes, size != otherSize {
            return try emit(.different(path: path, .size(size, otherSize)))
        }
        switch options.method {
        case .size:
            let both = HashAlgorithm.allCases.first { one.known[$0] != nil && other.known[$0] != nil }
            let isOther = both.map { one.known[$0] != other.known[$0] } ?? false
            let hasOtherSum = one.crc32.flatMap { crc in other.crc32.map { $0 != crc } } ?? false
            if isOther || hasOtherSum { return try emit(.different(path: path, .content(offset: nil))) }
            let isProved = both != nil || one.crc32 != nil && other.crc32 != nil
            if isProved { return try finish(path, one, other) }
            if let times = otherTimes(one, other) { return try emit(.different(path: path, .time(times.0, times.1))) }
            if one.sizeBytes == nil || other.sizeBytes == nil { totals.nameOnlyCount += 1 }
            addSame(one.sizeBytes ?? other.sizeBytes ?? 0)
        case .checksum:
            let algorithm = ContentComparison.algorithm(algorithms(source, one), algorithms(destination, other))
            guard let algorithm else {
                throw SideFailure(
                    side: source.hasBytes ? .destination : .source,
                    error: BackupError(.notSupported, "there is no checksum that both sides have of this file"))
            }
            // Two archives, or backups, that say so themselves.
            let hasOtherSum = one.crc32.flatMap { crc in other.crc32.map { $0 != crc } } ?? false
            var isSame = !hasOtherSum
            if isSame { isSame = try contents.haveSameChecksum(left, right, algorithm) }
            if !isSame { return try emit(.different(path: path, .content(offset: nil))) }
            try finish(path, one, other)
        case .bytes:
            if let offset = try contents.firstDifference(left, right) {
                return try emit(.different(path: path, .content(offset: offset)))
            }
            try finish(path, one, other)
        }
    }

    private func algorithms(_ side: any ComparedSide, _ item: ComparedItem) -> [HashAlgorithm]? {
        side.hasBytes ? nil : Array(item.known.keys)
    }

    /// Files whose contents are the same.
    private func finish(_ path: [UInt8], _ left: ComparedItem, _ right: ComparedItem) throws(SideFailure) {
        addSame(left.sizeBytes ?? right.sizeBytes ?? 0)
        if let times = otherTimes(left, right) { try emit(.otherTime(path: path, times.0, times.1)) }
    }

    /// - Returns: `nil` when they are the same, within the window, or one of them is not known.
    private func otherTimes(_ left: ComparedItem, _ right: ComparedItem) -> (Timestamp, Timestamp)? {
        guard let one = left.modificationTime, let other = right.modificationTime else { return nil }
        let (early, late) = one < other ? (one, other) : (other, one)
        return early.adding(seconds: options.timeWindowSeconds) < late ? (one, other) : nil
    }

    // MARK: Findings

    private func addSame(_ bytes: UInt64) {
        totals.sameCount += 1
        totals.sameBytes = totals.sameBytes.addingSaturating(bytes)
    }

    private func addOnly(_ side: ComparisonSide, _ path: [UInt8], _ item: ComparedItem) throws(SideFailure) {
        try emit(.only(side, path: path))
        do throws(BackupError) {
            try moves?.add(side, path, item)
        } catch {
            throw SideFailure(side: nil, error: error)
        }
    }

    /// - Throws: when the comparison itself must end.
    private func miss(_ failure: SideFailure, _ path: [UInt8]) throws(BackupError) {
        guard let side = failure.side, failure.error.code != .interrupted else { throw failure.error }
        try pass(.unreadable(side, path: path, failure.error))
    }

    private func findMoves(_ source: any ComparedFolder, _ destination: any ComparedFolder) throws(BackupError) {
        try moves?.run(source: source, destination: destination) { (side, path, error) throws(BackupError) in
            try pass(.unreadable(side, path: path, error))
        } found: { (path, other, size) throws(BackupError) in
            try pass(.moved(source: path, destination: other, sizeBytes: size))
        }
    }

    private func emit(_ finding: ComparisonFinding) throws(SideFailure) {
        do throws(BackupError) {
            try pass(finding)
        } catch {
            throw SideFailure(side: nil, error: error)
        }
    }

    private func pass(_ finding: ComparisonFinding) throws(BackupError) {
        switch finding {
        case .only(.source, _): totals.onlySourceCount += 1
        case .only(.destination, _): totals.onlyDestinationCount += 1
        case .onlyFolder: totals.onlyFolderCount += 1
        case .common: break
        case .different: totals.differentCount += 1
        case .otherTime: totals.otherTimeCount += 1
        case .moved: totals.movedCount += 1
        case .unreadable: totals.unreadableCount += 1
        }
        try found(finding)
    }

    // MARK: Progress

    private func note(_ left: ComparedItem?, _ right: ComparedItem?) {
        seenCount += 1
        seenBytes = seenBytes.addingSaturating(max(left?.sizeBytes ?? 0, right?.sizeBytes ?? 0))
        // A file that takes long is shown by the one before it.
        if seenCount.isMultiple(of: Self.reportInterval) || seenBytes > reportedBytes.addingSaturating(64 << 20) { report() }
    }

    private var reportedBytes: UInt64 = 0

    private func report() {
        reportedBytes = seenBytes
        progress(
            OperationProgress(
                phase: "Comparing",
                message: .plural(seenCount, one: "Comparing: \(seenCount) name", other: "Comparing: \(seenCount) names"),
                processedItems: seenCount, processedBytes: seenBytes))
    }
}
