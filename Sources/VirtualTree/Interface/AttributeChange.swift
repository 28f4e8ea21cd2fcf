import BackupCore

/// What chmod(2), truncate(2), utimensat(2) and chown(2) ask for; `nil` leaves a thing as it is.
public struct AttributeChange: Sendable {
    public var size: UInt64?
    public var permissions: UInt16?
    public var modificationTime: Timestamp?
    /// Somebody asked for another owner or group.
    public var changesOwner: Bool

    public init(
        size: UInt64? = nil, permissions: UInt16? = nil, modificationTime: Timestamp? = nil, changesOwner: Bool = false
    ) {
        self.size = size
        self.permissions = permissions
        self.modificationTime = modificationTime
        self.changesOwner = changesOwner
    }
}
