import BackupCore
import CLinux
import Glibc
import SystemIO

/// Has a document drawn as a PDF by `backupfs-media pages`, a process without any rights: the texts come from photos, and
/// libraries for fonts and scripts are large. It writes to the file that it is given, and can open no other one but fonts.
///
/// For one thread. The helper ends with this object.
public final class PageDrawer {
    private static let bufferLimitBytes = 1 << 16
    /// How long a step of waiting takes before the cancellation is looked at again.
    private static let pollMilliseconds: Int32 = 100
    private static let reportLimitBytes = 4_096

    private let process: Subprocess
    private let outputPath: String
    /// `nil` when everything was sent.
    private var socket: OwnedDescriptor?
    private let errors: OwnedDescriptor
    private var buffer: [UInt8] = []
    private var report: [UInt8] = []
    private var exitCode: Int32?

    /// - Parameters:
    ///   - output: where the document goes, from its position on.
    ///   - program: the helper; by default the one that was installed with this program.
    /// - Throws: `notSupported` when there is none.
    public init(
        to output: borrowing OwnedDescriptor, program: String? = MediaHelper.installedProgram
    ) throws(BackupError) {
        guard let program else {
            throw BackupError(
                .notSupported, "no pages can be drawn: backupfs-media is not installed",
                remedy: "Build it with “make media”, or install it beside backupfs.")
        }
        var ends: (Int32, Int32) = (-1, -1)
        let result = withUnsafeMutableBytes(of: &ends) {
            backupfs_socket_pair($0.baseAddress?.assumingMemoryBound(to: Int32.self))
        }
        guard result == 0 else { throw SystemCall.error(errno, action: "start the program", path: program) }
        let own = OwnedDescriptor(owning: ends.0, path: program)
        let other = OwnedDescriptor(owning: ends.1, path: program)
        let pipe = try Pipe()
        // They must be above the numbers that they get.
        let input = try OwnedDescriptor.duplicate(other, from: 10)
        let file = try OwnedDescriptor.duplicate(output, from: 10)
        let writer = try OwnedDescriptor.duplicate(pipe.writer, from: 10)
        process = try Subprocess(
            program, ["backupfs-media", "pages"], environment: ["LC_ALL=C.UTF-8", "TZ=UTC"], folder: "/", input: input.rawValue,
            descriptors: [file.rawValue, writer.rawValue], leads: .group)
        outputPath = output.path
        socket = consume own
        errors = pipe.takeReader()
        _ = fcntl(errors.rawValue, F_SETFL, O_NONBLOCK)
    }

    deinit {
        guard exitCode == nil else { return }
        _ = kill(-process.processID, SIGKILL)
        let end = SystemClock.monotonicSeconds() + 2
        while process.exitCodeIfEnded() == nil, SystemClock.monotonicSeconds() < end { usleep(1_000) }
    }

    /// The process, for tests.
    public var processID: pid_t { process.processID }

    /// Sends the next part of the document.
    /// - Throws: why the helper has ended; `interrupted` when the operation was cancelled.
    public func append(_ element: PageElement) throws(BackupError) {
        buffer += element.encoded
        if buffer.count >= Self.bufferLimitBytes { try flush() }
    }

    /// Sends the end of the document, and waits until it is written.
    /// - Returns: the numbers of its pages and bytes.
    /// - Throws: as `append`. What was written is then no document.
    public func finish() throws(BackupError) -> (pageCount: Int, byteCount: UInt64) {
        buffer += PageElement.end.encoded
        try flush()
        socket = nil
        let exitCode = try waitForEnd()
        let numbers = lastLine.split(separator: " ").compactMap { UInt64($0) }
        guard exitCode == PageOutcome.done.rawValue, numbers.count == 2 else { throw failure(exitCode) }
        return (Int(clamping: numbers[0]), numbers[1])
    }

    private func flush() throws(BackupError) {
        guard let descriptor = socket?.rawValue else { return }
        var sentCount = 0
        while sentCount < buffer.count {
            try Cancellation.check()
            let count = buffer.withUnsafeBytes { bytes in
                bytes.baseAddress.map {
                    send(descriptor, $0 + sentCount, bytes.count - sentCount, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
                } ?? 0
            }
            if count > 0 {
                sentCount += count
            } else if errno == EAGAIN {
                var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&state, 1, Self.pollMilliseconds)
                readReport()
            } else if errno != EINTR {
                throw failure(try waitForEnd())
            }
        }
        buffer.removeAll(keepingCapacity: true)
    }

    // MARK: Its end

    private func waitForEnd() throws(BackupError) -> Int32 {
        while true {
            try Cancellation.check()
            let ended = process.exitCodeIfEnded()
            readReport()
            if let ended {
                exitCode = ended
                return ended
            }
            // It closes its standard error when it ends.
            var state = pollfd(fd: errors.rawValue, events: Int16(POLLIN), revents: 0)
            if poll(&state, 1, Self.pollMilliseconds) > 0, state.revents & Int16(POLLIN) == 0 { usleep(1_000) }
        }
    }

    /// Takes what the helper says, so that it does not wait. Libraries may say something as well: the end counts.
    private func readReport() {
        var bytes = [UInt8](repeating: 0, count: Self.reportLimitBytes)
        // Not without end: one that never stops must not keep a cancellation out.
        for _ in 0..<16 {
            let count = read(errors.rawValue, &bytes, bytes.count)
            guard count > 0 else { return }
            report = Array((report + bytes[..<count]).suffix(Self.reportLimitBytes))
        }
    }

    /// What follows the prefix in the last line. It is not trusted: a text may have taken the helper over.
    private var lastLine: String {
        let lines = report.split(separator: UInt8(ascii: "\n")).map { PhotoText.decoded($0) }
        guard let line = lines.last(where: { $0.hasPrefix(PageOutcome.prefix) }) else { return "" }
        return MessageText.shortened(String(line.dropFirst(PageOutcome.prefix.count)))
    }

    private func failure(_ exitCode: Int32) -> BackupError {
        let reason = lastLine
        switch PageOutcome(rawValue: exitCode) {
        case .refused:
            return BackupError(
                .notSupported, "no pages can be drawn: the program for it cannot protect itself, or has no fonts (\(reason))",
                remedy: "It needs Linux 4.14 or later with seccomp, also in a container, and a package such as fonts-dejavu-core."
            )
        case .unwritable: return SystemCall.error(Int32(reason) ?? EIO, action: "write", path: outputPath)
        case .failed, .malformed: return BackupError(.inputOutput, "the pages could not be drawn (\(reason))", path: outputPath)
        case .done, nil: break
        }
        // The dynamic linker's.
        guard exitCode == 127 else {
            return BackupError(
                .inputOutput, "the program that draws pages has ended too early (exit code \(exitCode))", path: outputPath)
        }
        return BackupError(
            .notSupported, "no pages can be drawn: backupfs-media does not start",
            remedy: "Install the packages libgexiv2-2, libvips42, libopenh264-7, libpangocairo-1.0-0 and libseccomp2.")
    }
}
