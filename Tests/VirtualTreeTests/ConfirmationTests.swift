import BackupCore
import Dispatch
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import VirtualTree

/// `restore/CONFIRM`.
struct ConfirmationTests {
    @Test func `a confirmation is for one restore that succeeds`() throws {
        let test = try TestTree()
        let tree = test.tree
        try tree.drop("", at: "restore/CONFIRM")
        #expect(try tree.names("restore") == ["preview", "merge", "CONFIRM"])
        // A preview needs none, and what is refused was not restored.
        try tree.drop("a.", at: "restore/preview/a.json")
        #expect(errorCode { try tree.drop("b", at: "restore/b.json") } != nil)
        #expect(try tree.names("restore").contains("CONFIRM"))
        try tree.drop("c.", at: "restore/c.json")
        #expect(try !tree.names("restore").contains("CONFIRM"))
        try tree.drop("d.", at: "restore/d.json")
        #expect(
            test.services.submissions == [
                "preview a.json: a.", "restore confirmed b.json: b", "restore confirmed c.json: c.", "restore d.json: d.",
            ])
        try tree.drop("yes", at: "restore/CONFIRM")
        try tree.removeFile("CONFIRM", in: tree.find("restore").inode)
        #expect(errorCode { _ = try tree.find("restore/CONFIRM") } == .notFound)
        #expect(errorCode { try tree.removeFile("CONFIRM", in: tree.find("restore").inode) } == .notFound)
        // It is not a name for other files.
        let folder = try tree.find("restore").inode
        #expect(errorCode { try tree.rename("d.json", in: folder, to: "CONFIRM", in: folder, mayReplace: true) } == .readOnly)
        #expect(test.services.submissions.count == 4)
    }

    @Test func `two restores at once have one confirmation`() {
        let confirmation = RestoreConfirmation(seconds: 600)
        for _ in 0..<100 {
            confirmation.begin()
            let count = Mutex(0)
            DispatchQueue.concurrentPerform(iterations: 4) { _ in
                if confirmation.take() != nil { count.withLock { $0 += 1 } }
            }
            #expect(count.withLock { $0 } == 1)
        }
    }

    @Test func `a confirmation ends by itself, and a later one is another`() {
        let short = RestoreConfirmation(seconds: 0)
        short.begin()
        #expect(short.current == nil && !short.remove())
        let long = RestoreConfirmation(seconds: 600)
        long.begin()
        let first = long.take()
        #expect(first != nil && long.current == nil && long.take() == nil)
        if let first { long.giveBack(first) }
        #expect(long.current == first)
        // One that was given meanwhile is not replaced.
        _ = long.take()
        long.begin()
        let second = long.current
        if let first { long.giveBack(first) }
        #expect(long.current == second && second != first)
        #expect(long.remove() && long.current == nil && !long.remove())
    }
}
