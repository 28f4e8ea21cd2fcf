import BackupCore
import SystemIO

/// The shared files of the AWS programs: `~/.aws/credentials` and `~/.aws/config`, or those that `AWS_SHARED_CREDENTIALS_FILE`
/// and `AWS_CONFIG_FILE` name. A profile has keys, or a `credential_process`; the other ways of a profile (SSO, roles) need a
/// command.
/// <https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html>
struct AWSProfileFiles {
    private static let limitBytes = 1 << 20

    let credentialsPath: String
    let configPath: String

    static func ofEnvironment() -> AWSProfileFiles {
        let home = Environment.text("HOME") ?? "/root"
        func path(_ variable: String, _ usual: String) -> String {
            guard let path = Environment.text(variable) else { return "\(home)/.aws/\(usual)" }
            return path.hasPrefix("~/") ? "\(home)\(path.dropFirst(1))" : path
        }
        return AWSProfileFiles(
            credentialsPath: path("AWS_SHARED_CREDENTIALS_FILE", "credentials"), configPath: path("AWS_CONFIG_FILE", "config"))
    }

    /// - Parameter profile: `nil` for `default`.
    /// - Throws: `accessDenied` when the profile has no credentials.
    func credentials(profile: String?) throws(BackupError) -> S3Credentials {
        let name = profile ?? "default"
        let isKnown: Bool
        var values: [String: String] = [:]
        do {
            let config = try Self.read(configPath)
            let shared = try Self.read(credentialsPath)
            // In the configuration, all sections but that of the default profile begin with a word.
            let inConfig = config["profile \(name)"] ?? (name == "default" ? config["default"] : nil)
            let inShared = shared[name]
            isKnown = inConfig != nil || inShared != nil
            values = inConfig ?? [:]
            // Keys are taken from one file: a key and the secret of another one would not fit together.
            if let inShared, inShared["aws_access_key_id"] != nil {
                for key in ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"] { values[key] = nil }
            }
            values.merge(inShared ?? [:]) { _, new in new }
        }
        if let key = values["aws_access_key_id"], let secret = values["aws_secret_access_key"] {
            return try S3Credentials(accessKeyID: key, secretAccessKey: secret, sessionToken: values["aws_session_token"])
        }
        if let command = values["credential_process"] { return try CredentialsCommand.run(command) }
        if values.keys.contains(where: { $0.hasPrefix("sso_") || $0 == "role_arn" || $0 == "web_identity_token_file" }) {
            throw BackupError(
                .accessDenied, "the profile \(MessageText.shortened(name)) uses SSO or a role, which needs another program",
                remedy: "Set credentials-command to: aws configure export-credentials --format process --profile NAME")
        }
        throw BackupError(
            .accessDenied,
            isKnown
                ? "the profile \(MessageText.shortened(name)) has no access key with a secret"
                : "there are no credentials for the server",
            path: credentialsPath,
            remedy: """
                Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, add the profile to the file of credentials, or set \
                credentials-command.
                """)
    }

    /// - Returns: the sections with their values; none when there is no file.
    private static func read(_ path: String) throws(BackupError) -> [String: [String: String]] {
        guard let bytes = try FileSystem.readFileIfPresent(path, limitBytes: limitBytes) else { return [:] }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw BackupError(.invalidContent, "the file of credentials is not text in UTF-8", path: path)
        }
        do throws(BackupError) {
            return try parse(text)
        } catch {
            throw error.at(path)
        }
    }

    /// The form of these files: sections in brackets, `name = value`, comments on lines of their own. An indented line belongs to
    /// the value before it, and is ignored: no value that is used here has one.
    /// - Throws: `invalidContent` with the number of the line, never with its text, which may be a secret.
    static func parse(_ text: String) throws(BackupError) -> [String: [String: String]] {
        var sections: [String: [String: String]] = [:]
        var section: String?
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }
        for (index, line) in lines.enumerated() {
            let words = Self.trimmed(line)
            guard let first = words.first, first != "#", first != ";" else { continue }
            if line.first == " " || line.first == "\t" { continue }
            if first == "[" {
                guard let end = words.firstIndex(of: "]") else { throw invalid(index, "a section has no closing bracket") }
                let name = words[words.index(after: words.startIndex)..<end].split { $0 == " " || $0 == "\t" }
                let joined = name.map { $0.filter { $0 != "\"" && $0 != "'" } }.joined(separator: " ")
                guard !joined.isEmpty else { throw invalid(index, "a section has no name") }
                section = joined
                sections[joined] = sections[joined] ?? [:]
                continue
            }
            guard let equals = words.firstIndex(of: "="), equals != words.startIndex else {
                throw invalid(index, "a line is neither a section nor NAME = VALUE")
            }
            guard let section else { throw invalid(index, "a value is in no section") }
            let name = Self.trimmed(words[..<equals]).lowercased()
            let value = Self.trimmed(words[words.index(after: equals)...])
            sections[section, default: [:]][name] = value.isEmpty ? nil : String(value)
        }
        return sections
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let rest = text.drop { $0 == " " || $0 == "\t" }
        let end = rest.lastIndex { $0 != " " && $0 != "\t" }.map { rest.index(after: $0) } ?? rest.startIndex
        return rest[..<end]
    }

    private static func invalid(_ index: Int, _ reason: Message) -> BackupError {
        BackupError(
            .invalidContent, "line \(index + 1) of the file of credentials: \(reason)",
            remedy: "Correct the line, or write the file with: aws configure")
    }
}
