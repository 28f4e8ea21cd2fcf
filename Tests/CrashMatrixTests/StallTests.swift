import Glibc
import SystemIO
import TestSupport
import Testing

/// Storage that does not answer: a call that never returns keeps its thread for ever, and `cancel` and SIGTERM end the operation
/// all the same, with its locks (issue 17, point 5).
struct StallTests {
    enum Way: CaseIterable, Sendable { case cancel, terminate }

    /// Longer than the program waits, and than its thread takes to be seen.
    private static let limitSeconds = 50

    @Test(arguments: Way.allCases, ["backup", "restore"])
    func `an operation whose storage stalls is ended`(way: Way, operation: String) throws {
        let world = try World(copying: Template.diary.get().world)
        let plan = operation == "backup" ? "stall@1 fsync store/repository/tmp/*.pack" : "stall@3 fsync store/repository/packs/*"
        var variables = try FaultLayer.environment(folder: world.path, logPath: world.logPath)
        variables["FAULT_LAYER_FAULT"] = plan
        let arguments = operation == "backup" ? ["backup"] : ["restore", "\(world.inputsPath)/other.zip", "--yes"]
        let job = try world.start([Machine.binaryPath()] + arguments + ["--store", world.storePath], variables)
        try waitUntil { !RecordedCall.read(world.logPath).isEmpty }
        switch way {
        case .cancel:
            let cancel = try world.backupfs(["cancel"])
            #expect(cancel.exitCode == 0, "\(cancel.text)")
        case .terminate: job.send(SIGTERM)
        }
        let result = try job.wait(limitSeconds: Self.limitSeconds)
        #expect(result.exitCode == 130 && result.text.contains("the storage does not answer"), "\(result.text)")
        // Nothing is in the way of the next, and nothing was lost.
        try world.backupfs(["backup"]).requireSuccess()
        let check = try world.backupfs(["check", "--read-data"])
        #expect(check.exitCode == 0, "\(check.text)")
        #expect(try world.backupfs(["snapshots", "--json"]).text.contains("\"first\""))
        #expect(world.leftovers() == [] && world.repositoryLeftovers() == [])
    }

    @Test func `a mount whose storage stalls ends at SIGTERM`() throws {
        let world = try World(copying: Template.diary.get().world)
        let mountpoint = try world.folder("mnt")
        var variables = try FaultLayer.environment(folder: world.path, logPath: world.logPath)
        variables["FAULT_LAYER_FAULT"] = "stall@1 fsync store/repository/tmp/*.pack"
        let mount = try world.start(
            [Machine.binaryPath(), "mount", "-f", "--store", world.storePath, mountpoint], variables)
        // MNT_DETACH, which Swift's module of libc does not have.
        defer { umount2(mountpoint, 2) }
        try waitUntil { Job.read("/proc/self/mounts").contains(" \(mountpoint) ") }
        // `mkdir` answers after two seconds; a look into the folder waits for the backup.
        let maker = try world.start(["sh", "-c", "mkdir \(mountpoint)/snapshots/new && sync \(mountpoint)/snapshots/new"])
        try waitUntil { !RecordedCall.read(world.logPath).isEmpty }
        mount.send(SIGTERM)
        let result = try mount.wait(limitSeconds: Self.limitSeconds)
        #expect(result.exitCode == 130 && result.text.contains("the storage does not answer"), "\(result.text)")
        #expect(try maker.wait(limitSeconds: 20).exitCode != 0)
        umount2(mountpoint, 2)
        try world.backupfs(["backup"]).requireSuccess()
        let check = try world.backupfs(["check", "--read-data"])
        #expect(check.exitCode == 0, "\(check.text)")
    }

    private func waitUntil(_ condition: () -> Bool) throws {
        for _ in 0..<3_000 {
            if condition() { return }
            usleep(10_000)
        }
        throw Machine.Unusable("the operation did not get to the call that stalls")
    }
}
