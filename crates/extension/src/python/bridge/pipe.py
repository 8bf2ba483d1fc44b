"""Runs a user's extension file for tracelens and answers its questions as lines of JSON.

The program starts this text in the user's Python. Standard input and output carry the protocol until `main` moves them
away: afterwards whatever the file prints goes to the program as text, or to standard error.
"""
import sys

if sys.version_info < (3, 8):
    sys.exit("tracelens: extension files need Python 3.8 or newer, found %d.%d" % sys.version_info[:2])

if sys.path and sys.path[0] == "":
    del sys.path[0]

import array
import bisect
import collections
import faulthandler
import gc
import importlib.abc
import importlib.machinery
import io
import json
import math
import os
import threading
import time
import types

sys.dont_write_bytecode = True


# ---- The two pipes ----

class Pipe:
    """Requests of the program on one side, answers on the other."""

    def __init__(self):
        self.requests = os.fdopen(os.dup(0), "rb")
        self.answers = os.dup(1)
        os.dup2(2, 1)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        sys.stdin = open(os.devnull)

    def receive(self):
        line = self.requests.readline()
        if not line:
            os._exit(0)
        return json.loads(line)

    def send(self, answer):
        data = (json.dumps(answer, separators=(",", ":"), ensure_ascii=False) + "\n").encode(errors="replace")
        while data:
            data = data[os.write(self.answers, data):]

    def ask(self, *question):
        """Asks the program about the tree."""
        self.send({"ask": question})
        answer = self.receive()
        if "refused" in answer:
            raise Refused(answer["refused"])
        if "column" not in answer:
            return answer["answer"]
        # Numbers as the machine stores them follow the line.
        column = array.array(answer["column"])
        column.frombytes(self.requests.read(answer["bytes"]))
        return column


class Refused(Exception):
    """What the program refuses to do to the tree."""


class Printed(io.TextIOBase):
    """What the file prints, a line at a time. More than this is debugging gone wrong."""

    most_lines = 1000
    most_text = 1 << 20

    def __init__(self, pipe):
        self.pipe, self.rest, self.lines, self.length = pipe, "", 0, 0

    def write(self, text):
        *lines, self.rest = (self.rest + text).split("\n")
        self.rest = self.rest[:self.most_text]
        for line in lines:
            self.lines += 1
            self.length += len(line)
            if self.lines <= self.most_lines and self.length <= self.most_text:
                self.pipe.send({"printed": line})
        return len(text)

    def finish(self):
        if self.rest:
            self.write("\n")

    def fileno(self):
        return 2


# ---- What went wrong, and where ----

class Fail(Exception):
    """What `fail` raises."""


def problem(error, path):
    """An exception as the program takes it: the innermost line of the user's file, and what happened there."""
    line, at, kind = None, error.__traceback__, "fault"
    while at is not None:
        if at.tb_frame.f_code.co_filename == path:
            line = at.tb_lineno
        at = at.tb_next
    text = "%s: %s" % (type(error).__name__, error) if str(error) else type(error).__name__
    if isinstance(error, SyntaxError) and error.filename == path:
        line, kind, text = error.lineno, "syntax", "%s: %s" % (type(error).__name__, error.msg)
    elif isinstance(error, (Fail, Refused)):
        text = str(error)
        if hasattr(error, "line"):
            line, kind = error.line, "member"
    elif isinstance(error, MemoryError):
        kind, text = "limit", "the memory limit is reached"
    elif isinstance(error, RecursionError):
        text = "functions call each other too deeply"
    elif isinstance(error, AssertionError) and not str(error) and line is not None:
        text = "AssertionError: " + source_line(path, line)
    elif isinstance(error, NotImplementedError):
        kind = "unsupported"
    return {"line": line, "reason": text, "kind": kind}


SOURCES = {}


def source_line(path, line):
    lines = SOURCES.get(path, "").splitlines()
    return lines[line - 1].strip() if line <= len(lines) else ""


def caller_line():
    """The line of the user's file that called a function of ours."""
    frame = sys._getframe(2)
    return frame.f_lineno if frame.f_code.co_filename in SOURCES else None


def plain(value, name, depth=16):
    """A value as JSON; tuples stay tuples."""
    if value is None or type(value) in (int, str, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "item") and not isinstance(value, (list, tuple)):
        value = value.item()
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, (list, tuple)) and depth:
        items = [plain(item, name, depth - 1) for item in value]
        return {"tuple": items} if isinstance(value, tuple) else items
    raise TypeError("%s must be a number, text, flag, None or a list of them, found a %s" % (name, type(value).__name__))


