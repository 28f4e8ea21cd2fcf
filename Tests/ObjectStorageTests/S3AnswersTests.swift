import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import ObjectStorage

@Suite struct S3AnswersTests {
    /// As SeaweedFS writes it.
    static let listing = """
        <?xml version="1.0" encoding="UTF-8"?>
        <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name><Prefix>p/</Prefix><MaxKeys>3</MaxKeys>\
        <IsTruncated>true</IsTruncated><Contents><Key>p/a+b%2B</Key><ETag>&#34;0cc175b9c0f1b6a831c399e269772661&#34;</ETag>\
        <Size>18446744073709551615</Size><StorageClass>STANDARD</StorageClass><LastModified>2026-11-26T10:14:03Z</LastModified></Contents>\
        <Contents><Key>p/%C3%A4</Key><ETag>"92eb5ffee6ae2fec3ad71c777531578f-2"</ETag><Size>0</Size>\
        <LastModified>2026-11-26T10:14:03.123Z</LastModified></Contents><KeyCount>2</KeyCount><EncodingType>url</EncodingType>\
        <NextContinuationToken>token</NextContinuationToken></ListBucketResult>
        """
    private let question = S3Answers.ListingQuestion(bucket: "bucket", prefix: "p/", limit: 3)

    @Test func `a listing has its names, sizes, versions and times`() throws {
        let listing = try S3Answers.listing(Array(Self.listing.utf8), question)
        #expect(
            listing.entries == [
                .init(
                    key: "p/a b+", sizeBytes: .max, tag: "0cc175b9c0f1b6a831c399e269772661",
                    storedAt: Timestamp(seconds: 1_795_688_043)),
                .init(
                    key: "p/ä", sizeBytes: 0, tag: "92eb5ffee6ae2fec3ad71c777531578f-2",
                    storedAt: Timestamp(seconds: 1_795_688_043, nanoseconds: 123_000_000)),
            ])
        #expect(listing.isTruncated)
        #expect(listing.continuation == "token")
    }

    /// Swift, JuiceFS and rclone escape it, SeaweedFS and Ceph do not.
    @Test(arguments: ["p %41+/", "p%20%2541%2B/", "p+%2541%2B%2F"])
    func `the prefix of a listing may be escaped or not`(shown: String) throws {
        let question = S3Answers.ListingQuestion(bucket: "bucket", prefix: "p %41+/", limit: 3)
        let text = Self.listing.replacing("<Prefix>p/", with: "<Prefix>\(shown)").replacing("<Key>p/", with: "<Key>p+%2541%2B/")
        #expect(try S3Answers.listing(Array(text.utf8), question).entries.map(\.key) == ["p %41+/a b+", "p %41+/ä"])
    }

    @Test func `a listing that is cut off anywhere is an error`() {
        let bytes = Array(Self.listing.utf8)
        for count in bytes.indices
        where errorCode({ _ = try S3Answers.listing(Array(bytes[..<count]), question) }) != .inputOutput {
            Issue.record("\(count) of \(bytes.count) bytes are accepted")
        }
    }

    @Test(arguments: [
        ("<KeyCount>2", "<KeyCount>3"), ("<Name>bucket", "<Name>other"), ("<Prefix>p/", "<Prefix>q/"), ("Key>p/a", "Key>q/a"),
        ("<IsTruncated>true</IsTruncated>", ""), ("<IsTruncated>true", "<IsTruncated>maybe"), ("<Size>0</Size>", ""),
        ("<Size>0", "<Size>-1"), ("<Size>0", "<Size>x"), ("T10:14:03.123Z", ""), ("%C3%A4", "%C3"), ("%C3%A4", "%C"),
        ("<ETag>\"92eb5ffee6ae2fec3ad71c777531578f-2\"</ETag>", ""), ("ListBucketResult", "Error"),
        ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<!DOCTYPE a [<!ENTITY b \"c\">]>"),
    ])
    func `a listing that contradicts itself or the question is an error`(old: String, new: String) {
        let pieces = Self.listing.split(separator: old, omittingEmptySubsequences: false)
        #expect(pieces.count > 1)
        #expect(errorCode { _ = try S3Answers.listing(Array(pieces.joined(separator: new).utf8), question) } == .inputOutput)
    }

    @Test func `more names than asked for are an error`() {
        let question = S3Answers.ListingQuestion(bucket: "bucket", prefix: "p/", limit: 1)
        #expect(errorCode { _ = try S3Answers.listing(Array(Self.listing.utf8), question) } == .inputOutput)
    }

    @Test(arguments: [
        "", "x", "<a>", "<a></b>", "<a/><b/>", "<a>&unknown;</a>", "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>",
        String(repeating: "<a>", count: 9) + String(repeating: "</a>", count: 9),
        "<a>" + String(repeating: "x", count: 20_000) + "</a>",
        "<a>" + String(repeating: "<b/>", count: 50_000) + "</a>",
    ])
    func `documents that no server writes are refused`(text: String) { #expect(ServerAnswer.parse(Array(text.utf8)) == nil) }

    @Test func `the identifier of an upload is read, also in rclone's words`() throws {
        for name in ["InitiateMultipartUploadResult", "InitiateMultipartUpload"] {
            #expect(try S3Answers.uploadID(Array("<\(name)><UploadId>12</UploadId></\(name)>".utf8)) == "12")
        }
        #expect(errorCode { _ = try S3Answers.uploadID(Array("<Other><UploadId>12</UploadId></Other>".utf8)) } == .inputOutput)
    }

    @Test func `the answer to a completed upload may be an error`() {
        let done = "<CompleteMultipartUploadResult><ETag>&quot;abc-2&quot;</ETag></CompleteMultipartUploadResult>"
        #expect(S3Answers.completedTag(Array(done.utf8)) == "abc-2")
        let error = "\n\n<Error><Code>InternalError</Code><Message>Try again</Message></Error>"
        #expect(S3Answers.completedTag(Array(error.utf8)) == nil)
        #expect(S3Answers.failure(Array(error.utf8)) == S3Answers.Failure(code: "InternalError", message: "Try again"))
        #expect(S3Answers.failure(Array("<html>Bad gateway</html>".utf8)) == S3Answers.Failure())
    }

    @Test(
        arguments: [
            ("bytes 0-99/1000", 0, 100, 1_000), ("bytes 5-5/6", 5, 6, 6), ("bytes 0-9/10", 0, 10, 10),
        ] as [(String, UInt64, UInt64, UInt64)])
    func `the range of an answer`(text: String, start: UInt64, end: UInt64, total: UInt64) {
        let range = ContentRange(text)
        #expect(range?.start == start && range?.end == end && range?.total == total)
    }

    @Test(arguments: [
        "", "bytes */10", "bytes 0-9/*", "bytes 5-4/10", "bytes 0-10/10", "items 0-9/10", "bytes 0-9", "bytes -1-9/10",
    ])
    func `another range is refused`(text: String) { #expect(ContentRange(text) == nil) }
}
