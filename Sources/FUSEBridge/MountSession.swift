import BackupCore
import CFUSE
import Glibc
import SystemIO
import VirtualTree

/// One mount, from the first check of the mountpoint to the unmount at the end.
public final class MountSession: Sendable {
    /// Why a mount ended.
    public enum End: Sendable, Equatable {
        /// Somebody unmounted it.
        case unmounted
        /// `requestEnd` was called.
        case requested
        /// SIGTERM, SIGINT or SIGHUP.
        case signal(Int32)
    }

    /// Requests served at the same time. A backup or a restore keeps one of them busy for as long as it takes.
    public static let maximumThreadCount: UInt32 = 16

    public let options: MountOptions
    /// Where it is mounted: absolute, without symbolic links.
    public let mountpoint: String
    private let server: TreeServer
    /// Bytes that say what happened (`Event`).
    private let events: SystemIO.Pipe

    /// Checks everything that can be checked beforehand, and clears the mountpoint of a mount that a crash left. Mounts nothing.
    /// - Parameters:
    ///   - reportFailure: told of every request that failed with an input/output error.
    /// - Throws: what `FUSEAvailability.check` and `Mountpoint.prepare` throw.
    public init(
        tree: any TreeOperations, mountpoint: String, options: MountOptions = MountOptions(),
        reportFailure: FailureReport? = nil
    ) throws(BackupError) {
        try FUSEAvailability.check(options)
        self.mountpoint = try Mountpoint.prepare(mountpoint, options: options)
        self.options = options
        server = TreeServer(tree: tree, options: options, reportFailure: reportFailure)
        events = try SystemIO.Pipe()
    }

    /// Mounts, serves until the end, and unmounts. Call it once.
    /// - Parameters:
    ///   - endsOnSignals: whether SIGTERM, SIGINT and SIGHUP end the mount. Only one session of a process may ask for that; while
    ///     it runs, these signals do nothing else.
    ///   - onReady: called on this thread as soon as the mount answers: what runs after it finds the tree. If it throws, the
    ///     mount ends and the error is thrown on.
    /// - Returns: why it ended. Requests that ran then have been answered, and the mountpoint is free. Handles and look-ups that the
    ///   kernel still held are not given back one by one: the tree must let go of them by itself.
    /// - Throws: `inputOutput` when the kernel would not mount or the connection broke; nothing is left mounted then either.
    public func run(endsOnSignals: Bool = true, onReady: () throws(BackupError) -> Void) throws(BackupError) -> End {
        let session = try mount()
        let isRelaying = endsOnSignals && SignalRelay.begin(writer: events.writer.rawValue)
        defer { if isRelaying { SignalRelay.end() } }
        let loop: SessionLoop
        do {
            let mount = (try? MountTable.current())?.entry(at: mountpoint)
            loop = try SessionLoop(session, mount: mount, ended: events.writer.rawValue)
        } catch {
            fuse_session_unmount(session)
            fuse_session_destroy(session)
            throw error
        }
        var failure: BackupError?
        // The kernel holds this back until the mount is negotiated, and it takes a thread of the loop to answer it. Should the
        // loop fail it has unmounted by then, and this ends with an error.
        var status = stat()
        if stat(mountpoint, &status) == 0 {
            ReadAhead.raise(mountpoint: mountpoint)
            do throws(BackupError) { try onReady() } catch { failure = error }
        }
        if failure != nil { requestEnd() }
        let end = wait(for: loop)
        let result = loop.join()
        fuse_session_destroy(session)
        if let failure { throw failure }
        guard result == 0 else {
            throw BackupError(
                .inputOutput, "the connection to the kernel broke: \(String(cString: strerror(abs(result))))", path: mountpoint,
                remedy: "Mount it again.")
        }
        return end
    }

    /// Ends the mount soon, from any thread; `run` then returns. Files that are open in it fail from then on.
    public func requestEnd() { send(.requested) }

    /// What the bytes in the pipe mean; others are the numbers of signals.
    fileprivate enum Event: UInt8 {
        case loopEnded = 0
        case requested = 255
    }

    private func send(_ event: Event) {
        var byte = event.rawValue
        _ = write(events.writer.rawValue, &byte, 1)
    }

    /// - Returns: a session that is mounted.
    private func mount() throws(BackupError) -> OpaquePointer {
        var operations = LowLevelOperations.make()
        let server = Unmanaged.passUnretained(server).toOpaque()
        let (created, creationMessages) = LibraryLog.collecting {
            CStrings.with(["backupfs"] + options.libraryArguments) { arguments in
                var arguments = arguments
                let count = Int32(arguments.count - 1)
                return arguments.withUnsafeMutableBufferPointer { buffer in
                    // libfuse copies what it takes from the arguments and from the table.
                    var list = fuse_args(argc: count, argv: buffer.baseAddress, allocated: 0)
                    defer { fuse_opt_free_args(&list) }
                    return fuse_session_new(&list, &operations, MemoryLayout<fuse_lowlevel_ops>.size, server)
                }
            }
        }
        guard let session = created else { throw mountError(creationMessages) }
        let (result, mountMessages) = LibraryLog.collecting { fuse_session_mount(session, mountpoint) }
        guard result == 0 else {
            fuse_session_destroy(session)
            throw mountError(mountMessages)
        }
        return session
    }

    private func mountError(_ messages: String) -> BackupError {
        let reason = messages.isEmpty ? "fusermount3 refused; its reason is in the log or above this line" : messages
        return BackupError(.inputOutput, "could not mount: \(reason)", path: mountpoint)
    }

    /// Waits until the loop has ended, and ends it when that is asked for.
    private func wait(for loop: SessionLoop) -> End {
        var end: End?
        while true {
            // Once the end is wanted, the loop is woken again and again: a signal that comes just before the loop begins to wait
            // for one is lost.
            var poll = pollfd(fd: events.reader.rawValue, events: Int16(POLLIN), revents: 0)
            let count = Glibc.poll(&poll, 1, end == nil ? -1 : 20)
            guard count > 0 else {
                if end != nil { loop.stop() }
                continue
            }
            var byte: UInt8 = 0
            guard read(events.reader.rawValue, &byte, 1) == 1 else { continue }
            switch Event(rawValue: byte) {
            case .loopEnded: return end ?? .unmounted
            case .requested: end = end ?? .requested
            case nil: end = end ?? .signal(Int32(byte))
            }
            loop.stop()
        }
    }
}
