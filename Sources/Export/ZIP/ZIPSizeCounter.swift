import BackupCore

extension ZIPLayout {
    /// Counts the bytes of an archive member by member, for a folder listing, without the extents.
    public struct SizeCounter: ArchiveSizeCounter {
        /// Bytes of the local headers and the entries' data so far: the offset of the next local header.
        private(set) var localSize: UInt64 = 0
        private var centralSize: UInt64 = 0
        private var entryCount: UInt64 = 0

        public init() {}

        /// - Throws: like `ZIPLayout.append(_:)`.
        public mutating func append(_ member: ArchiveMember) throws(BackupError) { append(try ZIPEntryHeader(member)) }

        /// - Parameter content: the totals of the member's content, which the member itself may omit.
        /// - Throws: like `ZIPLayout.append(_:)`.
        public mutating func append(_ member: ArchiveMember, _ content: ZIPContentMeasure) throws(BackupError) {
            append(try ZIPEntryHeader(member, content))
        }

        mutating func append(_ header: ZIPEntryHeader) {
            centralSize += header.centralHeaderSize(localOffset: localSize)
            localSize += header.localHeaderSize + header.compressedSize
            entryCount += 1
        }

        /// Exact size in bytes of the archive of all members so far.
        public var archivedSize: UInt64 {
            let zip64Size = needsZIP64 ? ZIPFormat.zip64EndRecordSize + ZIPFormat.zip64LocatorSize : 0
            return localSize + centralSize + UInt64(zip64Size + ZIPFormat.endRecordSize)
        }

        private var needsZIP64: Bool {
            entryCount >= UInt64(ZIPFormat.limit16) || centralSize >= UInt64(ZIPFormat.limit32)
                || localSize >= UInt64(ZIPFormat.limit32)
        }

        func appendEndRecords(to writer: inout ByteWriter) {
            if needsZIP64 {
                writer.append(ZIPFormat.zip64EndRecordSignature)
                writer.append(UInt64(ZIPFormat.zip64EndRecordSize - 12))  // what follows this field
                writer.append(ZIPFormat.unixHost << 8 | 45)
                writer.append(UInt16(45))
                writer.append(UInt32(0))  // this disk
                writer.append(UInt32(0))  // the central directory's disk
                writer.append(entryCount)
                writer.append(entryCount)
                writer.append(centralSize)
                writer.append(localSize)
                writer.append(ZIPFormat.zip64LocatorSignature)
                writer.append(UInt32(0))  // the record's disk
                writer.append(localSize + centralSize)
                writer.append(UInt32(1))  // disks in all
            }
            let count = UInt16(min(entryCount, UInt64(ZIPFormat.limit16)))
            writer.append(ZIPFormat.endRecordSignature)
            writer.append(UInt16(0))
            writer.append(UInt16(0))
            writer.append(count)
            writer.append(count)
            writer.append(UInt32(min(centralSize, UInt64(ZIPFormat.limit32))))
            writer.append(UInt32(min(localSize, UInt64(ZIPFormat.limit32))))
            writer.append(UInt16(0))  // comment length
        }
    }
}
