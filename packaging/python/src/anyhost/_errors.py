"""One class of exception for each status, and one above each group of them."""

from __future__ import annotations

from typing import Any

from ._attempt import Attempt
from ._contract import Delivery, Phase, Reason, Status
from ._library import Handle, lib, maybe_told, take_bytes, take_text, told


class Error(Exception):
    """What the library could not do, and everything known about it.

    `status` says what kind of error it is, and so does the class. `attempts` are all that were made.
    `delivery` is the most certain word on whether a server has the request. `reason`, `phase`,
    `http_status` and `os_error` are those of the last attempt, `retry_after` is how many seconds the
    service wants to be left alone. `option` is the option or argument that is wrong. `body` is what the
    answer said that was turned down. `json` has it all, and so has `explain()`, for a person.
    """

    status: Status
    message: str
    option: str | None = None
    reason: Reason = Reason.NONE
    phase: Phase = Phase.NONE
    delivery: Delivery = Delivery.NOT_SENT
    http_status: int = 0
    os_error: int = 0
    retry_after: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    body: bytes = b""
    json: str = "{}"
    explanation: str = ""

    def __init__(self, **facts: Any) -> None:
        self.__dict__.update(facts)
        super().__init__(f"{self.status.name}: {self.message}")

    def explain(self) -> str:
        """Several lines for a log: what was tried, what is certain of the delivery, what to do."""
        return self.explanation or f"{self}\n"

    def __reduce__(self) -> tuple[Any, ...]:
        # Its arguments are names, which pickle, and so a pool of processes, would not keep.
        return _again, (type(self), self.__dict__)


def _again(kind: type[Error], facts: dict[str, Any]) -> Error:
    return kind(**facts)


class UsageError(Error):
    """A mistake in how the library is used."""


class NullError(UsageError):
    """A pointer that must not be NULL is. Please report it: this package does not pass one."""


class ArgumentError(UsageError):
    """An argument is wrong in itself, as a path with a blank."""


class EncodingError(UsageError):
    """A text is not UTF-8."""


class RangeError(UsageError):
    """A number is outside its range."""


class StateError(UsageError):
    """The object is not in the state that this needs, as a body that was read before."""


class ReentryError(UsageError):
    """A call was made from inside a callback."""


class HandleError(UsageError):
    """The handle is of another type or was freed. Please report it."""


class OptionError(UsageError):
    """No such option, or a value it does not take: see `option`."""


class NotFoundError(UsageError):
    """There is no endpoint of this label or URL."""


class BufferTooSmallError(UsageError):
    """A buffer is too small. Please report it."""


class UnsupportedError(UsageError):
    """Not possible in this build or on this system."""


class BuildError(Error):
    """No client can be made of these settings."""


class UrlError(BuildError):
    """A base URL is wrong."""


class ConfigError(BuildError):
    """The settings do not go together."""


class TlsMaterialError(BuildError):
    """A certificate or key cannot be used, or there are no roots to trust."""


class DuplicateError(BuildError):
    """Two endpoints are the same."""


class DowngradeError(BuildError):
    """https beside http, which the option allow_mixed_schemes has not allowed."""


class CallError(Error):
    """A call ended without an answer."""


class NoEndpointError(CallError):
    """No endpoint may be tried now; `retry_after` says when."""


class AttemptsSpentError(CallError):
    """No further attempt is left or allowed; `reason` and `phase` say why the last one failed."""


class DeadlineError(CallError):
    """The deadline of the call passed, or would have passed during the next wait."""


class BudgetSpentError(CallError):
    """The retry budget is empty."""


class NotReplayableError(CallError):
    """Only the body, which cannot be sent a second time, forbade another attempt."""


class CancelledError(CallError):
    """The call was cancelled."""


class ShutDownError(CallError):
    """The client was shut down."""


class BodyError(CallError):
    """The body of the answer broke off."""


class TooLargeError(CallError):
    """The body of the answer is larger than the option max_body."""


class BodySourceError(CallError):
    """The request's body gave more or fewer bytes than its length."""


class RejectedError(CallError):
    """The answer was turned down; `http_status` and `body` are what it was."""


class RedirectsError(CallError):
    """Too many redirects, or one to where none may go."""


class InternalError(Error):
    """A fault of anyhost itself. Please report it."""


class PanicError(InternalError):
    """A panic was caught. Please report it."""


class BrokenError(InternalError):
    """The client took part in a panic and answers nothing any more."""


_CLASSES: dict[Status, type[Error]] = {
    Status.NULL: NullError,
    Status.ARGUMENT: ArgumentError,
    Status.ENCODING: EncodingError,
    Status.RANGE: RangeError,
    Status.STATE: StateError,
    Status.REENTRY: ReentryError,
    Status.HANDLE: HandleError,
    Status.OPTION: OptionError,
    Status.NOT_FOUND: NotFoundError,
    Status.BUFFER: BufferTooSmallError,
    Status.UNSUPPORTED: UnsupportedError,
    Status.URL: UrlError,
    Status.CONFIG: ConfigError,
    Status.TLS_MATERIAL: TlsMaterialError,
    Status.DUPLICATE: DuplicateError,
    Status.DOWNGRADE: DowngradeError,
    Status.NO_ENDPOINT: NoEndpointError,
    Status.ATTEMPTS_SPENT: AttemptsSpentError,
    Status.DEADLINE: DeadlineError,
    Status.BUDGET_SPENT: BudgetSpentError,
    Status.NOT_REPLAYABLE: NotReplayableError,
    Status.CANCELLED: CancelledError,
    Status.SHUT_DOWN: ShutDownError,
    Status.BODY: BodyError,
    Status.TOO_LARGE: TooLargeError,
    Status.BODY_SOURCE: BodySourceError,
    Status.REJECTED: RejectedError,
    Status.REDIRECTS: RedirectsError,
    Status.INTERNAL: InternalError,
    Status.PANIC: PanicError,
    Status.BROKEN: BrokenError,
}
_GROUPS = ((900, InternalError), (200, CallError), (100, BuildError), (1, UsageError))


def _class_of(status: Status) -> type[Error]:
    group = next(group for first, group in _GROUPS if status >= first)
    return _CLASSES.get(status, group)


def error_of(number: int, option: str | None = None, handle: Handle | None = None) -> Error:
    """The exception for a status, with what an error of the library says of it."""
    status = Status(number)
    if not handle:
        meaning = told(lib.anyhost_status_text(status))
        message = f"{option}: {meaning}" if option else meaning
        return _class_of(status)(status=status, message=message, option=option)
    return _class_of(status)(
        status=status,
        message=told(lib.anyhost_error_message(handle)),
        option=maybe_told(lib.anyhost_error_option(handle)) or option,
        reason=Reason(lib.anyhost_error_reason(handle)),
        phase=Phase(lib.anyhost_error_phase(handle)),
        delivery=Delivery(lib.anyhost_error_delivery(handle)),
        http_status=lib.anyhost_error_http_status(handle),
        os_error=lib.anyhost_error_os_error(handle),
        retry_after=lib.anyhost_error_retry_after_ms(handle) / 1e3,
        attempts=Attempt.read_all(lib.anyhost_error_attempt_count, lib.anyhost_error_attempt, handle),
        body=take_bytes(lib.anyhost_error_body, handle),
        json=take_text(lib.anyhost_error_json, handle),
        explanation=take_text(lib.anyhost_error_explain, handle),
    )


def check(status: int, option: str | None = None) -> None:
    """Raises what a function without an error of its own answers."""
    if status:
        raise error_of(status, option)


def make(handle: Handle, function: Any, *arguments: object) -> Handle:
    """Has a function hand out a thing, or raises its error."""
    with Handle(lib.anyhost_error_free) as err:
        status = function(*arguments, handle.out, err.out)
        if status:
            raise error_of(status, None, err)
    return handle
