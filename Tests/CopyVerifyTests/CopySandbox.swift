import SystemIO
import TestSupport
import Testing

/// A sandbox with a source, `$R/card`. Copies are made to `$R/a`, `$R/b` and `$R/c`.
enum CopySandbox {
    /// Names of every kind, sizes on both sides of the limits between small, large and very large files.
    static let source = """
        mkdir -p $R/card/DCIM/100 $R/card/empty $R/card/MISC; cd $R/card
        printf one > DCIM/one.txt; : > DCIM/nothing; head -c 65536 /dev/urandom > DCIM/100/edge; head -c 65537 /dev/urandom > DCIM/100/over
        head -c 3000001 /dev/urandom > DCIM/100/clip.mov; head -c 9000000 /dev/urandom > DCIM/large.mov
        for i in $(seq 30); do printf "%s" $i > MISC/$i.txt; done
        """

    /// More than that: what only some file systems and programs think of.
    static let oddities = #"""
        cd $R/card; printf x > "$(printf 'n%.0s' $(seq 255))"; printf y > $'bad-\xff\xfe'; printf z > $'line\nfeed'; ln DCIM/one.txt hard
        ln -s DCIM/one.txt link; ln -s /nowhere dangling; truncate -s 20M sparse; printf middle | dd of=sparse bs=1 seek=10000000 conv=notrunc status=none
        truncate -s 5M hole; printf abc > start; truncate -s 3M start
        setfattr -n user.note -v hello DCIM/one.txt; setfattr -n user.place -v here MISC; chmod 640 DCIM/one.txt; chmod 4751 DCIM/100/over; chmod 500 empty
        touch -d '2021-02-03 04:05:06.123456789' DCIM/one.txt; touch -d '1969-12-31 23:59:58.5' DCIM/100/edge; touch -h -d '2001-01-01' link
        touch -d '2020-01-01 00:00:00.5' MISC DCIM/100 empty
        """#

    /// Everything that `diff` does not compare; nothing is listed when the two folders are equal.
    static func differences(_ destination: String) -> String {
        "diff -r --no-dereference $R/card \(destination); rsync -nacX --itemize-changes --delete $R/card/ \(destination)/"
    }

    /// - Parameter isOnDisk: whether it must not be in memory, where copies are lost with the machine.
    static func make(_ scripts: String..., isOnDisk: Bool = false) throws -> Sandbox {
        let base = isOnDisk ? "/var/tmp" : Machine.environment("TMPDIR") ?? "/tmp"
        let sandbox = try Sandbox(at: TemporaryFolder.make("\(base)/copy"), folders: ["home"], removesItself: true)
        sandbox.variables["HOME"] = sandbox("home")
        sandbox.variables["LC_ALL"] = "C.UTF-8"
        // The folder of the last job.
        sandbox.variables["J"] = sandbox("job")
        for script in scripts { try sandbox.sh(script) }
        return sandbox
    }

    /// Makes `$R/job` a link to the folder of the last job.
    static let findJob = "jobs=$R/home/.local/state/backupfs/jobs; ln -sfn $jobs/$(ls -t $jobs | head -n 1) $R/job"
}
