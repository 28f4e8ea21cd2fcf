import BackupCore
import Glibc
import TestSupport
import Testing

@testable import FUSEBridge

@Suite(.serialized) struct MountpointTests {
    @Test func unusableFolders() throws {
        let folder = try TestMachine.makeTemporaryFolder()
        defer { _ = try? TestMachine.sh("rm -r \(folder)") }
        _ = try TestMachine.sh("cd \(folder); mkdir empty full; touch full/.hidden file; ln -s empty link")
        let missing = failure { _ = try Mountpoint.prepare("\(folder)/missing") }
        #expect(missing?.code == .notFound)
        #expect(
            missing?.description
                == "\(folder)/missing: the mountpoint does not exist. Make it with `mkdir -p \(folder)/missing`.")
        #expect(failure { _ = try Mountpoint.prepare("\(folder)/file") }?.code == .notADirectory)
        let full = failure { _ = try Mountpoint.prepare("\(folder)/full") }
        #expect(full?.code == .notEmpty)
        #expect(full?.message == "the mountpoint is not empty: what is in it would be hidden")
        #expect(try Mountpoint.prepare("\(folder)/full", options: MountOptions(parsing: ["nonempty"])) == "\(folder)/full")
        #expect(try Mountpoint.prepare("\(folder)/empty//") == "\(folder)/empty")
        #expect(try Mountpoint.prepare("\(folder)/link") == "\(folder)/empty")
    }

    @Test func device() {
        let missing = failure { try FUSEAvailability.checkDevice("/dev/backupfs-no-such-device") }
        #expect(missing?.code == .notSupported)
        #expect(missing?.message == "this machine has no FUSE")
        #expect(missing?.remedy?.contains("modprobe fuse") == true)
    }

    @Test func configuration() throws {
        let folder = try TestMachine.makeTemporaryFolder()
        defer { _ = try? TestMachine.sh("rm -r \(folder)") }
        _ = try TestMachine.sh(
            "cd \(folder); printf '# user_allow_other\\n' > no; printf 'mount_max = 9\\nuser_allow_other # for media servers\\n' > yes"
        )
        #expect(failure { try FUSEAvailability.checkConfiguration("\(folder)/no") }?.code == .notPermitted)
        #expect(failure { try FUSEAvailability.checkConfiguration("\(folder)/missing") }?.code == .notPermitted)
        #expect(failure { try FUSEAvailability.checkConfiguration("\(folder)/yes") } == nil)
    }

    @Test(.disabled(if: Machine.skipsMountedTests, "BACKUPFS_SKIP_MOUNTED_TESTS=1: NO MOUNT IS TESTED"))
    func aLiveMountIsBusy() throws {
        let mount = try MountedTree()
        let busy = failure { _ = try Mountpoint.prepare(mount.path) }
        #expect(busy?.code == .busy)
        #expect(busy?.message == "backupfs is mounted here already")
        let other = failure { _ = try Mountpoint.prepare(mount.path, options: MountOptions(parsing: ["subtype=other"])) }
        #expect(other?.code == .busy)
        #expect(other?.message == "a file system of type fuse.backupfs is mounted here")
        #expect(try mount.output("ls $M") == "")
    }

    @Test func nothingToUnmount() throws {
        let folder = try TestMachine.makeTemporaryFolder()
        defer { rmdir(folder) }
        let missing = failure { try Unmounter.unmount(folder) }
        #expect(missing?.code == .notFound)
        #expect(missing?.message == "nothing is mounted here")
        #expect(failure { try Unmounter.unmount("/proc") }?.message == "this is a mount of type proc, not one of backupfs")
    }
}
