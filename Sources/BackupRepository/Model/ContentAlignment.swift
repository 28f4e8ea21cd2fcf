import BackupCore

/// Finds the common ranges of two versions of a file by the names of their chunks alone; no chunk is read. Both are followed side
/// by side. Where they diverge, the next chunk that both have within `windowCount` chunks aligns them again. Memory grows with
/// the number of ranges, not with the file.
struct ContentAlignment {
    private static let windowCount = 1024
    /// They nearly always align again within this many chunks.
    private static let nearCount = 16

    /// The chunks of one version that were not passed yet.
    private struct Version {
        private var walk: ContentWalk
        /// Opened chunks in order, from `passedCount` on.
        private var opened: [FileContent.Element] = []
        private var passedCount = 0
        private(set) var position: UInt64 = 0
        var window: ArraySlice<FileContent.Element> { opened[passedCount...] }

        init(_ content: FileContent, _ resolver: ContentResolver) {
            walk = ContentWalk(content, resolver)
        }

        /// The next element, if no opened chunk is left to pass.
        var unopened: FileContent.Element? { window.isEmpty ? walk.unopened : nil }

        /// Opens lists when the window becomes short, until it is full or the file ends.
        mutating func fill() throws(BackupError) {
            guard window.count < ContentAlignment.nearCount else { return }
            opened.removeFirst(passedCount)
            passedCount = 0
            while opened.count < ContentAlignment.windowCount, let element = try walk.next() { opened.append(element) }
        }

        mutating func pass(_ count: Int) {
            for element in window.prefix(count) { position += element.length }
            passedCount += count
        }

        /// Passes an element that was not opened.
        mutating func passUnopened() {
            position += walk.unopened?.length ?? 0
            walk.passUnopened()
        }
    }

    private var old: Version
    private var new: Version
    private var ranges: [CommonRange] = []

    private init(old: FileContent, new: FileContent, resolver: ContentResolver) {
        self.old = Version(old, resolver)
        self.new = Version(new, resolver)
    }

    /// - Returns: ranges in ascending order in both versions; adjacent ones are merged.
    /// - Throws: `repositoryDamaged` when a content list cannot be read.
    static func commonRanges(
        old: FileContent, new: FileContent, resolver: ContentResolver
    ) throws(BackupError) -> [CommonRange] {
        var alignment = ContentAlignment(old: old, new: new, resolver: resolver)
        while try alignment.step() {}
        return alignment.ranges
    }

    /// - Returns: false at the end of one of them.
    private mutating func step() throws(BackupError) -> Bool {
        // Whole lists are compared by name, too.
        if let element = old.unopened, element == new.unopened {
            add(length: element.length)
            old.passUnopened()
            new.passUnopened()
            return true
        }
        try old.fill()
        try new.fill()
        guard !old.window.isEmpty, !new.window.isEmpty else { return false }
        let same = zip(old.window, new.window).prefix { $0 == $1 }.count
        if same > 0 {
            add(length: old.window.prefix(same).reduce(0) { $0 + $1.length })
            old.pass(same)
            new.pass(same)
        } else {
            passDifference()
        }
        return true
    }

    private mutating func passDifference() {
        for count in [Self.nearCount, Self.windowCount] {
            var places: [FileContent.Element: Int] = [:]
            for (place, element) in old.window.prefix(count).enumerated() where places[element] == nil { places[element] = place }
            for (newPlace, element) in new.window.prefix(count).enumerated() {
                guard let oldPlace = places[element] else { continue }
                old.pass(oldPlace)
                new.pass(newPlace)
                return
            }
        }
        // Half a window stays, for chunks that are much farther on in one of the versions.
        old.pass((old.window.count + 1) / 2)
        new.pass((new.window.count + 1) / 2)
    }

    private mutating func add(length: UInt64) {
        if let last = ranges.last, last.oldEnd == old.position, last.newEnd == new.position {
            ranges[ranges.count - 1] = CommonRange(
                oldStart: last.oldStart, newStart: last.newStart, length: last.length + length)
        } else {
            ranges.append(CommonRange(oldStart: old.position, newStart: new.position, length: length))
        }
    }
}
