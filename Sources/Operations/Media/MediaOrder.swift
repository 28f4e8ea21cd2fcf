import BackupCore

/// Orders a folder's entries so that whole paths ascend by their bytes: a folder sorts as its name with a slash.
enum MediaOrder {
    static func precedes(_ left: (name: FileName, isFolder: Bool), _ right: (name: FileName, isFolder: Bool)) -> Bool {
        let slash: [UInt8] = [UInt8(ascii: "/")]
        let leftBytes = left.isFolder ? left.name.bytes + slash : left.name.bytes
        let rightBytes = right.isFolder ? right.name.bytes + slash : right.name.bytes
        return leftBytes.lexicographicallyPrecedes(rightBytes)
    }
}
