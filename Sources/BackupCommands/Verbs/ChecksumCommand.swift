import ArgumentParser
import BackupCore
import BackupRepository
import CopyVerify
import Formats
import SystemIO

struct ChecksumCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "checksum",
        abstract: "Print checksums of files, as sha256sum does.",
        discussion: """
            A file that was read in the last hour and has not changed is not read again. sha256sum -c, sha1sum -c and md5sum -c check the lines. \
            The exit code is 3 if some files could not be read, and 1 if none could.

            Example:
              backupfs checksum DCIM/100/C0001.MP4
              backupfs checksum -a md5 *.jpg > MD5SUMS
            """)

    @OptionGroup var verbosity: VerbosityOptions
    @OptionGroup var output: OutputOptions
    @Option(
        name: [.customShort("a"), .long],
        help: ArgumentHelp(
            "sha256 (the default), sha1 or md5. MD5 and SHA-1 prove nothing against forgers. Can be repeated.",
            valueName: "name"))
    var algorithm: [HashAlgorithm] = []
    @OptionGroup var cache: ChecksumCacheOptions
    @Argument(help: ArgumentHelp("The files.", valueName: "file"), completion: .file())
    var files: [String]

    func run() throws {
        let checksums = try cache.checksums()
        var failures: [BackupError] = []
        let result = Result { () throws(BackupError) in
            try CancellingSignals.run { () throws(BackupError) in
                try Cancellation().run { () throws(BackupError) in
                    for file in files {
                        do throws(BackupError) {
                            try write(file, find(of: file, checksums))
                        } catch {
                            if error.code == .interrupted { throw error }
                            Terminal.writeErrorAsRequested(error)
                            failures.append(error)
                        }
                    }
                }
            }
        }
        ChecksumCacheOptions.finish(checksums)
        try result.get()
        guard !failures.isEmpty else { return }
        throw ExitCode((failures.count < files.count ? ExitStatus.incomplete : .failure).rawValue)
    }

    /// In the order in which they were asked for.
    private var algorithms: [HashAlgorithm] { algorithm.isEmpty ? [.sha256] : algorithm }

    private func find(of path: String, _ checksums: FileChecksums) throws(BackupError) -> [HashAlgorithm: [UInt8]] {
        let real = try FileSystem.realPath(path)
        return try checksums.checksums(of: OwnedDescriptor.openFile(path), at: Array(real.utf8), Set(algorithms))
    }

    private func write(_ path: String, _ checksums: [HashAlgorithm: [UInt8]]) {
        for algorithm in algorithms { if let checksum = checksums[algorithm] { write(path, algorithm, checksum) } }
    }

    private func write(_ path: String, _ algorithm: HashAlgorithm, _ checksum: [UInt8]) {
        // A C4 ID is the text of a SHA-512.
        let digits =
            algorithm == .c4
            ? checksum.withUnsafeBytes { C4ID.encode(SHA512Digest(exactBytes: $0)) } : Hexadecimal.encode(checksum)
        if output.json {
            Terminal.write(jsonLine: ["path": path, "algorithm": algorithm.rawValue, "checksum": digits])
        } else {
            Terminal.write(
                verbatim: String(decoding: ChecksumListing.line(digest: digits, path: Array(path.utf8)), as: UTF8.self))
        }
    }
}
