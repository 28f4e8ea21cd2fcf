import TestSupport
import Testing

extension Sandbox {
    /// Accesses by other programs, which can be left behind where they hang: waiting for one would hang as well.
    private static let looks = """
        def look(*words, limit=20):
            "What it printed, its exit code (None: it hangs) and how long it took."
            start = time.monotonic()
            out = open(R + "/look", "w+")
            process = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT)
            while process.poll() is None and time.monotonic() - start < limit:
                time.sleep(0.002)
            took = time.monotonic() - start
            return open(R + "/look").read(), process.poll(), took

        def ends(process, limit=20):
            assert until(lambda: process.poll() is not None, limit), "it hangs"
            return process.returncode

        def start(*words):
            return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def look_within(bound, words, limit=10):
            "A look that took less than a bound. While the machine is busy with something else, it gets more attempts, and a limit."
            end = time.monotonic() + 30
            while True:
                told, code, took = look(*words)
                assert took < limit, (words, told, code, took)
                if took < bound: return told, code, took
                assert time.monotonic() < end, (words, told, code, took)

        def answers(words, bound=3):
            "What it printed; it must succeed in time."
            told, code, took = look_within(bound, words)
            assert code == 0, (words, told, code, took)
            return told

        def fails(words, bound=3):
            told, code, took = look_within(bound, words)
            assert code not in (0, None), (words, told, code, took)
            return told

        # The mount as any program sees it first.
        lists = [("ls", "-l", "."), ("ls", "-l", "snapshots/"), ("cat", "status.json")]

        """

    /// Runs a Python script with these functions.
    @discardableResult
    func looks(_ script: String, _ extra: [String: String] = [:], at place: SourceLocation = #_sourceLocation) throws -> String {
        try python(Self.looks + script, extra, at: place)
    }
}
