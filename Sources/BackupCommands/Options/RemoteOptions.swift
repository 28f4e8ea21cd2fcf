import ArgumentParser
import BackupCore
import Operations
import SystemIO

/// Options that say how a server is reached.
struct RemoteAccessOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The server's region (default: $AWS_REGION, else that in the name of the server, else us-east-1).",
            valueName: "region"))
    var region: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Where a URL has the bucket: path or virtual-host (default: path, and virtual-host for Amazon).", valueName: "style"),
        completion: .list(["path", "virtual-host"]))
    var addressing: String?
    @Flag(name: .long, help: "Permit http: to other machines. Everyone on the way can then read and change what is sent.")
    var plainHttp = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The section of ~/.aws/credentials with the credentials (default: $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY, else $AWS_PROFILE, else default).",
            valueName: "name"))
    var profile: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "A command, run by /bin/sh, that prints the credentials as JSON, as credential_process of the AWS programs does.",
            valueName: "command"))
    var credentialsCommand: String?
    @Option(
        name: .long,
        help: ArgumentHelp("A PEM file of the authorities to trust instead of the system's.", valueName: "file"),
        completion: .file())
    var certificateFile: String?
    @Option(name: .long, help: ArgumentHelp("Download at most so much a second, such as 10 MB.", valueName: "size"))
    var downloadLimit: String?
    @Option(name: .long, help: ArgumentHelp("How many requests run at once, 1 to 64 (default: 8).", valueName: "count"))
    var parallelRequests: String?

    init() {}

    /// - Throws: `usage` if any of them is given.
    func requireNone(because reason: Message) throws(BackupError) {
        let given = [
            ("--region", region), ("--addressing", addressing), ("--plain-http", plainHttp ? "" : nil), ("--profile", profile),
            ("--credentials-command", credentialsCommand), ("--certificate-file", certificateFile),
            ("--download-limit", downloadLimit), ("--parallel-requests", parallelRequests),
        ]
        guard let name = given.first(where: { $0.1 != nil })?.0 else { return }
        throw BackupError(.usage, "\(name) is for servers, and \(reason)", remedy: "Leave it out.")
    }

    /// - Throws: `usage` for an invalid value.
    func apply(to remote: inout RemoteSettings) throws(BackupError) {
        try remote.take([
            ("region", region), ("addressing", addressing), ("plain-http", plainHttp ? "yes" : nil), ("profile", profile),
            ("credentials-command", credentialsCommand),
            // In store.yaml, a relative path would start at the store.
            ("certificate-file", certificateFile.map(FileSystem.absolutePath)), ("download-limit", downloadLimit),
            ("parallel-requests", parallelRequests),
        ])
    }
}

/// Options that say what a new remote is for, and how objects are stored there.
struct RemoteStorageOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The service's name in messages (default: the remote's name).", valueName: "text"))
    var label: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "What it is for: copy (a copy of the backups) or photos (starred photos; see `backupfs star`).", valueName: "kind"),
        completion: .list(["copy", "photos"]))
    var kind: String?
    @Flag(name: .long, help: "Do not upload after each backup, only with `backupfs sync`.")
    var noAfterBackup = false
    @Option(
        name: .long,
        help: ArgumentHelp("The class of new objects, such as STANDARD_IA (default: the bucket's).", valueName: "class"))
    var storageClass: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Encryption by the server: managed (with a key of the server), kms or kms:KEY (default: the bucket's).",
            valueName: "kind"))
    var encryption: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Keep the server from deleting a new object for this long, such as governance:30d or compliance:30d.",
            valueName: "mode:days"))
    var objectLock: String?
    @Option(name: .long, help: ArgumentHelp("Upload at most so much a second, such as 10 MB.", valueName: "size"))
    var uploadLimit: String?
    @Option(
        name: .long, help: ArgumentHelp("Upload nothing that makes the copy larger than this, such as 100 GB.", valueName: "size")
    )
    var quota: String?

    init() {}

    /// - Throws: `usage` for an invalid value.
    func apply(to remote: inout RemoteSettings) throws(BackupError) {
        try remote.take([
            ("kind", kind), ("label", label), ("after-backup", noAfterBackup ? "no" : nil), ("storage-class", storageClass),
            ("encryption", encryption), ("object-lock", objectLock), ("upload-limit", uploadLimit), ("quota", quota),
        ])
    }
}

extension RemoteSettings {
    /// Takes values from the command line, by the table of settings.
    fileprivate mutating func take(_ values: [(name: String, text: String?)]) throws(BackupError) {
        for (name, text) in values {
            guard let text else { continue }
            do throws(BackupError) {
                try RemoteSetting.named(name)?.set(text, in: &self)
            } catch {
                throw error.with(nil, "--\(name): \(error.message)")
            }
        }
    }
}
