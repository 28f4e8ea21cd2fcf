import BackupCore
import Glibc
import TestSupport
import Testing

@testable import FUSEBridge
@testable import SystemIO

/// The started program is a shell here: what it gets and what it reports is the same as for a mount.
@Suite(.serialized) struct BackgroundMountTests {
    private func inFolder(_ body: (_ folder: String, _ log: String) throws -> Void) throws {
        let folder = try TestMachine.makeTemporaryFolder()
        defer { _ = try? TestMachine.sh("rm -r \(folder)") }
        try body(folder, "\(folder)/log")
    }

    private func launch(_ script: String, log: String) throws(BackupError) -> Int32 {
        try BackgroundMount.launch(arguments: ["-c", script], logPath: log, executable: "/bin/sh")
    }

    private func read(_ path: String) throws -> String { String(decoding: try FileSystem.readFile(path), as: UTF8.self) }

    @Test func readyWhileTheProgramRunsOn() throws {
        try inFolder { folder, log in
            let process = try launch("printf '\\001' >&3; exec 3>&-; echo ready; exec sleep 600", log: log)
            #expect(kill(process, 0) == 0)
            // In the process group of the caller until it begins a session of its own: an automount shows its mountpoint to that
            // group only.
            #expect(getpgid(process) == getpgrp())
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
            #expect(try FileSystem.status(log).mode & 0o777 == 0o600)
        }
    }

    @Test func whatTheProgramInherits() throws {
        try inFolder { folder, log in
            let extra = open("/dev/null", O_RDONLY)
            defer { close(extra) }
            let script = """
                for f in 0 1 2 3 4 5 6 7 8 9; do test -e /proc/$$/fd/$f && echo $f; done; readlink /proc/$$/fd/0; echo "$BACKUPFS_READY_DESCRIPTOR"; echo error >&2
                printf '\\001' >&3
                """
            let process = try launch(script, log: log)
            waitpid(process, nil, 0)
            // The shell itself may keep descriptors from 10 on.
            #expect(try read(log) == "0\n1\n2\n3\n/dev/null\n3\nerror\n")
        }
    }

    @Test func theSecretComesThroughAPipe() throws {
        try inFolder { folder, log in
            let secret = Array("open\0sesame\n".utf8).withUnsafeBytes { SecretBytes(copying: $0) }
            let script = """
                od -An -c <&4; for f in 3 4 5 6 7 8 9; do test -e /proc/$$/fd/$f && echo $f; done; echo "$BACKUPFS_SECRET_DESCRIPTOR"
                tr '\\0' ' ' < /proc/$$/environ | grep -c sesame
                printf '\\001' >&3
                """
            let process = try BackgroundMount.launch(
                arguments: ["-c", script], logPath: log, secret: secret, executable: "/bin/sh")
            waitpid(process, nil, 0)
            // od, which read to the end, would have waited for ever if the writing end had been inherited.
            #expect(try read(log) == "   o   p   e   n  \\0   s   e   s   a   m   e  \\n\n3\n4\n4\n0\n")
        }
    }

    @Test func theStartedProgramReadsTheSecretOnce() throws {
        let pipe = try SystemIO.Pipe()
        try pipe.writer.writeAll([1, 2, 0, 3])
        let secret = try BackgroundMount.readSecret(pipe.takeReader())
        #expect(secret.withUnsafeBytes { Array($0) } == [1, 2, 0, 3])
        #expect(try BackgroundMount.inheritedSecret() == nil)
        #expect {
            let empty = try SystemIO.Pipe()
            _ = try BackgroundMount.readSecret(empty.takeReader())
        } throws: { error in
            (error as? BackupError)?.code == .inputOutput
        }
    }

    @Test func theLogIsAppendedTo() throws {
        try inFolder { folder, log in
            for word in ["one", "two"] { waitpid(try launch("echo \(word); printf '\\001' >&3", log: log), nil, 0) }
            #expect(try read(log) == "one\ntwo\n")
        }
    }

    @Test func theErrorComesBack() throws {
        try inFolder { folder, log in
            let error = BackupError(
                .notEmpty, "the mountpoint is not empty", path: "/mnt/ü", remedy: "Name another.", findings: ["a", "b"])
            try FileSystem.writeFileAtomically("\(folder)/report", ReadinessReport.failed(error).encoded)
            #expect {
                try launch("cat \(folder)/report >&3; exit 1", log: log)
            } throws: { thrown in
                let thrown = thrown as? BackupError
                return thrown?.code == .notEmpty && thrown?.findings == ["a", "b"]
                    && thrown?.description == "/mnt/ü: the mountpoint is not empty. Name another."
            }
        }
    }

    @Test(arguments: [
        ("echo early; echo 'cannot open the store'; exit 9", "(exit code 9): cannot open the store"),
        ("kill -9 $$", "(exit code 137)"),
        ("printf 'nonsense' >&3; exit 0", "(exit code 0)"),
    ]) func deathWithoutAWord(_ script: String, _ ending: String) throws {
        try inFolder { folder, log in
            #expect {
                try launch(script, log: log)
            } throws: { error in
                let error = error as? BackupError
                return error?.code == .inputOutput && error?.message == "the mount ended before it was ready \(ending)"
            }
        }
    }

    @Test func noSuchProgram() throws {
        try inFolder { folder, log in
            #expect {
                try BackgroundMount.launch(arguments: [], logPath: log, executable: "\(folder)/missing")
            } throws: { error in
                (error as? BackupError)?.code == .notFound
            }
        }
    }

    @Test func theShellThatWaitsForTheOutputGoesOn() throws {
        // Were a descriptor of ours inherited, this pipe would not end before the started program does.
        let pipe = try SystemIO.Pipe()
        let copy = fcntl(pipe.writer.rawValue, F_DUPFD, 20)
        let reader = pipe.takeReader()
        let folder = try TestMachine.makeTemporaryFolder()
        defer { _ = try? TestMachine.sh("rm -r \(folder)") }
        let process = try launch("printf '\\001' >&3; exec 3>&-; exec sleep 600", log: "\(folder)/log")
        close(copy)
        var byte: UInt8 = 0
        #expect(Glibc.read(reader.rawValue, &byte, 1) == 0)
        kill(process, SIGKILL)
        waitpid(process, nil, 0)
    }

    @Test func theStartedProgramsSide() throws {
        let pipe = try SystemIO.Pipe()
        let number = fcntl(pipe.writer.rawValue, F_DUPFD, 20)
        // Not through the environment, which other tests read at the same time.
        let channel = try #require(BackgroundMount.readinessChannel(descriptor: "\(number)"))
        #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
        #expect(BackgroundMount.readinessChannel() == nil)
        #expect(BackgroundMount.readinessChannel(descriptor: "x") == nil)
        try channel.reportReady()
        // Only the first report counts.
        channel.report(BackupError(.busy, "too late"))
        let reader = pipe.takeReader()
        var bytes = [UInt8](repeating: 0, count: 10)
        #expect(Glibc.read(reader.rawValue, &bytes, 10) == 1)
        #expect(bytes[0] == 1)
        #expect(Glibc.read(reader.rawValue, &bytes, 10) == 0)
    }

    @Test func nobodyWaitsAnyMore() throws {
        let pipe = try SystemIO.Pipe()
        signal(SIGPIPE, SIG_IGN)
        let channel = ReadinessChannel(pipe.takeWriter())
        #expect {
            try channel.reportReady()
        } throws: { error in
            (error as? BackupError)?.code == .interrupted
        }
    }
}
