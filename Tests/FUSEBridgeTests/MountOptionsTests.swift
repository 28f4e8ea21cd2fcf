import BackupCore
import Testing

@testable import FUSEBridge

@Suite struct MountOptionsTests {
    @Test func defaults() throws {
        let options = try MountOptions(parsing: [])
        #expect(options == MountOptions())
        #expect(options.fileSystemType == "fuse.backupfs")
        #expect(
            options.libraryArguments == [
                "-o", "default_permissions", "-o", "fsname=backupfs", "-o", "subtype=backupfs", "-o", "max_read=1048576", "-o",
                "rw",
            ])
    }

    @Test func everythingAtOnce() throws {
        let options = try MountOptions(parsing: [
            "allow_other,ro,noatime,nosuid,store=/srv/a\\,b,password_file=/root/a=b", "uid=1000,gid=100,max_read=131072",
            "fsname=mine,subtype=sub,nonempty",
        ])
        #expect(options.allowsOthers)
        #expect(options.isReadOnly)
        #expect(options.storePath == "/srv/a,b")
        #expect(options.passwordFilePath == "/root/a=b")
        #expect(options.ownerUser == 1000)
        #expect(options.ownerGroup == 100)
        #expect(options.maximumReadBytes == 131_072)
        #expect(options.fileSystemName == "mine")
        #expect(options.fileSystemType == "fuse.sub")
        #expect(options.allowsNonEmptyMountpoint)
        #expect(options.passedOptions == ["noatime", "nosuid"])
        #expect(options.libraryArguments.contains("allow_other"))
        #expect(options.libraryArguments.contains("ro"))
        #expect(!options.libraryArguments.contains("rw"))
    }

    @Test func whatSpeaksToOthersIsIgnored() throws {
        let options = try MountOptions(parsing: [
            "defaults,x-systemd.automount,X-mount.mkdir,_netdev,nofail,auto,noauto,user,users,nouser,owner,group,comment=hello,",
            "", "default_permissions,relatime,atime,user=me",
        ])
        #expect(options == MountOptions())
    }

    @Test func `users and groups have names`() throws {
        let options = try MountOptions(parsing: ["uid=root,gid=root"])
        #expect(options.ownerUser == 0 && options.ownerGroup == 0)
        #expect(try MountOptions(parsing: ["uid=nobody"]).ownerUser == 65534)
    }

    @Test func theLastOneCounts() throws {
        #expect(try !MountOptions(parsing: ["ro,rw"]).isReadOnly)
        #expect(try MountOptions(parsing: ["rw", "ro"]).isReadOnly)
        #expect(try MountOptions(parsing: ["store=/a", "store=/b"]).storePath == "/b")
    }

    @Test(arguments: [
        ("allow_others", "the mount option \"allow_others\" is not known"),
        ("big=1", "the mount option \"big=1\" is not known"),
        ("store=", "the mount option \"store=\" needs a value"),
        ("uid=no-such-user", "the mount option \"uid=no-such-user\" names no user or group of this machine"),
        ("gid=no-such-group", "the mount option \"gid=no-such-group\" names no user or group of this machine"),
        ("uid=", "the mount option \"uid=\" needs a number from 0 to 4294967294"),
        ("uid=4294967295", "the mount option \"uid=4294967295\" needs a number from 0 to 4294967294"),
        ("remount,ro", "what is mounted cannot be changed in place"),
        ("max_read=1", "the mount option \"max_read=1\" needs a number from 4096 to 1048576"),
        ("max_read=2097152", "the mount option \"max_read=2097152\" needs a number from 4096 to 1048576"),
    ]) func refused(_ option: String, _ message: String) {
        #expect {
            try MountOptions(parsing: ["rw,\(option)"])
        } throws: { error in
            let error = error as? BackupError
            return error?.code == .usage && error?.message.english == message
        }
    }

    @Test func escapesSurvive() throws {
        #expect(try MountOptions(parsing: ["store=/a\\\\b"]).storePath == "/a\\b")
        #expect(try MountOptions(parsing: ["store=C:\\x"]).storePath == "C:\\x")
        #expect(try MountOptions(parsing: ["store=/a\\"]).storePath == "/a\\")
        #expect(try MountOptions(parsing: ["fsname=a\\,b"]).libraryArguments.contains("fsname=a\\,b"))
    }
}
