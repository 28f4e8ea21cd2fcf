import BackupCore
import SystemIO

/// How objects are stored on a server, beyond where.
public struct S3Options: Sendable, Equatable {
    /// Encryption by the server, with keys that it holds.
    public enum Encryption: Sendable, Equatable {
        /// With a key of the server's own.
        case managed
        /// With a key of a key management service; `nil` for the account's default key.
        case keyService(keyID: String?)
    }

    /// Keeps the server from removing or replacing new objects for some time. The bucket must permit it.
    public struct ObjectLock: Sendable, Equatable {
        /// Who may end it early.
        public enum Mode: String, Sendable, CaseIterable {
            /// Users with a special permission.
            case governance = "GOVERNANCE"
            /// No user can, not even the owner of the account.
            case compliance = "COMPLIANCE"
        }

        public let mode: Mode
        /// From the creation of each object on; at least 1.
        public let days: Int

        public init(mode: Mode, days: Int) {
            self.mode = mode
            self.days = days
        }
    }

    /// The region; `nil` for that of the environment or of the host (`S3Location.region`).
    public var region: String?
    /// Of new objects, such as `STANDARD_IA`; `nil` for the bucket's default. Archive classes cannot be read at once.
    public var storageClass: String?
    /// `nil` for the bucket's default.
    public var encryption: Encryption?
    /// Of new objects; replaced ones keep theirs.
    public var objectLock: ObjectLock?
    /// Larger objects are uploaded in parts; at least 5 MiB, at most 5 GiB.
    public var multipartThresholdBytes: UInt64 = 64 << 20
    /// Of all parts but the last, 5 MiB to 5 GiB. An object of more than 10,000 parts gets larger ones.
    public var partSizeBytes: UInt64 = 16 << 20

    public init() {}

    /// Of everything that is stored.
    func headers(isNew: Bool, now: Timestamp) -> [HTTPHeader] {
        var headers: [HTTPHeader] = []
        if let storageClass { headers.append(HTTPHeader("x-amz-storage-class", storageClass)) }
        switch encryption {
        case .managed: headers.append(HTTPHeader("x-amz-server-side-encryption", "AES256"))
        case .keyService(let keyID):
            headers.append(HTTPHeader("x-amz-server-side-encryption", "aws:kms"))
            if let keyID { headers.append(HTTPHeader("x-amz-server-side-encryption-aws-kms-key-id", keyID)) }
        case nil: break
        }
        if isNew, let objectLock {
            headers.append(HTTPHeader("x-amz-object-lock-mode", objectLock.mode.rawValue))
            let end = now.wholeSeconds.adding(seconds: Int64(objectLock.days).multipliedSaturating(by: 86_400))
            headers.append(HTTPHeader("x-amz-object-lock-retain-until-date", ISO8601.format(end)))
        }
        return headers
    }
}
