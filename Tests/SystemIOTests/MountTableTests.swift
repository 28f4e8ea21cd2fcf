import Testing

@testable import SystemIO

@Suite struct MountTableTests {
    @Test func lines() {
        let text = """
            22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
            90 22 0:51 / /mnt/my\\040backups\\134x rw,nosuid,nodev shared:7 master:2 - fuse.backupfs backupfs rw,user_id=0
            91 22 0:52 / /mnt/plain rw - fuse /dev/fuse rw
            92 22 0:53 / /mnt/plain rw - fuse.sshfs host:/ rw
            not a line of the table
            93 22 x:y / /mnt/odd rw - tmpfs tmpfs rw

            """
        let table = MountTable(parsing: Array(text.utf8))
        #expect(table.entries.map(\.path) == ["/", "/mnt/my backups\\x", "/mnt/plain", "/mnt/plain"])
        #expect(table.entries.map(\.isFUSE) == [false, true, true, true])
        let entry = table.entry(at: "/mnt/my backups\\x")
        #expect(entry?.source == "backupfs")
        #expect(entry?.major == 0)
        #expect(entry?.minor == 51)
        #expect(table.entries(ofType: "fuse.backupfs").count == 1)
        // The one that is seen is the one mounted last.
        #expect(table.entry(at: "/mnt/plain")?.fileSystemType == "fuse.sshfs")
        #expect(table.entry(at: "/mnt") == nil)
    }

    @Test func thisMachine() throws {
        #expect(try MountTable.current().entry(at: "/proc")?.fileSystemType == "proc")
    }
}
