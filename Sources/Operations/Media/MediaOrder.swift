import BackupCore

/// The order of a folder's entries in which whole paths ascend by their bytes: a folder is where its name with a slash belongs.
enum MediaOrder {
    static func precedes(_ left: (name: FileName, isFolder: Bool), _ right: (name: FileName, isFolder: Bool)) -> Bool {
        let slash: [UInt8] = [UInt8(ascii: "/")]
        let leftBytes = left.isFolder ? left.name.bytes + slash : left.name.bytes
        let rightBytes = right.isFolder ? right.name.bytes + slash : right.name.bytes
        return leftBytes.lexicographicallyPrecedes(rightBytes)
    }
}
