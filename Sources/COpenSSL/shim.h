#ifndef BACKUPFS_COPENSSL_SHIM_H
#define BACKUPFS_COPENSSL_SHIM_H
#include <openssl/evp.h>
#endif
