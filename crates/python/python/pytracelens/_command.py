"""The command ``pytracelens``: runs the command line of ``tracelens`` in this process."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from . import _native


def main() -> NoReturn:
    """Runs the command line with the arguments of this process and exits with its exit code."""
    # Python would only look at Ctrl-C after the command's end. The command removes what it has begun to write.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.command(["pytracelens", *sys.argv[1:]]))
