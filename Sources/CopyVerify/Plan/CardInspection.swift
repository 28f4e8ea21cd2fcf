import BackupCore
import SystemIO

/// Finds out what recorded a folder, and counts its clips, without a copy.
public enum CardInspection {
    /// - Parameter path: a folder; absolute.
    /// - Throws: errors of the folder itself. What cannot be read in it is left out.
    public static func inspect(_ path: String) throws(BackupError) -> CameraCard {
        let root = try DirectoryHandle(path: path)
        let name = FileName(FileSystem.lastComponent(try FileSystem.realPath(path)))
        let scan = SourceScan(source: path, places: []) { _, _ in }
        try SourceWalk(root: root, includesHidden: false, visitor: scan).run()
        scan.add(CardDetection.detect(root, name: name))
        return scan.info.camera
    }
}
