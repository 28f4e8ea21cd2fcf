// libcurl, loaded when it is first used: it brings some thirty libraries, whose loading takes longer than all else that most
// commands do. Its functions have the prefix backupfs_ here. curl_easy_setopt and curl_easy_getinfo, whose value is a variable
// argument, which Swift cannot pass, have one function for each type of value.
#ifndef BACKUPFS_CCURL_H
#define BACKUPFS_CCURL_H
#include <curl/curl.h>

// Loads libcurl and prepares its tables, once; all but backupfs_curl_date must be called after it. Thread-safe. Returns NULL, or what went
// wrong.
const char *backupfs_curl_load(void);

CURL *backupfs_curl_init(void);
void backupfs_curl_cleanup(CURL *handle);
void backupfs_curl_reset(CURL *handle);
CURLcode backupfs_curl_perform(CURL *handle);
const char *backupfs_curl_text(CURLcode code);
// The seconds since 1970 of a date in HTTP; -1 for another text.
time_t backupfs_curl_date(const char *text);
// Returns NULL without memory.
struct curl_slist *backupfs_curl_append(struct curl_slist *list, const char *line);
void backupfs_curl_free(struct curl_slist *list);

CURLcode backupfs_curl_set_long(CURL *handle, CURLoption option, long value);
CURLcode backupfs_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value);
// libcurl copies the text.
CURLcode backupfs_curl_set_text(CURL *handle, CURLoption option, const char *value);
// The pointer must stay valid until the transfer has ended.
CURLcode backupfs_curl_set_pointer(CURL *handle, CURLoption option, void *value);
CURLcode backupfs_curl_set_headers(CURL *handle, struct curl_slist *value);

typedef size_t (*backupfs_curl_bytes_function)(char *bytes, size_t size, size_t count, void *context);
typedef int (*backupfs_curl_seek_function)(void *context, curl_off_t offset, int origin);
typedef int (*backupfs_curl_progress_function)(
    void *context, curl_off_t download_total, curl_off_t downloaded, curl_off_t upload_total, curl_off_t uploaded);
typedef int (*backupfs_curl_request_function)(
    void *context, char *remote_address, char *local_address, int remote_port, int local_port);

// For CURLOPT_WRITEFUNCTION, CURLOPT_READFUNCTION and CURLOPT_HEADERFUNCTION.
CURLcode backupfs_curl_set_bytes_function(CURL *handle, CURLoption option, backupfs_curl_bytes_function function);
CURLcode backupfs_curl_set_seek_function(CURL *handle, backupfs_curl_seek_function function);
CURLcode backupfs_curl_set_progress_function(CURL *handle, backupfs_curl_progress_function function);
// Called each time before a request is sent; it returns 0 to go on.
CURLcode backupfs_curl_set_request_function(CURL *handle, backupfs_curl_request_function function);

CURLcode backupfs_curl_get_long(CURL *handle, CURLINFO info, long *value);

// Swift cannot read these: they are casts, or depend on the version.
static const size_t backupfs_curl_read_abort = CURL_READFUNC_ABORT;
static const long backupfs_curl_http_2_over_tls = CURL_HTTP_VERSION_2TLS;
static const long backupfs_curl_at_least_tls_1_2 = CURL_SSLVERSION_TLSv1_2;
#endif
