extension Sandbox {
    /// Functions that every script of a sandbox can call. One that waits in vain ends the script.
    ///
    /// - `wait_until COMMAND...` waits until a command succeeds; a single word can be a whole script.
    /// - `wait_paused FILE PROCESS` waits until a program stops at a fault point, where it pauses while the file is there.
    /// - `wait_taken PROCESS` waits until a process has taken the signals that were sent to it, or has ended.
    /// - `wait_settled PATH...` waits until the next change below the paths shows in the times of the files: a change soon after
    ///   another one need not (`FileStatus.isSettled`).
    /// - `wait_second` waits for the next second, for times that are stored in seconds.
    static let prelude = #"""
        wait_until() {
            local end=$((SECONDS + 60)) error pause delay=20
            until error=$(if [ $# = 1 ]; then eval "$1"; else "$@"; fi 2>&1 >/dev/null); do
                if [ $SECONDS -gt $end ]; then echo "waited in vain for: $*${error:+ ($error)}" >&2; exit 99; fi
                printf -v pause "0.%03d" $delay; sleep $pause
                delay=$((delay < 150 ? delay * 3 / 2 : 200))
            done
        }
        wait_paused() {
            wait_until "[ -e '$1.reached' ] || ! kill -0 $2"
            if ! [ -e "$1.reached" ]; then echo "ended before the pause: $1" >&2; exit 99; fi
        }
        wait_taken() { wait_until "! [ -e /proc/$1 ] || grep -q 'ShdPnd:.0*$' /proc/$1/status"; }
        wait_settled() {
            find "$@" -printf '%C@\n' | sort -n | tail -n 1 | awk -v now="$(date +%s.%N)" '{ print $1 + 2.2 - now }' \
                | { read -r left; case $left in -*) ;; *) sleep "$left" ;; esac; }
        }
        wait_second() {
            wait_until "[ \$(date +%s) != $(date +%s) ]"
        }

        """#
}
