import BackupCore

extension InodeNumber {
    /// The number of a child, derived from its folder's number and its name: the same in every mount, without a table.
    ///
    /// FNV-1a over the parent's number and the name, finished with the 64-bit mixer of MurmurHash3 and cut to 63 bits. Among a million files, two share a
    /// number with a probability of 5e-8; numbers below 1,024 are reserved for the fixed nodes.
    func child(_ name: FileName) -> InodeNumber {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        var parent = rawValue
        for _ in 0..<8 {
            hash = (hash ^ (parent & 0xff)) &* 0x100_0000_01b3
            parent >>= 8
        }
        for byte in name.bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ (hash >> 33)) &* 0xff51_afd7_ed55_8ccd
        hash = (hash ^ (hash >> 33)) &* 0xc4ce_b9fe_1a85_ec53
        hash = (hash ^ (hash >> 33)) & UInt64(Int64.max)
        return InodeNumber(hash < 1_024 ? hash + 1_024 : hash)
    }

    /// The number of a snapshot's folder: derived from the snapshot's ID, not from its name, which may change.
    func snapshot(_ id: SnapshotID) -> InodeNumber { child(FileName(bytes: id.digest.bytes)) }

    /// The number of one state of a file.
    func version(_ version: UInt64) -> InodeNumber {
        child(FileName(bytes: withUnsafeBytes(of: version.littleEndian) { Array($0) }))
    }
}
