import BackupCore
import SystemIO

/// The documents that a server answers with. A document that is incomplete, contradicts itself or does not answer the question
/// is an error: a shorter listing would look like lost objects.
enum S3Answers {
    /// What a listing says, in the order of the server.
    struct Listing {
        struct Entry: Equatable {
            let key: String
            let sizeBytes: UInt64
            let tag: String
            let storedAt: Timestamp
        }

        var entries: [Entry] = []
        /// For the next request; `nil` at the end.
        var continuation: String?
        var isTruncated = false
    }

    /// What was asked for.
    struct ListingQuestion {
        let bucket: String
        let prefix: String
        let limit: Int
    }

    static func listing(_ bytes: [UInt8], _ question: ListingQuestion) throws(BackupError) -> Listing {
        guard let root = ServerAnswer.parse(bytes), root.name == "ListBucketResult" else {
            throw damaged("the listing is incomplete or not in the form of S3")
        }
        let isEscaped = root["EncodingType"]?.text == "url"
        func decoded(_ text: String) -> String? { isEscaped ? PercentEncoding.decode(text) : text }
        // SeaweedFS and Ceph do not escape it.
        if let prefix = root["Prefix"]?.text,
            ![prefix, decoded(prefix)].contains(where: { $0?.utf8.elementsEqual(question.prefix.utf8) == true })
        {
            throw damaged("the listing is for another prefix")
        }
        if let bucket = root["Name"]?.text, bucket != question.bucket { throw damaged("the listing is for another bucket") }
        let truncation = root["IsTruncated"]?.text
        guard truncation == "true" || truncation == "false" else {
            throw damaged("the listing does not say whether it is complete")
        }
        let contents = root.all("Contents")
        if let count = root["KeyCount"]?.text, Int(count) != contents.count + root.all("CommonPrefixes").count {
            throw damaged("the listing has another number of names than it says")
        }
        guard contents.count <= question.limit else { throw damaged("the listing has more names than asked for") }
        var listing = Listing()
        listing.isTruncated = truncation == "true"
        listing.continuation = root["NextContinuationToken"]?.text
        guard !listing.isTruncated || !contents.isEmpty || listing.continuation != nil else {
            throw damaged("the listing is truncated and cannot be continued")
        }
        listing.entries.reserveCapacity(contents.count)
        for element in contents {
            guard let key = element["Key"].flatMap({ decoded($0.text) }), !key.isEmpty,
                key.utf8.starts(with: question.prefix.utf8)
            else { throw damaged("the listing has a name that was not asked for") }
            guard let size = element["Size"].flatMap({ UInt64($0.text) }), let tag = element["ETag"].map({ S3Tag.bare($0.text) }),
                !tag.isEmpty, let storedAt = element["LastModified"].flatMap({ ISO8601.parse($0.text) })
            else { throw damaged("the listing lacks a size, a time or an ETag") }
            listing.entries.append(Listing.Entry(key: key, sizeBytes: size, tag: tag, storedAt: storedAt))
        }
        return listing
    }

    /// Whether a listing has a name without its size, time or ETag: JuiceFS and rclone do so for what is stored or removed at
    /// the same moment.
    static func hasIncompleteEntry(_ bytes: [UInt8]) -> Bool {
        guard let root = ServerAnswer.parse(bytes), root.name == "ListBucketResult" else { return false }
        return root.all("Contents").contains { element in
            ["Size", "ETag", "LastModified"].contains { element[$0].map { S3Tag.bare($0.text).isEmpty } ?? true }
        }
    }

    /// The identifier of a new multipart upload.
    static func uploadID(_ bytes: [UInt8]) throws(BackupError) -> String {
        // The shorter name is rclone's.
        guard let root = ServerAnswer.parse(bytes),
            ["InitiateMultipartUploadResult", "InitiateMultipartUpload"].contains(root.name),
            let id = root["UploadId"]?.text, !id.isEmpty
        else { throw damaged("the server did not begin the upload in parts") }
        return id
    }

    /// One page of the parts that a server has.
    static func parts(_ bytes: [UInt8]) throws(BackupError) -> (
        parts: [(number: Int, sizeBytes: UInt64, tag: String)], next: Int?
    ) {
        guard let root = ServerAnswer.parse(bytes), root.name == "ListPartsResult" else {
            throw damaged("the list of parts is incomplete or not in the form of S3")
        }
        var parts: [(number: Int, sizeBytes: UInt64, tag: String)] = []
        for element in root.all("Part") {
            guard let number = element["PartNumber"].flatMap({ Int($0.text) }),
                let size = element["Size"].flatMap({ UInt64($0.text) }),
                let tag = element["ETag"].map({ S3Tag.bare($0.text) })
            else { throw damaged("the list of parts lacks a number, a size or an ETag") }
            parts.append((number, size, tag))
        }
        guard root["IsTruncated"]?.text == "true" else { return (parts, nil) }
        guard let last = parts.last?.number else { throw damaged("the list of parts is truncated and cannot be continued") }
        return (parts, last)
    }

    /// The ETag of an object that was put together; `nil` for an error, which also comes with status 200.
    static func completedTag(_ bytes: [UInt8]) -> String? {
        guard let root = ServerAnswer.parse(bytes), root.name == "CompleteMultipartUploadResult",
            let tag = root["ETag"].map({ S3Tag.bare($0.text) }), !tag.isEmpty
        else { return nil }
        return tag
    }

    /// What a server says of a failure.
    struct Failure: Equatable {
        var code = ""
        var message = ""
        /// Of the bucket, when the request was for another one.
        var region: String?
        var endpoint: String?
    }

    /// - Returns: an empty one for a document in another form: a proxy's page, nothing at all.
    static func failure(_ bytes: [UInt8]) -> Failure {
        guard let root = ServerAnswer.parse(bytes), root.name == "Error" else { return Failure() }
        return Failure(
            code: root["Code"]?.text ?? "", message: root["Message"]?.text ?? "", region: root["Region"]?.text,
            endpoint: root["Endpoint"]?.text)
    }

    static func damaged(_ message: Message) -> BackupError {
        BackupError(
            .inputOutput, message,
            remedy: "Try again. If it stays so, check the address: another server may answer, or a proxy on the way.")
    }
}

/// ETags, which headers have in quotation marks and some servers' listings have not.
enum S3Tag {
    static func bare(_ text: String) -> String {
        var bytes = text.utf8[...]
        if bytes.starts(with: "W/".utf8) { bytes = bytes.dropFirst(2) }
        if bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") {
            bytes = bytes.dropFirst().dropLast()
        }
        return String(bytes) ?? text
    }

    static func quoted(_ tag: String) -> String { "\"\(tag)\"" }
}
