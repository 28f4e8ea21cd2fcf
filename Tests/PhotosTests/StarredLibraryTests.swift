import Glibc
import TestSupport
import Testing

/// A whole library on its way to a bucket and back, as the document about starred photos describes it.
@Suite(.rotating(oneIn: 3)) struct StarredLibraryTests {
    /// Of photos that the rule finds; `make test-all` takes as many as a library has.
    private static let starredCount = Machine.environment("BACKUPFS_ROUNDS") == "all" ? 5_000 : 120

    /// A library in `$P`: photos of 28 days, ten without a rating, and a Live Photo.
    private func makeLibrary(_ sandbox: Sandbox) throws {
        try sandbox.sh(
            """
            mkdir $P $R/bases; cd $R/bases
            vips gaussnoise n.v 64 48; vips cast n.v b.v uchar; vips copy b.v base.jpg
            for day in $(seq -w 28); do cp base.jpg $day.jpg; done; cp base.jpg unrated.jpg
            exiftool -q -n -overwrite_original -Make=Acme -Rating=4 [0-9]*.jpg
            exiftool -q -overwrite_original '-DateTimeOriginal<2024:06:${filename;s/[.].*//} 12:00:00' [0-9]*.jpg
            exiftool -q -n -overwrite_original -Make=Acme unrated.jpg
            for n in $(seq \(Self.starredCount - 1)); do
                folder=$P/$((n / 100)); [ -d $folder ] || mkdir $folder
                file=$folder/IMG_$n.jpg; cp $(printf '%02d' $((n % 28 + 1))).jpg $file; printf 'photo %d' $n >>$file
                touch -d "2024-06-$(printf '%02d' $((n % 28 + 1))) 10:00:$(printf '%02d' $((n % 60))).25" $file
            done
            for n in $(seq 10); do cp unrated.jpg $P/other$n.jpg; printf 'other %d' $n >>$P/other$n.jpg; done
            mkdir $P/live; cp 05.jpg $P/live/IMG_LIVE.jpg; printf live >>$P/live/IMG_LIVE.jpg
            printf '\\0\\0\\0\\24ftypqt  \\0\\0\\2\\0qt  \\0\\0\\0\\10wide' >$P/live/IMG_LIVE.mov
            touch -d '2024-06-05 12:00:00' $P/live/*
            backupfs init --store $S --app photo-library --media $P >/dev/null
            """, limitSeconds: 300)
    }

    @Test func `a library that is starred by rule is in the bucket after five kills, and comes back with its times`() throws {
        let count = Self.starredCount
        let server = try ObjectServer.shared()
        let bucket = try server.makeBucket()
        let path = try TemporaryFolder.make((Machine.environment("TMPDIR") ?? "/tmp") + "/backupfs-photos")
        let variables = ["HOME": path, "P": "\(path)/Photos"].merging(server.administrator.variables) { $1 }
        let sandbox = try Sandbox(at: path, variables: variables, shellOptions: "-eu -o pipefail", removesItself: true)
        try makeLibrary(sandbox)
        try sandbox.sh(
            """
            backupfs remote add photos s3:\(server.endpoint)/\(bucket) --region \(server.region) --kind photos --store $S >/dev/null
            backupfs star --rule 'rating>=4' --rule 'date>=2024-06' --no-wait --store $S >/dev/null
            """, limitSeconds: 300)
        for kill in 1...5 {
            let job = try sandbox.start("exec backupfs star --upload --store $S")
            // At another place of the work each time.
            try sandbox.sh(
                """
                uploaded() { cat $S/photos/queue/*.json $S/photos/uploaded/*.json 2>/dev/null | grep -cE '"stage": *"uploaded"'; }
                is_far() { [ "$(uploaded)" -ge \(count * kill / 10) ]; }; wait_until is_far
                """, limitSeconds: 300)
            job.send(SIGKILL)
            #expect(try job.wait(limitSeconds: 20).exitCode == 128 + SIGKILL, "the run was not killed: it had ended")
        }
        try sandbox.sh("backupfs star --upload --store $S", limitSeconds: 600)
        // The photos with a rating and the film of the Live Photo, under the names of their bytes, and nothing of the others.
        let found = try server.boto3(
            """
            import hashlib, os
            photos, thumbnails = {}, set()
            for page in s3.get_paginator("list_objects_v2").paginate(Bucket=sys.argv[1]):
                for entry in page["Contents"]:
                    if entry["Key"].startswith("photos/"):
                        body = s3.get_object(Bucket=sys.argv[1], Key=entry["Key"])["Body"].read()
                        photos[entry["Key"]] = hashlib.md5(body).hexdigest()
                    elif entry["Key"].startswith("thumbnails/"):
                        thumbnails.add(entry["Key"].split("/")[-1].split(".")[0])
            expected, pictures = {}, set()
            for folder, _, names in os.walk(sys.argv[2]):
                for name in names:
                    digest = hashlib.md5(open(os.path.join(folder, name), "rb").read()).hexdigest()
                    if name.startswith("other"): continue
                    expected[f"photos/2024/06/{digest}.{name.split('.')[-1]}"] = digest
                    if name.endswith(".jpg"): pictures.add(digest)
            print(len(photos), photos == expected, thumbnails == pictures)
            """, [bucket, sandbox("Photos")])
        #expect(found == "\(count + 1) True True")
        try sandbox.sh(
            """
            mkdir $R/else
            backupfs restore --from-photos --url s3:\(server.endpoint)/\(bucket) --region \(server.region) --flat --target $R/else/out
            """, limitSeconds: 300)
        let list = "find . -type f ! -name 'other*' -printf '%f %s %T@\\n' | sort"
        #expect(try sandbox.sh("cmp <(cd $P; \(list)) <(cd $R/else/out; \(list)) && ls $R/else/out | wc -l") == "\(count + 1)")
        try sandbox.sh("cd $P; find . -type f ! -name 'other*' | while read -r f; do cmp $f $R/else/out/${f##*/}; done")
    }
}
