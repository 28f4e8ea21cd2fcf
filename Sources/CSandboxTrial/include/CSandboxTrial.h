// What the sandbox of backupfs-media must refuse, for its tests: they try the same inside and outside it.
#ifndef BACKUPFS_CSANDBOXTRIAL_H
#define BACKUPFS_CSANDBOXTRIAL_H

enum { sandbox_attempt_count = 10 };
// Tries one thing: 0 open a file to read, 1 create a file, 2 make a socket, 3 fork, 4 run a program, 5 write to `descriptor`, 6 map memory that
// can be written and executed, 7 signal the parent, 8 map `descriptor` so that it can be written, 9 set its own limits. Returns 0 when it
// succeeded, else the errno. In the sandbox some end the process.
int sandbox_attempt(int number, int descriptor);
#endif
