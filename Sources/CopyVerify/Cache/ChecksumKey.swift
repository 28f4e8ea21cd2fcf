import BackupCore
import SystemIO

/// What makes a checksum in the cache that of a file as it is now: any change of the file changes one of these.
struct ChecksumKey: Equatable {
    /// Absolute.
    let path: [UInt8]
    let algorithm: HashAlgorithm
    let sizeBytes: UInt64
    let modificationTime: Timestamp
    let changeTime: Timestamp
    let inode: UInt64
    let device: UInt64

    init(path: [UInt8], _ algorithm: HashAlgorithm, _ status: FileStatus) {
        self.path = path
        self.algorithm = algorithm
        sizeBytes = status.size
        modificationTime = status.modificationTime
        changeTime = status.changeTime
        inode = status.inode
        device = status.device
    }

    /// In the order of the columns of the cache.
    var numbers: [Int64] {
        [
            Int64(bitPattern: sizeBytes), modificationTime.seconds, Int64(modificationTime.nanoseconds), changeTime.seconds,
            Int64(changeTime.nanoseconds), Int64(bitPattern: inode), Int64(bitPattern: device),
        ]
    }

    /// The CRC-32 of a row: a row with a flipped bit must not count.
    static func rowCheck(
        path: [UInt8], algorithm: String, numbers: [Int64], digest: [UInt8], storedAt: Int64
    ) -> Int64 {
        var bytes = path + [0] + Array(algorithm.utf8) + [0]
        for number in numbers + [storedAt] { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }
        return Int64(CRC32.of(bytes + digest))
    }
}

/// A row that is not in the cache's file yet.
struct ChecksumRow {
    let key: ChecksumKey
    let digest: [UInt8]
    /// Seconds since 1970.
    let storedAt: Int64

    var check: Int64 {
        ChecksumKey.rowCheck(
            path: key.path, algorithm: key.algorithm.rawValue, numbers: key.numbers, digest: digest, storedAt: storedAt)
    }
}
