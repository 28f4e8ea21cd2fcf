// What Swift cannot call of libmicrohttpd: functions with any number of arguments.
#pragma once
#include <microhttpd.h>
#include <string.h>

// Leaves addresses as they were sent.
static inline size_t backupfs_keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}
// Serves on a listening socket, each connection in a thread of its own, until the process ends. NULL on failure.
// connections: as many at once. seconds: how long one may be silent, or not take what is sent. memory: for the request line and the headers, in
// bytes; longer ones are refused.
static inline struct MHD_Daemon *backupfs_start_http(
    int listener, MHD_AccessHandlerCallback handler, void *context, unsigned connections, unsigned seconds, size_t memory) {
    return MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, 0, NULL, NULL, handler, context,
        MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT, seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, MHD_OPTION_UNESCAPE_CALLBACK, backupfs_keep_escapes, NULL,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}
