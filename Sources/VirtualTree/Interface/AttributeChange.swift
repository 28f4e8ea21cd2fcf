import BackupCore

/// What chmod(2), truncate(2), utimensat(2) and chown(2) request; `nil` leaves a value unchanged.
public struct AttributeChange: Sendable {
    public var size: UInt64?
    public var permissions: UInt16?
    public var modificationTime: Timestamp?
    /// Another owner or group was requested.
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
