import BackupCore
import Synchronization
import SystemIO

extension S3Storage {
    /// What must be so when an object is stored.
    enum Condition {
        case isNew
        case hasVersion(ObjectVersion)
    }

    /// One object that is being stored. Its mark is among the object's headers on the server, and finds out after a lost answer
    /// whether the object that is there now is this one.
    struct Writing {
        static let markHeader = "x-amz-meta-backupfs-write"

        let name: ObjectName
        let draft: ObjectDraft
        let condition: Condition
        let mark = RandomToken.make()

        var kind: StorageRequest.Kind { if case .isNew = condition { .create } else { .replace } }
    }

    public func create(_ name: ObjectName, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion {
        try write(Writing(name: name, draft: draft.shielded, condition: .isNew))
    }

    public func replace(_ name: ObjectName, version: ObjectVersion, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion {
        try write(Writing(name: name, draft: draft.shielded, condition: .hasVersion(version)))
    }

    private func write(_ writing: Writing) throws(BackupError) -> ObjectVersion {
        try ObjectMetadata.check(writing.draft.metadata)
        let isLarge = writing.draft.sizeBytes > options.multipartThresholdBytes
        // The condition is checked at the end of an upload in parts: a large one is not begun in vain.
        if isLarge || !isConditional(writing.condition) { try checkCondition(writing) }
        return isLarge ? try uploadInParts(writing) : try upload(writing)
    }

    private func isConditional(_ condition: Condition) -> Bool {
        switch condition {
        case .isNew: capabilities.contains(.conditionalCreate)
        case .hasVersion: capabilities.contains(.compareAndSwap)
        }
    }

    private func checkCondition(_ writing: Writing) throws(BackupError) {
        let facts = try look(writing.name)
        switch writing.condition {
        case .isNew: if facts != nil { throw alreadyExists(writing.name) }
        case .hasVersion(let version):
            guard let facts else { throw notFound(writing.name) }
            if facts.version != version { throw conflict(writing.name) }
        }
    }

    /// The header that has the server check the condition; none if it does not keep that.
    func conditionHeaders(_ condition: Condition) -> [HTTPHeader] {
        guard isConditional(condition) else { return [] }
        switch condition {
        case .isNew: return [HTTPHeader("If-None-Match", "*")]
        case .hasVersion(let version): return [HTTPHeader("If-Match", S3Tag.quoted(version.text))]
        }
    }

    func storageHeaders(_ writing: Writing) -> [HTTPHeader] {
        var isNew = false
        if case .isNew = writing.condition { isNew = true }
        return options.headers(isNew: isNew, now: SystemClock.systemTime()) + writing.draft.metadata.map(\.header)
            + [HTTPHeader(Writing.markHeader, writing.mark)]
    }

    private func upload(_ writing: Writing) throws(BackupError) -> ObjectVersion {
        let draft = writing.draft
        let checksum = Self.base64(draft.sha256)
        var body = HTTPBody(draft.source, sizeBytes: draft.sizeBytes, sha256: draft.sha256)
        // A server that returns the SHA-256 of what it has received needs only a check that the draft has not changed.
        let returnsChecksums = returnsChecksums.load(ordering: .relaxed)
        body.needsMD5 = !returnsChecksums
        if returnsChecksums { body.crc32 = draft.crc32 }
        let request = S3Request(
            kind: writing.kind, method: .put, name: writing.name,
            headers: conditionHeaders(writing.condition) + storageHeaders(writing)
                + [HTTPHeader("x-amz-checksum-sha256", checksum)],
            body: body)
        let answer: S3Answer
        do throws(S3Failure) {
            answer = try client.send(request)
        } catch {
            if error.isNetwork, error.isAmbiguous, let version = try? ownVersion(writing) { return version }
            throw error.error
        }
        guard answer.response.isSuccess else { return try afterRefusal(writing, answer) }
        return try check(answer, writing)
    }

    /// - Returns: the version when an earlier try has stored the object after all.
    func afterRefusal(_ writing: Writing, _ answer: S3Answer) throws(BackupError) -> ObjectVersion {
        let code = answer.failure.code
        let isCondition = answer.status == 412 || answer.status == 409 || (answer.status == 404 && code == "NoSuchKey")
        guard isCondition || answer.hasAmbiguousTry else { throw client.error(answer, writing.name) }
        if answer.hasAmbiguousTry, let version = try ownVersion(writing) { return version }
        guard isCondition else { throw client.error(answer, writing.name) }
        if case .isNew = writing.condition, answer.status == 412 { throw alreadyExists(writing.name) }
        let facts = try look(writing.name)
        switch writing.condition {
        case .isNew: throw facts == nil ? client.error(answer, writing.name) : alreadyExists(writing.name)
        case .hasVersion(let version):
            guard let facts else { throw notFound(writing.name) }
            throw facts.version == version ? client.error(answer, writing.name) : conflict(writing.name)
        }
    }

    // MARK: Checks of what is stored

    /// The version of the stored object, if it is the one of this writing; `nil` if it is another one, or there is none.
    func ownVersion(_ writing: Writing) throws(BackupError) -> ObjectVersion? {
        guard let answer = try head(writing.name) else { return nil }
        let facts = try facts(of: answer.response, writing.name)
        if let mark = answer.response[Writing.markHeader] { return mark == writing.mark ? facts.version : nil }
        // A server that drops such headers: the same bytes are as good.
        guard facts.sizeBytes == writing.draft.sizeBytes else { return nil }
        if answer.response["x-amz-checksum-sha256"] == Self.base64(writing.draft.sha256) { return facts.version }
        return facts.version.text == (try Self.md5(of: writing.draft)).hexadecimal ? facts.version : nil
    }

    private static func md5(of draft: ObjectDraft) throws(BackupError) -> MD5Digest {
        var hasher = MD5Hasher()
        var offset: UInt64 = 0
        while offset < draft.sizeBytes {
            let part = try draft.source.bytes(at: offset, upTo: Int(min(1 << 20, draft.sizeBytes - offset)))
            guard !part.isEmpty else { break }
            part.withUnsafeBytes { hasher.update($0) }
            offset += UInt64(part.count)
        }
        return hasher.finish()
    }

    /// Compares what the server says of the stored bytes with those that were sent.
    private func check(_ answer: S3Answer, _ writing: Writing) throws(BackupError) -> ObjectVersion {
        noteBucket()
        let tag = answer.tag ?? ""
        let isRight: Bool
        let checksum = answer.response["x-amz-checksum-sha256"]
        returnsChecksums.store(checksum != nil, ordering: .relaxed)
        if let checksum {
            isRight = checksum == Self.base64(writing.draft.sha256)
        } else {
            // Not computed where an earlier answer had a checksum.
            let md5: MD5Digest
            if let sent = answer.response.sentMD5 { md5 = sent } else { md5 = try Self.md5(of: writing.draft) }
            isRight = isPlausible(tag: tag, md5.hexadecimal, answer.response)
        }
        return isRight && !tag.isEmpty ? ObjectVersion(tag) : try checkByReading(writing)
    }

    /// - Parameter md5: what the ETag should be, if it is an MD5 at all.
    func isPlausible(tag: String, _ md5: String?, _ response: HTTPResponse) -> Bool {
        var isKeyService = response["x-amz-server-side-encryption"]?.hasPrefix("aws:kms") ?? false
        if case .keyService = options.encryption { isKeyService = true }
        guard let md5, !isKeyService, hasMD5Tags.load(ordering: .relaxed), tag.utf8.count == md5.utf8.count else { return true }
        return tag.lowercased() == md5
    }

    /// The server says something else than was sent: only the stored bytes tell. Takes the object away if it is wrong.
    func checkByReading(_ writing: Writing) throws(BackupError) -> ObjectVersion {
        let hash = StoredHash()
        let facts = try read(writing.name, range: nil) { (bytes) throws(BackupError) in hash.update(bytes) }
        if facts.sizeBytes == writing.draft.sizeBytes, hash.finish() == writing.draft.sha256 {
            // Then its ETags are something else. They still name versions.
            if facts.version.text.utf8.count == 32, facts.version.text != hash.md5 {
                hasMD5Tags.store(false, ordering: .relaxed)
            }
            return facts.version
        }
        let isOwn = try Cancellation.shielded { () throws(BackupError) in
            guard let version = try ownVersion(writing) else { return false }
            try remove(writing.name, version: version)
            return true
        }
        guard isOwn else { throw conflict(writing.name) }
        throw BackupError(
            .damagedContent, "the server has stored other bytes than were sent, and they were removed again",
            path: "\(place)/\(writing.name)", remedy: "Try again. If it stays so, check the network, its proxies and the server.")
    }

    static func base64(_ digest: some ByteDigest) -> String { digest.withUnsafeBytes { Base64.encode($0) } }
}

/// Of an object that is read back.
private final class StoredHash {
    private var sha256 = SHA256Hasher()
    private var md5Hasher = MD5Hasher()
    private(set) var md5 = ""

    func update(_ bytes: UnsafeRawBufferPointer) {
        sha256.update(bytes)
        md5Hasher.update(bytes)
    }

    func finish() -> SHA256Digest {
        md5 = md5Hasher.finish().hexadecimal
        return sha256.finish()
    }
}
