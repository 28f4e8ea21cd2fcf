import ObjectStorage
import SystemIO
import TestSupport
import Testing

@Suite struct FolderStoragePromiseTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    @Test(arguments: StoragePromises.all) func `a folder keeps the promise`(promise: StoragePromises.Promise) throws {
        var promises = StoragePromises { [folder] count in
            let path = folder(RandomToken.make())
            return try (0..<count).map { _ in try FolderStorage.make(at: path) }
        }
        promises.historySeeds = Rounds.seeds(100, oneIn: 5)
        promises.largeSizeBytes = 128 << 20
        try promise.check(promises)
    }
}
