import BackupCore

extension ObjectDraft {
    /// The same bytes, whose errors say nothing of the storage's objects: a file that is not there is no missing object.
    var shielded: ObjectDraft {
        var draft = ObjectDraft(source: ShieldedSource(source), sizeBytes: sizeBytes, sha256: sha256, crc32: crc32)
        draft.metadata = metadata
        return draft
    }
}

private final class ShieldedSource: ByteSource {
    private let source: any ByteSource

    init(_ source: any ByteSource) { self.source = source }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        do throws(BackupError) {
            return try source.read(at: offset, into: buffer)
        } catch {
            throw [.notFound, .alreadyExists, .conflict].contains(error.code) ? error.with(.inputOutput) : error
        }
    }
}
