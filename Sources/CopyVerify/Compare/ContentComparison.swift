import BackupCore
import Glibc
import SystemIO

/// A failure, and the side that it is of; `nil` for one that ends the comparison.
struct SideFailure: Error {
    let side: ComparisonSide?
    let error: BackupError
}

/// A file, where it is.
struct ComparedPlace: Sendable {
    let folder: any ComparedFolder
    let name: FileName
    let item: ComparedItem

    func checksum(_ algorithm: HashAlgorithm) throws(BackupError) -> [UInt8] {
        if let known = item.known[algorithm] { return known }
        return try folder.checksum(name, item, algorithm)
    }
}

/// Whether two files have the same content.
final class ContentComparison {
    /// Smaller files are read one after the other: a second thread would take longer to begin.
    private static let parallelByteCount: UInt64 = 128 << 10

    private let pool = WorkerPool(threadCount: 1, queueLimit: 1)

    /// The strongest algorithm of which both have a checksum, or can have one.
    static func algorithm(
        _ left: [HashAlgorithm]?, _ right: [HashAlgorithm]?
    ) -> HashAlgorithm? {
        HashAlgorithm.allCases.first { algorithm in
            left?.contains(algorithm) != false && right?.contains(algorithm) != false
        }
    }

    /// By checksum; those of two large files are computed at the same time.
    func haveSameChecksum(
        _ left: ComparedPlace, _ right: ComparedPlace, _ algorithm: HashAlgorithm
    ) throws(SideFailure) -> Bool {
        let results = checksums(left, right, algorithm)
        return try Self.value(.source, results.left) == Self.value(.destination, results.right)
    }

    private func checksums(
        _ left: ComparedPlace, _ right: ComparedPlace, _ algorithm: HashAlgorithm
    ) -> (left: Result<[UInt8], BackupError>, right: Result<[UInt8], BackupError>) {
        let isLarge = max(left.item.sizeBytes ?? 0, right.item.sizeBytes ?? 0) > Self.parallelByteCount
        guard isLarge, left.item.known[algorithm] == nil, right.item.known[algorithm] == nil else {
            let first = Result { () throws(BackupError) in try left.checksum(algorithm) }
            return (first, Result { () throws(BackupError) in try right.checksum(algorithm) })
        }
        let first = Monitor<Result<[UInt8], BackupError>?>(nil)
        let operation = Cancellation.current ?? Cancellation()
        pool.submit {
            let result = Result { () throws(BackupError) in
                try operation.run { () throws(BackupError) in try left.checksum(algorithm) }
            }
            first.changeWakingAll { $0 = result }
        }
        let second = Result { () throws(BackupError) in try right.checksum(algorithm) }
        return (first.wait(until: { $0 != nil }, { $0 ?? second }), second)
    }

    /// Byte for byte.
    /// - Returns: the first byte that differs, or where the shorter one ends; `nil` when they are the same.
    func firstDifference(_ left: ComparedPlace, _ right: ComparedPlace) throws(SideFailure) -> UInt64? {
        var first = try Self.open(.source, left)
        var second = try Self.open(.destination, right)
        var position: UInt64 = 0
        var (own, other) = (UnsafeRawBufferPointer(start: nil, count: 0), UnsafeRawBufferPointer(start: nil, count: 0))
        while true {
            if own.isEmpty { own = try Self.next(.source, &first) ?? own }
            if other.isEmpty { other = try Self.next(.destination, &second) ?? other }
            let count = min(own.count, other.count)
            guard count > 0, let one = own.baseAddress, let two = other.baseAddress else {
                return own.isEmpty && other.isEmpty ? nil : position
            }
            guard memcmp(one, two, count) == 0 else {
                let same = (0..<count).first { own[$0] != other[$0] } ?? count
                return position + UInt64(same)
            }
            position += UInt64(count)
            own = UnsafeRawBufferPointer(rebasing: own[count...])
            other = UnsafeRawBufferPointer(rebasing: other[count...])
        }
    }

    private static func open(
        _ side: ComparisonSide, _ place: ComparedPlace
    ) throws(SideFailure) -> any ComparedContent {
        try value(side, Result { () throws(BackupError) in try place.folder.content(place.name, place.item) })
    }

    private static func next(
        _ side: ComparisonSide, _ content: inout any ComparedContent
    ) throws(SideFailure) -> UnsafeRawBufferPointer? {
        do throws(BackupError) {
            return try content.next()
        } catch {
            throw SideFailure(side: side, error: error)
        }
    }

    static func value<Value>(
        _ side: ComparisonSide, _ result: Result<Value, BackupError>
    ) throws(SideFailure) -> Value {
        switch result {
        case .success(let value): return value
        case .failure(let error): throw SideFailure(side: side, error: error)
        }
    }
}
