"""Take out of an SQLite export of Nsight Systems what identifies the machine: sanitise_nsys.py FILE.sqlite …

Nsight Systems stores the environment of every process of the machine, their names, command lines and output. What
belongs to the recorded programs stays: a process that no row of CUDA or NVTX names is removed, and with it every text
that no row refers to any more.
"""

import re
import sqlite3
import sys

# Of the description of the system, what tells how fast it is and what wrote the recording.
KEPT_FACTS = ("CpuCores", "CpuSpeedMhz", "CpuArchitecture", "CpuDescription", "NvDriverVersion")
# Options of the recording that name nothing of the machine.
KEPT_OPTIONS = ("CAPTURE_EVENT_TYPE", "START_TRIGGER", "STOP_TRIGGER")
KEPT_EXPORT = "EXPORT_PRODUCT%", "EXPORT_SCHEMA%", "EXPORT_PLATFORM", "EXPORT_ARCH"
# What may be left in no text: a variable of the environment, a directory of a user, a temporary file.
IDENTIFYING = re.compile(r"\b(PATH|HOME|PWD)=|/home/|/root/|/tmp/")
PROCESS_OF_THREAD = "(globalTid & ~0xFFFFFF)"


def tables(database):
    return [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def columns(database, table):
    return [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]


def recorded_processes(database):
    """Global ids of the processes that have events."""
    found = set()
    for table in tables(database):
        if table.startswith(("CUPTI_ACTIVITY_KIND_", "NVTX_EVENTS")):
            for column, value in (("globalTid", PROCESS_OF_THREAD), ("globalPid", "globalPid")):
                if column in columns(database, table):
                    found |= {pid for (pid,) in database.execute(f'SELECT DISTINCT {value} FROM "{table}"')}
    return found - {None}


def referenced_texts(database):
    """Ids of the texts that a row of another table refers to: columns called `textId`, `nameId`, `demangledName` …"""
    found = set()
    for table in tables(database):
        if table == "StringIds" or table.startswith("ENUM_"):
            continue
        for column in columns(database, table):
            if column in ("textId", "nameId", "demangledName", "shortName", "mangledName"):
                found |= {text for (text,) in database.execute(f'SELECT DISTINCT "{column}" FROM "{table}"')}
    return found - {None}


def keep(database, table, condition, parameters=()):
    if table in tables(database):
        database.execute(f'DELETE FROM "{table}" WHERE NOT ({condition})', parameters)


def sanitise(path):
    database = sqlite3.connect(path)
    processes = recorded_processes(database)
    marks = ",".join("?" * len(processes))
    keep(database, "PROCESSES", f"globalPid IN ({marks})", tuple(processes))
    keep(database, "ThreadNames", f"{PROCESS_OF_THREAD} IN ({marks})", tuple(processes))
    keep(database, "ProcessStreams", "0")
    for table, kept in (("TARGET_INFO_SYSTEM_ENV", KEPT_FACTS), ("META_DATA_CAPTURE", KEPT_OPTIONS)):
        keep(database, table, f"name IN ({','.join('?' * len(kept))})", kept)
    keep(database, "META_DATA_EXPORT", " OR ".join(["name LIKE ?"] * len(KEPT_EXPORT)), KEPT_EXPORT)
    texts = referenced_texts(database)
    database.create_function("is_referenced", 1, lambda text: text in texts)
    keep(database, "StringIds", "is_referenced(id)")
    database.commit()
    database.execute("VACUUM")
    database.close()
    # The file as a whole, so that no table is forgotten.
    left = IDENTIFYING.search(open(path, "rb").read().decode("latin-1"))
    if left:
        raise SystemExit(f"{path}: not sanitised: {left.string[left.start() - 40 : left.end() + 40]!r}")


if __name__ == "__main__":
    for path in sys.argv[1:]:
        sanitise(path)
