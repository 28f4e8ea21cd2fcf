import BackupCore
import Foundation
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import Operations

extension Sandbox {
    /// One that is removed with its last reference.
    /// - Parameter onDisk: for what a file system in memory does otherwise: extended attributes, times of mapped files.
    convenience init(onDisk: Bool = false) throws {
        let disk = onDisk ? Machine.environment("BACKUPFS_TEST_DISK") : nil
        let path = try TemporaryFolder.make((disk ?? Machine.environment("TMPDIR") ?? "/tmp") + "/backupfs-operations")
        var variables = ["HOME": path]
        for name in ["LANG", "LD_LIBRARY_PATH"] { variables[name] = Machine.environment(name) }
        try self.init(at: path, variables: variables, shellOptions: "-eu -o pipefail", removesItself: true)
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
