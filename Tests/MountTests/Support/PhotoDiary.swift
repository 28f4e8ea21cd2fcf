import TestSupport
import Testing

extension PhotoDiary {
    /// Runs a test with a mounted store of this app, with three photos in two folders. `$P` is the app's photo folder.
    static func withMount(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try setUp(sandbox)
            try sandbox.mount()
            try body(sandbox)
            try sandbox.unmount()
        }
    }

    static func setUp(_ sandbox: Sandbox) throws {
        try sandbox.write(definition, to: "diary.yaml")
        sandbox.variables["P"] = "\(sandbox.storePath)/app/photos"
        try sandbox.sh(
            """
            backupfs init --store $S --app $R/diary.yaml
            cd $P; mkdir -p 2024/summer; printf 'one' > one.jpg; printf 'two' > 2024/two.jpg; head -c 300000 /dev/urandom > 2024/summer/three.jpg
            touch -d '2024-07-01 12:34:56.789' 2024/summer/three.jpg; touch -d '2023-01-01 00:00:00' one.jpg; chmod 640 one.jpg
            touch -d '2024-08-01 01:02:03' 2024/summer 2024
            sqlite3 $S/app/database.sqlite "insert into photos values (1,'one.jpg','first'),(2,'2024/two.jpg',null),(3,'2024/summer/three.jpg','sea')"
            """)
    }

    /// Everything about the files below the current folder: names, types, modes of files, times, link targets and content.
    static let describe = """
        find . -mindepth 1 -type d -printf 'd %P %T@\\0' | sort -z; find . -type f -printf 'f %P %m %s %T@\\0' | sort -z
        find . -type l -printf 'l %P %l\\0' | sort -z; find . -type f -print0 | sort -z | xargs -0r sha256sum -z
        """

    /// The same without fractions of seconds, which a ZIP archive does not store.
    static let describeInSeconds = "{ \(describe); } | sed -z 's/\\([0-9]\\{10\\}\\)\\.[0-9]*$/\\1/' | tr '\\0' '\\n'"
}
