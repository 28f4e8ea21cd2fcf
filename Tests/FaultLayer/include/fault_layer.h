// Loaded with LD_PRELOAD, the library stands between a program with all its libraries (SQLite too) and libc, counts the calls that change
// files below one folder, and lets one of them go wrong. It is told what to do by the environment:
//
// FAULT_LAYER_FOLDER  absolute, without links in it: only calls that change something below it count
// FAULT_LAYER_LOG     lies elsewhere; each call is a line: its class, its name and its path
// FAULT_LAYER_FAULT   NAME@NUMBER, counting from 1 and only the calls that can have this fault, or NAME@NUMBER CALL PATH, counting only the
//                     calls of this name for this path, as a log has them: threads take turns, so that a number alone is not the same call
//                     in each run
//   kill@N         dies by SIGKILL before the Nth call
//   tear@N         dies when the Nth write has written the first half of its bytes
//   full-once@N    the Nth call that needs space fails with ENOSPC
//   full@N         so do all that follow it
//   broken-once@N  the Nth call fails with EIO
//   broken@N       so do all that follow it
//   unseen@N       the Nth look at a file (stat, access) fails with EIO, as on a network share that is cut off for a moment
//   stop@N         the process stops before the Nth call (SIGSTOP), as on a machine that is suspended
//   stall@N        the Nth call and all that follow it never return, as on a disk that does not answer
// FAULT_LAYER_LOOKS   if it is set and nothing goes wrong, looks are logged instead of changes
//
// FAULT_LAYER_NO_RENAME_FLAGS  renameat2(2) takes no flags, as on NFS: any is EINVAL, wherever the paths lie
// FAULT_LAYER_NO_FOLDER_SYNC   fsync(2) of a folder is EINVAL, as on older SMB, wherever it lies
// FAULT_LAYER_KEPT_NAME        no name like this can be removed: unlink(2) is EPERM, wherever it lies
//
// FAULT_LAYER_SHARED  absolute: this folder looks like one on NFS, and open file description locks in it exclude no process, as between hosts
//
// Paths are seen from the folder, with an asterisk for each part that is another in each run: process numbers of drafts, tokens, checksums.
// With a fault, only the calls that it hits are logged. Programs that are started are not looked at.
#ifndef BACKUPFS_FAULT_LAYER_H
#define BACKUPFS_FAULT_LAYER_H
#endif
