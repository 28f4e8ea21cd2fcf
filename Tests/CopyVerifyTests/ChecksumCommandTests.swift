import TestSupport
import Testing

/// `backupfs checksum`, against the programs of coreutils.
struct ChecksumCommandTests {
    /// Requirement CHK-02.
    @Test(arguments: ["sha256", "sha1", "md5"])
    func `checksums are those of coreutils, for all sizes and names`(algorithm: String) throws {
        let sandbox = try CopySandbox.make(
            #"""
            mkdir $R/l; cd $R/l; for size in 0 1 8191 8192 8193 1048576 1048577 5000000; do head -c $size /dev/urandom > $size; done
            printf x > 'a b'; printf y > $'line\nfeed'; printf z > 'back\slash'; printf w > $'carriage\rreturn'; ln -s 8192 link
            """#)
        try sandbox.sh(
            "cd $R/l; backupfs checksum -a \(algorithm) * > $R/own; \(algorithm)sum * > $R/expected; cmp $R/own $R/expected")
        try sandbox.sh(
            "cd $R/l; \(algorithm)sum --quiet -c $R/own; backupfs checksum --algorithm \(algorithm) --no-cache * | cmp - $R/expected"
        )
    }

    @Test func `several checksums of a file that is read once, from the file or from the cache`() throws {
        let sandbox = try CopySandbox.make(
            """
            mkdir $R/l; cd $R/l; for size in 0 1 1048576 1048577 5000000; do head -c $size /dev/urandom > $size; done
            for f in *; do for a in sha1 md5 sha256 sha1; do ${a}sum $f; done; done > $R/expected
            wait_settled $R/l
            """)
        // What has just been written is not kept in the cache where the file system's clock is too coarse to tell a later change.
        let all = "7097154"
        for (option, bytesRead) in [("--no-cache", [all]), ("", [all]), ("", [all, "0"])] {
            try sandbox.sh(
                """
                cd $R/l; rm -f $R/trace*
                strace -ff -y -e trace=read,pread64 -o $R/trace backupfs checksum -a sha1 -a md5 -a sha256 -a sha1 \(option) * > $R/own
                cmp $R/own $R/expected
                """)
            let read = try sandbox.sh(
                """
                cat $R/trace.* | awk -v folder="<$R/l/" 'index($0, folder) && match($0, /= [0-9]+$/) { s += substr($0, RSTART + 2) } END { print s + 0 }'
                """)
            #expect(bytesRead.contains(read), "\(option)")
        }
    }

    @Test func `without an option it is SHA-256; JSON has the same`() throws {
        let sandbox = try CopySandbox.make("printf abc > $R/x")
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(try sandbox.sh("cd $R; backupfs checksum x") == "\(sum)  x")
        #expect(
            try sandbox.sh("cd $R; backupfs checksum x --json")
                == #"{"path":"x","algorithm":"sha256","checksum":"\#(sum)","version":1}"#)
    }

    @Test func `what cannot be read is named, and the rest is printed`() throws {
        let sandbox = try CopySandbox.make("cd $R; printf abc > x; mkdir d; mkfifo p")
        let some = try sandbox.run("cd $R; timeout 20 backupfs checksum none x d p")
        #expect(some.exitCode == 3)
        #expect(some.lines.count == 1 && some.errors.split(separator: "\n").count == 3, "\(some.text)")
        #expect(try sandbox.run("cd $R; backupfs checksum none").exitCode == 1)
        #expect(try sandbox.run("cd $R; backupfs checksum -a sha3 x").exitCode == 2)
    }
}
