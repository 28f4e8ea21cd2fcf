import BackupCore
import SystemIO

extension S3Storage {
    public func read(
        _ name: ObjectName, range: Range<UInt64>?, _ consume: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) -> ObjectFacts {
        if let range, range.isEmpty || range.lowerBound > Reading.lastOffset {
            guard let facts = try look(name) else { throw notFound(name) }
            return facts
        }
        var reading = Reading(name: name, range: range)
        var shortContinuations = 0
        while true {
            let before = reading.position
            do throws(S3Failure) {
                let answer = try client.send(request(for: reading)) { (response, bytes) throws(BackupError) in
                    if !reading.hasAnswer { try begin(&reading, response) }
                    try reading.pass(bytes, consume)
                }
                return try finish(&reading, answer)
            } catch {
                if reading.hasStopped || (error.isNetwork && reading.isComplete) { return try check(reading) }
                guard error.isNetwork, reading.position > before else { throw error.error }
                if reading.position - before < Reading.worthwhileBytes { shortContinuations += 1 } else { shortContinuations = 0 }
                guard shortContinuations < S3Retry.tryLimit else { throw error.error }
            }
            reading.hasAnswer = false
            try S3Client.sleep(S3Backoff.seconds(failedTries: 1, retryAfterSeconds: nil, random: Double.random(in: 0...1)))
        }
    }

    private func request(for reading: Reading) -> S3Request {
        var request = S3Request(kind: .read, method: .get, name: reading.name)
        if reading.asksForRange {
            let last = reading.range.map { "\(min($0.upperBound - 1, Reading.lastOffset))" } ?? ""
            request.headers.append(HTTPHeader("Range", "bytes=\(reading.position)-\(last)"))
        } else {
            request.headers.append(HTTPHeader("x-amz-checksum-mode", "ENABLED"))
        }
        if let facts = reading.facts { request.headers.append(HTTPHeader("If-Match", S3Tag.quoted(facts.version.text))) }
        return request
    }

    /// Takes the headers of an answer with bytes.
    private func begin(_ reading: inout Reading, _ response: HTTPResponse) throws(BackupError) {
        let path = "\(place)/\(reading.name)"
        let total: UInt64
        let bounds: Range<UInt64>
        // `rclone serve s3` answers a range with 200, and says so here alone.
        if response.status == 206 || (reading.asksForRange && response["content-range"] != nil) {
            guard let content = response["content-range"].flatMap(ContentRange.init), content.start == reading.position,
                response.contentLength.map({ $0 == content.end - content.start }) ?? true, content.end <= reading.end
            else { throw S3Answers.damaged("the server sends another range than asked for").at(path) }
            (total, bounds) = (content.total, content.start..<content.end)
        } else {
            guard response.status == 200, let length = response.contentLength else {
                throw S3Answers.damaged("the server sends the object without its length").at(path)
            }
            // A server that ignores ranges.
            (total, bounds) = (length, 0..<length)
        }
        let facts = try facts(of: response, reading.name, size: total)
        if let known = reading.facts, known.version != facts.version || known.sizeBytes != facts.sizeBytes {
            throw conflict(reading.name)
        }
        reading.begin(facts, bounds, checksum: response["x-amz-checksum-sha256"])
    }

    /// After an answer is complete, whatever it is.
    private func finish(_ reading: inout Reading, _ answer: S3Answer) throws(S3Failure) -> ObjectFacts {
        do throws(BackupError) {
            let name = reading.name
            switch answer.status {
            case 200, 206:
                // Without a body, the headers were not taken yet.
                if !reading.hasAnswer { try begin(&reading, answer.response) }
                return try check(reading)
            case 404:
                let code = answer.failure.code
                if code == "NoSuchBucket" { throw client.error(answer, name) }
                if code != "NoSuchKey" { try proveBucketUnlessSeen() }
                throw notFound(name)
            case 412: throw conflict(name)
            case 416:
                guard let facts = try look(name) else { throw notFound(name) }
                guard facts.sizeBytes <= reading.position, reading.facts == nil else { throw client.error(answer, name) }
                return facts
            default: throw client.error(answer, name)
            }
        } catch {
            throw S3Failure(error: error, isAmbiguous: false, isNetwork: false)
        }
    }

    /// When all bytes should have been passed on.
    private func check(_ reading: Reading) throws(BackupError) -> ObjectFacts {
        let path = "\(place)/\(reading.name)"
        guard reading.isComplete, let facts = reading.facts else {
            throw S3Answers.damaged("the server sends less than asked for").at(path)
        }
        if let expected = reading.expectedSHA256, reading.passedSHA256() != expected {
            throw BackupError(
                .damagedContent, "the object does not have the checksum that the server gives", path: path,
                remedy: "Try again. If it stays so, the object is damaged.")
        }
        noteBucket()
        return facts
    }
}

/// How far a read has come, over all its answers.
private struct Reading {
    /// A read gives up when its connections keep breaking before they have passed this many bytes.
    static let worthwhileBytes: UInt64 = 64 << 10
    /// No object is longer, and servers take a larger number for an error.
    static let lastOffset = UInt64(Int64.max) - 1

    let name: ObjectName
    let range: Range<UInt64>?
    /// Of the next byte to pass on.
    private(set) var position: UInt64
    /// Of the first answer.
    private(set) var facts: ObjectFacts?
    /// Whether the headers of the current answer were taken.
    var hasAnswer = false
    /// Whether an answer was ended on purpose, after the last byte that is needed.
    private(set) var hasStopped = false
    /// Of the whole object, as the server has it.
    private(set) var expectedSHA256: SHA256Digest?
    /// What remains of the current answer.
    private var answer: Range<UInt64> = 0..<0
    private let hash: PassedHash?

    init(name: ObjectName, range: Range<UInt64>?) {
        self.name = name
        self.range = range
        position = range?.lowerBound ?? 0
        hash = range == nil ? PassedHash() : nil
    }

    /// The bytes are passed on up to here.
    var end: UInt64 { min(range?.upperBound ?? .max, facts?.sizeBytes ?? .max) }
    var isComplete: Bool { facts != nil && position >= end }
    /// Whether the next request does.
    var asksForRange: Bool { range != nil || position > 0 }

    mutating func begin(_ facts: ObjectFacts, _ bounds: Range<UInt64>, checksum: String?) {
        if self.facts == nil, range == nil, let checksum, let bytes = Base64.decode(Array(checksum.utf8)) {
            // A checksum of checksums has another form.
            expectedSHA256 = SHA256Digest(bytes: bytes)
        }
        self.facts = self.facts ?? facts
        answer = bounds
        hasAnswer = true
    }

    /// - Throws: an error of the consumer; after the last byte that is needed, an error that ends the transfer (`hasStopped`).
    mutating func pass(
        _ bytes: UnsafeRawBufferPointer, _ consume: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) {
        let start = answer.lowerBound
        guard UInt64(bytes.count) <= answer.upperBound - start else {
            throw S3Answers.damaged("the server sends more than it has announced")
        }
        answer = start + UInt64(bytes.count)..<answer.upperBound
        let first = max(position, start)
        let last = min(end, answer.lowerBound)
        if first < last {
            let part = UnsafeRawBufferPointer(rebasing: bytes[Int(first - start)..<Int(last - start)])
            hash?.update(part)
            try consume(part)
            position = last
        }
        if isComplete, !answer.isEmpty {
            hasStopped = true
            throw BackupError(.interrupted, "the rest of the object is not needed")
        }
    }

    func passedSHA256() -> SHA256Digest? { hash?.finish() }
}

/// A hash of what was passed on.
private final class PassedHash {
    private var hasher = SHA256Hasher()

    func update(_ bytes: UnsafeRawBufferPointer) { hasher.update(bytes) }
    func finish() -> SHA256Digest { hasher.finish() }
}

/// `bytes 0-99/1000`; the end is excluded here.
struct ContentRange: Equatable {
    let start: UInt64
    let end: UInt64
    let total: UInt64

    init?(_ text: String) {
        guard text.hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let total = UInt64(parts[1]) else { return nil }
        let bounds = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2, let start = UInt64(bounds[0]), let last = UInt64(bounds[1]), start <= last, last < total else {
            return nil
        }
        (self.start, end, self.total) = (start, last + 1, total)
    }
}
