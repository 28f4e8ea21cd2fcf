import Glibc
import TestSupport
import Testing

/// A live media file that is changed without a trace: on sshfs, where the change time is the modification time.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct HiddenLiveChangeTests {
    private static let sftpServer = "/usr/lib/openssh/sftp-server"

    static let canServe = Machine.hasTool("sshfs") && access(sftpServer, X_OK) == 0

    @Test(.enabled(if: canServe, "needs sshfs and sftp-server"))
    func `R-B5: bytes and checksums are those of now`() throws {
        try Sandbox.use { sandbox in
            try sandbox.write("#!/bin/sh\nexec \(Self.sftpServer)\n", to: "bin/server")
            try sandbox.sh(
                """
                chmod 755 $R/bin/server; mkdir $R/media $R/far; printf aaaaa > $R/far/a.jpg; touch -d '2024-07-01 12:00' $R/far/a.jpg
                sshfs -o ssh_command=$R/bin/server x:$R/far $R/media
                sqlite3 $R/app.sqlite 'create table t(id integer primary key, x text); insert into t values (1, 2)'
                backupfs init --store $S --database $R/app.sqlite --media $R/media
                """)
            try sandbox.mount()
            let look = "cat $M/live/media/a.jpg; echo; getfattr --only-values -n user.checksum.crc32 $M/live/media/a.jpg"
            #expect(try sandbox.sh(look) == "aaaaa\neeac93b9")
            #expect(try sandbox.sh("unzip -p $M/live/archive.zip media/a.jpg") == "aaaaa")
            try sandbox.sh(
                "cd $R/media; touch -r a.jpg $R/time; printf bbbbb | dd of=a.jpg conv=notrunc status=none; touch -r $R/time a.jpg"
            )
            #expect(try sandbox.sh(look) == "bbbbb\n0bdbfaa7")
            // The server of the mount may still have a folder of it open.
            try sandbox.sh("fusermount3 -u -z $R/media")
            try sandbox.unmount()
        }
    }
}
