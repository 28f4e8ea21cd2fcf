import BackupCore

/// The encoding of a file's content (format document, "Content").
extension FileContent {
    private enum Tag {
        static let literal: UInt8 = 0
        static let chunk: UInt8 = 1
        static let list: UInt8 = 2
    }

    func encode(into writer: inout ByteWriter) {
        writer.append(UInt32(elements.count))
        for element in elements {
            switch element {
            case .literal(let bytes):
                writer.append(Tag.literal)
                writer.append(lengthPrefixed: bytes)
            case .chunk(let id, let plainLength):
                writer.append(Tag.chunk)
                writer.append(id.digest)
                writer.append(plainLength)
            case .list(let id, let plainLength):
                writer.append(Tag.list)
                writer.append(id.digest)
                writer.append(plainLength)
            }
        }
    }

    /// - Throws: `repositoryDamaged` for anything that `encode` would not write.
    init(decoding reader: inout ByteReader) throws(BackupError) {
        let count = Int(try reader.read(UInt32.self))
        // The shortest element has 6 bytes. An impossible count is rejected before anything is allocated for it.
        guard count <= reader.remainingCount / 6 else {
            throw BackupError(.repositoryDamaged, "a content has more elements than bytes")
        }
        var elements: [Element] = []
        elements.reserveCapacity(count)
        var size: UInt64 = 0
        for _ in 0..<count {
            let element = try Self.decodeElement(&reader)
            let (sum, overflow) = size.addingReportingOverflow(element.length)
            // Rejected here: merging a million of them takes hours.
            if case .literal = element, case .literal = elements.last {
                throw BackupError(.repositoryDamaged, "a content is not in its shortest form")
            }
            guard !overflow, element.length > 0 else { throw BackupError(.repositoryDamaged, "a content's length is wrong") }
            size = sum
            elements.append(element)
        }
        self.init(elements: elements)
        guard self.elements.count == count else {
            throw BackupError(.repositoryDamaged, "a content is not in its shortest form")
        }
    }

    private static func decodeElement(_ reader: inout ByteReader) throws(BackupError) -> Element {
        switch try reader.read(UInt8.self) {
        case Tag.literal:
            return .literal(Array(try reader.readLengthPrefixed()))
        case Tag.chunk:
            let id = ChunkID(try reader.readDigest())
            return .chunk(id, plainLength: try reader.read())
        case Tag.list:
            let id = ChunkID(try reader.readDigest())
            return .list(id, plainLength: try reader.read())
        default:
            throw StructureHeader.unknown("a content has an element of a kind that this program does not know")
        }
    }
}
