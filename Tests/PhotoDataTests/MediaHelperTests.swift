import BackupCore
import CSandboxTrial
import Glibc
import PhotoData
import SystemIO
import TestSupport
import Testing

/// The helper's process: its sandbox, and what becomes of the program when it dies, hangs or is not there.
@Suite(.serialized) struct MediaHelperTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try writeFile(folder("iphone.mov"), CraftedVideo.iPhone)
    }

    private func expectReads(_ helper: MediaHelper, at place: SourceLocation = #_sourceLocation) throws {
        #expect(try PhotoFixtures.found(folder("iphone.mov"), helper).cameraModel == "iPhone 15", sourceLocation: place)
    }

    // MARK: The sandbox

    /// Each attempt succeeds here, so that its failure in the helper is the sandbox's doing.
    @Test func `the attempts succeed without the sandbox`() throws {
        let file = try OwnedDescriptor.open(folder("written"), O_RDWR | O_CREAT)
        for number in 0..<Int32(sandbox_attempt_count) {
            #expect(sandbox_attempt(number, file.rawValue) == 0, "attempt \(number)")
        }
    }

    @Test(arguments: 0..<UInt32(10))
    func `the sandbox refuses`(number: UInt32) throws {
        let helper = try PhotoFixtures.helper()
        let file = try OwnedDescriptor.open(folder("written"), O_RDWR | O_CREAT)
        switch try helper.attempt(number, descriptor: file.rawValue) {
        case .found(let code): #expect(code == EPERM && [0, 1, 5, 6, 8, 9].contains(number), "attempt \(number): \(code)")
        // Sockets, processes, programs and signals end it.
        case .unreadable(.crashed): #expect([2, 3, 4, 7].contains(number), "attempt \(number)")
        case let outcome: Issue.record("attempt \(number): \(outcome)")
        }
        #expect(try readFile(folder("written")).isEmpty)
        try expectReads(helper)
    }

    @Test func `the helper has no rights, no environment and three descriptors`() throws {
        let helper = try PhotoFixtures.helper()
        try expectReads(helper)
        let process = try #require(helper.processID)
        let status = String(decoding: try readFile("/proc/\(process)/status"), as: UTF8.self)
        for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000"] {
            #expect(status.contains(line), "\(line)\n\(status)")
        }
        let limits = String(decoding: try readFile("/proc/\(process)/limits"), as: UTF8.self)
        #expect(limits.contains(/Max file size +0 +0/) && limits.contains(/Max address space +2147483648 +2147483648/))
        guard Machine.isRoot else { return }
        #expect(status.contains("Uid:\t65534\t65534\t65534\t65534") && status.contains(/Groups:\s*\n/), "\(status)")
        let environment = String(decoding: try readFile("/proc/\(process)/environ"), as: UTF8.self)
        #expect(environment == "LC_ALL=C.UTF-8\0TZ=UTC\0")
        var (descriptors, targets): (String, [Substring]) = ("", [])
        // It closes the photo just after its answer.
        for _ in 0..<500 {
            descriptors = try run(["ls", "-l", "/proc/\(process)/fd"]).output
            targets = descriptors.split(separator: "\n").compactMap { $0.split(separator: "> ").last }.dropFirst().map { $0 }
            if targets.count == 3 { break }
            usleep(10_000)
        }
        #expect(targets.count { $0.hasPrefix("socket:") } == 1, "\(descriptors)")
        #expect(targets.allSatisfy { $0.hasPrefix("socket:") || $0 == "/dev/null" }, "\(descriptors)")
    }

    @Test func `a file that is open for writing is not handed over`() throws {
        let helper = try PhotoFixtures.helper()
        let file = try OwnedDescriptor.open(folder("iphone.mov"), O_RDWR)
        #expect { try helper.metadata(of: file) } throws: { ($0 as? BackupError)?.code == .invalidArgument }
        #expect(helper.processID == nil)
    }

    @Test func `the position of the file stays where it was`() throws {
        let helper = try PhotoFixtures.helper()
        let file = try OwnedDescriptor.openFile(folder("iphone.mov"))
        lseek(file.rawValue, 11, SEEK_SET)
        guard case .found = try helper.metadata(of: file) else { throw Machine.Unusable("not found") }
        #expect(lseek(file.rawValue, 0, SEEK_CUR) == 11)
    }

    // MARK: Its end

    @Test func `a helper that was killed is started again`() throws {
        let helper = try PhotoFixtures.helper()
        for _ in 0..<3 {
            try expectReads(helper)
            let process = try #require(helper.processID)
            kill(process, SIGKILL)
            try expectReads(helper)
            #expect(helper.processID != process)
        }
    }

    @Test func `a helper that hangs costs one file`() throws {
        let helper = try PhotoFixtures.helper(metadataSeconds: 1)
        try expectReads(helper)
        let process = try #require(helper.processID)
        kill(process, SIGSTOP)
        guard case .unreadable(.timedOut) = try PhotoFixtures.metadata(of: folder("iphone.mov"), helper) else {
            throw Machine.Unusable("it should have taken too long")
        }
        #expect(kill(process, 0) == -1, "it was killed and waited for")
        try expectReads(helper)
    }

    /// A program that answers as the helper would, and then as a photo that has taken it over might.
    private func impostor(_ name: String, _ answers: String, first: String = "") throws -> MediaHelper {
        let script = """
            #!/usr/bin/python3
            import os, struct, sys, time
            def send(*parts): os.write(0, b"".join(parts))
            def frame(body): return struct.pack("<I", len(body)) + body
            send(frame(bytes([2, 0, 0, 0, 0, 0, 0])))
            with open(\(folder("starts").debugDescription), "a") as file: file.write("x")
            \(first)
            while True:
                request = os.read(0, 12)
                if not request: sys.exit()
                number = request[4:8]
            \(answers.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n"))

            """
        try folder.write(script, to: name)
        chmod(folder(name), 0o755)
        return MediaHelper(program: folder(name), metadataSeconds: 30)
    }

    @Test func `a helper that dies with a file is given it three times`() throws {
        let helper = try impostor("dies", "os._exit(1)")
        for round in 1...2 {
            guard case .unreadable(.crashed) = try PhotoFixtures.metadata(of: folder("iphone.mov"), helper) else {
                throw Machine.Unusable("it should have crashed")
            }
            #expect(try readFile(folder("starts")).count == 3 * round)
        }
    }

    @Test(arguments: [
        // Far too long; an answer to another request; rubbish; a thumbnail in place of metadata; a latitude of 1,000 degrees.
        "send(struct.pack('<I', 0x7FFFFFFF), b'x' * 1000)", "send(frame(bytes([2, 1, 0]) + b'abcd'))",
        "send(frame(b'rubbish' * 9))",
        "send(frame(bytes([2, 2, 0]) + number + b'\\xff\\xd8\\xff'))", "send(frame(bytes([2, 1, 4]) + number))",
        "send(frame(bytes([2, 1, 0]) + number + b'\\x0f\\x08\\0\\0\\0' + struct.pack('<d', 1000)))", "send(frame(b''))",
    ])
    func `a helper that sends nonsense is not believed`(answer: String) throws {
        let helper = try impostor("sends", answer)
        guard case .unreadable(.malformedAnswer) = try PhotoFixtures.metadata(of: folder("iphone.mov"), helper) else {
            throw Machine.Unusable("it should have been refused")
        }
        #expect(helper.processID == nil)
    }

    /// It could go on so until the socket is full of requests, and of the files that come with them.
    @Test func `a helper that answers before it is asked is not believed`() throws {
        let helper = try impostor(
            "early", "while True: time.sleep(600)",
            first: "send(*[frame(bytes([2, 1, 1]) + struct.pack('<I', n)) for n in range(1, 1000)])")
        let outcomes = try (0..<100).map { _ in try PhotoFixtures.metadata(of: folder("iphone.mov"), helper) }
        #expect(
            outcomes.contains { if case .unreadable(.malformedAnswer) = $0 { true } else { false } })
        #expect(
            outcomes.allSatisfy {
                switch $0 {
                // The first one may come after its request.
                case .nothing, .unreadable(.malformedAnswer): true
                default: false
                }
            })
    }

    @Test func `a helper that another user could have put there is not started`() throws {
        try PhotoFixtures.ok(["cp", try Machine.binaryPath(), "backupfs"], in: folder.path)
        try PhotoFixtures.ok(["cp", try PhotoFixtures.helperPath(), "backupfs-media"], in: folder.path)
        func status() throws -> Int32 { try run([folder("backupfs"), "photo-info", "iphone.mov"], in: folder.path).status }
        #expect(try status() == 0)
        chmod(folder.path, 0o1777)
        #expect(try status() == 1)
        chmod(folder.path, 0o755)
        chmod(folder("backupfs-media"), 0o757)
        #expect(try status() == 1)
        chmod(folder("backupfs-media"), 0o755)
        #expect(try status() == 0)
        guard Machine.isRoot else { return }
        chown(folder("backupfs-media"), 65_534, 65_534)
        #expect(try status() == 1)
    }

    @Test func `a helper that cannot protect itself reads nothing`() throws {
        try folder.write(
            "#!/usr/bin/python3\nimport os\nos.write(0, bytes([16, 0, 0, 0, 2, 0, 4, 0, 0, 0, 0]) + b'no kernel')\n",
            to: "refuses")
        chmod(folder("refuses"), 0o755)
        guard
            case .helperMissing(let error) = try PhotoFixtures.metadata(
                of: folder("iphone.mov"), MediaHelper(program: folder("refuses")))
        else { throw Machine.Unusable("it should have been refused") }
        #expect(error.description.contains("cannot protect itself (no kernel"), "\(error)")
    }

    @Test func `a helper that does not start is tried three times in all`() throws {
        try folder.write("#!/bin/sh\nprintf x >> \(folder("starts"))\nexit 127\n", to: "broken")
        chmod(folder("broken"), 0o755)
        let helper = MediaHelper(program: folder("broken"))
        for _ in 0..<5 {
            guard case .helperMissing(let error) = try PhotoFixtures.metadata(of: folder("iphone.mov"), helper) else {
                throw Machine.Unusable("it should be missing")
            }
            #expect(error.description.contains("libgexiv2-2"), "\(error)")
        }
        #expect(try readFile(folder("starts")).count == 3)
    }

    @Test func `a helper that is not installed is named`() throws {
        guard case .helperMissing(let error) = try PhotoFixtures.metadata(of: folder("iphone.mov"), MediaHelper(program: nil))
        else {
            throw Machine.Unusable("it should be missing")
        }
        #expect(error.description.contains("backupfs-media is not installed"), "\(error)")
    }

    // MARK: Resources

    @Test func `no descriptor stays open, and no process`() throws {
        func descriptorCount() throws -> Int { try DirectoryHandle(path: "/proc/self/fd").names().count }
        let before = try descriptorCount()
        for _ in 0..<3 {
            let helper = try PhotoFixtures.helper()
            for _ in 0..<50 { try expectReads(helper) }
            let process = try #require(helper.processID)
            let open = try DirectoryHandle(path: "/proc/\(process)/fd").names().count
            #expect(open < 12, "the helper has \(open) files open")
        }
        // Other tests of the same process open and close files meanwhile; 150 leaked ones would be seen.
        #expect(try descriptorCount() < before + 75)
    }

    /// 4 GB of which only a few bytes exist: nothing of the hole may be read into memory.
    @Test func `a video of 4 GB takes no more memory than a small one`() throws {
        let path = folder("large.mov")
        let hole: UInt64 = 4 << 30
        let movie = CraftedVideo.box("moov", CraftedVideo.movieHeader() + CraftedVideo.track())
        let data = CraftedVideo.number(UInt32(1)) + Array("mdat".utf8) + CraftedVideo.number(hole)
        let file = try OwnedDescriptor.open(path, O_RDWR | O_CREAT)
        try file.writeAll(CraftedVideo.fileType + data)
        try movie.withUnsafeBytesThrowing { (bytes) throws(BackupError) in
            try file.writeAll(bytes, at: UInt64(CraftedVideo.fileType.count) + hole)
        }
        let helper = try PhotoFixtures.helper()
        try expectReads(helper)
        let before = try peakKilobytes(helper)
        #expect(try PhotoFixtures.found(path, helper).durationSeconds == 1.5)
        #expect(try peakKilobytes(helper) < before + 4096)
    }

    private func peakKilobytes(_ helper: MediaHelper) throws -> Int {
        let status = String(decoding: try readFile("/proc/\(try #require(helper.processID))/status"), as: UTF8.self)
        return try #require(status.firstMatch(of: /VmHWM:\s+(\d+)/).flatMap { Int($0.1) })
    }
}
