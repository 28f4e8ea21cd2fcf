import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository
@testable import Operations

/// The repository's disk is full at its n-th change, for every n, during a backup of records and photos, an export and a restore:
/// each ends in time, and reports the disk's error (U-A5, U-A6).
struct FailingRepositoryTests {
    private static let limitSeconds: UInt64 = 60

    /// Several megabytes of records and photos: more than is read ahead.
    private func makeStore(_ sandbox: Sandbox) throws {
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            backupfs backup --store $S --label first
            sqlite3 $S/app/database.sqlite "with recursive n(i) as (select 10 union all select i + 1 from n where i < 900) insert into photos select i, 'one.jpg', hex(randomblob(700)) from n"
            head -c 3000000 /dev/urandom > $S/app/photos/new.jpg
            """)
    }

    @Test(arguments: FullDisk.Duration.allCases)
    func `a backup with records ends (U-A5, U-A6)`(duration: FullDisk.Duration) throws {
        let sandbox = try Sandbox()
        try makeStore(sandbox)
        var reachedCount = 0
        // Only some of the changes: `FailingStorageTests` covers each.
        for number in Rounds.part(of: Array(stride(from: 1, through: 200, by: 4)), oneIn: 4) {
            try sandbox.sh("rm -rf $R/copy; cp -a $S $R/copy")
            let disk = FullDisk(failing: number, duration: duration)
            let path = sandbox("copy")
            let end = try TimeLimit.run(seconds: Self.limitSeconds) {
                let store = try Store.open(path)
                return failure {
                    try FileObservation.observing(below: path + "/repository", by: disk) {
                        _ = try BackupOperation(store: store).run(label: nil, tag: nil, progress: nil)
                    }
                }
            }
            let place: Comment = "\(duration) \(number): \(disk.failed.map { "\($0)".prefix(200) } ?? "nothing failed")"
            guard let error = end else {
                Issue.record("it does not end: \(place)")
                return
            }
            if !disk.wasReached { break }
            reachedCount = number
            #expect(error == nil || error?.code == .noSpace, "\(place): \(error.map { "\($0)" } ?? "no error")")
            // A check takes as long as all the rest together. Without an error, as when the register or a note could not be
            // written, there is a backup.
            guard number % 20 < 4 || error == nil else { continue }
            let count = error == nil ? 2 : 1
            let sound = try sandbox.run(
                """
                backupfs check --read-data --store $R/copy && backupfs snapshots --store $R/copy | grep -q first &&
                    [ $(backupfs snapshots --json --store $R/copy | jq length) -ge \(count) ]
                """)
            #expect(sound.exitCode == 0, "\(place): \(sound.output)\(sound.errors)")
        }
        #expect(reachedCount > 10)
    }
}
