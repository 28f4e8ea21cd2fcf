import AppData
import BackupCore
import SystemIO

/// A media folder whose files are read for what is told of them.
struct ReadMediaCatalog: MediaCatalog {
    private let path: String
    private let known = LiveChecksums()
    private let statuses: LiveMediaCatalog

    init(path: String) {
        self.path = path
        statuses = LiveMediaCatalog(path: path, amongMedia: .none) { nil }
    }

    private func read(_ file: MediaFileFacts) throws(BackupError) -> MediaFileFacts {
        let names = BytePath.components(of: file.path)
        let media = LiveMedia(path: path, amongMedia: .none)
        guard let item = try media.item(at: names[...]) else { return file }
        let checksums = try known.checksums(of: item) { () throws(BackupError) in
            try media.open(names[...], expected: item.status)
        }
        return MediaFileFacts(
            path: file.path, size: file.size, modificationTime: file.modificationTime, checksums: checksums)
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
