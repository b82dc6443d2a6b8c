"""What became of one attempt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

from ._contract import Delivery, Phase, Reason
from ._library import lib, maybe_told, told


# What an answer's status says by itself. Of every other reason, the status is beside the point.
_BY_STATUS = (Reason.NONE, Reason.STATUS_5XX, Reason.RATE_LIMITED, Reason.BAD_ANSWER)


@dataclass(frozen=True)
class Attempt:
    """One attempt of a call: where it went, how far it got, and whether the request arrived.

    Times are seconds; `started` counts from the start of the call. `is_replay` is the same attempt once more,
    after a kept connection was found dead; `is_hop` is a request to where a redirect led.
    """

    number: int
    endpoint: str
    proxy: str | None
    phase: Phase
    reason: Reason
    delivery: Delivery
    http_status: int
    reused_connection: bool
    os_error: int
    retry_after: float
    started: float
    elapsed: float
    bytes_sent: int
    bytes_received: int
    message: str
    is_replay: bool
    is_hop: bool

    def __str__(self) -> str:
        answered = self.http_status and self.reason in _BY_STATUS
        ended = self.http_status if answered else f"{self.reason} at {self.phase}"
        through = f" through {self.proxy}" if self.proxy else ""
        return (
            f"{self.number}. {self.endpoint}{through}: {ended} ({self.delivery}), {self.elapsed * 1e3:.0f} ms"
        )

    @classmethod
    def read(cls, handle: Any) -> Attempt:
        """Copies one of the library's."""
        return cls(
            number=lib.anyhost_attempt_number(handle),
            endpoint=told(lib.anyhost_attempt_endpoint(handle)),
            proxy=maybe_told(lib.anyhost_attempt_proxy(handle)),
            phase=Phase(lib.anyhost_attempt_phase(handle)),
            reason=Reason(lib.anyhost_attempt_reason(handle)),
            delivery=Delivery(lib.anyhost_attempt_delivery(handle)),
            http_status=lib.anyhost_attempt_http_status(handle),
            reused_connection=bool(lib.anyhost_attempt_reused_connection(handle)),
            os_error=lib.anyhost_attempt_os_error(handle),
            retry_after=lib.anyhost_attempt_retry_after_ms(handle) / 1e3,
            started=lib.anyhost_attempt_started_us(handle) / 1e6,
            elapsed=lib.anyhost_attempt_elapsed_us(handle) / 1e6,
            bytes_sent=lib.anyhost_attempt_bytes_sent(handle),
            bytes_received=lib.anyhost_attempt_bytes_received(handle),
            message=told(lib.anyhost_attempt_message(handle)),
            is_replay=bool(lib.anyhost_attempt_is_replay(handle)),
            is_hop=bool(lib.anyhost_attempt_is_hop(handle)),
        )

    @classmethod
    def read_all(
        cls, count: Callable[[Any], int], at: Callable[[Any, int], Any], owner: Any
    ) -> tuple[Attempt, ...]:
        return tuple(cls.read(at(owner, i)) for i in range(count(owner)))
