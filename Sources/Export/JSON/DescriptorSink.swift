import BackupCore
import SystemIO

/// Writes a whole export to an open file, at the descriptor's position.
public final class DescriptorSink: WireSink {
    private let descriptor: OwnedDescriptor

    public init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }

    public func write(literal bytes: UnsafeRawBufferPointer) throws(BackupError) { try descriptor.writeAll(bytes) }
    public func write(collection bytes: UnsafeRawBufferPointer) throws(BackupError) { try descriptor.writeAll(bytes) }

    /// fsync(2), for exports that must survive a power cut.
    public func synchronize() throws(BackupError) { try descriptor.synchronize() }
}
