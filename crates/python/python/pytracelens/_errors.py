"""The exceptions of the package: one family, which pickles."""

from __future__ import annotations

import re


class TraceError(Exception):
    """Base class of this library's exceptions."""

    __module__ = "pytracelens"

    code: str
    """Its source and kind, such as ``ingest/unknown-format``. Never renamed."""
    help: str | None
    """What to do; None if the message does not say."""
    path: str | None
    """The file concerned; None if none or several."""

    def __init__(self, message: str, code: str = "bad-value", help: str | None = None, path: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.help = help
        self.path = path

    @property
    def action(self) -> str | None:
        """The same as ``help``, under the name that warnings and findings have it."""
        return self.help

    def __str__(self) -> str:
        # That of KeyError would be the repr of the message.
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[TraceError], tuple[str, str, str | None, str | None]]:
        return type(self), (str(self), self.code, self.help, self.path)


class ReadError(TraceError):
    """A file that is not a readable recording."""

    __module__ = "pytracelens"


class NoDeviceEvents(TraceError):
    """A recording without device work."""

    __module__ = "pytracelens"


class CannotAnswer(TraceError):
    """A question that the recordings cannot answer."""

    __module__ = "pytracelens"


class NotComparable(TraceError):
    """Runs that cannot be compared."""

    __module__ = "pytracelens"


class UnknownName(TraceError, KeyError):
    """A table, column, operator or event that there is not; also a ``KeyError``."""

    __module__ = "pytracelens"


class InternalError(TraceError):
    """A bug in the library; please report it."""

    __module__ = "pytracelens"


_OPTION = re.compile(r"'?--([a-z][a-z0-9_-]*)(?:[ =]<[^>]*>)?(?:\.\.\.)?'?")
_WORDS = (
    (r"unrecognized subcommand", "there is no operation of the kind"),
    (r"unexpected argument ('[^']*') found", r"the operation has no size \1"),
    (r"(?:a|some) similar (?:subcommand|argument)s? exists?: ", "did you mean "),
    (r"the following required arguments were not provided:\s+", "the operation lacks "),
    (r"\n\s*\[possible values: ([^]]*)\]", r"\n tip: use one of \1"),
    (r"\n\s*(?:Usage:|For more information)(?s:.*)", ""),
)


def error_of_sizes(message: str, code: str, help: str | None) -> TraceError:
    """What the command line says of an operation's sizes, in the words of a call of ``model``."""
    for theirs, ours in _WORDS:
        message = re.sub(theirs, ours, message)
    message, given = (_OPTION.sub(lambda option: option[1].replace("-", "_"), text) for text in (message, help or ""))
    said, *advice = (" ".join(part.split()) for part in message.split("tip: "))
    told = given or "; ".join(advice) or None
    return TraceError(said if told is None else f"{said}; {told}", code, told)
