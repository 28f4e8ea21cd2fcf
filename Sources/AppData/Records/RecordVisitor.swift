import BackupCore

/// Receives the records of a `RecordSource`, in source order. Buffers are valid only during the call.
public protocol RecordVisitor: AnyObject {
    /// The metadata or settings object: once for each that is present.
    func visit(metadata: RecordBuffer) throws(BackupError)
    func visit(settings: RecordBuffer) throws(BackupError)
    /// A collection is present, and its records follow; its index in the definition.
    func beginCollection(_ collection: Int) throws(BackupError)
    func visit(record: RecordBuffer, of collection: Int) throws(BackupError)
    /// A member that is not in the definition: `cars.color`, or `comment` in the outermost object.
    func visit(unknownField path: String) throws(BackupError)
    /// A value in the wrong place: "cars must be an array, not an object".
    func visit(misplaced message: Message) throws(BackupError)
}

extension RecordVisitor {
    public func visit(metadata: RecordBuffer) throws(BackupError) {}
    public func visit(settings: RecordBuffer) throws(BackupError) {}
    public func beginCollection(_ collection: Int) throws(BackupError) {}
    public func visit(unknownField path: String) throws(BackupError) {}
    public func visit(misplaced message: Message) throws(BackupError) {}
}
