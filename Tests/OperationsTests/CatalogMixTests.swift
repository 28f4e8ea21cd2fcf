import TestSupport
import Testing

@testable import Operations

/// A catalog whose pages are from two different times, as after a torn write or beside the write-ahead log of another copy.
struct CatalogMixTests {
    @Test func `a backup with a catalog of two times has everything`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir $R/photos; head -c 3000 /dev/urandom > $R/photos/1.jpg; head -c 3000 /dev/urandom > $R/photos/2.jpg
            cp -r $R/photos $R/first
            backupfs init --store $S --app photo-library --media $R/photos --repository $R/repository
            backupfs backup --label a --store $S
            sqlite3 $R/repository/catalog.sqlite "ATTACH '$R/old' AS old; CREATE TABLE old.chunks AS SELECT * FROM chunks"
            head -c 4000 /dev/urandom > $R/photos/1.jpg; head -c 4000 /dev/urandom > $R/photos/2.jpg
            backupfs backup --label b --store $S; backupfs delete a --now --yes --store $S
            sqlite3 $R/repository/catalog.sqlite "ATTACH '$R/old' AS old;
                UPDATE old.chunks SET pack = (SELECT min(number) FROM packs WHERE kind = 0);
                INSERT OR IGNORE INTO chunks SELECT * FROM old.chunks"
            cp $R/first/*.jpg $R/photos
            """)
        let made = try sandbox.run("backupfs backup --label c --store $S")
        #expect(made.exitCode == 0 && made.errors.isEmpty, "\(made.errors)")
        try sandbox.sh("backupfs restore c --target $R/out --store $S; diff -r $R/first $R/out/media")
        let check = try sandbox.run("backupfs check --read-data --store $S")
        #expect(check.exitCode == 0, "\(check.output)\(check.errors)")
    }
}
