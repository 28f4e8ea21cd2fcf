"""Takes some rows out of each table of an SQLite database: python3 change_database.py FILE"""
import sqlite3
import sys

database = sqlite3.connect(sys.argv[1], isolation_level=None)
tables = database.execute(
    "select name from sqlite_master where type = 'table' and sql not like 'create virtual%' and name not like 'sqlite_%' "
    "and name not glob 'words_fts_*' and name not glob 'boxes_*'"
).fetchall()
for (name,) in tables:
    table = '"' + name.replace('"', '""') + '"'
    for condition in (f"where rowid in (select rowid from {table} limit 2)", ""):
        try:
            database.execute(f"delete from {table} {condition}")
            break
        except sqlite3.Error:
            # WITHOUT ROWID, or a trigger or foreign key that forbids it.
            continue
database.close()
