import AppData
import BackupCore
import Export
import SystemIO

/// Whether a restore would accept a backup's archive, judged by the names in it and by the export's list of media files. Reads no file of the archive.
public struct ArchiveTrial {
    private let definition: AppDefinition

    public init(_ definition: AppDefinition) { self.definition = definition }

    /// - Parameters:
    ///   - source: a ZIP archive.
    ///   - exportPath: the export in it.
    ///   - hasMedia: whether the backup has media.
    /// - Throws: the errors of a restore: `invalidContent`, `tooLarge`, …
    public func run(_ source: ImportSource, exportPath: String, hasMedia: Bool = false) throws(BackupError) {
        var archive = try ArchiveImport(source, .zip, definition: definition, roomBytes: .max)
        if hasMedia { try archive.requireMedia() }
        try archive.requireDepth()
        guard definition.tellsOfMedia else { return }
        // The values are not checked here.
        let wire = try WireImport(
            SharedFile(path: exportPath), definition: definition, limitsMetadata: false, acceptsValues: true)
        let manifest = ManifestVisitor(wire.reader.definition)
        try wire.reader.visit(with: manifest)
        _ = try archive.place(
            manifest.entries, isComplete: manifest.listsAllFiles, pointer: MediaPointer(wire.reader.definition))
    }
}
