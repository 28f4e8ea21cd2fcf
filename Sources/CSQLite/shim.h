// What of SQLite's interface is variadic, which Swift cannot call.
#ifndef BACKUPFS_CSQLITE_SHIM_H
#define BACKUPFS_CSQLITE_SHIM_H
#include <sqlite3.h>
// sqlite3_db_config with SQLITE_DBCONFIG_ENABLE_TRIGGER.
static inline void backupfs_disable_triggers(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
}
// sqlite3_db_config with SQLITE_DBCONFIG_RESET_DATABASE.
static inline void backupfs_set_resetting(sqlite3 *connection, int isResetting) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_RESET_DATABASE, isResetting, (int *)0);
}
// sqlite3_db_config with SQLITE_DBCONFIG_DQS_DDL and SQLITE_DBCONFIG_DQS_DML.
static inline void backupfs_refuse_quoted_texts(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
}
#endif
