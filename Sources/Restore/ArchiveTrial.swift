import AppData
import BackupCore
import Export
import SystemIO

/// Whether a restore would take the archive of a backup, as far as its names tell, and what its export says of its media files. No file of the archive is
/// read.
public struct ArchiveTrial {
    private let definition: AppDefinition

    public init(_ definition: AppDefinition) { self.definition = definition }

    /// - Parameters:
    ///   - source: a ZIP archive.
    ///   - exportPath: the export that lies in it.
    ///   - hasMedia: whether the backup has media.
    /// - Throws: what a restore would throw: `invalidContent`, `tooLarge`, …
    public func run(_ source: ImportSource, exportPath: String, hasMedia: Bool = false) throws(BackupError) {
        var archive = try ArchiveImport(source, .zip, definition: definition, roomBytes: .max)
        if hasMedia { try archive.requireMedia() }
        try archive.requireDepth()
        guard definition.tellsOfMedia else { return }
        // What values it may have is not asked here.
        let wire = try WireImport(
            SharedFile(path: exportPath), definition: definition, limitsMetadata: false, acceptsValues: true)
        let manifest = ManifestVisitor(wire.reader.definition)
        try wire.reader.visit(with: manifest)
        _ = try archive.place(
            manifest.entries, isComplete: manifest.listsAllFiles, pointer: MediaPointer(wire.reader.definition))
    }
}
