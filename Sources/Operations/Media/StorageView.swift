import AppData
import BackupCore
import BackupRepository
import SystemIO

/// `by-key/`: a second view of a snapshot's media, as links named as content-addressed storage names files:
/// `by-key/photos/2024/06/<md5>.jpg`. Files with the same content, month and extension share one link.
struct StorageView {
    static let folderName: FileName = "by-key"

    /// - Parameter workPath: a folder for the links until all of their folders are known.
    /// - Returns: the folder's entry in the snapshot.
    static func store(
        _ catalog: any MediaCatalog, with writer: BackupWriter, time: Timestamp, workPath: String
    ) throws(BackupError) -> TreeEntry {
        let root = StorageFolder()
        let links = try StorageLinks(in: workPath)
        try catalog.forEachFile { (file) throws(BackupError) in
            guard let key = StorageKey(file) else { return }
            let parts = key.text.split(separator: "/").map(String.init)
            // From the folder of the link up to the snapshot's folder.
            let up = Array(String(repeating: "../", count: parts.count).utf8)
            root.folder(parts.dropLast()).links.append(
                try links.append(
                    .symbolicLink(
                        name: FileName(parts[parts.count - 1]), target: up + Array("media/".utf8) + file.path,
                        modificationTime: file.modificationTime)))
        }
        return try store(root, folderName, links, with: writer, time)
    }

    private static func store(
        _ folder: StorageFolder, _ name: FileName, _ links: StorageLinks, with writer: BackupWriter, _ time: Timestamp
    ) throws(BackupError) -> TreeEntry {
        var names: Set<FileName> = []
        var all: [TreeEntry] = []
        for place in folder.links {
            let link = try links.link(at: place)
            // The first one wins.
            if names.insert(link.name).inserted { all.append(link) }
        }
        names = []
        for (name, inner) in folder.folders { all.append(try store(inner, FileName(name), links, with: writer, time)) }
        return .directory(name: name, mode: 0o700, modificationTime: time, stored: try writer.store(all))
    }
}

/// A folder of the view: its subfolders, and the positions of its own links.
private final class StorageFolder {
    private(set) var folders: [String: StorageFolder] = [:]
    var links: [UInt64] = []

    func folder(_ path: ArraySlice<String>) -> StorageFolder {
        guard let name = path.first else { return self }
        let inner = folders[name] ?? StorageFolder()
        folders[name] = inner
        return inner.folder(path.dropFirst())
    }
}

/// Spools symbolic links to a file: a million of them would take most of a gigabyte of memory.
final class StorageLinks {
    private let file: AppendedFile

    /// - Parameter folder: where the file is created. It is unnamed and disappears with this object.
    init(in folder: String) throws(BackupError) { file = try AppendedFile(in: folder) }

    /// - Returns: its position in the file.
    func append(_ link: TreeEntry) throws(BackupError) -> UInt64 {
        let place = file.sizeBytes
        var writer = ByteWriter()
        writer.append(lengthPrefixed: link.name.bytes)
        writer.append(lengthPrefixed: link.linkTarget ?? [])
        writer.append(link.modificationTime)
        var record = ByteWriter()
        record.append(UInt32(writer.bytes.count))
        record.append(raw: writer.bytes)
        try file.append(record.bytes)
        return place
    }

    func link(at place: UInt64) throws(BackupError) -> TreeEntry {
        let file = try file.whole()
        var length = ByteReader(try file.readExactly(at: place, count: 4))
        var reader = ByteReader(try file.readExactly(at: place + 4, count: Int(try length.read(UInt32.self))))
        let name = FileName(bytes: Array(try reader.readLengthPrefixed()))
        return .symbolicLink(
            name: name, target: Array(try reader.readLengthPrefixed()), modificationTime: try reader.readTimestamp())
    }
}
