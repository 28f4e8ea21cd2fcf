import AppData
import BackupCore
import Synchronization

/// Notes whether a media folder was asked for a file with unknown checksums.
final class UnknownChecksums: MediaCatalog {
    private let catalog: any MediaCatalog
    private let found = Mutex(false)

    init(_ catalog: any MediaCatalog) { self.catalog = catalog }

    var areThere: Bool { found.withLock { $0 } }

    func file(at path: [UInt8]) throws(BackupError) -> MediaFileFacts? { try catalog.file(at: path).map(noted) }

    func forEachFile(_ body: (MediaFileFacts) throws(BackupError) -> Void) throws(BackupError) {
        try catalog.forEachFile { (file) throws(BackupError) in try body(noted(file)) }
    }

    func state() throws(BackupError) -> String? { try catalog.state() }

    private func noted(_ file: MediaFileFacts) -> MediaFileFacts {
        if file.checksums == nil { found.withLock { $0 = true } }
        return file
    }
}
