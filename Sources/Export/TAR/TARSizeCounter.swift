import BackupCore

extension TARLayout {
    /// Counts the bytes of an archive member by member, for a folder listing, without the extents.
    public struct SizeCounter: ArchiveSizeCounter {
        private var memberSize: UInt64 = 0

        public init() {}

        /// - Throws: `invalidArgument` for an empty name or a folder with content; `repositoryDamaged` for a link without its target.
        public mutating func append(_ member: ArchiveMember) throws(BackupError) { append(try TAREntry(member)) }

        /// Sums wrap around instead of trapping: damaged folders may contain any file size.
        mutating func append(_ entry: TAREntry) { memberSize &+= entry.headerSize &+ entry.size &+ entry.paddingSize }

        /// The zeros after the last member: two blocks, and the rest of the record.
        var endSize: UInt64 {
            let end = memberSize &+ TARFormat.endSizeBytes
            let rest = end % TARFormat.recordSizeBytes
            return TARFormat.endSizeBytes + (rest == 0 ? 0 : TARFormat.recordSizeBytes - rest)
        }

        /// Exact size in bytes of the archive of all members so far.
        public var archivedSize: UInt64 { memberSize &+ endSize }
    }
}
