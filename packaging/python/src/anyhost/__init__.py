"""anyhost: one call, any host that can answer, and no write sent twice.

    from anyhost import CallError, Client

    with Client("https://api.example.com, https://fallback.example.com", deadline="4s") as client:
        try:
            response = client.post("/orders", b"one coffee", headers={"Content-Type": "text/plain"})
        except CallError as error:
            print(error, error.delivery)  # not_sent: nobody has it, so it may be sent again
        else:
            print(response.status, response.text, *response.attempts, sep="\\n")

Blocking, by ctypes on the library of the same name. Times that come out are seconds; numbers have
names; answers, errors and snapshots are copies. Every thread may use a client, and so may a child after
fork, which opens connections of its own. Ctrl-C ends a call at once.
"""

from ._attempt import Attempt
from ._body import Body
from ._breaker import Breaker
from ._cancel import Cancel
from ._client import Client, Progress
from ._contract import Delivery, EventType, Phase, Reason, Retry, State, Status, Verdict
from ._endpoint import Endpoint, Proxy, Secret
from ._errors import (
    ArgumentError,
    AttemptsSpentError,
    BodyError,
    BodySourceError,
    BrokenError,
    BudgetSpentError,
    BufferTooSmallError,
    BuildError,
    CallError,
    CancelledError,
    ConfigError,
    DeadlineError,
    DowngradeError,
    DuplicateError,
    EncodingError,
    Error,
    HandleError,
    InternalError,
    NoEndpointError,
    NotFoundError,
    NotReplayableError,
    NullError,
    OptionError,
    PanicError,
    RangeError,
    RedirectsError,
    ReentryError,
    RejectedError,
    ShutDownError,
    StateError,
    TlsMaterialError,
    TooLargeError,
    UnsupportedError,
    UrlError,
    UsageError,
)
from ._event import Event
from ._library import build_info, version
from ._options import Option, OptionInfo, options
from ._response import Head, Headers, Response
from ._snapshot import Member, Snapshot, prometheus
from ._stream import Stream

__version__ = version()

__all__ = [
    "ArgumentError", "Attempt", "AttemptsSpentError", "Body", "BodyError", "BodySourceError", "Breaker",
    "BrokenError", "BudgetSpentError", "BufferTooSmallError", "BuildError", "CallError", "Cancel",
    "CancelledError", "Client", "ConfigError", "DeadlineError", "Delivery", "DowngradeError",
    "DuplicateError", "EncodingError", "Endpoint", "Error", "Event", "EventType", "HandleError", "Head",
    "Headers", "InternalError", "Member", "NoEndpointError", "NotFoundError", "NotReplayableError",
    "NullError", "Option", "OptionError", "OptionInfo", "PanicError", "Phase", "Progress", "Proxy",
    "RangeError", "Reason", "RedirectsError", "ReentryError", "RejectedError", "Response", "Retry",
    "Secret", "ShutDownError", "Snapshot", "State", "StateError", "Status", "Stream", "TlsMaterialError",
    "TooLargeError", "UnsupportedError", "UrlError", "UsageError", "Verdict", "build_info", "options",
    "prometheus", "version",
]
