import BackupCore

/// When a change was made: one order of the changes of all devices, in which a change comes after all that its device knew of.
///
/// It is a hybrid logical clock: milliseconds by the device's clock, but never before what the device has seen. So a wrong clock
/// makes its device win more or fewer conflicts, and nothing else.
public struct ChangeStamp: Hashable, Comparable, Sendable {
    /// The end of the year 9999.
    static let latestMilliseconds: UInt64 = 253_402_300_799_999
    /// More events than there can be. A larger number is damage, and would leave no room for later changes.
    static let counterLimit: UInt64 = 1 << 48

    /// Since 1970. 0 for a record that was there before the device began to exchange changes: any known change is later.
    public let milliseconds: UInt64
    /// Orders what happens within a millisecond.
    public let counter: UInt64
    /// The device that made the change.
    public let device: DeviceID

    init(milliseconds: UInt64, counter: UInt64, device: DeviceID) {
        self.milliseconds = milliseconds
        self.counter = counter
        self.device = device
    }

    func with(_ device: DeviceID) -> ChangeStamp {
        ChangeStamp(milliseconds: milliseconds, counter: counter, device: device)
    }

    public static func < (left: ChangeStamp, right: ChangeStamp) -> Bool {
        (left.milliseconds, left.counter, left.device) < (right.milliseconds, right.counter, right.device)
    }
}

/// The clock of one device, from which it stamps its changes.
struct HybridClock: Equatable, Sendable {
    private(set) var milliseconds: UInt64 = 0
    private(set) var counter: UInt64 = 0

    init() {}

    init(milliseconds: UInt64, counter: UInt64) {
        self.milliseconds = milliseconds
        self.counter = counter
    }

    /// The stamp of the next change.
    /// - Parameter now: by the device's clock, which may be wrong.
    /// - Throws: `notSupported` at the end of time.
    mutating func stamp(at now: Timestamp, by device: DeviceID) throws(BackupError) -> ChangeStamp {
        let wall = Self.milliseconds(now)
        if wall > milliseconds {
            (milliseconds, counter) = (wall, 0)
        } else if counter < ChangeStamp.counterLimit {
            counter += 1
        } else {
            guard milliseconds < ChangeStamp.latestMilliseconds else {
                throw BackupError(
                    .notSupported, "there are no stamps left for changes: a device's clock was at the end of the year 9999",
                    remedy: "Set the clock, and begin again with an empty remote.")
            }
            (milliseconds, counter) = (milliseconds + 1, 0)
        }
        return ChangeStamp(milliseconds: milliseconds, counter: counter, device: device)
    }

    /// All later stamps come after this one.
    mutating func observe(_ stamp: ChangeStamp) {
        guard (stamp.milliseconds, stamp.counter) > (milliseconds, counter) else { return }
        (milliseconds, counter) = (stamp.milliseconds, stamp.counter)
    }

    private static func milliseconds(_ time: Timestamp) -> UInt64 {
        guard time.seconds >= 0 else { return 0 }
        guard time.seconds <= Int64(ChangeStamp.latestMilliseconds / 1_000) else { return ChangeStamp.latestMilliseconds }
        return min(UInt64(time.seconds) * 1_000 + UInt64(time.nanoseconds / 1_000_000), ChangeStamp.latestMilliseconds)
    }
}
