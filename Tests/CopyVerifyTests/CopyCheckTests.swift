import TestSupport
import Testing

/// What is looked at before anything is written.
struct CopyCheckTests {
    /// Requirement COP-03.
    @Test func `destinations that cannot be right are all named, and nothing is copied`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source, "mkdir $R/a; ln -s $R/a $R/again; printf x > $R/file")
        func refused(_ places: String, _ messages: [String], exitCode: Int32, at place: SourceLocation = #_sourceLocation) throws
        {
            let result = try sandbox.run("backupfs copy \(places)")
            #expect(result.exitCode == exitCode, "\(result.text)", sourceLocation: place)
            for message in messages { #expect(result.errors.contains(message), "\(result.errors)", sourceLocation: place) }
            #expect(try sandbox.sh("ls -A $R/a; [ ! -e $R/new ]; ls $R/home") == "", sourceLocation: place)
        }
        try refused("$R/card $R/a $R/again", ["two destinations are one folder"], exitCode: 2)
        try refused("$R/card $R/new $R/new/", ["two destinations are one folder"], exitCode: 2)
        try refused("$R/card $R/a $R/a/sub", ["a destination is inside another one"], exitCode: 2)
        try refused("$R/card $R/card/DCIM $R/a", ["the destination is inside the source"], exitCode: 2)
        try refused("$R/card $R/card/new $R/a", ["the destination is inside the source"], exitCode: 2)
        try refused("$R/card $R", ["the source is inside the destination"], exitCode: 2)
        try refused("$R/card $R/card", ["the destination is the source"], exitCode: 2)
        try refused(
            "$R/card $R/none/new $R/a $R/file", ["neither the destination nor the folder", "is not a folder", "2 problems"],
            exitCode: 1)
        try refused("$R/missing $R/a", ["there is no such folder"], exitCode: 1)
        try refused("$R/file $R/a", ["the source is not a folder"], exitCode: 1)
        try refused("$R/card", ["Name the folder to copy"], exitCode: 2)
    }

    /// Requirement COP-03.
    @Test(.enabled(if: Machine.isRoot))
    func `a disk that is too small, has no inodes or is read-only is named`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source, "mkdir $R/a $R/small $R/few $R/closed")
        let result = try sandbox.runInNamespace(
            """
            mount -t tmpfs -o size=4m none $R/small; mount -t tmpfs -o size=100m,nr_inodes=20 none $R/few; mount -t tmpfs -o ro none $R/closed
            backupfs copy $R/card $R/a $R/small $R/few; echo "exit $?"; backupfs copy $R/card $R/a $R/closed; echo "exit $?"
            ls -A $R/a $R/small $R/few
            # Room for one of two.
            mount -t tmpfs -o size=20m none $R/small; backupfs copy $R/card $R/small/1 $R/small/2; echo "exit $?"
            """)
        #expect(result.lines.filter { $0.hasPrefix("exit") } == ["exit 1", "exit 1", "exit 1"])
        #expect(result.errors.contains("2 problems"))
        #expect(result.errors.contains("small: the copy needs"))
        #expect(result.errors.contains("few: files and folders that the copy needs: 40; that the file system can still hold: "))
        #expect(result.errors.contains("closed: the file system is mounted read-only"))
        #expect(!result.output.contains("DCIM"))
    }
}
