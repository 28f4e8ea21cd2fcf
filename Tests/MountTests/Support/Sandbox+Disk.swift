import Glibc
import TestSupport
import Testing

/// A disk of the sandbox that can be made to stall: a FUSE file system whose process is stopped.
final class SandboxDisk {
    private let job: Job
    let path: String
    /// Of the process that serves it.
    var process: Int32 { job.process }

    fileprivate init(_ job: Job, path: String) {
        self.job = job
        self.path = path
    }

    /// From now on it does not respond.
    func stall() { job.send(SIGSTOP) }

    func goOn() { job.send(SIGCONT) }

    /// Detaches it while it is in use. Files that are open there continue to work.
    func takeAway(_ sandbox: Sandbox) throws { try sandbox.sh("umount -l \(path) || fusermount3 -u -z \(path)") }

    /// Ends its file system: its users get ENOTCONN, and the dead mount stays.
    func kill(_ sandbox: Sandbox) throws {
        job.send(SIGKILL)
        try sandbox.sh("wait_until '! ls \(path)'")
    }

    fileprivate func leave(_ sandbox: Sandbox) throws {
        goOn()
        if sandbox.mounts.contains(path) { try takeAway(sandbox) }
        job.send(SIGKILL)
        _ = try job.wait()
    }
}

extension Sandbox {
    /// Runs a test with a disk at `$R/NAME`, whose files are in `$R/NAME.files`.
    func withDisk(_ name: String = "disk", _ body: (SandboxDisk) throws -> Void) throws {
        try sh("mkdir -p $R/\(name) $R/\(name).files")
        let disk = SandboxDisk(try start("exec bindfs -f $R/\(name).files $R/\(name)"), path: "\(path)/\(name)")
        let result = Result {
            try sh("wait_until mountpoint -q $R/\(name)")
            try body(disk)
        }
        try disk.leave(self)
        try result.get()
    }

    /// Unmounts the store and waits until the process that served it has ended; the disks stay.
    func unmountStore() throws {
        let serving = daemons
        try sh("wait_until fusermount3 -u $M")
        for _ in 0..<3_000 where serving.contains(where: Self.isRunning) { usleep(20_000) }
        #expect(daemons.isEmpty, "still running")
    }
}
