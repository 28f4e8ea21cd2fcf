import BackupCore
import FUSEBridge
import Testing

/// Every code with the number that Linux gives its errno, written out: a change here is a change that programs see.
@Suite struct ErrorNumberTests {
    static let table: [(BackupError.Code, Int32)] = [
        (.invalidContent, 22),
        (.damagedContent, 74),
        (.unsupportedVersion, 93),
        (.noSpace, 28),
        (.noResources, 23),
        (.tooLarge, 27),
        (.busy, 16),
        (.databaseInUse, 16),
        (.readOnly, 30),
        (.notPermitted, 1),
        (.accessDenied, 13),
        (.repositoryDamaged, 5),
        (.inputOutput, 5),
        (.notFound, 2),
        (.alreadyExists, 17),
        (.notADirectory, 20),
        (.isADirectory, 21),
        (.notEmpty, 39),
        (.nameTooLong, 36),
        (.noAttribute, 61),
        (.invalidArgument, 22),
        (.notSupported, 95),
        (.crossDevice, 18),
        (.badHandle, 9),
        (.stale, 116),
        (.offline, 101),
        (.conflict, 116),
        (.noRepository, 5),
        (.locked, 16),
        (.wrongPassword, 13),
        (.usage, 22),
        (.sourceUnreadable, 5),
        (.hookFailed, 125),
        (.interrupted, 125),
    ]

    @Test(arguments: table) func number(_ code: BackupError.Code, _ number: Int32) {
        #expect(ErrorNumber.of(code) == number)
    }

    @Test func tableIsWhole() {
        #expect(Set(Self.table.map(\.0)) == Set(BackupError.Code.allCases))
        #expect(Self.table.count == 34)
    }
}
