// curl_easy_setopt and curl_easy_getinfo take their value as a variable argument, which Swift cannot call. Each wrapper passes
// one type of value.
#ifndef BACKUPFS_CCURL_SHIM_H
#define BACKUPFS_CCURL_SHIM_H
#include <curl/curl.h>

static inline CURLcode backupfs_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode backupfs_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

// libcurl copies the text.
static inline CURLcode backupfs_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

// The pointer must stay valid until the transfer has ended.
static inline CURLcode backupfs_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode backupfs_curl_set_headers(CURL *handle, struct curl_slist *value) {
    return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, value);
}

typedef size_t (*backupfs_curl_bytes_function)(char *bytes, size_t size, size_t count, void *context);
typedef int (*backupfs_curl_seek_function)(void *context, curl_off_t offset, int origin);
typedef int (*backupfs_curl_progress_function)(
    void *context, curl_off_t download_total, curl_off_t downloaded, curl_off_t upload_total, curl_off_t uploaded);

typedef int (*backupfs_curl_request_function)(
    void *context, char *remote_address, char *local_address, int remote_port, int local_port);

// For CURLOPT_WRITEFUNCTION, CURLOPT_READFUNCTION and CURLOPT_HEADERFUNCTION.
static inline CURLcode backupfs_curl_set_bytes_function(
    CURL *handle, CURLoption option, backupfs_curl_bytes_function function) {
    return curl_easy_setopt(handle, option, function);
}

static inline CURLcode backupfs_curl_set_seek_function(CURL *handle, backupfs_curl_seek_function function) {
    return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, function);
}

static inline CURLcode backupfs_curl_set_progress_function(CURL *handle, backupfs_curl_progress_function function) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, function);
}

// Called each time before a request is sent; it returns 0 to go on.
static inline CURLcode backupfs_curl_set_request_function(CURL *handle, backupfs_curl_request_function function) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, function);
}

static inline CURLcode backupfs_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

// Swift cannot read these: they are casts, or depend on the version.
static const size_t backupfs_curl_read_abort = CURL_READFUNC_ABORT;
static const long backupfs_curl_http_2_over_tls = CURL_HTTP_VERSION_2TLS;
static const long backupfs_curl_at_least_tls_1_2 = CURL_SSLVERSION_TLSv1_2;
static const long backupfs_curl_global_all = CURL_GLOBAL_ALL;
#endif
