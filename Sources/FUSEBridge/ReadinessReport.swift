import BackupCore

/// The report of a background mount to the process that started it: that it responds, or why it failed.
enum ReadinessReport {
    case ready
    case failed(BackupError)

    private static let readyMark: UInt8 = 1
    private static let failureMark: UInt8 = 2

    /// - Returns: `nil` for anything but a complete report, such as no bytes from a process that died.
    init?(encoded: [UInt8]) {
        if encoded == [Self.readyMark] {
            self = .ready
            return
        }
        guard encoded.first == Self.failureMark, let error = Self.decode(encoded) else { return nil }
        self = .failed(error)
    }

    var encoded: [UInt8] {
        guard case .failed(let error) = self else { return [Self.readyMark] }
        var writer = ByteWriter()
        writer.append(Self.failureMark)
        writer.append(error.code.rawValue)
        writer.append(error.path ?? "")
        let messages = [error.message, error.remedy ?? .verbatim("")] + error.findings
        writer.append(UInt32(messages.count))
        for message in messages { writer.append(message) }
        return writer.bytes
    }

    private static func decode(_ bytes: [UInt8]) -> BackupError? {
        var reader = ByteReader(bytes[1...])
        do {
            let code = BackupError.Code(rawValue: try reader.readText())
            let path = try reader.readText()
            var messages: [Message] = []
            for _ in 0..<(try reader.read(UInt32.self)) { messages.append(try reader.readMessage()) }
            guard let code, messages.count >= 2, reader.isAtEnd else { return nil }
            let remedy = messages[1].english.isEmpty ? nil : messages[1]
            return BackupError(
                code, messages[0], path: path.isEmpty ? nil : path, remedy: remedy, findings: Array(messages[2...]))
        } catch {
            return nil
        }
    }
}
