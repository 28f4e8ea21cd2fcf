import BackupCore
import Glibc
import SystemIO
import TestSupport
import Testing

/// Every hostile input, dropped into a mounted store: the error that a program gets,
/// and that nothing changes. It generates the table of them in `Docs/reference/hostile-files.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct HostileTableTests {
    /// The maximum memory that an input may take in the daemon.
    private static let memoryLimitBytes = 200 << 20
    /// The maximum processor time for small inputs; others may take as long as reading them takes.
    private static let timeLimitSeconds = 5.0

    /// Inputs that only the disk, and not the reader's own limits, would reject are left to the tests of the reader.
    private static let bombs: [HostileInput] = [
        .zip(
            "300 MB of zeros", .tooLarge, "times its own size",
            "z = zlib.compressobj(9, 8, -15); raw = b''.join(z.compress(bytes(1 << 20)) for i in range(300)) + z.flush(); "
                + "crc = 0\nfor i in range(300): crc = zlib.crc32(bytes(1 << 20), crc)\n"
                + "n = 300 << 20; write(archive(E(b'media/a', b'', method=8, raw=raw, l_usize=n, c_usize=n, l_crc=crc, c_crc=crc, l_csize=len(raw), c_csize=len(raw))))"
        ),
        .zip(
            "1,000,001 entries", .tooLarge, "entries",
            """
            data, central = bytearray(), bytearray()
            for i in range(1000001):
                name = b"%07d" % i
                central += struct.pack("<4s6H3I5H2I", b"PK\\x01\\x02", 0x31E, 20, 0, 0, 0x6000, 0x5C2B, 0, 0, 0, 7, 0, 0, 0, 0, 0o100644 << 16, len(data)) + name
                data += struct.pack("<4s5H3I2H", b"PK\\x03\\x04", 20, 0, 0, 0x6000, 0x5C2B, 0, 0, 0, 7, 0) + name
            write(bytes(data + central) + end64(1000001, len(central), len(data), len(data) + len(central)) + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF))
            """
        ),
    ]

    /// An archive's own name is not checked before all of it has been read, and that requires an export.
    private static func withExport(_ input: HostileInput) -> HostileInput {
        .zip(
            input.name, input.code, input.finding,
            """
            text = r'''\(SampleDocument.text)'''.encode()
            plain = archive
            archive = lambda *entries, **given: plain(E(b"export.json", text), *entries, **given)

            """ + input.program)
    }

    static let inputs =
        HostileInput.exports + HostileInput.zipStructures.filter { !["empty file", "text", "prefix"].contains($0.name) }
        + HostileInput.zipContradictions
        + HostileInput.zip64Lies.filter {
            !["huge sizes", "sizes that overflow"].contains($0.name)
        } + HostileInput.zipNames.filter { $0.name != "backslash" && $0.name != "symbolic link" }
        + HostileInput.zipContents.map(withExport) + bombs + HostileInput.tars + HostileInput.databases

    private struct Outcome {
        let words: String
        let message: String
    }

    /// The daemon's processor time so far and its peak memory.
    private func usage(_ sandbox: Sandbox) throws -> (seconds: Double, peakBytes: Int) {
        let process = try #require(sandbox.daemons.first)
        let fields = Job.read("/proc/\(process)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        let ticks = (Double(fields[11]) ?? 0) + (Double(fields[12]) ?? 0)
        let status = Job.read("/proc/\(process)/status").split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let peak = status?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return (ticks / Double(sysconf(Int32(_SC_CLK_TCK))), peak << 10)
    }

    /// Resets the daemon's peak memory.
    private func resetPeak(_ sandbox: Sandbox) throws {
        try writeFile("/proc/\(try #require(sandbox.daemons.first))/clear_refs", Array("5".utf8))
    }

    private func drop(_ input: HostileInput, in sandbox: Sandbox) throws -> Outcome {
        try sandbox.write(input.script, to: "craft.py")
        let before = try usage(sandbox).seconds
        try resetPeak(sandbox)
        try sandbox.sh("rm -f $R/bad; python3 $R/craft.py $R/bad")
        let result = try sandbox.run("cp $R/bad $M/restore/")
        let size = FileSystem.statusIfPresent("\(sandbox.path)/bad")?.size ?? 0
        let after = try usage(sandbox)
        let spent = after.seconds - before
        #expect(after.peakBytes < Self.memoryLimitBytes, "\(input.name) needed \(after.peakBytes >> 20) MiB")
        #expect(spent < Self.timeLimitSeconds + Double(size >> 20) / 5, "\(input.name) took \(spent) s of the processor")
        #expect(result.exitCode == 1, "\(input.kind) \(input.name): \(result.text)")
        let words = result.errors.split(separator: ":").last.map { String($0.dropFirst().filter { $0 != "\n" }) } ?? ""
        let message = try sandbox.sh("getfattr --only-values -n user.backupfs.error $M/restore/bad")
        #expect(message.contains(input.finding), "\(input.kind) \(input.name): \(message)")
        #expect(message.utf8.count < 40_000 && !message.unicodeScalars.contains { $0.value < 32 && $0 != "\n" }, "\(input.name)")
        try sandbox.sh("rm $M/restore/bad")
        return Outcome(words: words, message: message)
    }

    /// The errno that each code must become, and its text in strerror(3).
    private static let errors: [BackupError.Code: (name: String, words: String)] = [
        .invalidContent: ("EINVAL", "Invalid argument"), .damagedContent: ("EBADMSG", "Bad message"),
        .unsupportedVersion: ("EPROTONOSUPPORT", "Protocol not supported"), .tooLarge: ("EFBIG", "File too large"),
    ]

    @Test func `ZIP-10: each is refused with its errno and a message, and changes nothing`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh(
                "mkdir $M/snapshots/one; cp $M/snapshots/one/database.sqlite $R/good.sqlite; echo secret > $R/tmp/victim")
            sandbox.variables["GOOD_DATABASE"] = "\(sandbox.path)/good.sqlite"
            let before = try sandbox.state()
            var rows: [(kind: HostileInput.Kind, cells: [String])] = []
            for input in Self.inputs {
                let outcome = try drop(input, in: sandbox)
                let error = try #require(Self.errors[input.code])
                #expect(outcome.words == error.words, "\(input.kind) \(input.name)")
                rows.append((input.kind, [input.name, error.name, outcome.message]))
            }
            #expect(try sandbox.state() == before)
            #expect(try sandbox.names("safety") == [])
            #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
            #expect(try sandbox.sh("find $R $S ! -path '*/tmp/*' -name '*evil*'; ! ls -A /tmp | grep '^evil'") == "")
            print("hostile inputs tried: \(rows.count)")
            try DocumentTable.check(
                "Docs/reference/hostile-files.md", "hostile-inputs",
                HostileInput.Kind.allCases.map { kind in
                    "## \(kind.rawValue)\n\n"
                        + DocumentTable.text(
                            ["what", "errno", "message"], rows.filter { $0.kind == kind }.map(\.cells))
                }.joined(separator: "\n"))
        }
    }

    @Test func `a database that would act when it is opened does nothing`() throws {
        for input in HostileInput.harmlessDatabases {
            try Sandbox.withMount("--sample") { sandbox in
                try sandbox.sh("mkdir $M/snapshots/one; cp $M/snapshots/one/database.sqlite $R/good.sqlite")
                sandbox.variables["GOOD_DATABASE"] = "\(sandbox.path)/good.sqlite"
                let before = try sandbox.state()
                try sandbox.write(input.script, to: "craft.py")
                try sandbox.sh("python3 $R/craft.py $R/harmless; sqlite3 $S/app/database.sqlite 'delete from expenses'")
                try sandbox.sh("cp $R/harmless $M/restore/")
                #expect(try sandbox.state() == before, "\(input.name)")
            }
        }
    }
}
