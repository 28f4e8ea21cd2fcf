import ArgumentParser
import BackupCore
import Glibc
import Operations
import SystemIO

struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Show the mounted folder to browsers and other machines, for reading.",
        discussion: """
            Serves the folder in which the store is mounted over HTTP, as pages and as WebDAV, until it is ended (Ctrl-C). It prints \
            the address with a token, without which nothing is shown; for WebDAV the token is the password of any user name. \
            Nothing can be changed this way.

            What goes over a network is not encrypted here: let a web server with a certificate forward requests to it.

            Example:
              backupfs serve --http 127.0.0.1:8080
            """)

    @OptionGroup var store: StoreOptions

    @Option(
        name: .customLong("http"),
        help: ArgumentHelp("The address to listen on; port 0 for a free one.", valueName: "address:port"))
    var address: String

    @Option(
        help: ArgumentHelp(
            "A file with the token, in its first line. Without it, each start has a new one.", valueName: "file"),
        completion: .file())
    var tokenFile: String?

    @Flag(help: "Also listen on an address that other machines reach, without encryption.")
    var unencrypted = false

    func run() throws {
        let paths = try StorePaths(root: store.path())
        try paths.requireTrustedStore()
        guard let mountpoint = MountRecord.mountpoint(paths) else {
            throw BackupError(
                .notFound, "the store is not mounted", path: paths.root, remedy: "Mount it first with: backupfs mount")
        }
        try requireLocal()
        let token = try tokenFile.map { (path) throws(BackupError) in try Self.token(in: path) } ?? RandomToken.make()
        guard let program = InstalledHelper.path(of: "backupfs-serve") else {
            throw BackupError(
                .notSupported, "backupfs-serve is not installed", remedy: "Build and install it with: make serve && make install")
        }
        try InstalledHelper.become(
            program, [program, address, mountpoint],
            adding: ["BACKUPFS_SERVE_TOKEN=\(token)", "BACKUPFS_SERVE_LANGUAGE=\(paths.language.rawValue)"])
    }

    /// - Throws: `usage` for an address that other machines reach.
    private func requireLocal() throws(BackupError) {
        guard !unencrypted, !address.hasPrefix("127."), !address.hasPrefix("[::1]:") else { return }
        throw BackupError(
            .usage, "other machines may reach \(MessageText.shortened(address)), and nothing would be encrypted",
            remedy: """
                Use 127.0.0.1:8080 and a web server with a certificate in front of it, or add --unencrypted in a network that you \
                trust.
                """)
    }

    private static func token(in path: String) throws(BackupError) -> String {
        let bytes = try FileSystem.readFile(path, limitBytes: 4_096)
        let rest = bytes.split(separator: 10, maxSplits: 1, omittingEmptySubsequences: false).first ?? []
        let line = rest.last == 13 ? rest.dropLast() : rest
        guard AccessTokenText.isUsable(line) else {
            throw BackupError(
                .usage, "the first line is no token", path: path,
                remedy: "Write 16 or more letters and digits into it, for example from: openssl rand -hex 16")
        }
        return String(decoding: line, as: UTF8.self)
    }
}
