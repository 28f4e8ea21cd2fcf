import BackupCore
import Glibc
import SystemIO

/// Runs a command that prints credentials as JSON, in the form of the AWS programs' `credential_process`: `Version` 1,
/// `AccessKeyId`, `SecretAccessKey`, and perhaps `SessionToken` and `Expiration`.
/// <https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-sourcing-external.html>
enum CredentialsCommand {
    private static let timeoutSeconds = 60.0
    /// What the command sees of the environment: no passwords, and no credentials of others.
    private static let passedVariables = [
        "HOME", "USER", "LOGNAME", "LANG", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS", "AWS_PROFILE",
        "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CA_BUNDLE", "SSL_CERT_FILE",
        "SSL_CERT_DIR", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
        "NO_PROXY",
    ]

    /// - Throws: `accessDenied` when it fails or prints something else. The error has nothing of its output.
    static func run(_ command: String) throws(BackupError) -> S3Credentials {
        var environment = ["PATH": Environment.text("PATH") ?? "/usr/local/bin:/usr/bin:/bin"]
        for name in passedVariables { environment[name] = Environment.text(name) }
        // Its errors would be mixed with its output.
        let shell = ShellCommand("{ \(command)\n} 2>/dev/null", timeoutSeconds: timeoutSeconds, folder: "/")
        let result = try shell.run(environment: environment)
        guard !result.hasTimedOut else { throw failure("the command for credentials has not ended after 60 seconds") }
        guard result.exitCode == 0 else {
            throw failure("the command for credentials has failed with exit code \(result.exitCode)")
        }
        return try credentials(from: result.output)
    }

    static func credentials(from output: String) throws(BackupError) -> S3Credentials {
        guard let values = FlatJSON.object(output) else { throw failure("the command for credentials did not print JSON") }
        guard values["Version"] == "1" else { throw failure("the credentials of the command are not of version 1") }
        guard let key = values["AccessKeyId"], let secret = values["SecretAccessKey"] else {
            throw failure("the command for credentials printed no access key with a secret")
        }
        var expiration: Timestamp?
        if let text = values["Expiration"] {
            guard let time = ISO8601.parse(text) else { throw failure("the credentials of the command have no valid expiration") }
            expiration = time
        }
        return try S3Credentials(
            accessKeyID: key, secretAccessKey: secret, sessionToken: values["SessionToken"], expiresAt: expiration)
    }

    private static func failure(_ message: Message) -> BackupError {
        BackupError(
            .accessDenied, message,
            remedy: "Run the command by hand: it has to print the JSON that credential_process of the AWS programs prints.")
    }
}

/// Reads one JSON object of texts and numbers, as programs print credentials. Other values in it are refused.
enum FlatJSON {
    /// - Returns: the members, numbers in their written form and without those that are `null`; `nil` for anything else.
    static func object(_ text: String) -> [String: String]? {
        var scanner = Scanner(rest: Array(text.utf8)[...])
        var members: [String: String] = [:]
        guard scanner.take("{") else { return nil }
        if scanner.take("}") { return scanner.isAtEnd ? members : nil }
        repeat {
            guard let name = scanner.text(), scanner.take(":"), let value = scanner.value() else { return nil }
            guard members.updateValue(value, forKey: name) == nil else { return nil }
        } while scanner.take(",")
        guard scanner.take("}"), scanner.isAtEnd else { return nil }
        return members.filter { $0.value != Scanner.null }
    }

    private struct Scanner {
        /// A text of the document that is equal to it has an escaped control character: no credential has one.
        static let null = "\u{0}null"

        var rest: ArraySlice<UInt8>

        var isAtEnd: Bool { rest.allSatisfy(Self.isSpace) }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            rest = rest.drop(while: Self.isSpace)
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func value() -> String? {
            rest = rest.drop(while: Self.isSpace)
            if rest.first == UInt8(ascii: "\"") { return text() }
            let word = rest.prefix { !Self.isSpace($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "}") }
            rest = rest.dropFirst(word.count)
            let text = String(decoding: word, as: UTF8.self)
            if text == "null" { return Self.null }
            return Int(text) != nil || text == "true" || text == "false" ? text : nil
        }

        mutating func text() -> String? {
            guard take("\"") else { return nil }
            var bytes: [UInt8] = []
            while let byte = rest.popFirst() {
                switch byte {
                case UInt8(ascii: "\""): return String(validating: bytes, as: UTF8.self)
                case UInt8(ascii: "\\"):
                    guard let scalar = escaped() else { return nil }
                    bytes += Array(String(scalar).utf8)
                case 0..<0x20: return nil
                default: bytes.append(byte)
                }
            }
            return nil
        }

        /// Pairs of surrogates are refused: no credential has characters beyond ASCII.
        private mutating func escaped() -> Unicode.Scalar? {
            switch rest.popFirst() {
            case UInt8(ascii: "\""): return "\""
            case UInt8(ascii: "\\"): return "\\"
            case UInt8(ascii: "/"): return "/"
            case UInt8(ascii: "b"): return "\u{8}"
            case UInt8(ascii: "f"): return "\u{C}"
            case UInt8(ascii: "n"): return "\n"
            case UInt8(ascii: "r"): return "\r"
            case UInt8(ascii: "t"): return "\t"
            case UInt8(ascii: "u"):
                let digits = rest.prefix(4)
                rest = rest.dropFirst(digits.count)
                guard digits.count == 4, let bytes = Hexadecimal.decode(digits) else { return nil }
                return Unicode.Scalar(UInt32(bytes[0]) << 8 | UInt32(bytes[1]))
            default: return nil
            }
        }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
    }
}
