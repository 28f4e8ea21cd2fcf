import Glibc
import SystemIO
import TestSupport
import Testing

/// The commands, with the program itself, and with a real server where requests matter.
struct StarCommandTests {
    /// A store of the photo library, with photos in `$P` that ExifTool has tagged.
    private func sandbox(_ variables: [String: String] = [:]) throws -> Sandbox {
        let path = try TemporaryFolder.make((Machine.environment("TMPDIR") ?? "/tmp") + "/backupfs-photos")
        var all = ["HOME": path, "P": "\(path)/Photos"]
        all.merge(variables) { $1 }
        let sandbox = try Sandbox(at: path, variables: all, shellOptions: "-eu -o pipefail", removesItself: true)
        try sandbox.sh(
            """
            mkdir $P $P/sea; cd $P; vips gaussnoise $R/n.v 64 48; vips cast $R/n.v $R/b.v uchar; vips copy $R/b.v $R/base.jpg
            for name in IMG_1 IMG_2 sea/IMG_1; do cp $R/base.jpg $name.jpg; done
            exiftool -q -n -overwrite_original -DateTimeOriginal='2024:06:30 23:59:00' -Make=Canon -Model='EOS R5' -Rating=4 IMG_1.jpg
            exiftool -q -n -overwrite_original -DateTimeOriginal='2023:01:02 03:04:05' -Make=Apple -Rating=2 IMG_2.jpg
            exiftool -q -n -overwrite_original -DateTimeOriginal='2024:06:01 00:00:00' -Make=NIKON sea/IMG_1.jpg
            touch -d '2024-07-08 09:10:11.5' IMG_1.jpg; touch -d '2001-02-03 04:05:06' IMG_2.jpg sea/IMG_1.jpg
            backupfs init --store $S --app photo-library --media $P >/dev/null
            """)
        return sandbox
    }

    private func addFolder(_ sandbox: Sandbox) throws {
        try sandbox.sh("backupfs remote add photos $R/bucket --kind photos --store $S >/dev/null")
    }

    @Test func `FPH-01, FPH-03, REM-16: on a server, under the wall clock's month, with six headers, and sent once`() throws {
        let server = try ObjectServer.shared()
        let proxy = try FaultProxy(targetPort: server.port)
        let bucket = try server.makeBucket()
        let sandbox = try sandbox(server.administrator.variables)
        try sandbox.sh(
            "backupfs remote add photos s3:\(proxy.endpoint)/\(bucket) --region \(server.region) --kind photos --store $S >/dev/null"
        )
        try proxy.reset()
        try sandbox.sh("backupfs star $P/IMG_1.jpg --store $S", ["TZ": "Asia/Tokyo"])
        let md5 = try sandbox.sh("md5sum $P/IMG_1.jpg | cut -c1-32")
        let key = "/\(bucket)/photos/2024/06/\(md5).jpg"
        let sent = try proxy.requests().filter { $0.method == "PUT" && $0.path == key }
        #expect(sent.count == 1)
        let headers = try #require(sent.first).headers
        let expected = [
            "original-filename": "IMG_1.jpg", "source": "directory", "md5": md5, "date-taken": "2024-06-30T23:59:00",
            "camera-make": "Canon", "camera-model": "EOS R5",
        ]
        for (name, value) in expected { #expect(headers["x-amz-meta-\(name)"] == value) }
        // Neither the queue, nor another machine, sends it again.
        try sandbox.sh("cd $P; TZ=UTC backupfs star IMG_1.jpg --store $S; rm -r $S/photos; backupfs star IMG_1.jpg --store $S")
        #expect(try proxy.requests().count { $0.method == "PUT" && $0.path == key } == 1)
        // A backup and a sync store nothing there.
        #expect(try sandbox.run("backupfs backup --store $S; backupfs sync --store $S").exitCode == 1)
        let names = try server.boto3(
            "print(*[o['Key'] for o in s3.list_objects_v2(Bucket=sys.argv[1])['Contents']])", [bucket])
        #expect(
            names.split(separator: " ").map { $0.prefix { $0 != "/" } }.sorted().map(String.init).joined(separator: " ")
                .trimmed == "catalog metadata photos thumbnails")
        #expect(
            try server.boto3(
                "print(s3.head_object(Bucket=sys.argv[1], Key=sys.argv[2])['Metadata']['md5'])",
                [
                    bucket, "photos/2024/06/\(md5).jpg",
                ]
            ).trimmed == md5)
        // What the server says, without a store.
        try sandbox.sh(
            "backupfs restore --from-photos --url s3:\(server.endpoint)/\(bucket) --region \(server.region) --target $R/out --md5 \(md5)"
        )
        #expect(
            try sandbox.sh("cmp $R/out/2024/06/IMG_1.jpg $P/IMG_1.jpg; stat -c %y $R/out/2024/06/IMG_1.jpg | cut -c1-21")
                == "2024-07-08 09:10:11.5")
    }

    @Test func `STR-09: killed five times, each photo is there once, and is restored with its time`() throws {
        let server = try ObjectServer.shared()
        let proxy = try FaultProxy(targetPort: server.port)
        let bucket = try server.makeBucket()
        let sandbox = try sandbox(server.administrator.variables)
        try sandbox.sh(
            """
            backupfs remote add photos s3:\(proxy.endpoint)/\(bucket) --region \(server.region) --kind photos --store $S >/dev/null
            cd $P; rm -r *; for i in $(seq 50); do echo "photo $i" > $i.jpg; touch -d "2020-01-01 00:00:$((i % 60))" $i.jpg; done
            backupfs star *.jpg --no-wait --store $S >/dev/null
            """)
        try proxy.reset()
        for round in 1...5 {
            let action = round.isMultiple(of: 2) ? FaultProxy.Action.stallRequest(afterBytes: 0) : .stallAnswer(afterBytes: 0)
            try proxy.set(FaultProxy.Fault(action, method: "PUT", path: "/photos/", nth: 6))
            let job = try sandbox.start("exec backupfs star --upload --store $S")
            try proxy.wait(for: round.isMultiple(of: 2) ? "stall-request" : "stall-answer", count: (round + 1) / 2)
            job.send(SIGKILL)
            _ = try job.wait(limitSeconds: 20)
            try proxy.release()
        }
        try proxy.set()
        try sandbox.sh("backupfs star --upload --store $S")
        let puts = try proxy.requests().filter { $0.method == "PUT" && $0.path.contains("/photos/") && $0.serverStatus == 200 }
        #expect(Set(puts.map(\.path)).count == 50)
        // At most what was under way at each kill.
        #expect(puts.count <= 50 + 5 * 3)
        #expect(
            try sandbox.sh("backupfs star --list --json --store $S | jq -r '.[].stage' | sort | uniq -c | xargs") == "50 uploaded"
        )
        try sandbox.sh("backupfs restore --from-photos --target $R/out --flat --store $S")
        #expect(
            try sandbox.sh("diff -r $P $R/out; for d in $P $R/out; do (cd $d; stat -c '%n %y' *) | md5sum; done | uniq | wc -l")
                == "1")
        #expect(try sandbox.sh("jq -s 'map(.md5) | unique | length' $S/photos/catalog.jsonl") == "50")
    }

    @Test func `an upload that waits for the server ends with SIGINT, and goes on at the next run`() throws {
        let server = try ObjectServer.shared()
        let proxy = try FaultProxy(targetPort: server.port)
        let bucket = try server.makeBucket()
        let sandbox = try sandbox(server.administrator.variables)
        try sandbox.sh(
            "backupfs remote add photos s3:\(proxy.endpoint)/\(bucket) --region \(server.region) --kind photos --store $S >/dev/null"
        )
        try proxy.reset()
        try proxy.set(FaultProxy.Fault(.stallAnswer(afterBytes: 0), method: "PUT", path: "/photos/", nth: 1))
        let job = try sandbox.start("exec backupfs star $P/IMG_1.jpg --store $S")
        try proxy.wait(for: "stall-answer", count: 1)
        job.send(SIGINT)
        let result = try job.wait(limitSeconds: 20)
        #expect(result.exitCode != 0 && result.text.contains("cancelled"))
        try proxy.release()
        try proxy.set()
        try sandbox.sh("backupfs star --upload --store $S")
        #expect(try sandbox.sh("backupfs star --list --json --store $S | jq -r '.[].stage'") == "uploaded")
    }

    @Test func `FPH-06, STR-10: a video of 200 MB takes little memory, and so does an upload in parts`() throws {
        let server = try ObjectServer.shared()
        let bucket = try server.makeBucket()
        let sandbox = try sandbox(server.administrator.variables)
        try sandbox.write(Self.memory, to: "memory.py")
        try addFolder(sandbox)
        let small = try #require(Int(try sandbox.sh("python3 $R/memory.py backupfs star $P/IMG_1.jpg --store $S")))
        try sandbox.sh("truncate -s 200M $P/a.mp4; truncate -s 70M $P/b.mp4")
        let large = try #require(Int(try sandbox.sh("python3 $R/memory.py backupfs star $P/a.mp4 --store $S")))
        #expect(large - small < 64)
        try sandbox.sh(
            """
            backupfs remote remove photos --store $S; backupfs unstar $P/a.mp4 $P/IMG_1.jpg --store $S
            backupfs remote add photos s3:\(server.endpoint)/\(bucket) --region \(server.region) --kind photos --store $S
            """)
        let parts = try #require(Int(try sandbox.sh("python3 $R/memory.py backupfs star $P/b.mp4 --store $S")))
        #expect(parts - small < 64)
        let md5 = try sandbox.sh("md5sum $P/b.mp4 | cut -c1-32")
        let script = """
            for o in s3.list_objects_v2(Bucket=sys.argv[1], Prefix='photos/')['Contents']:
                h = s3.head_object(Bucket=sys.argv[1], Key=o['Key'])
                print(h['ContentLength'], h['Metadata']['md5'], h['Metadata']['original-filename'])
            """
        #expect(try server.boto3(script, [bucket]).trimmed == "\(70 << 20) \(md5) b.mp4")
    }

    /// Runs a command, and prints the memory in MiB that it, or a program that it started, has had at most.
    private static let memory = """
        import resource, subprocess, sys
        subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
        """

    @Test func `STR-10: a RAW photo of 50 MB takes less than 100 MB of memory`() throws {
        let sandbox = try sandbox()
        try addFolder(sandbox)
        try sandbox.write(Self.memory, to: "memory.py")
        try sandbox.sh(
            """
            vips copy $R/b.v $R/raw.tif; mv $R/raw.tif $P/raw.dng
            exiftool -q -n -overwrite_original -DNGVersion='1 4 0 0' -DateTimeOriginal='2024:05:06 07:08:09' $P/raw.dng
            head -c 50M /dev/urandom >> $P/raw.dng
            """)
        let mebibytes = try #require(Int(try sandbox.sh("python3 $R/memory.py backupfs star $P/raw.dng --store $S")))
        #expect(mebibytes < 100)
        try sandbox.sh("cmp $P/raw.dng $R/bucket/photos/2024/05/$(md5sum $P/raw.dng | cut -c1-32).dng")
    }

    @Test(.enabled(if: Machine.environment("BACKUPFS_ROUNDS") == "all", "4 GB are written, in test-all alone"))
    func `STR-10: a video of 4 GB takes less than 100 MB of memory`() throws {
        let sandbox = try sandbox()
        try addFolder(sandbox)
        try sandbox.write(Self.memory, to: "memory.py")
        // The header's time counts from 1904.
        try sandbox.write(
            """
            import calendar, struct, sys
            def box(name, body): return struct.pack('>I4s', 8 + len(body), name) + body
            time = calendar.timegm((2024, 5, 6, 7, 8, 9)) - calendar.timegm((1904, 1, 1, 0, 0, 0))
            header = box(b'mvhd', struct.pack('>IIIII', 0, time, time, 1000, 5000) + bytes(80))
            with open(sys.argv[1], 'wb') as file:
                file.write(box(b'ftyp', b'isom' + bytes(4) + b'isommp42') + box(b'moov', header))
                file.write(struct.pack('>I4sQ', 1, b'mdat', 4 << 30))
                file.truncate(file.tell() - 16 + (4 << 30))
            """, to: "video.py")
        try sandbox.sh("python3 $R/video.py $P/a.mp4; [ $(stat -c %s $P/a.mp4) -gt $((4 << 30)) ]")
        let mebibytes = try #require(Int(try sandbox.sh("python3 $R/memory.py backupfs star $P/a.mp4 --store $S")))
        #expect(mebibytes < 100)
        try sandbox.sh("cmp $P/a.mp4 $R/bucket/photos/2024/05/$(md5sum $P/a.mp4 | cut -c1-32).mp4")
    }

    @Test func `CHK-05: a photo that is as it was is not read again`() throws {
        let sandbox = try sandbox()
        try addFolder(sandbox)
        try sandbox.sh("truncate -s 50M $P/a.mp4; backupfs star $P/a.mp4 --store $S")
        // The shell has the bytes that its children have read.
        let script = "backupfs star $P/a.mp4 --store $S >/dev/null; awk '/rchar/ {print ($2 < 20000000)}' /proc/$$/io"
        #expect(try sandbox.sh(script) == "1")
        #expect(try sandbox.sh("touch $P/a.mp4; \(script)") == "0")
    }

    @Test func `STR-14: rules star what fulfils all of them`() throws {
        let sandbox = try sandbox()
        func starred(_ rules: String) throws -> String {
            try sandbox.sh(
                "rm -rf $S/photos; backupfs star \(rules) --no-wait --store $S >/dev/null; backupfs star --list --json --store $S | jq -r '.[].path' | xargs"
            )
        }
        #expect(try starred("--rule camera=Canon") == "IMG_1.jpg")
        #expect(try starred("--rule 'camera=canon eos*'") == "IMG_1.jpg")
        #expect(try starred("--rule 'date>=2024-06-01'") == "IMG_1.jpg sea/IMG_1.jpg")
        #expect(try starred("--rule 'date<2024'") == "IMG_2.jpg")
        #expect(try starred("--rule 'date>=2024-06-01' --rule 'path=sea/**'") == "sea/IMG_1.jpg")
        #expect(try starred("--rule 'path=*.jpg'") == "IMG_1.jpg IMG_2.jpg")
        #expect(try starred("--rule 'rating>=2' --rule 'rating<4'") == "IMG_2.jpg")
        let refused = try sandbox.run("backupfs star --rule camera --store $S")
        #expect(refused.exitCode == 2 && refused.errors.contains("is no rule for photos"))
    }

    @Test func `FPH-03: a folder keeps the metadata beside each photo, and photos come back from it`() throws {
        let sandbox = try sandbox()
        try addFolder(sandbox)
        try sandbox.sh("backupfs star $P/IMG_1.jpg $P/IMG_2.jpg $P/sea/IMG_1.jpg --store $S")
        let md5 = try sandbox.sh("md5sum $P/IMG_1.jpg | cut -c1-32")
        #expect(
            try sandbox.sh(
                "jq -r '[.\"original-filename\", .source, .md5, .\"date-taken\", .\"camera-make\", .\"camera-model\"] | join(\"|\")' $R/bucket/photos/2024/06/\(md5).jpg.metadata.json"
            ) == "IMG_1.jpg|directory|\(md5)|2024-06-30T23:59:00|Canon|EOS R5")
        #expect(try sandbox.sh("cd $R/bucket; md5sum photos/2024/06/\(md5).jpg | cut -c1-32") == md5)
        // Both photos of a month have one name.
        try sandbox.sh("backupfs restore --from-photos --month 2024/06 --target $R/june --store $S")
        #expect(try sandbox.sh("cd $R/june; find . -type f | sort | xargs") == "./2024/06/IMG_1 (2).jpg ./2024/06/IMG_1.jpg")
        #expect(
            try sandbox.sh(
                "(cd $R/june/2024/06; md5sum * | cut -c1-32; cd $P; md5sum IMG_1.jpg sea/IMG_1.jpg | cut -c1-32) | sort | uniq -c | awk '{print $1}' | xargs"
            ) == "2 2")
        // Again, it finds all of them; another file is not replaced.
        try sandbox.sh("echo mine > $R/june/2024/06/IMG_1.jpg")
        #expect(
            try sandbox.sh(
                "backupfs restore --from-photos --month 2024 --target $R/june --store $S --json | jq -c 'select(.message_type == \"photos_restored\") | [.written, .present]'"
            )
                == "[1,1]")
        #expect(try sandbox.sh("cat $R/june/2024/06/IMG_1.jpg; ls $R/june/2024/06 | wc -l") == "mine\n3")
        // Without a catalog, and of an object with other bytes.
        let other = try sandbox.sh("md5sum $P/IMG_2.jpg | cut -c1-32")
        try sandbox.sh(
            "rm -r $R/bucket/catalog; truncate -s -1 $R/bucket/photos/2023/01/\(other).jpg; echo x >> $R/bucket/photos/2023/01/\(other).jpg"
        )
        let result = try sandbox.run("backupfs restore --from-photos --url $R/bucket --target $R/all")
        #expect(result.exitCode != 0 && result.errors.contains("has other bytes than its name says"))
        #expect(
            try sandbox.sh(
                "cd $R/all; find . -type f | wc -l; ls -A 2023/01 | wc -l; cmp -s 2024/06/IMG_1.jpg $P/IMG_1.jpg || cmp 2024/06/IMG_1.jpg $P/sea/IMG_1.jpg"
            ) == "2\n0")
        try sandbox.sh("backupfs star --rebuild-catalog --store $S")
        #expect(try sandbox.sh("jq -s 'map(.md5) | unique | length' $R/bucket/catalog/catalog.jsonl") == "3")
    }

    @Test func `STR-07, STR-13: twenty photos are starred with one command, and the sidecar of each has every tag`() throws {
        let sandbox = try sandbox()
        try addFolder(sandbox)
        try sandbox.sh(
            """
            mkdir $P/many; for n in $(seq 20); do cp $R/base.jpg $P/many/$n.jpg; printf $n >> $P/many/$n.jpg; done
            exiftool -q -n -overwrite_original -DateTimeOriginal='2024:06:30 23:59:00' -Artist=Ann -Copyright='(c) 2024' -ISO=400 \
              -FNumber=2.8 -LensModel='35mm' -UserComment='a note' -GPSAltitude=12 -IPTC:City=Bern -XMP-dc:Subject=one -XMP-dc:Subject=two $P/many/7.jpg
            backupfs star $P/many/*.jpg --store $S
            """)
        #expect(
            try sandbox.sh("find $R/bucket/photos -name '*.jpg' | wc -l; jq -c .progress $S/photos/status/backup_status.json")
                == "20\n{\"done\":20,\"total\":20}")
        let tags = [
            "Exif.Image.Artist", "Exif.Image.Copyright", "Exif.Photo.ISOSpeedRatings", "Exif.Photo.FNumber",
            "Exif.Photo.LensModel", "Exif.Photo.UserComment", "Exif.GPSInfo.GPSAltitude", "Iptc.Application2.City",
            "Xmp.dc.subject",
        ]
        let values = try sandbox.sh(
            """
            sidecar=$R/bucket/metadata/2024/06/$(md5sum $P/many/7.jpg | cut -c1-32).json
            for key in \(tags.joined(separator: " ")); do jq -r --arg key $key '[.tags[] | select(.key == $key).value] | join(" ")' $sidecar; done
            """)
        #expect(values == "Ann\n(c) 2024\n400\n14/5\n35mm\ncharset=Ascii a note\n12/1\nBern\none two")
    }

    /// A video with its still's name belongs to it: in four folders they have the same names.
    @Test(arguments: ["--flat", "--month 2024/06"])
    func `STR-11: the parts of Live Photos stay together when they are restored`(options: String) throws {
        let sandbox = try sandbox()
        try addFolder(sandbox)
        try sandbox.sh(
            """
            for n in 1 2 3 4; do
              mkdir $P/album$n; cp $P/IMG_1.jpg $P/album$n/IMG_1.JPG; printf $n >> $P/album$n/IMG_1.JPG; printf "video $n" > $P/album$n/IMG_1.MOV
            done
            printf alone > $R/alone; cp $R/alone $P/IMG_1.MOV; rm $P/IMG_1.jpg
            backupfs star $P/album?/IMG_1.JPG $P/IMG_1.MOV --store $S
            backupfs restore --from-photos \(options) --target $R/back --store $S
            """)
        let pairs = """
            cd $R/back; find . -name '*.JPG' | sort | while read still; do
              number=$(tail -c1 "$still"); printf "video $number" | cmp -s - "${still%.JPG}.MOV" && echo together
            done | sort | uniq -c | xargs; find . -type f | grep -c MOV
            """
        #expect(try sandbox.sh(pairs) == "4 together\n\(options == "--flat" ? 5 : 4)")
        // Again, all of them are there.
        #expect(
            try sandbox.sh(
                "backupfs restore --from-photos \(options) --target $R/back --store $S --json | jq -c 'select(.message_type == \"photos_restored\") | .written'"
            ) == "0")
    }

    @Test func `a restore removes what a killed one has left, and takes no more bytes than the photo has`() throws {
        let sandbox = try sandbox()
        try addFolder(sandbox)
        try sandbox.sh(
            "backupfs star $P/IMG_1.jpg $P/IMG_2.jpg --store $S; mkdir -p $R/back; printf half > $R/back/.backupfs-photo-1")
        let md5 = try sandbox.sh("md5sum $P/IMG_1.jpg | cut -c1-32")
        try sandbox.sh("truncate -s 3G $R/bucket/photos/2024/06/\(md5).jpg")
        // It would be a file too large, if it were written.
        let result = try sandbox.run("ulimit -f 4096; backupfs restore --from-photos --flat --target $R/back --store $S")
        #expect(result.exitCode == 1 && result.errors.contains("has other bytes than its name says"), "\(result)")
        #expect(try sandbox.sh("ls -A $R/back") == "IMG_2.jpg")
    }

    @Test func `a remote for photos is no place for backups, and there is one`() throws {
        let sandbox = try sandbox()
        try addFolder(sandbox)
        let second = try sandbox.run("backupfs remote add more $R/other --kind photos --store $S")
        #expect(second.exitCode == 2 && second.errors.contains("the remote photos has the photos, and there can be only one"))
        try sandbox.sh("backupfs backup --store $S >/dev/null; backupfs status --json --store $S | jq -e '.remotes == []'")
        #expect(try sandbox.run("backupfs sync --store $S").exitCode != 0)
        #expect(try sandbox.sh("ls -A $R/bucket | xargs") == ".backupfs-storage")
        #expect(try sandbox.sh("backupfs remote list --json --store $S | jq -r '.[].kind'") == "photos")
        #expect(try sandbox.run("backupfs restore latest --remote photos --target $R/x --store $S").exitCode != 0)
    }

    @Test func `a star is taken away, and only photos of the app can be starred`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("backupfs star $P/IMG_1.jpg $P/IMG_2.jpg --store $S")
        #expect(
            try sandbox.sh("cd $P; backupfs unstar IMG_1.jpg sea/IMG_1.jpg --json --store $S | jq -r .outcome | xargs")
                == "unstarred not_starred")
        #expect(try sandbox.sh("backupfs star --list --json --store $S | jq -r '.[].path'") == "IMG_2.jpg")
        let refused = try sandbox.run("echo x > $R/other.jpg; backupfs star $R/other.jpg $P/none.jpg --no-wait --store $S")
        #expect(refused.exitCode == 2 && refused.errors.contains("not in the media folder of the app"))
    }
}

extension String {
    fileprivate var trimmed: String { String(self.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed()) }
}
