#ifndef BACKUPFS_COPENSSL_SHIM_H
#define BACKUPFS_COPENSSL_SHIM_H
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#endif
