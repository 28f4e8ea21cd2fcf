import BackupCore
import Glibc
import SystemIO

/// An access key with its secret, and a session token if it is temporary. A description never has the secrets.
public struct S3Credentials: Sendable, CustomStringConvertible {
    /// Not secret: it names the key.
    public let accessKeyID: String
    let secretAccessKey: SecretBytes
    let sessionToken: SecretBytes?
    /// When the server stops accepting them; `nil` if they stay valid.
    public let expiresAt: Timestamp?

    /// - Throws: `invalidArgument` when a part is empty or has characters that cannot be in a header.
    public init(
        accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil, expiresAt: Timestamp? = nil
    ) throws(BackupError) {
        for part in [accessKeyID, secretAccessKey, sessionToken ?? "-"] {
            guard !part.isEmpty, part.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw BackupError(
                    .invalidArgument, "an access key, its secret or its session token is empty or has invalid characters",
                    remedy: "Copy the access key again from the provider's page.")
            }
        }
        self.accessKeyID = accessKeyID
        self.secretAccessKey = SecretBytes.of(secretAccessKey)
        self.sessionToken = sessionToken.map { SecretBytes.of($0) }
        self.expiresAt = expiresAt
    }

    public var description: String { "access key \(accessKeyID)" }

    func isSame(as other: S3Credentials) -> Bool {
        accessKeyID == other.accessKeyID && secretAccessKey.isEqual(to: other.secretAccessKey)
            && (sessionToken.map { token in other.sessionToken.map { token.isEqual(to: $0) } ?? false }
                ?? (other.sessionToken == nil))
    }
}

/// Where the credentials come from, and the current ones. They are asked for when a request needs them, again before they expire,
/// and after the server has refused them.
///
/// The metadata services of containers and virtual machines are deliberately left out: a request to a link-local address that any
/// program on the network may answer is no source for keys of backups. A command can ask them.
public final class S3CredentialSource: Sendable {
    /// What is asked.
    public enum Origin: Sendable {
        /// The environment (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`), unless a profile is given, and
        /// then the shared files of the AWS programs (`AWSProfileFiles`).
        case standard(profile: String? = nil)
        /// A command for /bin/sh, which prints the JSON that the AWS programs' `credential_process` prints.
        case command(String)
        /// These, for ever.
        case fixed(S3Credentials)
    }

    /// Temporary credentials are renewed this many seconds before they expire.
    private static let renewalSeconds: Int64 = 300

    private struct State {
        var current: S3Credentials?
        var renewAt: Timestamp?
        /// Whether a thread asks now; the others wait for it.
        var isAsking = false
    }

    private let origin: Origin
    private let now: @Sendable () -> Timestamp
    private let state = Monitor(State())

    /// Asks nothing yet. From now on the process leaves no core file, and other programs of the user cannot read its environment,
    /// where the secret may be.
    public convenience init(_ origin: Origin) {
        ProcessSecrecy.begin()
        self.init(origin) { SystemClock.systemTime() }
    }

    init(_ origin: Origin, now: @escaping @Sendable () -> Timestamp) {
        self.origin = origin
        self.now = now
    }

    /// The credentials for the next request.
    /// - Throws: `accessDenied` when there are none, with what to do; errors of the files and of the command.
    public func current() throws(BackupError) -> S3Credentials {
        let kept = state.wait(until: { !$0.isAsking }) { state -> S3Credentials? in
            if let current = state.current, state.renewAt.map({ now() < $0 }) ?? true { return current }
            state.isAsking = true
            return nil
        }
        if let kept { return kept }
        do throws(BackupError) {
            let asked = try ask()
            let time = now()
            if let end = asked.expiresAt, end <= time {
                throw BackupError(
                    .accessDenied, "the credentials have expired already", remedy: "Renew them, or check this machine's clock.")
            }
            state.changeWakingAll { state in
                state.isAsking = false
                state.current = asked
                // Half of the time of very short ones.
                state.renewAt = asked.expiresAt.map { end in
                    max(end.adding(seconds: -Self.renewalSeconds), time.adding(seconds: end.secondsSince(time) / 2))
                }
            }
            return asked
        } catch {
            let remaining = state.changeWakingAll { state -> S3Credentials? in
                state.isAsking = false
                return state.current.flatMap { $0.expiresAt.map { now() < $0 } ?? true ? $0 : nil }
            }
            // A command that fails must not end requests for which the old ones suffice.
            if let remaining { return remaining }
            throw error
        }
    }

    /// Forgets credentials that the server has refused: the next call of `current` asks for others.
    func refuse(_ refused: S3Credentials) {
        state.withLock { state in
            if let current = state.current, current.isSame(as: refused) { state.current = nil }
        }
    }

    private func ask() throws(BackupError) -> S3Credentials {
        switch origin {
        case .fixed(let credentials): return credentials
        case .command(let command): return try CredentialsCommand.run(command)
        case .standard(let profile):
            if profile == nil, let found = try Self.ofEnvironment({ Environment.text($0) }) { return found }
            return try AWSProfileFiles.ofEnvironment().credentials(profile: profile ?? Environment.text("AWS_PROFILE"))
        }
    }

    static func ofEnvironment(_ variable: (String) -> String?) throws(BackupError) -> S3Credentials? {
        guard let key = variable("AWS_ACCESS_KEY_ID"), let secret = variable("AWS_SECRET_ACCESS_KEY") else { return nil }
        return try S3Credentials(accessKeyID: key, secretAccessKey: secret, sessionToken: variable("AWS_SESSION_TOKEN"))
    }
}
