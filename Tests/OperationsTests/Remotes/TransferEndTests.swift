import TestSupport
import Testing

/// A program that ends while transfers over TLS are under way.
struct TransferEndTests {
    /// `_exit` must come before another thread finds TLS torn down.
    @Test func `a signal in the middle of slow transfers ends the program in order`() throws {
        let server = try ObjectServer.shared(usesTLS: true)
        let certificate = try #require(server.certificatePath)
        let sandbox = try Sandbox()
        sandbox.variables.merge(server.administrator.variables) { $1 }
        let url = try "s3:\(server.endpoint)/\(server.makeBucket())/pictures"
        try sandbox.sh(
            """
            backupfs init --app smilepile --sample --store $S >/dev/null
            for i in 1 2 3 4 5 6; do head -c 1000000 /dev/urandom > $S/app/photos/$i.jpg; done
            backupfs remote add cloud \(url) --region \(server.region) --certificate-file \(certificate) \
                --download-limit 400kB --store $S >/dev/null
            backupfs backup --label one --store $S >/dev/null; mv $S/remotes/cloud/cache $R/known
            """)
        try sandbox.write(Self.script, to: "interrupt.py")
        try sandbox.sh("cp -a $S/app/photos $R/photos; rm $S/app/photos/*")
        let found = try sandbox.run("python3 $R/interrupt.py $S")
        #expect(found.exitCode == 0, "\(found)")
        #expect(found.output == "130 130 130 130 130 130\n", "\(found)")
        // Nothing of that is in the way.
        try sandbox.sh(
            """
            sed -i '/download-limit/d' $S/store.yaml
            backupfs restore one --remote cloud --yes --store $S >/dev/null
            diff -r $R/photos $S/app/photos
            """)
    }

    /// Interrupts a restore from the copy when some of it has arrived, six times, by two signals in turn.
    private static let script = """
        import pathlib, signal, subprocess, sys, time
        store = sys.argv[1]
        cache = pathlib.Path(store, "remotes/cloud/cache")
        def transferred():
            return sum(path.stat().st_blocks for path in cache.rglob("*.pack")) if cache.exists() else 0
        codes = []
        for turn in range(6):
            before = transferred()
            process = subprocess.Popen(
                ["backupfs", "restore", "one", "--remote", "cloud", "--yes", "--store", store],
                stdout=subprocess.DEVNULL,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            end = time.monotonic() + 120
            # More than the folders of the backup, which are read before the restore begins.
            while transferred() <= before + 600 and process.poll() is None and time.monotonic() < end:
                time.sleep(0.005)
            process.send_signal(signal.SIGINT if turn % 2 else signal.SIGTERM)
            codes.append(process.wait(120))
        print(*codes)
        """
}
