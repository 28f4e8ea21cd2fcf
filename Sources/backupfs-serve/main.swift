import BackupCore
import CLinux
import Glibc
import SystemIO
import WebServer

// backupfs-serve ADDRESS:PORT FOLDER: serves a mounted tree over HTTP until it is ended. `backupfs serve` starts it; the token
// is in the environment, where other users do not see it, and the language too.

/// A line, whole in one write: a program may wait for it.
func put(_ line: String, _ descriptor: Int32) {
    let bytes = Array((line + "\n").utf8)
    bytes.withUnsafeBytes { _ = write(descriptor, $0.baseAddress, $0.count) }
}

/// Ends the program with a message.
func end(_ message: String) -> Never {
    put("backupfs: \(message)", STDERR_FILENO)
    exit(1)
}

// A client that goes away causes an error of send(2), not a signal.
signal(SIGPIPE, SIG_IGN)
let arguments = CommandLine.arguments
guard arguments.count == 3, let address = ListeningAddress(arguments[1]) else { end("usage: backupfs serve --http ADDRESS:PORT") }
guard let text = Environment.text("BACKUPFS_SERVE_TOKEN"), let token = AccessToken(text) else { end("there is no token") }
let language = Environment.text("BACKUPFS_SERVE_LANGUAGE").flatMap { Language(rawValue: $0) } ?? .ofEnvironment()
unsetenv("BACKUPFS_SERVE_TOKEN")
// Each connection takes two or three.
_ = backupfs_raise_descriptor_limit()

do throws(BackupError) {
    let server = WebServer(ServedTree(rootPath: arguments[2]), at: address, token: token, language: language)
    put("http://\(try server.start())/?token=\(text)", STDOUT_FILENO)
} catch {
    end("\(error)")
}
while true { pause() }
