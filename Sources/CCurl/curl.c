#include "CCurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

// The version of libcurl's interface, which has not changed since 2006.
static const char library_name[] = "libcurl.so.4";

static struct {
    CURLcode (*global_init)(long flags);
    CURL *(*init)(void);
    void (*cleanup)(CURL *handle);
    void (*reset)(CURL *handle);
    CURLcode (*perform)(CURL *handle);
    CURLcode (*set)(CURL *handle, CURLoption option, ...);
    CURLcode (*get)(CURL *handle, CURLINFO info, ...);
    const char *(*text)(CURLcode code);
    time_t (*date)(const char *text, const time_t *unused);
    struct curl_slist *(*append)(struct curl_slist *list, const char *line);
    void (*free)(struct curl_slist *list);
} curl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *failure;

static void load(void) {
    // Never closed: other threads may still use it at the end of the process.
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        failure = dlerror();
        return;
    }
    // POSIX demands that a pointer from dlsym(3) can be stored as one to a function.
    const struct {
        void **target;
        const char *name;
    } functions[] = {
        {(void **)&curl.global_init, "curl_global_init"}, {(void **)&curl.init, "curl_easy_init"},
        {(void **)&curl.cleanup, "curl_easy_cleanup"},    {(void **)&curl.reset, "curl_easy_reset"},
        {(void **)&curl.perform, "curl_easy_perform"},    {(void **)&curl.set, "curl_easy_setopt"},
        {(void **)&curl.get, "curl_easy_getinfo"},        {(void **)&curl.text, "curl_easy_strerror"},
        {(void **)&curl.date, "curl_getdate"},            {(void **)&curl.append, "curl_slist_append"},
        {(void **)&curl.free, "curl_slist_free_all"},
    };
    for (size_t index = 0; index < sizeof functions / sizeof functions[0]; index++) {
        *functions[index].target = dlsym(library, functions[index].name);
        if (*functions[index].target == NULL) {
            failure = dlerror();
            return;
        }
    }
    if (curl.global_init(CURL_GLOBAL_ALL) != CURLE_OK) failure = "libcurl could not be started";
}

const char *backupfs_curl_load(void) {
    pthread_once(&once, load);
    return failure;
}

CURL *backupfs_curl_init(void) { return curl.init(); }
void backupfs_curl_cleanup(CURL *handle) { curl.cleanup(handle); }
void backupfs_curl_reset(CURL *handle) { curl.reset(handle); }
CURLcode backupfs_curl_perform(CURL *handle) { return curl.perform(handle); }
const char *backupfs_curl_text(CURLcode code) { return curl.text(code); }
time_t backupfs_curl_date(const char *text) { return backupfs_curl_load() == NULL ? curl.date(text, NULL) : -1; }
struct curl_slist *backupfs_curl_append(struct curl_slist *list, const char *line) { return curl.append(list, line); }
void backupfs_curl_free(struct curl_slist *list) { curl.free(list); }

CURLcode backupfs_curl_set_long(CURL *handle, CURLoption option, long value) { return curl.set(handle, option, value); }

CURLcode backupfs_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl.set(handle, option, value);
}

CURLcode backupfs_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl.set(handle, option, value);
}

CURLcode backupfs_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl.set(handle, option, value);
}

CURLcode backupfs_curl_set_headers(CURL *handle, struct curl_slist *value) {
    return curl.set(handle, CURLOPT_HTTPHEADER, value);
}

CURLcode backupfs_curl_set_bytes_function(CURL *handle, CURLoption option, backupfs_curl_bytes_function function) {
    return curl.set(handle, option, function);
}

CURLcode backupfs_curl_set_seek_function(CURL *handle, backupfs_curl_seek_function function) {
    return curl.set(handle, CURLOPT_SEEKFUNCTION, function);
}

CURLcode backupfs_curl_set_progress_function(CURL *handle, backupfs_curl_progress_function function) {
    return curl.set(handle, CURLOPT_XFERINFOFUNCTION, function);
}

CURLcode backupfs_curl_set_request_function(CURL *handle, backupfs_curl_request_function function) {
    return curl.set(handle, CURLOPT_PREREQFUNCTION, function);
}

CURLcode backupfs_curl_get_long(CURL *handle, CURLINFO info, long *value) { return curl.get(handle, info, value); }
