import BackupCore
import SystemIO

/// The folders of a copy that are named after the camera: one in each destination.
struct LabelledDestinations: Sendable {
    private static let numberLimit = 99_999

    private let bases: [String]
    private let folders: LabelFolders
    /// That of numbered labels.
    private var number = 1

    /// Takes the first number that is free in all destinations.
    /// - Parameter bases: the destinations as they were named; absolute.
    init(_ bases: [String], _ folders: LabelFolders) throws(BackupError) {
        self.bases = bases
        self.folders = folders
        while folders.isNumbered, try isTaken() { try advance() }
    }

    /// In the order of the destinations.
    var paths: [String] {
        let path = BytePath.joined(folders.path(number))
        return bases.map { "\($0 == "/" ? "" : $0)/\(String(decoding: path, as: UTF8.self))" }
    }

    /// The destination itself may be missing, and all folders in it.
    var madeFolderLimit: Int { folders.path(number).count + 1 }

    private func isTaken() throws(BackupError) -> Bool {
        for path in paths where try FileSystem.exists(path) { return true }
        return false
    }

    private mutating func advance() throws(BackupError) {
        guard number < Self.numberLimit else {
            throw BackupError(
                .alreadyExists, "all numbers are taken", path: paths.first, remedy: "Name another destination, or another label.")
        }
        number += 1
    }

    /// Makes the folders. A numbered one belongs to this job alone: if another job has made one meanwhile, the next number is
    /// taken. An error leaves no folder with a number.
    mutating func make() throws(BackupError) {
        while true {
            var made: [String] = []
            do throws(BackupError) {
                var isOurs = true
                for path in paths {
                    // As mkdir(1) makes them: no folder of the source has the mode for them.
                    try FileSystem.makeDirectories(FileSystem.parentPath(path), permissions: 0o777)
                    let isNew = try FileSystem.makeDirectory(path)
                    if isNew { made.append(path) }
                    isOurs = isNew || !folders.isNumbered
                    if !isOurs { break }
                }
                if isOurs {
                    for path in made { try FileSystem.synchronizeDirectory(FileSystem.parentPath(path)) }
                    return
                }
            } catch {
                Self.remove(made)
                throw error
            }
            Self.remove(made)
            try advance()
        }
    }

    /// Only while they are empty.
    private static func remove(_ paths: [String]) {
        for path in paths {
            let folder = try? DirectoryHandle(path: FileSystem.parentPath(path))
            try? folder?.removeFolder(FileName(FileSystem.lastComponent(path)))
        }
    }
}

extension CopyPlan {
    /// The plan with the folders of labels made, and with their names.
    func reserved() throws(BackupError) -> CopyPlan {
        guard var labelled else { return self }
        try labelled.make()
        let places = zip(destinations, labelled.paths).map { place, path in
            DestinationPlace(
                path: path, mountPoint: place.mountPoint, fileSystemType: place.fileSystemType, device: place.device,
                isMade: place.isMade)
        }
        return CopyPlan(info: info, destinations: places, hiddenCount: hiddenCount, labelled: nil)
    }
}
