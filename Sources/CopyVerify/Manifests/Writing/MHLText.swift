import BackupCore
import Formats
import SystemIO

/// The elements of a generation of ASC MHL, as text.
enum MHLText {
    /// One digest, and what is said of it.
    struct Digest {
        let algorithm: HashAlgorithm
        let text: String
        /// `original`, `verified` or `failed`.
        let action: String
    }

    static func hash(_ path: String, _ file: CopiedFile, _ digests: [Digest]) -> String {
        var text = "    <hash>\n      <path size=\"\(file.size)\""
        if file.modificationTime.isWithinCalendar {
            text += " lastmodificationdate=\"\(ISO8601.format(file.modificationTime))\""
        }
        text += ">\(XMLText.escaped(path))</path>\n"
        for digest in digests {
            text += "      <\(digest.algorithm.rawValue) action=\"\(digest.action)\""
            if let time = file.hashedAt { text += " hashdate=\"\(ISO8601.format(time))\"" }
            text += ">\(digest.text)</\(digest.algorithm.rawValue)>\n"
        }
        return text + "    </hash>\n"
    }

    static func directoryHash(_ path: String, _ pair: DirectoryHashes.Pair) -> String {
        "    <directoryhash>\n      <path>\(XMLText.escaped(path))</path>\n" + hashes(pair, indentation: "      ")
            + "    </directoryhash>\n"
    }

    private static func hashes(_ pair: DirectoryHashes.Pair, indentation: String) -> String {
        var text = ""
        for (name, values) in [("content", pair.content), ("structure", pair.structure)] {
            text += "\(indentation)<\(name)>\n"
            for algorithm in MHLFormat.order {
                guard let digest = values[algorithm]?.text(algorithm) else { continue }
                text += "\(indentation)  <\(algorithm.rawValue)>\(digest)</\(algorithm.rawValue)>\n"
            }
            text += "\(indentation)</\(name)>\n"
        }
        return text
    }

    /// Everything before the hashes.
    /// - Parameter root: the hashes of the whole folder, if they are known.
    static func head(version: String, _ now: Timestamp, root: DirectoryHashes.Pair?, patterns: [String]) -> String {
        var text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <hashlist version="2.0" xmlns="urn:ASC:MHL:v2.0">
              <creatorinfo>
                <creationdate>\(ISO8601.format(now))</creationdate>
                <hostname>\(XMLText.escaped(HostIdentity.hostName))</hostname>
                <tool version="\(XMLText.escaped(version))">backupfs</tool>
              </creatorinfo>
              <processinfo>
                <process>transfer</process>

            """
        // Empty where the hashes are not known: the program of the ASC takes that for granted.
        text += "    <roothash>\n" + hashes(root ?? DirectoryHashes.Pair(), indentation: "      ") + "    </roothash>\n"
        text += "    <ignore>\n"
        for pattern in patterns { text += "      <pattern>\(XMLText.escaped(pattern))</pattern>\n" }
        return text + "    </ignore>\n  </processinfo>\n"
    }
}
