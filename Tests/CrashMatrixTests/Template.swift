import Glibc
import Synchronization
import SystemIO
import TestSupport

/// A store that is made once and copied for each run, with the files that are restored into it.
final class Template: Sendable {
    enum Kind: String, Sendable {
        /// Records with photos, in a database with a write-ahead log.
        case diary
        /// A database without an app definition, outside the store, with a rollback journal.
        case whole
    }

    static let diary = Result { try Template(.diary) }
    static let whole = Result { try Template(.whole) }

    static func of(_ kind: Kind) throws -> Template { try (kind == .diary ? diary : whole).get() }

    let kind: Kind
    // It does not change any more: it is only copied.
    nonisolated(unsafe) let world: World
    /// The app's data before a restore.
    let old: String

    private init(_ kind: Kind) throws {
        self.kind = kind
        world = try World()
        switch kind {
        case .diary: try Self.makeDiary(world)
        case .whole: try Self.makeWhole(world)
        }
        old = try AppState.describe(database: Self.databasePath(kind, world), media: Self.mediaPath(kind, world))
        Self.removeAtExit(world)
    }

    static func databasePath(_ kind: Kind, _ world: World) -> String {
        kind == .diary ? "\(world.storePath)/app/database.sqlite" : "\(world.path)/any.sqlite"
    }

    static func mediaPath(_ kind: Kind, _ world: World) -> String? { kind == .diary ? "\(world.storePath)/app/photos" : nil }

    /// For a world that lives as long as the tests' process, which never lets go of it.
    static func removeAtExit(_ world: World) {
        removal.withLock { $0.append(world.path) }
        _ = registration
    }

    private static let removal = Mutex<[String]>([])
    private static let registration: Int32 = atexit {
        for path in Template.removal.withLock({ $0 }) { try? FileSystem.removeTree(FileSystem.parentPath(path)) }
    }

    /// Photos of which the archive has some, some under the same name with other bytes, and some not; links on both sides; a
    /// backup named "first", and other data since.
    private static func makeDiary(_ world: World) throws {
        try writeFile("\(world.inputsPath)/diary.yaml", Array(PhotoDiary.definition(identity: "file").utf8))
        try world.shell("\(try Machine.binaryPath()) init --store $S --app $I/diary.yaml")
        try world.shell(
            """
            cd $S/app/photos; mkdir -p 2024/summer; printf one > one.jpg; printf two > 2024/two.jpg; printf three > 2024/summer/three.jpg
            chmod 640 one.jpg; chmod 750 2024/summer; ln -s 2024/two.jpg link
            sqlite3 $S/app/database.sqlite "insert into app_metadata values ('app_version','1.0')"
            sqlite3 $S/app/database.sqlite "insert into photos values (1,'one.jpg','before'),(5,'gone.jpg',null)"
            printf gone > gone.jpg; find . -type f -exec touch -d '2024-07-01 12:34:56' {} +
            \(try Machine.binaryPath()) backup --store $S --label first
            rm gone.jpg; printf 'another two' > 2024/two.jpg; touch -d '2024-08-01' 2024/two.jpg
            sqlite3 $S/app/database.sqlite "delete from photos; insert into photos values (1,'one.jpg','first'),(2,'2024/two.jpg',null),(3,'2024/summer/three.jpg','sea')"
            """)
        try writeFile("\(world.inputsPath)/export.json", Array(export.utf8))
        try world.shell(
            """
            cd $I; mkdir -p media/2024/winter media/2025; cd media
            printf one > one.jpg; printf other > 2024/two.jpg; printf four > 2024/winter/four.jpg; printf five > 2025/five.jpg; printf 6 > six.jpg
            ln -s ../six.jpg 2025/link; find . -type f -exec touch -d '2024-09-01' {} +
            cd ..; zip -qry other.zip export.json media; cp export.json other.json
            sqlite3 $S/app/database.sqlite '.backup other.sqlite'
            sqlite3 other.sqlite "pragma journal_mode = delete; update photos set caption = 'of the file'; insert into photos values (9,'nine.jpg','nine')"
            """)
    }

    private static let export = """
        {"metadata": {"createdAt": "2026-01-11T14:30:00Z", "appVersion": "1.0", "schemaVersion": 1}, "photos": [
        {"id": 1, "file": "six.jpg"}, {"id": 2, "file": "2024/two.jpg", "caption": "another"},
        {"id": 7, "file": "one.jpg", "caption": "changed"}, {"id": 8, "file": "2024/winter/four.jpg"}]}
        """

    private static func makeWhole(_ world: World) throws {
        let table =
            "create table notes (id integer primary key autoincrement, text, weight real); create index by_text on notes (text);"
        try world.shell(
            """
            sqlite3 $W/any.sqlite "\(table) insert into notes (text, weight) values ('one', 1.5), ('two', null)"
            \(try Machine.binaryPath()) init --store $S --database $W/any.sqlite
            \(try Machine.binaryPath()) backup --store $S --label first
            sqlite3 $I/other.sqlite "\(table) insert into notes (text, weight) values ('three', 3), ('four', x'04'); create table more (a, b)"
            sqlite3 $I/other.sqlite "insert into more values (1, 'x'), (2, hex(randomblob(6000)))"
            """)
    }
}
