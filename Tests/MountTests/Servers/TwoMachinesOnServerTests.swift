import Glibc
import SystemIO
import TestSupport
import Testing

/// Two machines, which are network namespaces with a host name, a machine ID and a boot ID of their own, keep their repository in
/// one bucket. What the readme shows of a repository in a folder is so with one on a server, and what the page about remotes says
/// of several machines and of a lost network.
@Suite(
    .enabled(if: HostNetwork.isPossible, Comment(rawValue: HostNetwork.whyNot)),
    .enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"), .rotating(oneIn: 3))
struct TwoMachinesOnServerTests {
    // MARK: The tour

    @Test func `the readme's tour is the same with the repository in a bucket, and the other machine sees all of it`() throws {
        try TwoMachines.use { machines in
            let (alpha, beta) = (machines.alpha, machines.beta)
            let plain = try alpha.run("backupfs init --repository $URL --encrypt --sample")
            #expect(plain.exitCode == 2 && plain.errors.contains("http: sends everything readable over the network"), "\(plain)")
            try machines.setUp()
            #expect(try alpha.sh("hostname") == "alpha")
            #expect(try beta.sh("hostname") == "beta")
            try Self.tour(alpha)
            try Self.tutorial(alpha)
            // What one has made, the other one reads, whole and by its own reading of the bucket.
            try machines.expectNames(["version-2"])
            try alpha.sh("cd $M/snapshots/version-2; sha256sum -- *.* data/* > $R/sums")
            try beta.sh("cd $M/snapshots/version-2; sha256sum --quiet -c \(alpha("sums")); sha256sum --quiet -c SHA256SUMS")
            #expect(
                try beta.sh("backupfs snapshots --json | jq -r '.[] | [.name, .own] | @tsv'") == "version-2\tfalse")
            try machines.expectAllWhole()
            try machines.unmount()
        }
    }

    /// The commands of the readme, and what they print there.
    private static func tour(_ machine: Sandbox) throws {
        #expect(
            try machine.sh("ls $M").split(separator: "\n")
                == [
                    "README.txt", "control", "copy", "exports", "history", "index.html", "jobs", "live", "remotes", "reports",
                    "restore",
                    "safety", "snapshots", "status.json", "versions",
                ])
        #expect(
            try machine.sh("head -n 1 $M/README.txt") == "EV Charging Tracker: live data and backups, as ordinary files")
        #expect(
            try machine.sh(
                """
                cd $M
                mkdir snapshots/before-upgrade
                sqlite3 $S/app/database.sqlite 'delete from expenses where car_id = 3'
                sqlite3 live/database.sqlite 'select count(*) from expenses'
                cp snapshots/before-upgrade/export.json restore/
                head -n 1 restore/last.txt
                sqlite3 live/database.sqlite 'select count(*) from expenses'
                getfattr --only-values -n user.checksum.sha256 snapshots/latest/data/cars.json; echo
                unzip -tq snapshots/latest/archive.zip | sed 's/ in compressed.*//'
                """) == """
                    1036
                    export.json: Imported 3 cars, 1200 expenses, 8 maintenance records, 4 notifications.
                    1200
                    e967d948dc8bd644d222f6d475abc2a857ac018feb36511bcc88ca5b26ee22d0
                    No errors detected
                    """)
        try machine.fails(
            "cd $M && rm snapshots/latest/export.json",
            saying: "rm: cannot remove 'snapshots/latest/export.json': Read-only file system")
        // Sums that other programs take, of what is read through the mount.
        try machine.sh(
            """
            cd $M/snapshots/before-upgrade; sha256sum --quiet -c SHA256SUMS; md5sum --quiet -c MD5SUMS
            [ "$(jq '[.cars, .expenses, .plannedMaintenance, .delayedNotifications] | map(length) | join(" ")' export.json)" \
                = '"3 1200 8 4"' ]
            tar -xOf archive.tar data/cars.json | cmp - data/cars.json; unzip -p archive.zip data/cars.json | cmp - data/cars.json
            cmp $M/exports/*.json export.json
            """)
    }

    /// What the tutorial goes on with.
    private static func tutorial(_ machine: Sandbox) throws {
        #expect(
            try machine.sh(
                """
                cd $M
                sqlite3 $S/app/database.sqlite 'delete from expenses where car_id = 3'
                backupfs diff before-upgrade live | head -n 1
                backupfs find export.json | grep -c before-upgrade
                cp snapshots/before-upgrade/export.json restore/
                backupfs undo --yes > $R/undone
                sqlite3 $S/app/database.sqlite 'select count(*) from expenses'
                backupfs undo --yes > $R/undone
                sqlite3 $S/app/database.sqlite 'select count(*) from expenses'
                sed 's/"carId": 3$/"carId": 99/' snapshots/before-upgrade/export.json > $R/wrong.json
                """) == "expenses: 164 removed\n1\n1036\n1200")
        try machine.fails("cp $R/wrong.json $M/restore/", saying: "Invalid argument")
        #expect(
            try machine.sh(
                """
                cd $M
                head -n 1 restore/last.txt
                sqlite3 $S/app/database.sqlite 'select count(*) from expenses'
                mv snapshots/before-upgrade snapshots/version-2
                rmdir snapshots/version-2
                ls snapshots
                backupfs undelete version-2
                backupfs verify version-2 | cut -d: -f1,2
                """) == """
                    wrong.json: not restored. Import failed: expense 2 refers to unknown car 99
                    1200
                    Brought back version-2
                    version-2: can be restored
                    """)
    }

    // MARK: Both at once

    @Test func `two machines back up at the same moment, restore each other's backups and prune`() throws {
        try TwoMachines.use { machines in
            let (alpha, beta) = (machines.alpha, machines.beta)
            try machines.setUp()
            try alpha.sh(TwoMachines.change + "change alpha; sqlite3 $S/app/database.sqlite .dump | sort > $R/records")

            // One is in the middle of a backup: the other one says whose it is, and waits if it is asked to.
            try machines.proxy.set(.init(.stallRequest(afterBytes: 0), method: "PUT", path: "/packs/"))
            let first = try alpha.start(["backupfs", "backup", "--label", "alpha"])
            try machines.proxy.wait(for: "stall-request")
            try beta.fails("backupfs backup --label refused", saying: "on alpha", exitCode: 11)
            let second = try beta.start(["backupfs", "backup", "--wait=120s", "--label", "beta"])
            try machines.proxy.release()
            for (machine, job) in [(alpha, first), (beta, second)] {
                let result = try machine.finish(job)
                #expect(result.exitCode == 0, "\(result)")
            }
            try machines.expectNames(["alpha", "beta"])

            // Again and again, with neither knowing of the other's.
            let jobs = try [alpha, beta].map { machine in
                try machine.start(
                    TwoMachines.change + """
                        set -e
                        for n in 1 2 3; do change "$(hostname) $n"; backupfs backup --wait=120s --label $(hostname)-$n; done
                        """)
            }
            for (machine, job) in zip([alpha, beta], jobs) {
                let result = try machine.finish(job)
                #expect(result.exitCode == 0, "\(result)")
            }
            let names = ["alpha", "beta"] + ["alpha", "beta"].flatMap { name in (1...3).map { "\(name)-\($0)" } }
            try machines.expectNames(names)
            for name in names.dropFirst(2) {
                let device = name.replacing("-", with: " ")
                #expect(try beta.sh("jq -r .metadata.deviceName $M/snapshots/\(name)/export.json").hasPrefix(device), "\(name)")
            }

            // Each restores the other's, and its own by copying.
            try beta.sh(
                """
                backupfs restore alpha --other-source --yes > $R/restored
                sqlite3 $S/app/database.sqlite .dump | sort | cmp - \(alpha("records"))
                cp $M/snapshots/beta-3/export.json $M/restore/
                """)
            #expect(try beta.sh(Self.device) == "beta 3")
            try alpha.sh("cp $M/snapshots/beta-2/export.json $M/restore/")
            #expect(try alpha.sh(Self.device) == "beta 2")

            // One removes and prunes while the other one reads: nothing that is left loses anything.
            try alpha.sh(
                """
                backupfs config set undelete-days 0; rmdir $M/snapshots/alpha-1; backupfs delete alpha-2 --yes
                """)
            let pruning = try alpha.start(["backupfs", "prune"])
            try beta.sh(
                "for n in beta beta-1 beta-2 beta-3 alpha-3; do (cd $M/snapshots/$n; sha256sum --quiet -c SHA256SUMS); done")
            let pruned = try alpha.finish(pruning)
            #expect(pruned.exitCode == 0, "\(pruned)")
            try machines.expectNames(names.filter { !["alpha-1", "alpha-2"].contains($0) })
            try machines.expectAllWhole()
            try machines.unmount()
        }
    }

    private static let device =
        "sqlite3 $S/app/database.sqlite \"SELECT value FROM app_metadata WHERE key = 'device_name'\""

    // MARK: A network that goes away

    enum Loss: String, CaseIterable, CustomTestStringConvertible {
        /// The machine's own link is down: there is no route.
        case link
        /// Nothing arrives at the other end.
        case cable

        var testDescription: String { rawValue }
    }

    @Test(arguments: Loss.allCases)
    func `a mount goes on without the network, and when it is back`(loss: Loss) throws {
        try TwoMachines.use { machines in
            let (alpha, beta) = (machines.alpha, machines.beta)
            try machines.setUp()
            try alpha.sh("mkdir $M/snapshots/one; sync $M/snapshots/one; cat $M/snapshots/one/archive.zip > $R/one.zip")
            try beta.sh(TwoMachines.change + "change beta; mkdir $M/snapshots/unread; sync $M/snapshots/unread")
            try machines.expectNames(["one", "unread"])

            switch loss {
            case .link: try machines.network.takeDown(0)
            case .cable: try machines.network.unplug(0)
            }
            // `ls` never waits for the network, nor does what was read before.
            try alpha.sh(
                """
                began=$EPOCHREALTIME
                ls $M > /dev/null; ls $M/snapshots | head -n 2 | tr '\n' ' ' | grep -qx 'latest one '; ls -l $M/live > /dev/null
                cmp $R/one.zip $M/snapshots/one/archive.zip; (cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS)
                jq -e . $M/status.json > /dev/null
                echo "$began $EPOCHREALTIME" | awk '{ if ($2 - $1 > 8) { print "took", $2 - $1; exit 1 } }'
                """)
            // 5 seconds to connect, 10 for an answer on a connection that is there, each three times at most.
            try alpha.fails("timeout 60 cat $M/snapshots/unread/data/cars.json", saying: "Network is unreachable")
            let listed = try alpha.run("backupfs snapshots --json")
            #expect(listed.exitCode == 0 && listed.output.contains(#""name": "one""#), "\(listed)")
            #expect(listed.errors.contains("Cannot access repository. Check your internet connection."), "\(listed)")
            let made = try alpha.run("backupfs backup --label three")
            #expect(
                made.exitCode == 1 && made.errors.contains("No internet connection. Backup requires network access."), "\(made)")
            // What changes something may wait longer: once is enough.
            if loss == .link {
                try alpha.fails("mkdir $M/snapshots/two; sync $M/snapshots/two", saying: "Network is unreachable")
                #expect(
                    try alpha.sh("jq -r '.lastError | .code, .message' $M/status.json")
                        == "offline\nNo internet connection. Backup requires network access.")
                try alpha.fails("rmdir $M/snapshots/one", saying: "Network is unreachable")
                try alpha.fails("cp $M/snapshots/one/export.json $M/restore/", saying: "Network is unreachable")
            }
            // The other one goes on meanwhile.
            try beta.sh(TwoMachines.change + "change later; mkdir $M/snapshots/meanwhile; sync $M/snapshots/meanwhile")

            switch loss {
            case .link: try machines.network.bringUp(0)
            case .cable: try machines.network.plugIn(0)
            }
            // Nothing is lost, and nothing is mounted again.
            try alpha.sh(
                """
                wait_until '[ -e $M/snapshots/meanwhile/export.json ]'
                (cd $M/snapshots/unread; sha256sum --quiet -c SHA256SUMS); mkdir $M/snapshots/two; sync $M/snapshots/two
                cp $M/snapshots/one/export.json $M/restore/
                """)
            try machines.expectNames(["meanwhile", "one", "two", "unread"])
            try machines.expectAllWhole()
            try machines.unmount()
        }
    }

    // MARK: IPv6

    @Test func `a server with an IPv6 address keeps a repository`() throws {
        try TwoMachines.use("[\(HostNetwork.address6)]") { machines in
            try machines.setUp()
            try machines.alpha.sh(TwoMachines.change + "change six; mkdir $M/snapshots/one; sync $M/snapshots/one")
            try machines.beta.sh("backupfs backup --label two")
            try machines.expectNames(["one", "two"])
            #expect(try machines.beta.sh("jq -r .metadata.deviceName $M/snapshots/one/export.json").hasPrefix("six"))
            try machines.expectAllWhole()
            try machines.unmount()
        }
    }
}
