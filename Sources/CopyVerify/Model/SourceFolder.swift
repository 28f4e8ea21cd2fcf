import BackupCore
import SystemIO

/// A folder of the source; the first one is the source itself.
final class SourceFolder: Sendable {
    /// Below the source; empty for the source itself.
    let components: [FileName]
    let status: FileStatus
    /// Below the source; empty for the source itself.
    let path: [UInt8]

    init(components: [FileName], status: FileStatus) {
        self.components = components
        path = BytePath.joined(components)
        self.status = status
    }

    /// The path of an entry, below the source.
    func path(of name: FileName) -> [UInt8] { BytePath.join(path, name.bytes) }
}

/// Names of copies in a destination.
enum CopyNames {
    /// The mark of unfinished copies.
    static let mark = ".backupfs-part"
    /// How many names a copy can get whose name is taken.
    static let numberLimit = 10_000

    /// `.NAME.JOB-NUMBER.backupfs-part`, shortened to the length limit.
    /// - Parameters:
    ///   - token: that of the job.
    ///   - number: unique in the destination and the job.
    static func temporary(of name: FileName, token: String, number: UInt64) -> FileName {
        let end = Array(".\(token)-\(number)\(mark)".utf8)
        let stem = shortened(name.bytes, to: FileName.byteCountLimit - end.count - 1)
        return FileName(bytes: [UInt8(ascii: ".")] + stem + end)
    }

    /// Whether this is an unfinished copy of the job.
    static func isTemporary(_ name: FileName, of token: String) -> Bool {
        guard name.bytes.first == UInt8(ascii: "."), name.bytes.suffix(mark.utf8.count).elementsEqual(mark.utf8) else {
            return false
        }
        // A job's token is no pattern that other names have by chance.
        let text = Array(".\(token)-".utf8)
        return name.bytes.count > text.count
            && (0...(name.bytes.count - text.count)).contains { name.bytes[$0..<($0 + text.count)].elementsEqual(text) }
    }

    /// `NAME-2.ext` for the number 2.
    static func numbered(_ name: FileName, _ number: Int) -> FileName {
        FileName(bytes: FileName.fitting(name.bytes, "-\(number)"))
    }

    /// Does not split a character.
    private static func shortened(_ bytes: [UInt8], to limit: Int) -> ArraySlice<UInt8> {
        var count = min(bytes.count, limit)
        while count > 1, count < bytes.count, bytes[count] & 0xC0 == 0x80 { count -= 1 }
        return bytes[..<count]
    }
}
