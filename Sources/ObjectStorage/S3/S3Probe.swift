import BackupCore
import Synchronization
import SystemIO

/// What a server keeps of the promises of S3, found out by trial.
public struct S3ProbeReport: Sendable {
    /// One promise.
    public struct Finding: Sendable {
        /// What was tried.
        public let question: Message
        /// Whether the trial had the result that S3 promises.
        public let isKept: Bool
        /// What that means for backups.
        public let consequence: Message
    }

    /// For `S3Storage`.
    public let capabilities: StorageCapabilities
    /// In the order of the trials.
    public let findings: [Finding]
    /// Objects that could not be removed again: the credentials do not permit it.
    public let leftovers: [ObjectName]

    /// One line for each finding, for a person.
    public var lines: [Message] {
        var lines = findings.map { finding -> Message in
            finding.isKept ? "yes: \(finding.question)" : "NO:  \(finding.question); \(finding.consequence)"
        }
        if !leftovers.isEmpty {
            lines.append(
                .plural(
                    leftovers.count, one: "\(leftovers.count) object of this trial stays below \(S3Probe.folder)",
                    other: "\(leftovers.count) objects of this trial stay below \(S3Probe.folder)"))
        }
        return lines
    }
}

/// Tries out a server under a random name below the prefix, and removes what it has stored.
///
/// A server's word is not enough: OpenStack Swift accepts the header for create-only and ignores it, and other servers check it
/// before they store, which lets two clients pass at the same moment. So clients race here, several times.
public final class S3Probe {
    /// Below it are the objects of trials. They can be removed at any time.
    public static let folder = "backupfs-probe"
    private static let rounds = 6
    /// A server that serves racing clients one after the other, with waits of seconds, keeps the promise on purpose: the user
    /// does not wait for all rounds then.
    private static let racingNanoseconds: UInt64 = 2_000_000_000
    private static let fewestRounds = 2
    private static let racers = 4

    private let storage: S3Storage
    private let client: S3Client
    private let base: String
    private var stored: Set<ObjectName> = []
    private var findings: [S3ProbeReport.Finding] = []
    private var capabilities: StorageCapabilities = []

    private init(_ storage: S3Storage) {
        self.storage = storage
        client = storage.client
        base = "\(Self.folder)/\(RandomToken.make())"
    }

    /// Takes some dozens of requests.
    /// - Parameter storage: its capabilities do not matter.
    /// - Throws: when the bucket cannot be used at all, with the reason. Objects of the trial are removed then, too, if possible.
    public static func run(on storage: S3Storage) throws(BackupError) -> S3ProbeReport {
        let probe = S3Probe(storage)
        do throws(BackupError) {
            try probe.tryAll()
        } catch {
            _ = probe.cleanUp()
            throw error
        }
        let leftovers = probe.cleanUp()
        return S3ProbeReport(
            capabilities: probe.capabilities, findings: probe.findings, leftovers: leftovers.sorted())
    }

    private func tryAll() throws(BackupError) {
        let first = try tryStoring()
        try tryRanges(first)
        try tryListing(first)
        try tryChecksums()
        try tryCreateOnly(first)
        try tryCompareAndSwap()
        try tryRemoval(first)
    }

    private func note(_ question: Message, _ isKept: Bool, otherwise consequence: Message, _ capability: StorageCapabilities = [])
    {
        findings.append(S3ProbeReport.Finding(question: question, isKept: isKept, consequence: consequence))
        if isKept { capabilities.formUnion(capability) }
    }

    // MARK: Trials

    /// Without these, there is no storage.
    private func tryStoring() throws(BackupError) -> ObjectName {
        let name = try name("first")
        let bytes = Self.bytes("first")
        let answer = try put(name, bytes)
        guard answer.response.isSuccess else { throw client.error(answer, name) }
        guard try content(name) == bytes else {
            throw BackupError(
                .inputOutput, "the server returns other bytes than were stored", path: "\(storage.location)/\(name)")
        }
        return name
    }

    private func tryRanges(_ name: ObjectName) throws(BackupError) {
        let request = S3Request(kind: .probe, method: .get, name: name, headers: [HTTPHeader("Range", "bytes=2-4")])
        let answer = try client.sendExpectingSuccess(request)
        // Some answer with 200 and say only here what they send.
        let isAnnounced = answer.status == 206 || answer.response["content-range"].flatMap(ContentRange.init)?.start == 2
        note(
            "a range of an object is sent alone", isAnnounced && answer.body == Array(Self.bytes("first")[2...4]),
            otherwise: "each read transfers the object from its start", .rangedReads)
    }

    private func tryListing(_ first: ObjectName) throws(BackupError) {
        let inFolder = try name("order/a")
        let beside = try name("order-b")
        for name in [inFolder, beside] {
            let answer = try put(name, Self.bytes(name.text))
            guard answer.response.isSuccess else { throw client.error(answer, name) }
        }
        let listing = try storage.listPage(
            keyPrefix: storage.place.keyPrefix + base + "/", after: nil, continuation: nil, limit: 100)
        let names = listing.entries.map { String($0.key.utf8.dropFirst(storage.place.keyPrefix.utf8.count)) ?? "" }
        note(
            "a listing has what was stored just now", Set(names) == Set([first, inFolder, beside].map(\.text)),
            otherwise: "new backups may be overlooked for some time: do not use this server")
        note(
            "listings are in the order of names", names == [first, beside, inFolder].map(\.text),
            otherwise: "some listings are sorted here, and take longer")
    }

    private func tryChecksums() throws(BackupError) {
        let name = try name("checksum")
        let bytes = Self.bytes("right")
        let other = SHA256Hasher.hash(Self.bytes("other"))
        // The signature is for other bytes than those that are sent.
        var request = Self.putRequest(name, HTTPBody(bytes), [])
        request.wrongPayloadHash = other
        request.tryLimit = 1
        stored.insert(name)
        note(
            "bytes that do not fit their signature are refused", try !client.answer(to: request).response.isSuccess,
            otherwise: "bytes that change on their way are only noticed afterwards")
        request = Self.putRequest(name, HTTPBody(bytes), [HTTPHeader("x-amz-checksum-sha256", S3Storage.base64(other))])
        request.tryLimit = 1
        note(
            "bytes that do not fit their checksum are refused", try !client.answer(to: request).response.isSuccess,
            otherwise: "damage on the server is noticed only by backupfs itself")
    }

    private func tryCreateOnly(_ existing: ObjectName) throws(BackupError) {
        let header = [HTTPHeader("If-None-Match", "*")]
        let answer = try put(existing, Self.bytes("second"), header)
        let isUnchanged = try content(existing) == Self.bytes("first")
        var isKept = isUnchanged && (answer.status == 412 || answer.status == 409)
        let began = SystemClock.monotonicNanoseconds()
        for round in 0..<Self.rounds where isKept && Self.mayRace(round, since: began) {
            let name = try name("race-\(round)")
            isKept = try hasOneWinner(name) { _ in header }
        }
        note(
            "of several clients that create one object, one succeeds", isKept,
            otherwise: "only one computer may write to this storage", .conditionalCreate)
    }

    private func tryCompareAndSwap() throws(BackupError) {
        let name = try name("swap")
        var answer = try put(name, Self.bytes("0"))
        guard answer.response.isSuccess, let first = answer.tag else { throw client.error(answer, name) }
        answer = try put(name, Self.bytes("1"), [HTTPHeader("If-Match", "\"00000000000000000000000000000000\"")])
        let isUnchanged = try content(name) == Self.bytes("0")
        var isKept = isUnchanged && answer.status == 412
        var tag = first
        let began = SystemClock.monotonicNanoseconds()
        for round in 0..<Self.rounds where isKept && Self.mayRace(round, since: began) {
            let current = tag
            isKept = try hasOneWinner(name) { _ in [HTTPHeader("If-Match", S3Tag.quoted(current))] }
            guard let next = try storage.look(name)?.version.text, next != current else { isKept = false; break }
            tag = next
        }
        note(
            "of several clients that replace one object, one succeeds", isKept,
            otherwise: "only one computer may write to this storage", .compareAndSwap)
    }

    private func tryRemoval(_ first: ObjectName) throws(BackupError) {
        var request = S3Request(kind: .probe, method: .delete, name: first)
        request.headers = [HTTPHeader("If-Match", "\"00000000000000000000000000000000\"")]
        let refused = try client.answer(to: request)
        guard let facts = try storage.look(first) else {
            stored.remove(first)
            capabilities.insert(.removal)
            return note(
                "an object is not removed when it has changed", false, otherwise: "only one computer may remove backups")
        }
        request.headers = [HTTPHeader("If-Match", S3Tag.quoted(facts.version.text))]
        let answer = try client.answer(to: request)
        let isRemoved = try storage.look(first) == nil
        if isRemoved { stored.remove(first) }
        note(
            "an object is not removed when it has changed",
            refused.status == 412 && answer.response.isSuccess && isRemoved,
            otherwise: "only one computer may remove backups", .conditionalRemove)
        if !isRemoved {
            request.headers = []
            _ = try client.answer(to: request)
            if try storage.look(first) == nil { stored.remove(first) }
        }
        note(
            "the credentials permit removing objects", !stored.contains(first),
            otherwise: "other credentials have to prune and to replace", .removal)
    }

    private static func mayRace(_ round: Int, since began: UInt64) -> Bool {
        round < fewestRounds || SystemClock.monotonicNanoseconds() < began + racingNanoseconds
    }

    /// Several clients store different bytes at the same moment.
    private func hasOneWinner(_ name: ObjectName, _ headers: @Sendable @escaping (Int) -> [HTTPHeader]) throws(BackupError)
        -> Bool
    {
        stored.insert(name)
        let gate = Monitor(0)
        let answers = Mutex<[Int: Result<S3Answer, BackupError>]>([:])
        var threads: [SystemThread] = []
        let round = RandomToken.make()
        let client = client
        for racer in 0..<Self.racers {
            let request = Self.putRequest(name, HTTPBody(Self.bytes("\(round)-\(racer)")), headers(racer))
            threads.append(
                try SystemThread {
                    gate.changeWakingAll { $0 += 1 }
                    gate.wait(until: { $0 >= Self.racers }) { _ in }
                    let result = Result { () throws(BackupError) in try client.answer(to: request) }
                    answers.withLock { $0[racer] = result }
                })
        }
        for thread in threads { thread.join() }
        var winners: [Int] = []
        for (racer, result) in answers.withLock({ $0 }) {
            let answer = try result.get()
            guard !answer.hasAmbiguousTry else {
                throw BackupError(
                    .offline, "the network failed during the trial of the server", path: storage.location, remedy: "Try again.")
            }
            if answer.response.isSuccess {
                winners.append(racer)
            } else if answer.status != 412 && answer.status != 409 {
                throw client.error(answer, name)
            }
        }
        guard winners.count == 1 else { return false }
        return try content(name) == Self.bytes("\(round)-\(winners[0])")
    }

    // MARK: Requests

    private func name(_ part: String) throws(BackupError) -> ObjectName {
        guard let name = ObjectName("\(base)/\(part)") else { throw BackupError(.invalidArgument, "the prefix is too long") }
        return name
    }

    private static func bytes(_ text: String) -> [UInt8] { Array("backupfs probe \(text)".utf8) }

    private static func putRequest(_ name: ObjectName, _ body: HTTPBody, _ headers: [HTTPHeader]) -> S3Request {
        S3Request(kind: .probe, method: .put, name: name, headers: headers, body: body)
    }

    private func put(_ name: ObjectName, _ bytes: [UInt8], _ headers: [HTTPHeader] = []) throws(BackupError) -> S3Answer {
        stored.insert(name)
        return try client.answer(to: Self.putRequest(name, HTTPBody(bytes), headers))
    }

    private func content(_ name: ObjectName) throws(BackupError) -> [UInt8] {
        try client.sendExpectingSuccess(S3Request(kind: .probe, method: .get, name: name)).body
    }

    /// - Returns: what could not be removed.
    private func cleanUp() -> [ObjectName] {
        var left: [ObjectName] = []
        for name in stored {
            let answer = try? Cancellation.shielded { () throws(BackupError) in
                try client.answer(to: S3Request(kind: .probe, method: .delete, name: name))
            }
            if let answer, answer.response.isSuccess || answer.status == 404 { continue }
            left.append(name)
        }
        return left
    }
}
