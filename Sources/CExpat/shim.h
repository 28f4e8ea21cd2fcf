#ifndef BACKUPFS_CEXPAT_SHIM_H
#define BACKUPFS_CEXPAT_SHIM_H
#include <expat.h>
#endif
