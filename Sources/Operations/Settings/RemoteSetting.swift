import BackupCore
import ObjectStorage

/// One setting of a remote: its name in `store.yaml`, the part of `RemoteSettings` that it fills, and its two directions.
/// `RemoteSetting.all` is the table from which remotes are read, written and explained.
public struct RemoteSetting: Sendable {
    /// As in `store.yaml`.
    public let name: String
    /// Shown in a new `store.yaml`.
    let example: String
    /// Whether a folder has no use for it.
    let isForServers: Bool
    /// Throws `usage` for an invalid text.
    let take: @Sendable (inout RemoteSettings, _ text: String) throws(BackupError) -> Void
    /// As in `store.yaml`; `nil` for the default.
    let text: @Sendable (RemoteSettings) -> String?

    private init<Value: Equatable & Sendable>(
        _ name: String, _ key: WritableKeyPath<RemoteSettings, Value> & Sendable, isForServers: Bool = true,
        _ parse: @escaping @Sendable (String) throws(BackupError) -> Value, standard: Value,
        _ format: @escaping @Sendable (Value) -> String, example: String
    ) {
        self.name = name
        self.example = example
        self.isForServers = isForServers
        take = { (remote, text) throws(BackupError) in remote[keyPath: key] = try parse(text) }
        text = { remote in remote[keyPath: key] == standard ? nil : format(remote[keyPath: key]) }
    }

    /// A setting without a default.
    private init<Value: Equatable & Sendable>(
        _ name: String, _ key: WritableKeyPath<RemoteSettings, Value?> & Sendable, isForServers: Bool = true,
        _ parse: @escaping @Sendable (String) throws(BackupError) -> Value, _ format: @escaping @Sendable (Value) -> String,
        example: String
    ) {
        self.init(
            name, key, isForServers: isForServers, { (text) throws(BackupError) in try parse(text) }, standard: nil,
            { $0.map(format) ?? "" }, example: example)
    }

    /// A rule of retention, with the name and the values that it has for the store.
    private init(
        rule name: String, _ take: @escaping @Sendable (inout RetentionPolicy, _ text: String) throws(BackupError) -> Void,
        _ text: @escaping @Sendable (RetentionPolicy) -> String?, example: String
    ) {
        self.name = name
        self.example = example
        isForServers = false
        self.take = { (remote, text) throws(BackupError) in try take(&remote.retention, text) }
        self.text = { text($0.retention) }
    }

    private static let rules: [RemoteSetting] =
        RetentionPolicy.limits.map { rule in
            let key = rule.key
            return RemoteSetting(
                rule: rule.name,
                { (policy, text) throws(BackupError) in policy[keyPath: key] = try RetentionPolicy.Limit(parsing: text) },
                { $0[keyPath: key]?.text }, example: rule.example)
        } + [
            RemoteSetting(
                rule: RetentionPolicy.withinName,
                { (policy, text) throws(BackupError) in policy.within = try RetentionPeriod(parsing: text) }, { $0.within?.text },
                example: "1y")
        ]

    /// - Returns: `nil` for an unknown name.
    public static func named(_ name: String) -> RemoteSetting? { all.first { $0.name == name } }

    /// Reads a value, as it is in `store.yaml`.
    /// - Throws: `usage` for an invalid text; the remote is unchanged then.
    public func set(_ text: String, in remote: inout RemoteSettings) throws(BackupError) { try take(&remote, text) }

    static let kindName = "kind"

    static let url = RemoteSetting(
        "url", \.url, isForServers: false, word, standard: "", { $0 }, example: "s3:https://s3.example.org/bucket/cars")

    /// In the order of the file.
    public static let all: [RemoteSetting] =
        [
            url,
            RemoteSetting(
                kindName, \.kind, { (text) throws(BackupError) in try kind(text) }, standard: .copy, \.rawValue, example: "copy"),
            RemoteSetting(
                "after-backup", \.isAutomatic, isForServers: false, Setting.yesOrNo, standard: true, yesOrNo, example: "yes"),
            RemoteSetting("label", \.label, isForServers: false, line, { $0 }, example: "Example Cloud"),
            RemoteSetting("region", \.region, header, { $0 }, example: "eu-central-1"),
            RemoteSetting(
                "addressing", \.addressingStyle, { (text) throws(BackupError) in try addressing(text) }, \.rawValue,
                example: "virtual-host"),
            RemoteSetting("plain-http", \.permitsPlainHTTP, Setting.yesOrNo, standard: false, yesOrNo, example: "no"),
            RemoteSetting("profile", \.profile, line, { $0 }, example: "backups"),
            RemoteSetting("credentials-command", \.credentialsCommand, line, { $0 }, example: "pass show cars-backup"),
            RemoteSetting("certificate-file", \.certificateFile, line, { $0 }, example: "server.pem"),
            RemoteSetting("storage-class", \.storageClass, header, { $0 }, example: "STANDARD_IA"),
            RemoteSetting("encryption", \.serverSideEncryption, encryption, text, example: "managed"),
            RemoteSetting("object-lock", \.objectLock, objectLock, text, example: "governance:30d"),
            RemoteSetting("upload-limit", \.uploadBytesPerSecond, rate, ByteSize.text, example: "10 MB"),
            RemoteSetting("download-limit", \.downloadBytesPerSecond, rate, ByteSize.text, example: "10 MB"),
            RemoteSetting(
                "parallel-requests", \.parallelRequests, Setting.number(1...64, of: "requests"),
                standard: RemoteSettings.standardParallelRequests, { "\($0)" },
                example: "\(RemoteSettings.standardParallelRequests)"),
            RemoteSetting("quota", \.quotaBytes, isForServers: false, size, ByteSize.text, example: "100 GB"),
        ] + rules
}

/// Parsers of values, which throw `usage`, and the opposite direction.
extension RemoteSetting {
    private static let lengthLimit = 1_000

    /// One line, for people or for a shell.
    private static func line(_ text: String) throws(BackupError) -> String {
        guard !text.isEmpty, text.utf8.count <= lengthLimit * 4, text.unicodeScalars.allSatisfy(isOfLine) else {
            throw Setting.unusable(text, remedy: "Write one line of text.")
        }
        return text
    }

    private static func isOfLine(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        // The last one is a mark that readers of YAML drop.
        case "\u{2028}", "\u{2029}", "\u{FEFF}": false
        default: scalar.properties.generalCategory != .control
        }
    }

    /// What can stand in the header of a request, or in an address.
    private static func word(_ text: String) throws(BackupError) -> String {
        let line = try line(text)
        guard !line.hasPrefix(" "), !line.hasSuffix(" "), line.utf8.count <= lengthLimit else {
            throw Setting.unusable(text, remedy: "Write it without spaces at its ends.")
        }
        return line
    }

    private static func header(_ text: String) throws(BackupError) -> String {
        guard (1...lengthLimit).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Setting.unusable(text, remedy: "Write it in plain letters, digits and signs, without spaces.")
        }
        return text
    }

    private static func yesOrNo(_ flag: Bool) -> String { flag ? "yes" : "no" }

    private static func addressing(_ text: String) throws(BackupError) -> S3Location.AddressingStyle {
        try Setting.word(S3Location.AddressingStyle.self)(text)
    }

    private static func kind(_ text: String) throws(BackupError) -> RemoteSettings.Kind {
        try Setting.word(RemoteSettings.Kind.self)(text)
    }

    private static func encryption(_ text: String) throws(BackupError) -> S3Options.Encryption {
        if text == "managed" { return .managed }
        if text == "kms" { return .keyService(keyID: nil) }
        guard text.hasPrefix("kms:"), text.utf8.count > 4 else {
            throw Setting.unusable(text, remedy: "Write managed, kms or kms:KEY.")
        }
        return .keyService(keyID: try header(String(text.dropFirst(4))))
    }

    private static func text(_ encryption: S3Options.Encryption) -> String {
        switch encryption {
        case .managed: "managed"
        case .keyService(nil): "kms"
        case .keyService(let keyID?): "kms:\(keyID)"
        }
    }

    private static func objectLock(_ text: String) throws(BackupError) -> S3Options.ObjectLock {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let mode = S3Options.ObjectLock.Mode(rawValue: parts[0].uppercased()), parts[1].last == "d",
            let days = Int(parts[1].dropLast()), (1...36_500).contains(days)
        else {
            throw Setting.unusable(text, remedy: "Write governance or compliance with a number of days, such as governance:30d.")
        }
        return S3Options.ObjectLock(mode: mode, days: days)
    }

    private static func text(_ lock: S3Options.ObjectLock) -> String { "\(lock.mode.rawValue.lowercased()):\(lock.days)d" }

    /// Slower, a request counts as stalled.
    private static func rate(_ text: String) throws(BackupError) -> UInt64 {
        try ByteSize.parse(text.hasSuffix("/s") ? String(text.dropLast(2)) : text, least: 1_000)
    }

    private static func size(_ text: String) throws(BackupError) -> UInt64 { try ByteSize.parse(text, least: 1) }
}
