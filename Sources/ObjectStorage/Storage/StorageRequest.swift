import BackupCore

/// One request to a storage, for counters and for logs. It has no credentials and no content.
public struct StorageRequest: Sendable, CustomStringConvertible {
    /// What a request is for.
    public enum Kind: String, Sendable, CaseIterable {
        case list, look, read, create, replace, remove, uploadPart, beginUpload, listParts, completeUpload, abortUpload, probe
    }

    public let kind: Kind
    /// `GET`, `PUT`, …
    public let method: String
    /// The object; `nil` for the bucket itself.
    public let name: ObjectName?
    /// Of the last answer; `nil` when there was none.
    public let status: Int?
    /// Of bodies, in all tries.
    public let sentBytes: UInt64
    /// Of bodies, in all tries.
    public let receivedBytes: UInt64
    /// How often it was sent: 1 when the first try succeeded.
    public let tryCount: Int
    /// New connections that it needed.
    public let connectionCount: Int
    /// From the first try to the end of the last, with the waits in between.
    public let seconds: Double

    public var description: String {
        let answer = status.map { "\($0)" } ?? "no answer"
        let milliseconds = Int((seconds * 1_000).rounded())
        let tries = tryCount == 1 ? "" : ", \(tryCount) tries"
        return
            "\(kind.rawValue) \(method) \(name?.text ?? "-"): \(answer), \(sentBytes) B sent, \(receivedBytes) B received, \(milliseconds) ms\(tries)"
    }
}

/// Sees each request of a storage after it has ended. Calls come from all threads that use the storage, and must be quick.
public protocol StorageRequestObserver: Sendable {
    /// Called once for each request, also for one that has failed.
    func storageRequestEnded(_ request: StorageRequest)
}
