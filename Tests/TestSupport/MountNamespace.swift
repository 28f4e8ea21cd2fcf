/// Mount namespaces of tests.
enum MountNamespace {
    /// A namespace begins with a copy of all mounts, and those of tests that run at the same time would stay mounted there: their
    /// processes would not end before the namespace does. `leave_mounts [PATH]` removes them from the namespace, but for those
    /// below PATH.
    static let prelude = #"""
        leave_mounts() {
            tac /proc/self/mounts | while read -r _ place type _; do
                place=$(printf '%b' "$place")
                case $type:$place in
                    fuse*:"${1:-/dev/null}"/*) ;;
                    fuse*:*/backupfs-*) umount --lazy "$place" 2>/dev/null || true ;;
                esac
            done
        }

        """#
}
