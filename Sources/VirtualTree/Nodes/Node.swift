import BackupCore

/// A file, folder or link of the tree. Nodes hold what they need to answer; they never hold an open file.
protocol Node: AnyObject, Sendable {
    var inode: InodeNumber { get }
    func attributes() throws(BackupError) -> NodeAttributes

    /// `nil` for what has no checksums (folders, `README.txt`).
    func checksums() throws(BackupError) -> Checksums?
    /// Whether `checksums` gives any, without computing them.
    var hasChecksums: Bool { get }
    /// Whether their names are listed. Programs that copy files with their attributes ask for all that are listed, so nothing is that costs a read of the file.
    var listsChecksums: Bool { get }
    /// `nil` for what is not a file.
    var mimeType: String? { get }
    /// Whether looking at it may wait for the app's database or for its media folder.
    var looksAtTheApp: Bool { get }
    /// Whether looking at it may wait for the storage of the repository.
    var looksAtTheRepository: Bool { get }
    /// Whether what it is can be told all the same without waiting.
    var hasKnownAttributes: Bool { get }
    /// Whether its checksums are computed of all that it holds, when they are first asked for.
    var computesChecksums: Bool { get }
    /// Attributes beside the checksums and the MIME type, by full name.
    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)]
    /// Those that a file of a backup had when it was backed up; of the program's own names they have none.
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
    /// Writing where nothing may be written.
    static var readOnlyHere: BackupError {
        BackupError(.readOnly, "nothing can be changed here", remedy: "Copy the file out and change the copy.")
    }
}
