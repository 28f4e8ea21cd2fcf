import BackupCore

/// A file, folder or link of the tree. Nodes hold what they need to answer requests; they never hold an open file.
protocol Node: AnyObject, Sendable {
    var inode: InodeNumber { get }
    func attributes() throws(BackupError) -> NodeAttributes

    /// `nil` for nodes without checksums (folders, `README.txt`).
    func checksums() throws(BackupError) -> Checksums?
    /// Whether `checksums` returns any, without computing them.
    var hasChecksums: Bool { get }
    /// Whether the names of the checksums are listed. Programs that copy files with their attributes read everything that is listed, so checksums that require
    /// reading the file are not.
    var listsChecksums: Bool { get }
    /// `nil` for nodes that are not files.
    var mimeType: String? { get }
    /// Whether an access may wait for the app's database or its media folder.
    var looksAtTheApp: Bool { get }
    /// Whether an access may wait for the storage of the repository.
    var looksAtTheRepository: Bool { get }
    /// Whether its attributes are nevertheless available without waiting.
    var hasKnownAttributes: Bool { get }
    /// Whether its checksums are computed from all of its content when they are first requested.
    var computesChecksums: Bool { get }
    /// Attributes besides the checksums and the MIME type, by full name.
    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)]
    /// The attributes that a file had when it was backed up; names reserved for this program are not among them.
    func storedExtendedAttributes() throws(BackupError) -> [ExtendedAttribute]
    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError)
    func removeExtendedAttribute(_ name: String) throws(BackupError)
    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes
}

extension Node {
    func checksums() throws(BackupError) -> Checksums? { nil }
    var hasChecksums: Bool { false }
    var listsChecksums: Bool { hasChecksums }
    var mimeType: String? { nil }
    var looksAtTheApp: Bool { false }
    var looksAtTheRepository: Bool { false }
    var hasKnownAttributes: Bool { false }
    var computesChecksums: Bool { false }
    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] { [] }
    func storedExtendedAttributes() throws(BackupError) -> [ExtendedAttribute] { [] }

    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) { throw .readOnlyHere }
    func removeExtendedAttribute(_ name: String) throws(BackupError) { throw .readOnlyHere }
    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes { throw .readOnlyHere }
}

extension BackupError {
    /// The error for writing where nothing may be written.
    static var readOnlyHere: BackupError {
        BackupError(.readOnly, "nothing can be changed here", remedy: "Copy the file out and change the copy.")
    }
}
