import BackupCore
import Foundation
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// A folder that is removed with the test, and programs run in it. In scripts, it is `$R`, its store `$S`, and the program under
/// test `backupfs`.
final class Room: Sendable {
    let path: String
    var storePath: String { "\(path)/store" }

    init() throws {
        path = NSTemporaryDirectory() + "backupfs-operations-" + RandomToken.make()
        try FileSystem.makeDirectories(path + "/bin")
        try #require(symlink(Machine.binaryPath(), path + "/bin/backupfs") == 0)
    }

    deinit { _ = try? run("chmod -R u+rwX \"$R\"; rm -rf \"$R\"") }

    func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    struct Result {
        let status: Int32
        let output: String
        /// The output on standard error.
        let complaint: String
    }

    /// Runs a bash script to its end.
    func run(_ script: String, _ environment: [String: String] = [:]) throws -> Result {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", script]
        var variables = ProcessInfo.processInfo.environment.filter { ["LANG", "LD_LIBRARY_PATH"].contains($0.key) }
        variables["PATH"] = "\(path)/bin:" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
        variables["R"] = path
        variables["S"] = storePath
        variables["TZ"] = "UTC"
        variables["HOME"] = path
        process.environment = variables.merging(environment) { $1 }
        let complaints = NSTemporaryDirectory() + "backupfs-operations-complaints-" + RandomToken.make()
        _ = FileManager.default.createFile(atPath: complaints, contents: nil)
        process.standardError = FileHandle(forWritingAtPath: complaints)
        let pipe = Foundation.Pipe()
        process.standardOutput = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let complaint = (try? String(contentsOfFile: complaints, encoding: .utf8)) ?? ""
        unlink(complaints)
        return Result(status: process.terminationStatus, output: String(decoding: data, as: UTF8.self), complaint: complaint)
    }

    /// Runs a script that must succeed, and returns its output without the last line feed.
    @discardableResult
    func sh(_ script: String, _ environment: [String: String] = [:], at place: SourceLocation = #_sourceLocation) throws -> String
    {
        let result = try run("set -euo pipefail\n" + script, environment)
        #expect(result.status == 0, "\(result.output)\(result.complaint)", sourceLocation: place)
        return result.output.hasSuffix("\n") ? String(result.output.dropLast()) : result.output
    }

    func write(_ text: String, to name: String) throws {
        try text.write(toFile: self(name), atomically: false, encoding: .utf8)
    }

    /// A store of the photo diary with three photos; `$P` is its photo folder.
    func makeDiary() throws -> Store {
        try write(PhotoDiary.definition, to: "diary.yaml")
        let store = try StoreCreation(app: self("diary.yaml")).create(at: storePath)
        try sh(PhotoDiary.fill)
        return store
    }
}

extension PhotoDiary {
    static let fill = """
        cd $S/app/photos; mkdir -p 2024/summer; printf one > one.jpg; printf two > 2024/two.jpg; printf three > 2024/summer/three.jpg
        touch -d '2024-07-01 12:34:56' one.jpg 2024/two.jpg 2024/summer/three.jpg; chmod 640 one.jpg; chmod 750 2024/summer
        touch -d '2024-08-01' 2024/summer 2024
        sqlite3 $S/app/database.sqlite "insert into app_metadata values ('app_version','1.0')"
        sqlite3 $S/app/database.sqlite "insert into photos values (1,'one.jpg','first'),(2,'2024/two.jpg',null),(3,'2024/summer/three.jpg','sea')"
        """

    /// Everything a restore may change: the database's content, and names, kinds, modes, times, targets and content below the
    /// photo folder.
    static let describe = """
        sqlite3 -readonly $S/app/database.sqlite '.dump photos' 'select * from app_metadata order by key'
        cd $S/app/photos; find . -type d -printf 'd %P %m\\n' | sort; find . -type f -printf 'f %P %m %s %T@\\n' | sort
        find . -type l -printf 'l %P %l\\n' | sort; find . -type f -print0 | sort -z | xargs -0r sha256sum
        """

    /// Files that an operation must not leave behind.
    static let leftovers = """
        ls -A -I CACHEDIR.TAG $S/spool; find $S -maxdepth 1 \\( -name 'restore.journal*' -o -name operation.json -o -name '*.tmp-*' \\)
        find $S/app -name '.backupfs*'
        sqlite3 -readonly $S/app/database.sqlite "select name from sqlite_master where name like 'backupfs%'"
        """
}

func json(_ bytes: [UInt8]) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
}

extension Store {
    /// A file at the top of a backup.
    func file(_ name: FileName, in snapshot: String) throws -> [UInt8] {
        let entry = try #require(try repository.rootDirectory(of: self.snapshot(named: snapshot)).entry(named: name))
        return try repository.bytes(of: entry.content, limitBytes: 1 << 24)
    }
}
