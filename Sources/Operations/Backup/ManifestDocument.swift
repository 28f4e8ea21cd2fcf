import AppData
import BackupCore
import BackupRepository
import Formats
import SystemIO

/// The description of a snapshot: `manifest.json`, and the attributes of its folder. It is small and has no list of files.
struct ManifestDocument {
    private let store: Store
    private let facts: RecordFacts
    private let tag: String?
    let json: OrderedJSON

    /// - Parameter content: totals of everything but this document.
    init(
        store: Store, facts: RecordFacts, parent: Snapshot?, label: FileName, tag: String?, createdAt: Timestamp,
        content: DirectoryTotals, unreadable: [Message]
    ) {
        self.store = store
        self.facts = facts
        self.tag = tag
        let definition = facts.definition
        json = [
            "formatVersion": 1, "name": label.description, "createdAt": createdAt.wholeSeconds, "app": definition.name,
            "appVersion": facts.appVersion, "schemaVersion": definition.schemaVersion, "deviceName": facts.deviceName, "tag": tag,
            "parent": parent.map { ["id": $0.id, "name": $0.name] as OrderedJSON },
            "records": OrderedJSON.object(facts.counts.map { .init($0.name, $0.count) }),
            "recordCount": facts.recordCount, "fileCount": content.fileCount, "sizeBytes": content.byteCount,
            "unreadable": unreadable, "missing": facts.missingFiles.lines,
        ]
    }

    /// The keys are the names of the extended attributes without `user.backupfs.`.
    func attributes(
        totals: DirectoryTotals, dataSizeBytes: UInt64?, storedBytes: UInt64, tarSizeBytes: UInt64, stamp: String,
        databaseState: String?, archiveNames: String?, channel: Channel?
    ) -> [String: String] {
        var attributes = [
            // Texts from the app's database can have any length. The record has a limit; the manifest has them in full.
            "app": facts.definition.name, "app-version": MessageText.shortened(facts.appVersion),
            "schema-version": String(facts.definition.schemaVersion), "device": MessageText.shortened(facts.deviceName),
            "records": String(facts.recordCount), "files": String(totals.fileCount), "size": String(totals.byteCount),
            "stored-size": String(storedBytes), SnapshotStamp.attribute: stamp,
            Snapshot.archiveVersionAttribute: String(ZIPLayout.version),
            Snapshot.tarSizeAttribute: String(tarSizeBytes), Snapshot.tarVersionAttribute: String(TARLayout.version),
        ]
        if let tag { attributes["tag"] = tag }
        attributes[Snapshot.dataSizeAttribute] = dataSizeBytes.map { String($0) }
        attributes[Snapshot.databaseStateAttribute] = databaseState
        attributes[Snapshot.archiveNamesAttribute] = archiveNames
        attributes[Snapshot.recordCountsAttribute] = CollectionCounts.text(facts.counts)
        if facts.unexported == nil { attributes[Snapshot.allExportedAttribute] = "1" }
        if let channel, channel != .production { attributes[Snapshot.channelAttribute] = channel.rawValue }
        return attributes
    }
}
