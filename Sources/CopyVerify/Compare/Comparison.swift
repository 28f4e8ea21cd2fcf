import BackupCore

/// What counts as the same content.
public enum ComparisonMethod: String, Sendable {
    /// The size and the time; and checksums where they cost nothing.
    case size
    /// The checksum of both files.
    case checksum
    /// All bytes of both files.
    case bytes
}

/// What is compared, and how.
public struct ComparisonOptions: Sendable {
    /// How much two times may differ by default: FAT counts time in steps of 2 s, and so does a ZIP archive.
    public static let defaultTimeWindowSeconds: Int64 = 2

    public var method: ComparisonMethod
    /// Whether names that begin with a dot are compared.
    public var includesHidden: Bool
    /// How much two times may differ, in seconds.
    public var timeWindowSeconds: Int64
    /// Whether files on one side only are looked for on the other side by their content.
    public var findsMoves: Bool

    public init(
        method: ComparisonMethod = .size, includesHidden: Bool = false,
        timeWindowSeconds: Int64 = defaultTimeWindowSeconds, findsMoves: Bool = true
    ) {
        self.method = method
        self.includesHidden = includesHidden
        self.timeWindowSeconds = timeWindowSeconds
        self.findsMoves = findsMoves
    }
}

/// Of the two sides.
public enum ComparisonSide: String, Sendable { case source, destination }

/// What was found about a path, in the order of the paths' bytes; moves follow at the end. Paths are below the two sides.
public enum ComparisonFinding: Sendable {
    /// How a path differs that both sides have.
    public enum Difference: Sendable {
        case kind(ComparedItem.Kind, ComparedItem.Kind)
        case size(UInt64, UInt64)
        /// Where the bytes were compared, the first one that differs.
        case content(offset: UInt64?)
        /// The same size, and a content that was not compared.
        case time(Timestamp, Timestamp)
        /// Links with other targets.
        case target([UInt8], [UInt8])
    }

    /// A file, link, pipe, socket or device that one side has.
    case only(ComparisonSide, path: [UInt8])
    /// The same for a folder. What is in it has findings of its own.
    case onlyFolder(ComparisonSide, path: [UInt8])
    /// One that both sides have, whether it is the same or not.
    case common(path: [UInt8])
    case different(path: [UInt8], Difference)
    /// The same content, which was compared, and another time.
    case otherTime(path: [UInt8], Timestamp, Timestamp)
    /// A file that one side has under another path. Both have an `only`, too.
    case moved(source: [UInt8], destination: [UInt8], sizeBytes: UInt64?)
    /// What could not be compared.
    case unreadable(ComparisonSide, path: [UInt8], BackupError)
}

/// The numbers of a comparison.
public struct ComparisonTotals: Sendable, Equatable {
    /// Files, links and so on of both sides that are the same.
    public var sameCount: UInt64 = 0
    /// The sizes of these files, as far as they are known.
    public var sameBytes: UInt64 = 0
    /// Of the first side.
    public var onlySourceCount: UInt64 = 0
    /// Of the second side.
    public var onlyDestinationCount: UInt64 = 0
    /// Folders on one side only.
    public var onlyFolderCount: UInt64 = 0
    /// Paths that both sides have and that differ.
    public var differentCount: UInt64 = 0
    /// Files with the same content and another time.
    public var otherTimeCount: UInt64 = 0
    /// Pairs.
    public var movedCount: UInt64 = 0
    /// What could not be compared.
    public var unreadableCount: UInt64 = 0
    /// Names of the first side that begin with a dot and were left out.
    public var hiddenSourceCount: UInt64 = 0
    /// The same of the second side.
    public var hiddenDestinationCount: UInt64 = 0
    /// Files of both sides whose names alone were compared: one side has neither their size nor their time.
    public var nameOnlyCount: UInt64 = 0

    /// Whether nothing differs, as far as it could be read.
    public var isEqual: Bool {
        onlySourceCount == 0 && onlyDestinationCount == 0 && onlyFolderCount == 0 && differentCount == 0
    }
}
