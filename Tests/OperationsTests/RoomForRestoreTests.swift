import TestSupport
import Testing

/// A restore asks for the room that it and its safety backup need before it changes anything.
@Suite(.enabled(if: Machine.isRoot, "NOT TESTED: a full disk needs root to mount a small one"))
struct RoomForRestoreTests {
    @Test func `too little room for the media or for the safety backup is told before anything is made`() throws {
        let room = try Room()
        // Where nobody can mount, this cannot be tried.
        guard try room.run("mkdir $R/disk; mount -t tmpfs -o size=60m tmpfs $R/disk").status == 0 else { return }
        defer { _ = try? room.run("umount -l $R/disk") }
        let store = ["S": room("disk/store")]
        try room.write(PhotoDiary.definition, to: "diary.yaml")
        try room.sh("backupfs init --store $S --app $R/diary.yaml >/dev/null", store)
        try room.sh(PhotoDiary.fill, store)
        try room.sh(
            "head -c 12000000 /dev/urandom > $S/app/photos/large.jpg; backupfs export --zip --store $S --output $R/a.zip >/dev/null",
            store)
        // 12 MB for the new media, 12 MB for the backup of the old, and some for the records.
        for (ballast, isEnough) in [(40, false), (26, false), (10, true)] {
            try room.sh("head -c \(ballast)000000 /dev/zero > $R/disk/ballast")
            let state = try room.sh(PhotoDiary.describe, store)
            let result = try room.run("backupfs restore $R/a.zip --yes --store $S", store)
            if isEnough {
                #expect(result.status == 0, "\(ballast) MB: \(result)")
                continue
            }
            #expect(result.status == 1)
            let told =
                ballast == 40 ? "the archive unpacks to 12" : "the restore and the safety backup before it need"
            #expect(
                result.complaint.contains(told) && result.complaint.contains("nothing was changed"),
                "\(ballast) MB: \(result.complaint)")
            #expect(try room.sh("ls -A $S/repository/snapshots | wc -l", store) == "0")
            #expect(try room.sh(PhotoDiary.describe, store) == state)
            #expect(try room.sh(PhotoDiary.leftovers, store) == "")
        }
    }
}
