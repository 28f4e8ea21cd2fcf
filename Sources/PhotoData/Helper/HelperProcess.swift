import BackupCore
import CLinux
import Glibc
import SystemIO

/// One running helper, and the socket to it. It ends with its owner.
final class HelperProcess {
    /// Why there is no answer.
    enum Failure: Error {
        /// It has ended, or has closed its socket.
        case ended
        case timedOut
        /// It has sent what is no answer.
        case malformed
        /// The operation was cancelled.
        case cancelled(BackupError)
    }

    /// How long a step of waiting takes before the cancellation and the deadline are looked at again.
    private static let pollMilliseconds: Int32 = 100

    let process: Subprocess
    private let socket: OwnedDescriptor

    /// Starts a helper in a process group of its own, with an almost empty environment, the socket as its descriptor 0, and
    /// /dev/null.
    /// - Throws: when the program cannot be started.
    init(program: String) throws(BackupError) {
        var ends: (Int32, Int32) = (-1, -1)
        let result = withUnsafeMutableBytes(of: &ends) {
            backupfs_socket_pair($0.baseAddress?.assumingMemoryBound(to: Int32.self))
        }
        guard result == 0 else { throw SystemCall.error(errno, action: "start the program", path: program) }
        let own = OwnedDescriptor(owning: ends.0, path: program)
        let other = OwnedDescriptor(owning: ends.1, path: program)
        let null = try OwnedDescriptor.open("/dev/null", O_RDWR)
        let input = try OwnedDescriptor.duplicate(other, from: 10)
        let output = try OwnedDescriptor.duplicate(null, from: 10)
        process = try Subprocess(
            program, ["backupfs-media"], environment: ["LC_ALL=C.UTF-8", "TZ=UTC"], folder: "/", input: input.rawValue,
            descriptors: [output.rawValue, output.rawValue], leads: .group)
        socket = own
    }

    deinit {
        // The whole group, although the helper cannot start any process.
        _ = kill(-process.processID, SIGKILL)
        // A process that waits for a disk that does not answer ends later, and is then a zombie until this program ends.
        let end = SystemClock.monotonicSeconds() + 2
        while process.exitCodeIfEnded() == nil, SystemClock.monotonicSeconds() < end { usleep(1_000) }
    }

    /// Sends a request, and waits for its answer.
    /// - Parameters:
    ///   - descriptor: the file; negative for none.
    ///   - deadline: of the monotonic clock.
    func ask(_ request: MediaRequest, descriptor: Int32, deadline: Double) throws(Failure) -> MediaAnswer {
        var early: UInt8 = 0
        // An answer before its request: a helper that never reads would collect requests, with their files.
        if recv(socket.rawValue, &early, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0 { throw .malformed }
        let bytes = request.bytes
        let sent = SystemCall.retrying { backupfs_send_with_descriptor(socket.rawValue, bytes, UInt(bytes.count), descriptor) }
        // So few bytes fit at once, unless it has not read the earlier requests.
        guard sent == bytes.count else { throw .ended }
        return try answer(to: request, deadline: deadline)
    }

    /// Waits for an answer.
    func answer(to request: MediaRequest, deadline: Double) throws(Failure) -> MediaAnswer {
        let header = try read(count: 4, deadline)
        let length = header.reversed().reduce(0) { $0 << 8 | Int($1) }
        guard length <= PhotoLimits.answerBytes else { throw .malformed }
        let bytes = try read(count: length, deadline)
        do throws(BackupError) {
            return try MediaAnswer(decoding: bytes, to: request)
        } catch {
            throw .malformed
        }
    }

    private func read(count: Int, _ deadline: Double) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: min(count, 1 << 16))
        while bytes.count < count {
            do throws(BackupError) {
                try Cancellation.check()
            } catch {
                throw .cancelled(error)
            }
            let isLate = SystemClock.monotonicSeconds() >= deadline
            var state = pollfd(fd: socket.rawValue, events: Int16(POLLIN), revents: 0)
            // What is there counts also after the deadline: this program may have been stopped meanwhile.
            guard poll(&state, 1, isLate ? 0 : Self.pollMilliseconds) > 0 else {
                if isLate { throw .timedOut }
                continue
            }
            let received = recv(socket.rawValue, &buffer, min(buffer.count, count - bytes.count), Int32(MSG_DONTWAIT))
            if received < 0, errno == EINTR || errno == EAGAIN { continue }
            guard received > 0 else { throw .ended }
            bytes += buffer[..<received]
        }
        return bytes
    }
}
