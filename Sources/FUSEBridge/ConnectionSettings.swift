import CFUSE
import Glibc

/// The settings negotiated with the kernel when the mount begins.
enum ConnectionSettings {
    static func negotiate(_ connection: inout fuse_conn_info, maximumReadBytes: Int) {
        connection.max_write = UInt32(MountOptions.largestRequestBytes)
        // libfuse ends the session when this differs from the mount option of the same name.
        connection.max_read = UInt32(maximumReadBytes)
        connection.max_readahead = UInt32(MountOptions.largestRequestBytes)

        want(FUSE_CAP_ASYNC_READ, &connection)
        want(FUSE_CAP_ATOMIC_O_TRUNC, &connection)
        want(FUSE_CAP_PARALLEL_DIROPS, &connection)
        // Return attributes with every part of a listing, since they are at hand. With READDIRPLUS_AUTO, the kernel requests them only for the first part, and
        // programs that read all names before they access files then query each of the others.
        want(FUSE_CAP_READDIRPLUS, &connection)
        refuse(FUSE_CAP_READDIRPLUS_AUTO, &connection)
        // Pages are dropped when size or time turn out to differ. Files of snapshots never differ and keep their pages; the files in `live/` may lose them.
        want(FUSE_CAP_AUTO_INVAL_DATA, &connection)

        // Requests come through read(2): splicing them costs more, except for large writes.
        refuse(FUSE_CAP_SPLICE_READ, &connection)
        // A write must have reached the tree when its file is flushed: that is when a restore begins.
        refuse(FUSE_CAP_WRITEBACK_CACHE, &connection)
        // `snapshots/latest` has a new target after each backup.
        refuse(FUSE_CAP_CACHE_SYMLINKS, &connection)
    }

    private static func want(_ capability: Int32, _ connection: inout fuse_conn_info) {
        connection.want |= connection.capable & UInt32(bitPattern: capability)
    }

    private static func refuse(_ capability: Int32, _ connection: inout fuse_conn_info) {
        connection.want &= ~UInt32(bitPattern: capability)
    }
}
