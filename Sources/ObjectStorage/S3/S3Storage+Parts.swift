import BackupCore
import Synchronization
import SystemIO

/// Uploads in parts (multipart uploads). Nothing of them is an object until the last request succeeds.
extension S3Storage {
    private static let partLimit: UInt64 = 10_000
    private static let listLimit = 1_000

    /// A part that the server has acknowledged.
    private struct Part {
        let number: Int
        let sizeBytes: UInt64
        let tag: String
        let md5: MD5Digest
        /// In Base64; `nil` from a server that does not know such checksums.
        let checksum: String?
    }

    func uploadInParts(_ writing: Writing) throws(BackupError) -> ObjectVersion {
        var request = S3Request(kind: .beginUpload, method: .post, name: writing.name)
        request.query = [("uploads", "")]
        request.headers = storageHeaders(writing) + [HTTPHeader("x-amz-checksum-algorithm", "SHA256")]
        request.body = .empty
        // A try that was lost leaves an empty upload, which the server's own rules remove.
        let begun = try client.sendExpectingSuccess(request)
        let upload: String
        do throws(BackupError) {
            upload = try S3Answers.uploadID(begun.body)
        } catch {
            throw error.at("\(place)/\(writing.name)")
        }
        do throws(BackupError) {
            let parts = try uploadParts(writing, upload)
            try compareParts(parts, writing, upload)
            return try complete(writing, upload, parts)
        } catch {
            abort(writing.name, upload)
            throw error
        }
    }

    /// The server keeps, and charges for, the parts of an upload that is neither completed nor aborted.
    private func abort(_ name: ObjectName, _ upload: String) {
        var request = S3Request(kind: .abortUpload, method: .delete, name: name)
        request.query = [("uploadId", upload)]
        // The first error counts.
        _ = try? Cancellation.shielded { () throws(BackupError) in try client.answer(to: request) }
    }

    private func uploadParts(_ writing: Writing, _ upload: String) throws(BackupError) -> [Part] {
        let draft = writing.draft
        let mebibyte: UInt64 = 1 << 20
        let least = (draft.sizeBytes / Self.partLimit + mebibyte) / mebibyte * mebibyte
        let partSize = max(options.partSizeBytes, least)
        var whole = SHA256Hasher()
        var parts: [Part] = []
        var offset: UInt64 = 0
        while offset < draft.sizeBytes {
            let size = min(partSize, draft.sizeBytes - offset)
            let hash = try Self.hash(draft.source, offset, size, whole: &whole)
            offset += size
            // Before the last part is sent.
            if offset == draft.sizeBytes, whole.finish() != draft.sha256 {
                throw BackupError(
                    .damagedContent, "the bytes that were read for an upload do not have their checksum; nothing was stored",
                    path: "\(place)/\(writing.name)", remedy: "Check the disk, then try again.")
            }
            parts.append(
                try uploadPart(
                    writing.name, upload, parts.count + 1,
                    HTTPBody(draft.source, offset: offset - size, sizeBytes: size, sha256: hash)))
        }
        return parts
    }

    private static func hash(
        _ source: any ByteSource, _ start: UInt64, _ size: UInt64, whole: inout SHA256Hasher
    ) throws(BackupError) -> SHA256Digest {
        var hasher = SHA256Hasher()
        var offset = start
        while offset < start + size {
            try Cancellation.check()
            let bytes = try source.bytes(at: offset, upTo: Int(min(1 << 20, start + size - offset)))
            guard !bytes.isEmpty else {
                throw BackupError(.inputOutput, "a file became shorter while it was uploaded", remedy: "Try again.")
            }
            bytes.withUnsafeBytes {
                hasher.update($0)
                whole.update($0)
            }
            offset += UInt64(bytes.count)
        }
        return hasher.finish()
    }

    private func uploadPart(
        _ name: ObjectName, _ upload: String, _ number: Int, _ body: HTTPBody
    ) throws(BackupError) -> Part {
        let checksum = Self.base64(body.sha256)
        var request = S3Request(kind: .uploadPart, method: .put, name: name)
        request.query = [("partNumber", "\(number)"), ("uploadId", upload)]
        request.headers = [HTTPHeader("x-amz-checksum-sha256", checksum)]
        request.body = body
        let answer = try client.sendExpectingSuccess(request)
        let stored = answer.response["x-amz-checksum-sha256"]
        guard let tag = answer.tag, let md5 = answer.response.sentMD5, stored == nil || stored == checksum,
            stored != nil || isPlausible(tag: tag, md5.hexadecimal, answer.response)
        else {
            throw BackupError(
                .damagedContent, "the server has stored other bytes of a part than were sent", path: "\(place)/\(name)",
                remedy: "Try again. If it stays so, check the network, its proxies and the server.")
        }
        return Part(number: number, sizeBytes: body.sizeBytes, tag: tag, md5: md5, checksum: stored)
    }

    /// Has the server list what it will put together.
    private func compareParts(_ parts: [Part], _ writing: Writing, _ upload: String) throws(BackupError) {
        var listed: [(number: Int, sizeBytes: UInt64, tag: String)] = []
        var marker: Int?
        repeat {
            var request = S3Request(kind: .listParts, method: .get, name: writing.name)
            request.query = [("uploadId", upload), ("max-parts", "\(Self.listLimit)")]
            if let marker { request.query.append(("part-number-marker", "\(marker)")) }
            let answer = try client.sendExpectingSuccess(request)
            let (page, next) = try S3Answers.parts(answer.body)
            if let next, let marker, next <= marker { throw S3Answers.damaged("the list of parts does not go on") }
            listed += page
            marker = next
        } while marker != nil
        // SeaweedFS lists a part twice that was sent twice: with the same ETag, it has the same bytes.
        let isSame =
            Set(listed.map(\.number)) == Set(parts.map(\.number))
            && listed.allSatisfy { $0.sizeBytes == parts[$0.number - 1].sizeBytes && $0.tag == parts[$0.number - 1].tag }
        guard isSame else {
            throw BackupError(
                .damagedContent, "the server does not have the parts that were sent", path: "\(place)/\(writing.name)",
                remedy: "Try again. If it stays so, check the server.")
        }
    }

    private func complete(_ writing: Writing, _ upload: String, _ parts: [Part]) throws(BackupError) -> ObjectVersion {
        var request = S3Request(kind: .completeUpload, method: .post, name: writing.name)
        request.query = [("uploadId", upload)]
        request.headers = conditionHeaders(writing.condition)
        request.body = HTTPBody(Array(Self.document(parts).utf8))
        var tries = 0
        var isAmbiguous = false
        while true {
            tries += 1
            var answer: S3Answer
            do throws(S3Failure) {
                answer = try client.send(request)
            } catch {
                if error.isNetwork, error.isAmbiguous, let version = try? ownVersion(writing) { return version }
                throw error.error
            }
            answer.hasAmbiguousTry = answer.hasAmbiguousTry || isAmbiguous
            guard answer.response.isSuccess else {
                // Without the upload, an earlier try may have completed it.
                return try afterRefusal(writing, answer)
            }
            if let tag = S3Answers.completedTag(answer.body) { return try check(tag, writing, parts, answer.response) }
            // An error can come with status 200: the server has to answer before it knows.
            isAmbiguous = true
            if let version = try ownVersion(writing) { return version }
            guard S3Retry.verdict(status: 500, code: answer.failure.code) == .again, tries < S3Retry.tryLimit else {
                throw client.error(answer, writing.name)
            }
            try S3Client.sleep(S3Backoff.seconds(failedTries: tries, retryAfterSeconds: nil, random: Double.random(in: 0...1)))
        }
    }

    private func check(
        _ tag: String, _ writing: Writing, _ parts: [Part], _ response: HTTPResponse
    ) throws(BackupError) -> ObjectVersion {
        guard let answer = try head(writing.name) else { throw notFound(writing.name) }
        let facts = try facts(of: answer.response, writing.name)
        // Another client has replaced it since.
        if let mark = answer.response[Writing.markHeader], mark != writing.mark { return ObjectVersion(tag) }
        var hasher = MD5Hasher()
        for part in parts { part.md5.withUnsafeBytes { hasher.update($0) } }
        let expected = "\(hasher.finish().hexadecimal)-\(parts.count)"
        guard facts.sizeBytes == writing.draft.sizeBytes, facts.version.text == tag, isPlausible(tag: tag, expected, response)
        else {
            return try checkByReading(writing)
        }
        return facts.version
    }

    private static func document(_ parts: [Part]) -> String {
        var text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        for part in parts {
            text += "<Part><PartNumber>\(part.number)</PartNumber><ETag>\(XMLText.escaped(S3Tag.quoted(part.tag)))</ETag>"
            // Strict servers refuse elements that they do not know.
            if let checksum = part.checksum { text += "<ChecksumSHA256>\(checksum)</ChecksumSHA256>" }
            text += "</Part>"
        }
        return text + "</CompleteMultipartUpload>"
    }
}
