import BackupCore
import Photos
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Which copies of starred photos the store keeps, and when their stars can go.
@Suite struct CopiedStarTests {
    private static let later = SystemClock.systemTime().adding(seconds: 3_600)
    private static let twoDaysLater = SystemClock.systemTime().adding(seconds: 172_800)

    /// A library of photos `1.jpg` to `4.jpg`, with a backup of them and a bucket.
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir $R/Photos $R/bucket; for i in 1 2 3 4; do printf '\\377\\330\\377\\340 photo %s' $i > $R/Photos/$i.jpg; done
            backupfs init --store $S --app photo-library --media $R/Photos >/dev/null
            backupfs remote add pictures $R/bucket --kind photos --store $S >/dev/null
            """)
        return sandbox
    }

    private func copy(_ name: String, _ stars: StarredPhotos, _ live: LivePhotos) throws -> SHA256Digest {
        let draft = try stars.queue.copies.makeDraft()
        let bytes = try readFile("\(stars.folder.root)/\(name)")
        try bytes.withUnsafeBytesThrowing { (buffer) throws(BackupError) in try draft.write(buffer, at: 0) }
        return try stars.star(draft, named: FileName(name), over: nil, if: { true }) { (content, size) throws(BackupError) in
            try live.photo(withContent: content, sizeBytes: size, named: FileName(name), where: stars.canCopy)
        }
    }

    private func open(_ sandbox: Sandbox) throws -> (StarredPhotos, LivePhotos) {
        let store = try Store.open(sandbox.storePath)
        return (try StarredPhotos(store), try #require(try LivePhotos(store: store)))
    }

    @Test func `a copy goes when the newest backup and the media folder have it, and is a day old`() throws {
        let sandbox = try sandbox()
        let (stars, live) = try open(sandbox)
        let copies = try ["1.jpg", "2.jpg", "3.jpg", "4.jpg"].map { try copy($0, stars, live) }
        try stars.tidyCopies(bucket: nil, now: Self.twoDaysLater)
        #expect(try stars.queue.copies.all().count == 4)
        try sandbox.sh(
            "backupfs backup --store $S --label one >/dev/null; rm $R/Photos/2.jpg; printf '\\377\\330\\377\\340 photo 5' > $R/Photos/3.jpg"
        )
        // Too young, or of the future.
        for now in [SystemClock.systemTime(), Self.later, Self.later.adding(seconds: -7_200)] {
            try stars.tidyCopies(bucket: nil, now: now)
            #expect(try stars.queue.copies.all().count == 4)
        }
        // Of a star that was taken away: its photo is in the backup.
        #expect(try stars.unstar("4.jpg", acceptsBackups: false).map(\.outcome) == [.unstarred])
        try stars.tidyCopies(bucket: nil, now: Self.twoDaysLater)
        #expect(try Set(stars.queue.copies.all()) == [copies[1], copies[2]])
        #expect(try stars.all().map(\.copy) == [nil, copies[1], copies[2]])
        // The newest backup does not have it any more, and neither bucket nor media folder.
        try sandbox.sh("backupfs backup --store $S --label two >/dev/null")
        try stars.tidyCopies(bucket: nil, now: Self.twoDaysLater)
        #expect(try Set(stars.queue.copies.all()) == [copies[1], copies[2]])
    }

    @Test func `a copy goes when the bucket has it, which is asked`() throws {
        let sandbox = try sandbox()
        let (stars, live) = try open(sandbox)
        let copies = try ["1.jpg", "2.jpg", "3.jpg"].map { try copy($0, stars, live) }
        try sandbox.sh("rm $R/Photos/*; backupfs star --upload --store $S >/dev/null")
        #expect(try stars.all().map(\.stage) == [.uploaded, .uploaded, .uploaded])
        // One is gone from the bucket, and another one has the bytes of something else. They keep no other copy.
        try sandbox.sh(
            """
            cd $R/bucket/photos/*/*; one=$(printf '\\377\\330\\377\\340 photo 1' | md5sum | cut -c1-32) two=$(printf '\\377\\330\\377\\340 photo 2' | md5sum | cut -c1-32)
            rm $one.jpg; printf x > $two.jpg
            """)
        let storage = try #require(try Store.open(sandbox.storePath).settings.photosRemote).open(in: stars.store.paths)
        try stars.tidyCopies(bucket: PhotoBucket(storage), now: SystemClock.systemTime())
        #expect(try stars.queue.copies.all().count == 3)
        try stars.tidyCopies(bucket: nil, now: Self.twoDaysLater)
        #expect(try stars.queue.copies.all().count == 3)
        try stars.tidyCopies(bucket: PhotoBucket(storage), now: Self.later)
        #expect(try Set(stars.queue.copies.all()) == [copies[0], copies[1]])
    }

    @Test func `a copy whose star was taken away goes when the bucket has it, which is asked`() throws {
        let sandbox = try sandbox()
        let (stars, live) = try open(sandbox)
        let copies = try ["1.jpg", "2.jpg", "3.jpg"].map { try copy($0, stars, live) }
        try sandbox.sh("rm $R/Photos/*; backupfs star --upload --store $S >/dev/null")
        for name in ["1.jpg", "2.jpg", "3.jpg"] {
            #expect(try stars.unstar(name, acceptsBackups: false).map(\.outcome) == [.unstarredUploaded])
        }
        // The catalog of this machine still lists both.
        try sandbox.sh(
            """
            cd $R/bucket/photos/*/*; one=$(printf '\\377\\330\\377\\340 photo 1' | md5sum | cut -c1-32) two=$(printf '\\377\\330\\377\\340 photo 2' | md5sum | cut -c1-32)
            rm $one.jpg; printf x > $two.jpg
            """)
        let storage = try #require(try Store.open(sandbox.storePath).settings.photosRemote).open(in: stars.store.paths)
        let bucket = PhotoBucket(storage)
        try stars.tidyCopies(bucket: bucket, now: SystemClock.systemTime())
        try stars.tidyCopies(bucket: nil, now: Self.twoDaysLater)
        #expect(try stars.queue.copies.all().count == 3)
        // The catalog of another bucket says nothing.
        let place = "\(stars.queue.root)/place"
        let known = try readFile(place)
        try writeFile(place, Array("elsewhere\n".utf8))
        try stars.tidyCopies(bucket: bucket, now: Self.later)
        #expect(try stars.queue.copies.all().count == 3)
        try writeFile(place, known)
        try stars.tidyCopies(bucket: bucket, now: Self.later)
        #expect(try Set(stars.queue.copies.all()) == [copies[0], copies[1]])
    }

    @Test func `STR-11: a Live Photo whose video comes later is starred and unstarred as one`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("mv $R/Photos/1.jpg $R/Photos/IMG_1.HEIC; backupfs star $R/Photos/IMG_1.HEIC --store $S >/dev/null")
        let (stars, _) = try open(sandbox)
        #expect(try stars.all().map(\.pairID) == [nil])
        try sandbox.sh("mv $R/Photos/2.jpg $R/Photos/IMG_1.MOV")
        #expect(try stars.star("IMG_1.HEIC").map(\.outcome) == [.queued, .queued])
        try sandbox.sh("backupfs star --upload --store $S >/dev/null")
        #expect(
            try sandbox.sh(
                "cd $R/bucket; ls photos/*/*/*.heic photos/*/*/*.mov | wc -l; jq -r .live_photo_pair catalog/catalog.jsonl | sort"
            )
                == "2\n" + sandbox.sh("md5sum $R/Photos/IMG_1.* | cut -c1-32 | sort"))
        #expect(try stars.star("IMG_1.HEIC").map(\.outcome) == [.alreadyUploaded, .alreadyUploaded])
        #expect(try stars.unstar("IMG_1.HEIC", acceptsBackups: false).count == 2)
        #expect(try stars.all().isEmpty)
    }

    @Test func `a star goes unless its copy is the only one`() throws {
        let sandbox = try sandbox()
        let (stars, live) = try open(sandbox)
        let copies = try ["1.jpg", "2.jpg", "3.jpg", "4.jpg"].map { try copy($0, stars, live) }
        try sandbox.sh("backupfs backup --store $S --label one >/dev/null; rm $R/Photos/*; mkdir $R/other")
        #expect(errorCode { _ = try stars.unstar("1.jpg", acceptsBackups: false) } == .notPermitted)
        #expect(try stars.unstar("1.jpg", acceptsBackups: true).map(\.outcome) == [.unstarred])
        // A damaged copy keeps no star.
        try writeFile("\(stars.queue.copies.folder)/\(copies[1].hexadecimal)", Array("damaged".utf8))
        #expect(try stars.unstar("2.jpg", acceptsBackups: false).map(\.outcome) == [.unstarred])
        // The bucket has it, but not if it is that of another place.
        try sandbox.sh("backupfs star --upload --store $S >/dev/null; backupfs remote remove pictures --store $S >/dev/null")
        #expect(errorCode { _ = try open(sandbox).0.unstar("3.jpg", acceptsBackups: false) } == .notPermitted)
        try sandbox.sh("backupfs remote add pictures $R/other --kind photos --store $S >/dev/null")
        #expect(errorCode { _ = try open(sandbox).0.unstar("3.jpg", acceptsBackups: false) } == .notPermitted)
        try sandbox.sh(
            "backupfs remote remove pictures --store $S >/dev/null; backupfs remote add pictures $R/bucket --kind photos --store $S >/dev/null"
        )
        #expect(try open(sandbox).0.unstar("3.jpg", acceptsBackups: false).map(\.outcome) == [.unstarredUploaded])
        // No star takes a copy with it.
        #expect(try stars.queue.copies.all().count == 4 && stars.all().map(\.path) == ["4.jpg"])
    }

    @Test func `a star is given again, and its copy stays what it stands for`() throws {
        let sandbox = try sandbox()
        let (stars, live) = try open(sandbox)
        let first = try copy("1.jpg", stars, live)
        let before = try #require(try stars.star(of: "1.jpg"))
        #expect(before.copy == first)
        #expect(try stars.star("1.jpg").map(\.outcome) == [.queued])
        #expect(try copy("1.jpg", stars, live) == first && stars.star(of: "1.jpg") == before)
        // Other bytes under its path: those that were copied would be lost from sight.
        try sandbox.sh("cp $R/Photos/2.jpg $R/Photos/1.jpg; rm $R/Photos/2.jpg")
        #expect(errorCode { _ = try stars.star("1.jpg") } == .alreadyExists)
        #expect(throws: BackupError.self) { try copy("1.jpg", stars, live) }
        #expect(try stars.star(of: "1.jpg") == before && stars.queue.copies.all() == [first])
        try writeFile("\(stars.queue.copies.folder)/\(first.hexadecimal)", Array("damaged".utf8))
        #expect(try stars.star("1.jpg").map(\.outcome) == [.queued])
        #expect(try stars.star(of: "1.jpg")?.copy == nil)
    }

    @Test func `a star that was made by its path and is uploaded gets a copy, and is not uploaded again`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("backupfs star $R/Photos/1.jpg --store $S >/dev/null")
        let (stars, live) = try open(sandbox)
        var before = try #require(try stars.star(of: "1.jpg"))
        #expect(before.stage == .uploaded)
        before.copy = try copy("1.jpg", stars, live)
        #expect(try stars.star(of: "1.jpg") == before)
    }

    @Test func `a damaged star may stand for any copy`() throws {
        let sandbox = try sandbox()
        let (stars, live) = try open(sandbox)
        for name in ["1.jpg", "2.jpg"] { _ = try copy(name, stars, live) }
        try sandbox.sh(
            "backupfs backup --store $S --label one >/dev/null; for f in $S/photos/queue/*; do echo x > $f; break; done")
        try stars.tidyCopies(bucket: nil, now: Self.twoDaysLater)
        #expect(try stars.queue.copies.all().count == 2)
    }

    @Test func `a copy without a star stays while the media folder does not have it, and is given back to its star`() throws {
        let sandbox = try sandbox()
        let (stars, live) = try open(sandbox)
        let copies = try ["1.jpg", "2.jpg", "3.jpg"].map { try copy($0, stars, live) }
        try sandbox.sh("backupfs backup --store $S --label one >/dev/null; backupfs star --upload --store $S >/dev/null")
        #expect(try stars.all().map(\.stage) == [.uploaded, .uploaded, .uploaded])
        // As an earlier version writes them. One has no star at all, and another photo is in the place of another.
        for path in ["1.jpg", "2.jpg", "3.jpg"] {
            #expect(try stars.queue.setCopy(nil, of: QueueItem.id(of: path)) { _ in true })
        }
        #expect(try stars.unstar("2.jpg", acceptsBackups: false).map(\.outcome) == [.unstarredUploaded])
        try sandbox.sh("rm $R/Photos/1.jpg $R/Photos/2.jpg; cp $R/Photos/4.jpg $R/Photos/3.jpg")
        try stars.tidyCopies(bucket: nil, now: Self.twoDaysLater)
        #expect(try Set(stars.queue.copies.all()) == Set(copies))
        #expect(try stars.all().map(\.copy) == [copies[0], nil])
        // Under any name that the backup has for it.
        try sandbox.sh("printf '\\377\\330\\377\\340 photo 2' > $R/Photos/2.jpg")
        try stars.tidyCopies(bucket: nil, now: Self.twoDaysLater)
        #expect(try Set(stars.queue.copies.all()) == [copies[0], copies[2]])
    }

    @Test func `what was decided about a star counts only while it is so`() throws {
        let sandbox = try sandbox()
        let (stars, live) = try open(sandbox)
        _ = try copy("1.jpg", stars, live)
        var item = try #require(try stars.star(of: "1.jpg"))
        let reason = try #require(try stars.reasonToGo(of: item, acceptsBackups: false))
        #expect(try stars.holds(reason, of: item))
        // A program has moved it.
        try sandbox.sh("rm $R/Photos/1.jpg")
        #expect(try !stars.holds(reason, of: item))
        #expect(try stars.reasonToGo(of: item, acceptsBackups: false) == nil)
        // A star without a copy, which gets one.
        _ = try stars.star("2.jpg")
        item = try #require(try stars.star(of: "2.jpg"))
        let nothingKept = try #require(try stars.reasonToGo(of: item, acceptsBackups: false))
        #expect(try stars.holds(nothingKept, of: item))
        let prospect = try stars.prospect("2.jpg", pair: nil, copy: nil)
        #expect(try stars.isCurrent(prospect))
        _ = try copy("2.jpg", stars, live)
        #expect(try !stars.holds(nothingKept, of: item) && !stars.isCurrent(prospect))
        // The photo in the media folder is another file now, of the same bytes.
        item = try #require(try stars.star(of: "2.jpg"))
        let photo = try #require(try stars.reasonToGo(of: item, acceptsBackups: false))
        try sandbox.sh("cd $R/Photos; cp 2.jpg new.jpg; mv new.jpg 2.jpg")
        #expect(try !stars.holds(photo, of: item))
    }

    @Test func `a photo that has just come into the media folder can be copied`() throws {
        let sandbox = try sandbox()
        let (stars, live) = try open(sandbox)
        _ = try live.index()
        try sandbox.sh("printf '\\377\\330\\377\\340 photo 5' > $R/Photos/5.jpg")
        _ = try copy("5.jpg", stars, live)
        #expect(try stars.all().map(\.path) == ["5.jpg"])
        // A hidden name could not be opened in `photos/starred/`.
        try sandbox.sh("mv $R/Photos/4.jpg $R/Photos/.trashed-4.jpg")
        #expect(errorCode { _ = try copy(".trashed-4.jpg", stars, live) } == .invalidArgument)
    }

    @Test func `a part of a Live Photo that was moved keeps its star when the other part loses it`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("cd $R/Photos; mv 1.jpg A.HEIC; mv 2.jpg A.MOV")
        let (stars, live) = try open(sandbox)
        _ = try copy("A.HEIC", stars, live)
        try sandbox.sh("rm $R/Photos/A.HEIC; backupfs star --upload --store $S >/dev/null")
        // As `mv` does before it writes over the star.
        #expect(try stars.unstar("A.MOV", acceptsBackups: false).map(\.path) == ["A.MOV"])
        #expect(try stars.all().map(\.path) == ["A.HEIC"])
    }
}
