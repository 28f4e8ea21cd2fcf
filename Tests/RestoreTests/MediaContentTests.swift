import AppData
import BackupCore
import Foundation
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import Restore

/// The content of a media folder is exchanged in place: the folder stays, and what it holds is the old or the new after any
/// crash.
struct MediaContentTests {
    private static let look =
        "cd app/photos; find . -type f -printf '%P=' -exec cat {} ';' -printf ' ' | tr ' ' '\\n' | sort | tr '\\n' ' '"

    /// `app/photos` and what is staged beside it; both have a folder and a file of one name.
    private static func build(_ folder: TemporaryFolder, stagingIn place: String = "app") throws -> MediaContentExchange {
        let staging = "\(place)/.backupfs-staging-op"
        try folder.sh(
            """
            mkdir -p app/photos/2024 app/photos/gone; cd app/photos; printf old > one.jpg; printf old > 2024/two.jpg; printf x > gone/x.jpg; printf y > y.jpg
            """)
        let exchange = MediaContentExchange(
            mediaPath: folder("app/photos"), stagingPath: folder(staging), amongMedia: .none)
        try FileSystem.makeDirectories(folder(staging))
        try exchange.prepare()
        try folder.sh(
            "cd \(staging)/new; mkdir 2024 2025; printf new > one.jpg; printf new > 2024/two.jpg; printf new > 2025/three.jpg; printf new > z.jpg"
        )
        return exchange
    }

    private static let new = "2024/two.jpg=new 2025/three.jpg=new one.jpg=new z.jpg=new "

    @Test func `U-A3: the folder itself stays, and a process that stands in it sees the new files`() throws {
        let folder = try TemporaryFolder()
        let exchange = try Self.build(folder)
        let inode = try FileSystem.status(folder("app/photos")).inode
        try exchange.publish()
        #expect(try FileSystem.status(folder("app/photos")).inode == inode)
        #expect(try folder.sh(Self.look) == Self.new)
        #expect(
            try folder.sh("cd app/.backupfs-staging-op/old; find . -type f | sort | tr '\\n' ' '; ls ../new | wc -l")
                == "./2024/two.jpg ./gone/x.jpg ./one.jpg ./y.jpg 0")
        // Once more does nothing.
        try exchange.publish()
        #expect(try FileSystem.status(folder("app/photos/one.jpg")).size == 3)
        #expect(try folder.sh("cat app/photos/one.jpg") == "new")
    }

    @Test func `moving a file does not hide whether it was written to`() throws {
        let folder = try TemporaryFolder()
        let exchange = try Self.build(folder)
        try folder.sh("ln app/photos/y.jpg app/photos/z2.jpg")
        let names = ["one.jpg", "y.jpg", "z2.jpg"]
        let before = try names.map { try FileSystem.status(folder("app/photos/\($0)")).changeTime }
        try exchange.publish()
        let old = { (name: String) in try FileSystem.status(folder("app/.backupfs-staging-op/old/\(name)")) }
        #expect(try names.map { try exchange.moved.changeTime(old($0)) } == before)
        #expect(try old("one.jpg").changeTime != before[0])
        try folder.sh("cd app/.backupfs-staging-op/old; touch -r one.jpg t; printf new > one.jpg; touch -r t one.jpg")
        #expect(try exchange.moved.changeTime(old("one.jpg")) == old("one.jpg").changeTime)
        #expect(try exchange.moved.changeTime(old("one.jpg")) != before[0])
    }

    /// Fails at the n-th renaming.
    private final class Failing: FileObserver {
        private let count: Box
        private let limit: Int
        private final class Box: @unchecked Sendable { var value = 0 }  // One thread uses it.

        init(after limit: Int) {
            self.limit = limit
            count = Box()
        }

        var isReached: Bool { count.value > limit }

        func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
            count.value += 1
            guard count.value <= limit else { throw BackupError(.inputOutput, "injected") }
            try body()
        }
    }

    @Test(arguments: [false, true])
    func `interrupted at any change, the next run ends it`(appAddsMeanwhile: Bool) throws {
        var isReached = true
        var limit = 0
        while isReached {
            let folder = try TemporaryFolder()
            let exchange = try Self.build(folder)
            let observer = Failing(after: limit)
            try? FileObservation.observing(below: folder.path, by: observer) { () throws(BackupError) in try exchange.publish() }
            isReached = observer.isReached
            // What the app makes after the crash is its own, or is taken out and kept; it is never lost.
            if appAddsMeanwhile {
                try folder.sh("cd app/photos; printf mine > mine.jpg; [ -e one.jpg ] || printf mine > one.jpg")
            }
            try exchange.publish()
            let state = try folder.sh("rm -f app/photos/mine.jpg; \(Self.look)")
            #expect(
                state.trimmingCharacters(in: .whitespaces) == Self.new.trimmingCharacters(in: .whitespaces),
                "after \(limit) changes")
            let old = try folder.sh(
                "cd app/.backupfs-staging-op/old; find . -type f -exec cat {} + | tr -d '\\n' | fold -w1 | sort | uniq -c | tr -d ' \\n'"
            )
            if !appAddsMeanwhile { #expect(old == "2d2l2o1x1y", "after \(limit) changes") }
            limit += 1
        }
        #expect(limit > 8)
    }

    private static let old = "2024/two.jpg=old gone/x.jpg=x one.jpg=old y.jpg=y "

    /// What lies where, with the content of each file.
    private static func texts(_ folder: TemporaryFolder, _ place: String) throws -> String {
        try folder.sh(
            "cd app/\(place) 2>/dev/null && find . -type f -exec cat {} ';' -printf '\\n' | sort | tr '\\n' ' ' || true")
    }

    @Test func `R-A4: brought back after any change, with what the app has done meanwhile set aside`() throws {
        var isReached = true
        var limit = 0
        while isReached {
            let folder = try TemporaryFolder()
            let exchange = try Self.build(folder)
            try exchange.recordStaged()
            let observer = Failing(after: limit)
            try? FileObservation.observing(below: folder.path, by: observer) { () throws(BackupError) in try exchange.publish() }
            isReached = observer.isReached
            let taken = try folder.sh("ls app/.backupfs-staging-op/old").split(separator: "\n")
            try folder.sh(
                "cd app/photos; printf mine > mine.jpg; rm -f y.jpg; printf appY > y.jpg; mkdir -p gone; printf appX > gone/x.jpg"
            )
            // Each change of the way back goes wrong once.
            var undoing = 0
            while true {
                let failing = Failing(after: undoing)
                try? FileObservation.observing(below: folder.path, by: failing) { () throws(BackupError) in try exchange.undo() }
                if !failing.isReached { break }
                undoing += 1
            }
            // What had not been taken out was the app's to change.
            let expected = Self.old.replacing(
                "gone/x.jpg=x ", with: taken.contains("gone") ? "gone/x.jpg=x " : "gone/x.jpg=appX "
            )
            .replacing("y.jpg=y ", with: taken.contains("y.jpg") ? "y.jpg=y " : "y.jpg=appY ")
            #expect(try folder.sh("rm app/photos/mine.jpg; \(Self.look)") == expected, "after \(limit) changes")
            #expect(try Self.texts(folder, ".backupfs-staging-op/old") == "", "after \(limit) changes")
            let everything = try Self.texts(folder, "").split(separator: " ")
            for text in ["appX", "appY"] { #expect(everything.contains { $0 == text }, "\(text) after \(limit) changes") }
            limit += 1
        }
        #expect(limit > 8)
    }

    @Test func `a database below a folder of the media stays where it is, with its log, and that folder too`() throws {
        let folder = try TemporaryFolder()
        let plain = try Self.build(folder)
        try folder.sh("cd app/photos/2024; printf db > my.db; printf wal > my.db-wal; printf other > my.db-other")
        let exchange = MediaContentExchange(
            mediaPath: plain.mediaPath, stagingPath: plain.stagingPath,
            amongMedia: try DatabaseAmongMedia(database: folder("app/photos/2024/my.db"), media: folder("app/photos")))
        let inode = try FileSystem.status(folder("app/photos/2024/my.db")).inode
        try exchange.publish()
        #expect(try FileSystem.status(folder("app/photos/2024/my.db")).inode == inode)
        #expect(
            try folder.sh("cd app/photos; cat 2024/my.db 2024/my.db-wal 2024/two.jpg; ls 2024 | tr '\\n' ' '")
                == "dbwalnewmy.db my.db-wal two.jpg ")
        #expect(try folder.sh("cd app/.backupfs-staging-op/old/2024; cat my.db-other two.jpg") == "otherold")
    }

    @Test func `R-A3: what the safety backup does not hold is kept, and only that`() throws {
        let folder = try TemporaryFolder()
        let exchange = try Self.build(folder)
        let saved = try FileSystem.status(folder("app/photos/2024/two.jpg")).modificationTime
        try exchange.publish()
        try folder.sh(
            "cd app/.backupfs-staging-op/old; printf late > 2024/late.jpg; touch -d 2030-01-01 2024/late.jpg; chmod 500 2024")
        let media = RestoreJournal.Media(path: exchange.mediaPath, stagingPath: exchange.stagingPath, stagedInode: 1)
        let kept = try MediaExchange.removeReplaced(
            media,
            isSaved: { (file) in
                file.path != Array("gone/x.jpg".utf8) && file.status.modificationTime <= saved.addingOneDay
            })
        #expect(kept == folder("app/photos-kept-op"))
        #expect(try folder.sh("cd app; ls -A") == "photos\nphotos-kept-op")
        #expect(
            try folder.sh("cd app/photos-kept-op; find . -type f | sort; cat 2024/late.jpg")
                == "./2024/late.jpg\n./gone/x.jpg\nlate")
    }
}

extension Timestamp {
    fileprivate var addingOneDay: Timestamp { Timestamp(seconds: seconds + 86_400, nanoseconds: nanoseconds) }
}
