import BackupCore
import SystemIO

/// Makes a bag (RFC 8493) of a destination: the copies are in `data`, and the files of the bag beside that.
final class BagWriter: ManifestSink {
    private static let declaration = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
    private static let list: FileName = "manifest-sha256.txt"

    private let output: BufferedOutput
    private var byteCount: UInt64 = 0
    private var fileCount: UInt64 = 0

    private init(_ output: BufferedOutput) { self.output = output }

    /// - Parameters:
    ///   - payload: the folder that has the copies.
    ///   - version: of this program.
    /// - Throws: `conflict` when it is a bag with other content; `notSupported` when a bag cannot hold what is there.
    static func write(
        _ payload: DirectoryHandle, _ rows: CopiedRows, _ record: JobRecord, version: String
    ) throws(BackupError) {
        let folder = try DirectoryHandle(path: FileSystem.parentPath(payload.path))
        var info = ""
        try ManifestDraft.write(list, in: folder, token: record.token, .refuse) { (output) throws(BackupError) in
            let writer = BagWriter(output)
            try ManifestWalk.run(payload, rows, writer)
            let day = LocalDateTime(utc: record.createdAt.withinCalendar).dateText
            info = "Bag-Software-Agent: backupfs \(version)\nBagging-Date: \(day)\n"
            info += "Payload-Oxum: \(writer.byteCount).\(writer.fileCount)\n"
        }
        // The same copies are in this bag already.
        if try folder.statusIfPresent(FileName(BagFiles.declaration)) != nil { return }
        try write("bag-info.txt", info, folder, record)
        var tags: [UInt8] = []
        for name in ["bag-info.txt", BagFiles.declaration, list.description] {
            let digest =
                name == BagFiles.declaration
                ? SHA256Hasher.hash(Array(declaration.utf8)) : try SharedFile(folder.openFile(FileName(name))).sha256()
            tags += Hexadecimal.encodeToUTF8(digest.bytes) + "  \(name)\n".utf8
        }
        try write("tagmanifest-sha256.txt", String(decoding: tags, as: UTF8.self), folder, record)
        // Last: a folder without it is no bag.
        try write(FileName(BagFiles.declaration), declaration, folder, record)
    }

    private static func write(
        _ name: FileName, _ text: String, _ folder: DirectoryHandle, _ record: JobRecord
    ) throws(BackupError) {
        try ManifestDraft.write(name, in: folder, token: record.token, .refuse) { (output) throws(BackupError) in
            try output.add(text)
        }
    }

    func add(_ file: CopiedFile) throws(BackupError) {
        guard let digest = file.digests.sha256 else { throw file.lacksDigest }
        guard String(validating: file.path, as: UTF8.self) != nil else {
            throw refused(file.path, "a bag cannot hold this file: its name is not UTF-8")
        }
        fileCount += 1
        byteCount = byteCount.addingSaturating(file.size)
        try output.add(Hexadecimal.encodeToUTF8(digest.bytes) + "  data/".utf8)
        for byte in file.path {
            switch byte {
            case 10: try output.add("%0A")
            case 13: try output.add("%0D")
            case UInt8(ascii: "%"): try output.add("%25")
            default: try output.add(CollectionOfOne(byte))
            }
        }
        try output.add("\n")
    }

    private func refused(_ path: [UInt8], _ message: Message) -> BackupError {
        BackupError(
            .notSupported, message, path: MessageText.name(path),
            remedy: "The copies are complete; copy without --manifest bagit, or into an empty folder.")
    }

    func addLink(_ path: [UInt8]) throws(BackupError) { throw refused(path, "a bag cannot hold links") }

    func addOther(
        _ name: FileName, in folder: SourceFolder, _ handle: DirectoryHandle, _ status: FileStatus
    ) throws(BackupError) {
        throw refused(folder.path(of: name), "the folder of a bag has a file that is not of this job")
    }

    func addUnreadable(_ path: [UInt8]) throws(BackupError) {
        throw refused(path, "the folder of a bag has a folder that cannot be read")
    }

    func enter(_ folder: SourceFolder) {}
    func leave(_ folder: SourceFolder) {}
}
