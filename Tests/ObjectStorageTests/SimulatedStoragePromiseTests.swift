import ObjectStorage
import StorageSimulation
import TestSupport
import Testing

@Suite struct SimulatedStoragePromiseTests {
    @Test(arguments: StoragePromises.all) func `a simulated storage keeps the promise`(promise: StoragePromises.Promise) throws {
        var promises = StoragePromises { count in
            let server = SimulatedServer()
            return (0..<count).map { SimulatedStorage(server, seed: UInt64($0)) }
        }
        promises.historySeeds = Rounds.seeds(1_000, oneIn: 5)
        promises.largeSizeBytes = 128 << 20
        try promise.check(promises)
    }
}
