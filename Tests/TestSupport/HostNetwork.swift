import Glibc
import SystemIO

/// Hosts that a network connects, and a switch between them with an address for servers. All of it is in namespaces, and nothing
/// of it is visible outside. For root only.
public final class HostNetwork: Sendable {
    /// Of the switch.
    public static let address = "10.77.0.1"
    /// The same as an IPv6 address.
    public static let address6 = "fd77::1"
    /// Why tests of it do not run where it is not possible.
    public static let whyNot =
        "NOT TESTED: a network of hosts needs root, ip(8) and nsenter(1), and a kernel with veth and bridge"

    /// Whether this machine can make one: for a trait of the tests.
    public static let isPossible: Bool = {
        guard Machine.isRoot, Machine.hasTool("nsenter") else { return false }
        let script = "ip link add one type veth peer name two; ip link add bridge type bridge; ip link set one master bridge"
        return (try? run(["unshare", "--net", "--mount", "bash", "-ec", script]).status) == 0
    }()

    /// Where servers listen: `FaultProxy` does.
    public let center: OtherHost.Running
    /// In the order of their names.
    public let hosts: [OtherHost.Running]
    private let folder: TemporaryFolder
    /// Of the namespaces, as links in `/proc` name them.
    private let namespaces: Set<String>

    /// - Parameter names: of the hosts.
    public init(_ names: [String]) throws {
        let folder = try TemporaryFolder()
        func start(_ name: String) throws -> OtherHost.Running {
            try OtherHost(name, folder: folder(name)).start(scratch: folder("\(name).job"))
        }
        center = try start("switch")
        hosts = try names.map(start)
        self.folder = folder
        namespaces = Set(([center] + hosts).flatMap { Self.namespaces(of: "\($0.process)") })
        try center.sh(
            """
            ip link add bridge type bridge; ip addr add \(Self.address)/24 dev bridge
            ip -6 addr add \(Self.address6)/64 dev bridge nodad; ip link set bridge up
            """)
        for (index, host) in hosts.enumerated() {
            try center.sh(
                """
                ip link add port\(index) type veth peer name eth0 netns \(host.process); ip link set port\(index) master bridge up
                """)
            // A link that is taken down loses its IPv6 addresses otherwise.
            try host.sh(
                """
                ip addr add 10.77.0.\(index + 2)/24 dev eth0; echo 1 > /proc/sys/net/ipv6/conf/eth0/keep_addr_on_down
                ip -6 addr add fd77::\(index + 2)/64 dev eth0 nodad; ip link set eth0 up
                """)
        }
    }

    /// Takes the host's own link down: it knows at once that it has no network.
    public func takeDown(_ index: Int) throws { try hosts[index].sh("ip link set eth0 down") }

    public func bringUp(_ index: Int) throws { try hosts[index].sh("ip link set eth0 up") }

    /// Takes the host's port of the switch down: what it sends is lost.
    public func unplug(_ index: Int) throws { try center.sh("ip link set port\(index) down") }

    public func plugIn(_ index: Int) throws { try center.sh("ip link set port\(index) up") }

    /// Ends all hosts.
    /// - Returns: the processes that still run in their namespaces after a while; these are gone when there is none.
    public func stop() -> [String] {
        for host in hosts + [center] { host.stop() }
        var left = remaining
        for _ in 0..<500 where !left.isEmpty {
            usleep(20_000)
            left = remaining
        }
        return left
    }

    private var remaining: [String] {
        let processes = (try? SystemIO.DirectoryHandle(path: "/proc").names())?.map(\.description) ?? []
        return processes.filter { pid_t($0) != nil && !Self.namespaces(of: $0).isDisjoint(with: namespaces) }
    }

    private static func namespaces(of process: String) -> Set<String> {
        Set(["mnt", "net", "uts"].compactMap { Machine.linkTarget("/proc/\(process)/ns/\($0)") })
    }
}
