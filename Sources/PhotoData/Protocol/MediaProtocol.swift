import BackupCore

/// What the program and its helper, `backupfs-media`, say to each other over a socket. Program and helper are of one build:
/// another version is refused.
///
/// A request has 12 bytes, with the file as a descriptor beside its first byte. An answer is a 32-bit length and that many
/// bytes. The helper begins with an answer to request 0: it is in its sandbox, or says why it cannot be.
public enum MediaProtocol {
    /// Grows with each change of what the two say.
    public static let version: UInt8 = 2
    /// Of each request.
    public static let requestByteCount = 12

    /// What is asked for.
    public enum Kind: UInt8, Sendable {
        case ready = 0
        case metadata = 1
        case thumbnail = 2
        /// Tries what the sandbox must refuse, for tests.
        case attempt = 3
        /// The file is a thumbnail, and a PNG of it is wanted whose longer side has as many pixels as the argument says at most.
        case picture = 4
    }

    /// How it went.
    public enum Status: UInt8, Sendable {
        case found = 0
        /// It is no photo or video of a known format.
        case nothing = 1
        /// No decoder can make sense of it.
        case damaged = 2
        case tooLarge = 3
        /// The helper cannot protect itself, and reads nothing.
        case refused = 4
    }
}

/// A question of the program about one file.
public struct MediaRequest: Sendable, Equatable {
    public let kind: MediaProtocol.Kind
    /// The answer repeats it.
    public let number: UInt32
    /// The number of an attempt; the form of a thumbnail; the longer side of a picture, in pixels.
    public let argument: UInt32

    public init(_ kind: MediaProtocol.Kind, number: UInt32, argument: UInt32 = 0) {
        (self.kind, self.number, self.argument) = (kind, number, argument)
    }

    /// As it is sent.
    public var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.append(MediaProtocol.version)
        writer.append(kind.rawValue)
        writer.append(UInt16(0))
        writer.append(number)
        writer.append(argument)
        return writer.bytes
    }

    /// - Throws: `damagedContent` for anything but a request of this version.
    public init(decoding bytes: [UInt8]) throws(BackupError) {
        var reader = ByteReader(bytes)
        guard bytes.count == MediaProtocol.requestByteCount, try reader.read(UInt8.self) == MediaProtocol.version,
            let kind = MediaProtocol.Kind(rawValue: try reader.read()), try reader.read(UInt16.self) == 0
        else { throw MediaAnswer.malformed }
        self.init(kind, number: try reader.read(), argument: try reader.read())
    }
}

/// An answer of the helper, whose content is not looked at yet.
public struct MediaAnswer: Sendable, Equatable {
    public let kind: MediaProtocol.Kind
    public let status: MediaProtocol.Status
    /// That of the request.
    public let number: UInt32
    /// Depends on the kind; empty unless the status is `found` or `refused`.
    public let content: [UInt8]

    /// For the helper.
    public init(_ request: MediaRequest, _ status: MediaProtocol.Status, content: [UInt8] = []) {
        (kind, self.status, number, self.content) = (request.kind, status, request.number, content)
    }

    /// With its length in front.
    public var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.append(UInt32(7 + content.count))
        writer.append(MediaProtocol.version)
        writer.append(kind.rawValue)
        writer.append(status.rawValue)
        writer.append(number)
        writer.append(raw: content)
        return writer.bytes
    }

    /// - Parameter bytes: without the length.
    /// - Throws: `damagedContent`, also for the answer to another request.
    public init(decoding bytes: [UInt8], to request: MediaRequest) throws(BackupError) {
        guard bytes.count >= 7 else { throw Self.malformed }
        var reader = ByteReader(bytes)
        guard try reader.read(UInt8.self) == MediaProtocol.version, try reader.read(UInt8.self) == request.kind.rawValue,
            let status = MediaProtocol.Status(rawValue: try reader.read()), try reader.read(UInt32.self) == request.number
        else { throw Self.malformed }
        self.init(request, status, content: Array(try reader.readRaw(count: reader.remainingCount)))
    }

    /// The helper's answers are not trusted: a photo may have taken it over.
    static let malformed = BackupError(.damagedContent, "the helper's answer is malformed")

    /// The content as a thumbnail.
    /// - Throws: `damagedContent` for what does not begin as a JPEG, or is too large.
    func thumbnail() throws(BackupError) -> [UInt8] {
        guard content.count < PhotoLimits.thumbnailBytes, content.starts(with: [0xFF, 0xD8, 0xFF]) else { throw Self.malformed }
        return content
    }

    /// The content as a picture.
    /// - Throws: `damagedContent` for what is no plain PNG, or is too large.
    func picture(sidePixels: Int) throws(BackupError) -> PNGPicture {
        guard content.count < PhotoLimits.pictureBytes, let picture = PNGPicture(content, sidePixels: sidePixels) else {
            throw Self.malformed
        }
        return picture
    }
}
