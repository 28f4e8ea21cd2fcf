import BackupCore

/// A chunk that holds elements of a file's content, for files with many chunks. Equal runs of chunks give equal lists, so files and versions share them.
enum ContentList {
    private static let magic: [UInt8] = Array("BFSL".utf8)
    private static let version: UInt16 = 1
    /// Lists may contain lists; the writer never nests them deeper than this.
    static let depthLimit = 8
    /// The maximum number of pieces of a file: 4 TiB of media, or a database of 64 GiB. It limits the memory needed to open a file.
    static let pieceCountLimit = 4 << 20

    static func encode(_ content: FileContent) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: magic)
        writer.append(version)
        writer.append(UInt16(0))
        content.encode(into: &writer)
        return writer.bytes
    }

    /// - Throws: `repositoryDamaged`, `unsupportedVersion`.
    static func decode(_ bytes: [UInt8]) throws(BackupError) -> FileContent {
        var reader = ByteReader(bytes)
        try StructureHeader.read(&reader, magic: magic, version: version, name: "content list")
        let content = try FileContent(decoding: &reader)
        guard reader.isAtEnd else { throw BackupError(.repositoryDamaged, "a content list has bytes after its end") }
        return content
    }
}
