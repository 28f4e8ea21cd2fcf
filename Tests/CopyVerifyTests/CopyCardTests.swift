import TestSupport
import Testing

/// A whole card, to three destinations, with everything going wrong on the way. `BACKUPFS_CARD_MEGABYTES` is how large it is.
struct CopyCardTests {
    private static let megabytes =
        Machine.environment("BACKUPFS_CARD_MEGABYTES").flatMap { Int($0) }
        ?? (Machine.environment("BACKUPFS_ROUNDS") == "all" ? 2_000 : 150)

    /// Comparing it with its copies takes longest.
    private static let limitSeconds = Sandbox.limitSeconds + megabytes / 5

    /// A third of it clips, the rest photos; each file differs from the others from its first byte on.
    private static let card = """
        python3 - $R/card \(megabytes) <<'END'
        import os, sys
        folder, megabytes = sys.argv[1], int(sys.argv[2])
        base = os.urandom(1 << 20)
        def make(path, size):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(path.encode().ljust(64)[:64])
                while file.tell() < size:
                    file.write(base[: size - file.tell()])
        photos = max(20, megabytes * 2 // 3 // 3)
        for number in range(photos):
            make(f"{folder}/DCIM/{100 + number // 500}TEST/IMG_{number:05}.JPG", 3_000_000 + number)
        # Each is a batch of its own: enough of them that no run ends before it is killed.
        for number in range(12):
            make(f"{folder}/CLIPS/C{number:04}.MP4", max(9_000_000, megabytes * 1_000_000 // 36) + number)
        for number in range(200):
            make(f"{folder}/XML/{number}.xml", 500 + number)
        END
        """

    @Test(.enabled(if: Machine.isRoot), .timeLimit(.minutes(120)))
    func `a card is killed ten times, and a destination unplugged: everything arrives, and the record tells what happened`()
        throws
    {
        let sandbox = try CopySandbox.make(Self.card, "mkdir $R/c $R/disk $R/times")
        let job = try sandbox.startInNamespace(
            """
            set -e; mount --bind $R/disk $R/disk; mount --bind $R/disk $R/c
            files=$(find $R/card -type f | wc -l); rows=$((3 * files)); jobs=$R/home/.local/state/backupfs/jobs
            run() { if [ -e $R/job ]; then exec backupfs copy --resume $(basename $(readlink $R/job)); else exec backupfs copy $R/card $R/a $R/b $R/c; fi; }
            scale=$((\(Self.megabytes) / 150)); scale=$((scale > 0 ? scale : 1)); time=0; killed=0
            # Of 256 MiB each.
            batches=$((\(Self.megabytes) / 2000)); batches=$((batches > 0 ? batches : 1))
            for point in source-read:10 block-written:30 batch-durable:1 batch-named:1 unplugged rows-written:1 file-written:4 \
                source-read:1 batch-certain:1 rows-written:1 source-read:1; do
                time=$((time + 1))
                if [ $point = unplugged ]; then
                    touch $R/hold; BACKUPFS_FAULT=copy.source-read:2=pause:$R/hold run > $R/times/$time 2>&1 & process=$!
                    wait_paused $R/hold $process; umount -l $R/c; rm $R/hold; code=0; wait $process || code=$?
                    echo "unplugged: exit $code, $(cat $J/state)"
                    grep -q "$R/c.*the destination has gone" $J/errors.txt && echo named; ls -A $R/c; mount --bind $R/disk $R/c
                else
                    case $point in batch*|rows*) count=$((${point#*:} * batches)) ;; *) count=$((${point#*:} * scale)) ;; esac
                    code=0; (BACKUPFS_FAULT=copy.${point%:*}:$count run) > $R/times/$time 2>&1 || code=$?
                    # Towards the end, a run can be complete before it comes to the point.
                    [ $code = 137 ] || [ $code = 0 ] || echo "$point: exit $code"
                    [ $code != 137 ] || killed=$((killed + 1))
                    \(CopySandbox.findJob)
                fi
            done
            [ $killed -ge 6 ] || echo "killed only $killed times"
            code=0; (run) > $R/times/last 2>&1 || code=$?; echo "at last: exit $code, $(cat $J/state)"
            for place in a b c; do diff -r $R/card $R/$place && echo same; done
            find $R/a $R/b $R/c -name '*part' | wc -l
            jq 'all(.status == "verified" or .status == "present")' $J/results.json; [ $(jq length $J/results.json) = $rows ] && echo all
            head -n 1 $J/errors.txt; ls $jobs | wc -l
            umount -l $R/c $R/disk
            """)
        let result = try sandbox.finish(job, limitSeconds: Self.limitSeconds)
        #expect(
            result.lines.filter { !$0.isEmpty } == [
                "unplugged: exit 3, failed", "named", "at last: exit 0, completed", "same", "same", "same", "0", "true", "all",
                "Errors: 0", "1",
            ], "\(result.text)")
    }
}
