import BackupCore
import Export
import SystemIO

/// The state of an operation at one moment: of this process, or as recorded by another. The member `operation` of `status.json`.
public struct OperationState: Sendable, Equatable {
    /// `backup`, `restore`.
    public internal(set) var name: String
    public internal(set) var startedAt: String
    public internal(set) var phase: Message
    public internal(set) var message: Message
    public internal(set) var percent: Int?
    public internal(set) var processedItems: UInt64
    public internal(set) var totalItems: UInt64
    public internal(set) var processedBytes: UInt64
    /// `nil` while unknown.
    public internal(set) var totalBytes: UInt64?
    public internal(set) var timing: OperationTiming.Reading

    init(name: String, startedAt: Timestamp, progress: OperationProgress, timing: OperationTiming.Reading) {
        self.name = name
        self.startedAt = ISO8601.format(startedAt.wholeSeconds)
        phase = progress.phase
        message = progress.message
        percent = progress.percent
        processedItems = progress.processedItems
        totalItems = progress.totalItems
        processedBytes = progress.processedBytes
        totalBytes = progress.totalBytes > 0 ? progress.totalBytes : nil
        self.timing = timing
    }

    /// The name comes first: readers search the text for it.
    var json: OrderedJSON {
        .members([
            "operation": .text(name), "startedAt": .text(startedAt), "phase": .text(phase.english),
            "message": .text(message.english),
            "percent": percent.map { .integer($0) } ?? .null, "processedItems": .integer(processedItems),
            "totalItems": .integer(totalItems), "processedBytes": .integer(processedBytes),
            "totalBytes": totalBytes.map { .integer($0) } ?? .null, "elapsedSeconds": Self.decimal(timing.elapsedSeconds),
            "rollingBytesPerSecond": .integer(Self.whole(timing.rollingBytesPerSecond)),
            "averageBytesPerSecond": .integer(Self.whole(timing.averageBytesPerSecond)),
            "peakBytesPerSecond": .integer(Self.whole(timing.peakBytesPerSecond)),
            "remainingSeconds": timing.remainingSeconds.map { .integer(Self.whole($0)) } ?? .null,
        ])
    }

    private static func whole(_ number: Double) -> UInt64 { UInt64(min(max(number.rounded(), 0), 9e18)) }

    /// With one decimal.
    private static func decimal(_ number: Double) -> OrderedJSON {
        let tenths = whole(number * 10)
        return .written(Array("\(tenths / 10).\(tenths % 10)".utf8))
    }
}

extension OperationState {
    /// Parses the document that `json` produces, which has each member on its own line.
    /// - Returns: `nil` for anything else.
    init?(recorded text: [UInt8]) {
        let values = RecordedMembers(text)
        guard let name = values.text("operation"), let startedAt = values.text("startedAt"), let phase = values.text("phase")
        else { return nil }
        self.name = name
        self.startedAt = startedAt
        // Constant texts have a translation; those that contain numbers stay as written.
        self.phase = Message(stringLiteral: phase)
        message = Message(stringLiteral: values.text("message") ?? phase)
        percent = values.number("percent").map { Int(min($0, 100)) }
        processedItems = values.number("processedItems") ?? 0
        totalItems = values.number("totalItems") ?? 0
        processedBytes = values.number("processedBytes") ?? 0
        totalBytes = values.number("totalBytes")
        timing = OperationTiming.Reading(
            elapsedSeconds: values.decimal("elapsedSeconds") ?? 0,
            rollingBytesPerSecond: values.decimal("rollingBytesPerSecond") ?? 0,
            averageBytesPerSecond: values.decimal("averageBytesPerSecond") ?? 0,
            peakBytesPerSecond: values.decimal("peakBytesPerSecond") ?? 0, remainingSeconds: values.decimal("remainingSeconds"))
    }
}
