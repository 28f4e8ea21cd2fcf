import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import Photos

/// The list of stars that a mount asks about each name.
struct StarListTests {
    private func paths(_ list: StarList) throws -> [String] { try list.stars().map { "\($0.name) \($0.item.path)" } }

    @Test func `a star keeps its name while others come and go`() throws {
        let fixture = try PhotoFixture()
        for folder in ["b", "c", "d"] { try fixture.star(fixture.write(folder, to: "\(folder)/IMG_1.jpg")) }
        let list = StarList(fixture.queue)
        #expect(try paths(list) == ["IMG_1.jpg b/IMG_1.jpg", "IMG_1 (2).jpg c/IMG_1.jpg", "IMG_1 (3).jpg d/IMG_1.jpg"])
        // Another photo of that name, in an earlier folder, takes none of the names that a program may have listed.
        try fixture.star(fixture.write("a", to: "a/IMG_1.jpg"))
        _ = try fixture.queue.remove(QueueItem.id(of: "c/IMG_1.jpg"))
        list.noteChange()
        #expect(try paths(list) == ["IMG_1 (4).jpg a/IMG_1.jpg", "IMG_1.jpg b/IMG_1.jpg", "IMG_1 (3).jpg d/IMG_1.jpg"])
        #expect(try list.star(named: "IMG_1 (3).jpg")?.item.path == "d/IMG_1.jpg")
        #expect(try list.star(named: "IMG_1 (2).jpg") == nil)
        // Removed by the names of one listing, none is left.
        for name in try list.stars().map(\.name) {
            let star = try #require(try list.star(named: name))
            _ = try fixture.queue.remove(star.item.id)
            list.noteChange()
        }
        #expect(try list.stars().isEmpty)
    }

    /// Another process changes stars as fast as it can: what it has done is seen soon, and nothing else ever.
    @Test(arguments: Rounds.seeds(10, oneIn: 5))
    func `a look is never without a star that is there all the time`(seed: UInt64) throws {
        let fixture = try PhotoFixture()
        for number in 0..<50 { try fixture.star(fixture.write("\(number)", to: "\(number).jpg")) }
        let list = StarList(fixture.queue)
        let (queue, uploaded) = (fixture.queue.queue, fixture.queue.uploaded)
        // Each star goes to the other folder and back, as uploads and another bucket move it.
        let mover = try SystemThread {
            for round in 0..<200 {
                let name = "\(QueueItem.id(of: "\((UInt64(round) * 7 + seed) % 50).jpg")).json"
                let places = ["\(queue)/\(name)", "\(uploaded)/\(name)"]
                let from = (try? FileSystem.exists(places[0])) == true ? 0 : 1
                try? FileSystem.rename(places[from], to: places[1 - from])
            }
        }
        for _ in 0..<100 {
            list.noteChange()
            #expect(try list.stars().count == 50)
            #expect(try fixture.queue.items().count == 50)
        }
        mover.join()
    }

    @Test func `a change by another process is seen, also within one tick of the clock of files`() throws {
        let fixture = try PhotoFixture()
        let list = StarList(fixture.queue)
        for number in 0..<30 {
            try fixture.star(fixture.write("x", to: "\(number).jpg"))
            let end = SystemClock.monotonicSeconds() + 30
            while try list.stars().count != number + 1, SystemClock.monotonicSeconds() < end { usleep(1_000) }
            #expect(try list.stars().count == number + 1)
            // In place, with the same length: the time of the star.
            let id = QueueItem.id(of: "\(number).jpg")
            var item = try #require(try fixture.queue.item(id))
            item.attempts = 7
            try fixture.queue.add(item)
            while try list.star(named: FileName("\(number).jpg"))?.item.attempts != 7, SystemClock.monotonicSeconds() < end {
                usleep(1_000)
            }
            #expect(try list.star(named: FileName("\(number).jpg"))?.item.attempts == 7)
        }
    }

    @Test func `a file that is no star is left out`() throws {
        let fixture = try PhotoFixture()
        try fixture.star(fixture.write("x", to: "x.jpg"))
        try writeFile("\(fixture.queue.queue)/0.json", Array("{".utf8))
        // A program that synchronizes folders keeps both versions.
        let id = QueueItem.id(of: "x.jpg")
        let star = try readFile("\(fixture.queue.queue)/\(id).json")
        try writeFile("\(fixture.queue.queue)/\(id).sync-conflict-20260101-000000.json", star)
        try writeFile("\(fixture.queue.uploaded)/\(id) (copy).json", star)
        let list = StarList(fixture.queue)
        #expect(try paths(list) == ["x.jpg x.jpg"])
        #expect(try fixture.queue.items().map(\.path) == ["x.jpg"])
    }
}
