"""What happens in a client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._attempt import Attempt
from ._contract import EventType, Phase, Reason, State
from ._library import lib, maybe_told, told


@dataclass(frozen=True)
class Event:
    """Something that happened in a client, as it is told to `on_event`.

    As a text it is one line for a log. `wait` is how long the wait or the hold is in seconds, and of
    CALL_ENDED how long the call took.
    """

    kind: EventType
    call_id: int
    endpoint: str | None
    proxy: str | None
    attempt: Attempt | None
    reason: Reason
    phase: Phase
    old_state: State | None
    new_state: State | None
    old_weight: int
    new_weight: int
    wait: float
    text: str

    def __str__(self) -> str:
        return self.text

    @classmethod
    def read(cls, handle: Any) -> Event:
        """Copies one of the library's."""
        attempt = lib.anyhost_event_attempt(handle)
        return cls(
            kind=EventType(lib.anyhost_event_kind(handle)),
            call_id=lib.anyhost_event_call_id(handle),
            endpoint=maybe_told(lib.anyhost_event_endpoint(handle)),
            proxy=maybe_told(lib.anyhost_event_proxy(handle)),
            attempt=Attempt.read(attempt) if attempt else None,
            reason=Reason(lib.anyhost_event_reason(handle)),
            phase=Phase(lib.anyhost_event_phase(handle)),
            old_state=_state(lib.anyhost_event_old_state(handle)),
            new_state=_state(lib.anyhost_event_new_state(handle)),
            old_weight=lib.anyhost_event_old_weight(handle),
            new_weight=lib.anyhost_event_new_weight(handle),
            wait=lib.anyhost_event_wait_ms(handle) / 1e3,
            text=told(lib.anyhost_event_text(handle)),
        )


def _state(number: int) -> State | None:
    return None if number < 0 else State(number)
