import TestSupport

extension Sandbox {
    private static let onTerminal = """
        import os, pty, signal, sys
        # Bounds all the waiting below.
        signal.alarm(120)
        answers = sys.argv[1].encode("latin-1", "backslashreplace").decode("unicode_escape").split("|") if sys.argv[1] else []
        process, terminal = pty.fork()
        if process == 0:
            os.execvp(sys.argv[2], sys.argv[2:])
        shown = b""
        for answer in answers:
            # It asks, and only then listens.
            while not shown.rstrip(b" ").endswith((b":", b"[y/N]")):
                shown += os.read(terminal, 1000)
            os.write(terminal, answer.encode())
            shown += b"<answered>"
        while True:
            try:
                more = os.read(terminal, 1000)
            except OSError:
                break
            if not more:
                break
            shown += more
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        sys.stdout.write(shown.decode().replace("\\r", ""))
        sys.exit(status)
        """

    /// Runs a command on a separate terminal and answers its questions.
    /// - Parameter answers: separated by `|`, with a line feed for Enter; none if empty.
    func onTerminal(_ answers: String, _ command: String, _ environment: [String: String] = [:]) throws -> Job.Result {
        try write(Self.onTerminal, to: "terminal.py")
        return try run("python3 $R/terminal.py '\(answers)' \(command)", environment)
    }
}
