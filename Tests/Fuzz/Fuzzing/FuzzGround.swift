import AppData
import BackupCore
import BackupRepository
import SystemIO
import TestSupport

/// Where inputs are read: a folder for files, and what is made once for all of them.
public final class FuzzGround {
    /// Holds what this makes, and whatever else a reader would leave there by mistake.
    let folder: String
    /// The apps that an input can choose from.
    let definitions: [AppDefinition]
    /// "Now", for dates that must not be in the future.
    let now = Timestamp(seconds: 1_790_000_000)
    private var databases: [String: [UInt8]] = [:]
    private var catalogGround: CatalogProbe.Ground?

    /// - Parameter folder: must be there; a file system in memory is quicker.
    public init(folder: String) throws {
        self.folder = folder
        var definitions: [AppDefinition] = []
        for name in AppDefinition.builtInNames { definitions.append(try AppDefinition.builtIn(named: name)) }
        definitions.append(try AppDefinition.load(yaml: PhotoDiary.definition))
        self.definitions = definitions
    }

    /// A small repository, made once.
    func repository() throws -> CatalogProbe.Ground {
        if let catalogGround { return catalogGround }
        // An earlier process of the same campaign has left one.
        let path = "\(folder)/repository"
        if try FileSystem.exists(path) { try FileSystem.removeTree(path) }
        let made = try CatalogProbe.make(at: path)
        catalogGround = made
        return made
    }

    func definition(_ number: UInt8) -> AppDefinition { definitions[Int(number) % definitions.count] }

    /// The app's empty database.
    func database(of definition: AppDefinition) throws -> [UInt8] {
        if let bytes = databases[definition.name] { return bytes }
        let path = "\(folder)/empty.sqlite"
        _ = try AppDatabase.create(at: path, definition: definition)
        let bytes = try FileSystem.readFile(path)
        for suffix in ["", "-wal", "-shm"] { try FileSystem.removeFile(path + suffix) }
        databases[definition.name] = bytes
        return bytes
    }
}
