import SystemIO

/// Runs programs as on another machine: in a mount and a UTS namespace with their own
/// boot ID, machine ID and host name. The files are those of this machine. For root only.
public struct OtherHost: Sendable {
    private static let script = """
        mount --make-rprivate /; mount --bind "$0/boot" /proc/sys/kernel/random/boot_id; mount --bind "$0/machine" /etc/machine-id
        hostname "$1"; shift; exec "$@"
        """

    private let name: String
    private let folder: String

    /// - Parameter folder: a folder that does not exist yet, for the host's IDs; the caller removes it.
    public init(_ name: String, folder: String) throws {
        self.name = name
        self.folder = folder
        try FileSystem.makeDirectories(folder)
        try writeFile("\(folder)/boot", try readFile("/proc/sys/kernel/random/uuid"))
        try writeFile("\(folder)/machine", Array((RandomToken.make() + "\n").utf8))
    }

    /// The command that runs a command there. It has one process, which becomes that of the command.
    public func command(_ command: [String]) -> [String] {
        ["unshare", "--mount", "--uts", "bash", "-ec", Self.script, folder, name] + command
    }
}
