import CCurl
import SystemIO

/// libcurl, which is loaded when it is first needed: most programs never send a request.
public enum HTTPLibrary {
    /// Loads it on another thread, for a program that will probably need it. That takes about ten milliseconds.
    public static func loadInBackground() { try? SystemThread { _ = backupfs_curl_load() }.detach() }
}
