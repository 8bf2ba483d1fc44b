"""Take out of a recorded trace what identifies the machine, and leave every other byte alone.

Kineto traces are edited as text, never parsed and printed again: a JSON round trip would rewrite
`1414456661803.680` as `1414456661803.68`, and number formatting is part of what the tests read.
XPlane files are binary, so each secret is overwritten by filler of the same length.
"""

import getpass
import gzip
import json
import os
import pathlib
import re
import site
import socket
import sys
import sysconfig

RECIPES = pathlib.Path(__file__).resolve().parent


def kineto(text):
    """Sanitised text of a Kineto JSON trace."""
    text = empty_environment_dump(text)
    text = re.sub(r'("traceName": ")[^"]*/([^"/]*")', r"\1\2", text)
    for prefix in path_prefixes():
        text = text.replace(prefix, "")
    # Where a compiler put what it made for this run.
    text = re.sub(r"/tmp/tmp\.\w+/", "", text)
    for secret in secrets():
        text = re.sub(rf"\b{re.escape(secret)}\b", "host", text)
    check_nothing_left(text)
    return text


def empty_environment_dump(text):
    """Some recorders put the process environment, access tokens included, under `metadata`."""
    match = re.search(r'"metadata": *(?=\{)', text)
    if match is None:
        return text
    _, end = json.JSONDecoder().raw_decode(text, match.end())
    return text[: match.end()] + "{}" + text[end:]


def path_prefixes():
    """Installation paths in frame names, longest first, so that a nested one is cut whole."""
    roots = {
        str(RECIPES),
        str(pathlib.Path.cwd()),
        sysconfig.get_path("stdlib"),
        os.path.join(sys.base_prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}"),
        *site.getsitepackages(),
    }
    return sorted((root.rstrip("/") + "/" for root in roots), key=len, reverse=True)


def secrets():
    """Names of this machine and user; ones too short or too plain to be told from words are kept."""
    plain = {"", "root", "host", "vm", "localhost"}
    return {socket.gethostname(), socket.getfqdn(), getpass.getuser()} - plain


def check_nothing_left(text):
    """Refuse to write a trace that still names a home directory or a path of this machine."""
    patterns = [r"/home/\w+", r"/root/", r"\b\d+\.\d+\.\d+\.\d+:\d+\b"]
    if sys.prefix != sys.base_prefix:
        patterns.append(re.escape(sys.prefix) + "/")
    for pattern in patterns:
        found = re.search(pattern, text)
        if found:
            context = text[max(0, found.start() - 60) : found.end() + 60]
            raise SystemExit(f"not sanitised, {pattern} in: {context}")


def xplane(data):
    """Sanitised bytes of an XSpace: same length, so that no protobuf length prefix changes."""
    for prefix in path_prefixes():
        data = data.replace(prefix.encode(), filler(prefix))
    # A host name as short as "vm" can occur inside other bytes; replace it only as a whole string
    # field, that is, behind its length prefix.
    hostname = socket.gethostname().encode()
    data = data.replace(bytes([0x22, len(hostname)]) + hostname, bytes([0x22, len(hostname)]) + b"h" * len(hostname))
    for secret in secrets():
        data = data.replace(secret.encode(), b"h" * len(secret))
    return data


def filler(path):
    """A path of the same length, recognisable as made up: `/___…___/`."""
    return b"/" + b"_" * (len(path) - 2) + b"/"


def write_gzip(target, data):
    """Gzip without time stamp or file name, so that the same trace gives the same file."""
    with open(target, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as stream:
        stream.write(data)
