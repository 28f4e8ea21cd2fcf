import BackupCore
import CCurl
import SystemIO

/// The state of one request while libcurl calls back: everything happens on the thread that performs the request.
final class HTTPTransfer {
    private static let headerLimitBytes = 64 << 10

    typealias Consumer = (HTTPResponse, UnsafeRawBufferPointer) throws(BackupError) -> Void

    private let body: HTTPBody?
    private let consume: Consumer
    private let limits: (up: BandwidthLimit, down: BandwidthLimit)
    private var watch: StallTimer

    private(set) var response = HTTPResponse()
    /// What stopped the transfer in our own code.
    private(set) var stop: BackupError?
    private(set) var hasStalled = false
    private(set) var hasTooManyHeaders = false
    /// How often it was sent: libcurl sends a request again when a kept connection turns out to be closed. The server may have
    /// seen the first one.
    private(set) var requestCount = 0
    private(set) var sentBytes: UInt64 = 0
    private(set) var receivedBytes: UInt64 = 0

    private var headerBytes = 0
    /// Of the body, from its start.
    private var position: UInt64 = 0
    private var sha256 = SHA256Hasher()
    private var crc32: UInt32 = 0
    private var md5 = MD5Hasher()

    init(
        body: HTTPBody?, limits: (up: BandwidthLimit, down: BandwidthLimit), stallSeconds: Double, consume: @escaping Consumer
    ) {
        self.body = body
        self.limits = limits
        self.consume = consume
        watch = StallTimer(limitSeconds: stallSeconds, now: SystemClock.monotonicNanoseconds())
    }

    func noteRequest() { requestCount += 1 }

    // MARK: Upload

    /// libcurl does not ask for the bytes of an empty body.
    func begin() throws(BackupError) {
        if let body, body.sizeBytes == 0 { try finishBody(body) }
    }

    /// - Returns: the number of bytes; `backupfs_curl_read_abort` ends the transfer.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let body else { return 0 }
        // The time that our own code takes is not the server's.
        let start = SystemClock.monotonicNanoseconds()
        defer { watch.exclude(nanoseconds: SystemClock.monotonicNanoseconds() - start) }
        do throws(BackupError) {
            let rest = body.sizeBytes - position
            let wanted = limits.up.pieceSize(atMost: Int(min(UInt64(buffer.count), rest)))
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
            let count = try body.source.readFully(at: body.offset + position, into: piece)
            guard count == wanted else {
                throw BackupError(.inputOutput, "a file became shorter while it was uploaded", remedy: "Try again.")
            }
            guard count > 0 else { return 0 }
            if body.crc32 == nil {
                sha256.update(UnsafeRawBufferPointer(piece))
            } else {
                crc32 = CRC32.update(crc32, UnsafeRawBufferPointer(piece))
            }
            if body.needsMD5 { md5.update(UnsafeRawBufferPointer(piece)) }
            position += UInt64(count)
            if position == body.sizeBytes { try finishBody(body) }
            sentBytes += UInt64(count)
            try limits.up.wait(afterBytes: count)
            return count
        } catch {
            stop = error
            return backupfs_curl_read_abort
        }
    }

    /// Before the last bytes are passed on.
    private func finishBody(_ body: HTTPBody) throws(BackupError) {
        let isSame = if let expected = body.crc32 { crc32 == expected } else { sha256.finish() == body.sha256 }
        guard isSame else {
            throw BackupError(
                .damagedContent, "the bytes that were read for an upload do not have their checksum; nothing was stored",
                remedy: "Check the disk, then try again.")
        }
        response.sentMD5 = body.needsMD5 ? md5.finish() : nil
    }

    /// libcurl starts again when a kept connection turns out to be closed.
    /// - Returns: whether it could.
    func seek(to offset: Int) -> Bool {
        guard offset == 0 else { return false }
        position = 0
        _ = sha256.finish()
        crc32 = 0
        _ = md5.finish()
        return true
    }

    // MARK: Answer

    /// - Returns: whether to go on.
    func receive(header line: UnsafeRawBufferPointer) -> Bool {
        headerBytes += line.count
        guard headerBytes <= Self.headerLimitBytes else {
            hasTooManyHeaders = true
            return false
        }
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") {
            // Also after an interim answer such as "100 Continue".
            response.headers = []
            response.status = text.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) } ?? 0
        } else if let colon = text.firstIndex(of: ":") {
            let value = text[text.index(after: colon)...].utf8.drop { $0 == 0x20 || $0 == 0x09 }
            let end = value.lastIndex { $0 > 0x20 }.map { value.index(after: $0) } ?? value.startIndex
            response.headers.append(HTTPHeader(String(text[..<colon]), String(decoding: value[..<end], as: UTF8.self)))
        }
        return true
    }

    /// - Returns: whether to go on.
    func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
        receivedBytes += UInt64(bytes.count)
        let start = SystemClock.monotonicNanoseconds()
        defer { watch.exclude(nanoseconds: SystemClock.monotonicNanoseconds() - start) }
        do throws(BackupError) {
            try consume(response, bytes)
            try limits.down.wait(afterBytes: bytes.count)
            return true
        } catch {
            stop = error
            return false
        }
    }

    // MARK: Time

    /// Called about once a second, and more often while bytes move.
    /// - Returns: whether to go on.
    func goesOn(movedBytes: UInt64) -> Bool {
        do throws(BackupError) {
            try Cancellation.check()
        } catch {
            stop = error
            return false
        }
        hasStalled = watch.hasStalled(movedBytes: movedBytes, now: SystemClock.monotonicNanoseconds())
        return !hasStalled
    }
}

/// Finds out when a connection moves next to nothing. libcurl's own limit would count the waits for a bandwidth limit, too.
struct StallTimer {
    /// A slower transfer counts as stalled: each request must end.
    static let slowestBytesPerSecond = 64.0

    private let limitSeconds: Double
    private var windowStart: UInt64
    private var bytesAtStart: UInt64 = 0
    private var excludedNanoseconds: UInt64 = 0

    /// - Parameter now: in nanoseconds, like in all calls.
    init(limitSeconds: Double, now: UInt64) {
        self.limitSeconds = limitSeconds
        windowStart = now
    }

    /// Time in which the transfer could not move because of this program.
    mutating func exclude(nanoseconds: UInt64) { excludedNanoseconds += nanoseconds }

    /// - Parameter movedBytes: since the start, in both directions.
    mutating func hasStalled(movedBytes: UInt64, now: UInt64) -> Bool {
        let seconds = (Double(now) - Double(windowStart) - Double(excludedNanoseconds)) / 1e9
        guard seconds >= limitSeconds else { return false }
        guard Double(movedBytes.subtractingSaturating(bytesAtStart)) >= Self.slowestBytesPerSecond * limitSeconds else {
            return true
        }
        bytesAtStart = movedBytes
        windowStart = now
        excludedNanoseconds = 0
        return false
    }
}
