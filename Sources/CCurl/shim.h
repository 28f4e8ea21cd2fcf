// curl_easy_setopt and curl_easy_getinfo take their value as a variable argument, which Swift cannot call.
#ifndef BACKUPFS_CCURL_SHIM_H
#define BACKUPFS_CCURL_SHIM_H
#include <curl/curl.h>
#endif
