import AppData
import BackupCore
import SystemIO

/// A media folder that reads files for their checksums, unless these are known.
struct ReadMediaCatalog: MediaCatalog {
    private let checksums: LiveChecksums
    private let statuses: LiveMediaCatalog
    /// Whether an unreadable file is listed without its checksums.
    private let acceptsUnreadable: Bool

    /// Reads every file.
    init(path: String) {
        checksums = LiveChecksums()
        statuses = LiveMediaCatalog(path: path, amongMedia: .none) { nil }
        acceptsUnreadable = false
    }

    /// Reads files whose checksums `catalog` does not know.
    init(completing catalog: LiveMediaCatalog, _ checksums: LiveChecksums) {
        self.checksums = checksums
        statuses = catalog
        acceptsUnreadable = true
    }

    private func read(_ file: MediaFileFacts) throws(BackupError) -> MediaFileFacts {
        guard file.checksums == nil else { return file }
        let names = BytePath.components(of: file.path)
        guard let item = try statuses.media.item(at: names[...]) else { return file }
        do throws(BackupError) {
            let known = try checksums.checksums(of: item) { () throws(BackupError) in
                try statuses.media.open(names[...], expected: item.status)
            }
            return MediaFileFacts(path: file.path, size: file.size, modificationTime: file.modificationTime, checksums: known)
        } catch {
            guard acceptsUnreadable else { throw error }
            return file
        }
    }

    func file(at path: [UInt8]) throws(BackupError) -> MediaFileFacts? {
        guard let file = try statuses.file(at: path) else { return nil }
        return try read(file)
    }

    func forEachFile(_ body: (MediaFileFacts) throws(BackupError) -> Void) throws(BackupError) {
        try statuses.forEachFile { (file) throws(BackupError) in try body(read(file)) }
    }

    func state() throws(BackupError) -> String? { try statuses.state() }
}
