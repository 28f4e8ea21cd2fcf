// What libfuse offers only as macros is wrapped here. FUSE_USE_VERSION picks the 3.14 interface;
// _FILE_OFFSET_BITS must not be defined: it clashes with Glibc's module, and off_t has 64 bits anyway.
#ifndef BACKUPFS_CFUSE_SHIM_H
#define BACKUPFS_CFUSE_SHIM_H
#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

// fuse_session_loop_mt is a macro in some of libfuse's interface versions and a function in others.
// - clone_fd: nonzero gives each thread its own descriptor of /dev/fuse, so that they do not queue for one.
// - Returns 0 after an unmount or fuse_session_exit, else a negative errno, or -1.
static inline int backupfs_session_loop(struct fuse_session *session, unsigned int clone_fd, unsigned int max_threads) {
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    if (!config) return -1;
    fuse_loop_cfg_set_clone_fd(config, clone_fd);
    fuse_loop_cfg_set_max_threads(config, max_threads);
    // Threads that were needed once are kept: starting one costs more than a request.
    fuse_loop_cfg_set_idle_threads(config, max_threads);
    int result = fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
    return result;
}
#endif
