import BackupCore

/// What a mount in the background tells whoever started it: that it answers, or why it does not.
enum ReadinessReport {
    case ready
    case failed(BackupError)

    private static let readyMark: UInt8 = 1
    private static let failureMark: UInt8 = 2

    /// - Returns: `nil` for anything but a whole report, such as nothing at all from a process that died.
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
        for text in [error.code.rawValue, error.message, error.path ?? "", error.remedy ?? ""] { writer.append(text) }
        writer.append(UInt32(error.findings.count))
        for finding in error.findings { writer.append(finding) }
        return writer.bytes
    }

    private static func decode(_ bytes: [UInt8]) -> BackupError? {
        var reader = ByteReader(bytes[1...])
        do {
            let code = BackupError.Code(rawValue: try reader.readText())
            let message = try reader.readText()
            let path = try reader.readText()
            let remedy = try reader.readText()
            var findings: [String] = []
            for _ in 0..<(try reader.read(UInt32.self)) { findings.append(try reader.readText()) }
            guard let code, reader.isAtEnd else { return nil }
            return BackupError(
                code, message, path: path.isEmpty ? nil : path, remedy: remedy.isEmpty ? nil : remedy, findings: findings)
        } catch {
            return nil
        }
    }
}
