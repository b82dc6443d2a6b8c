"""What include/anyhost.h declares: numbers, callbacks, functions.

Generated: `ANYHOST_BLESS=1 cargo test --test ffi contract`. Edits made here are lost.
"""

from __future__ import annotations

from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int32, c_int64, c_size_t, c_uint32
from ctypes import c_uint64, c_void_p
from typing import Any

from ._number import Number

ABI = 0
PRIORITY_AUTO = 0xFFFFFFFF


class Status(Number):
    """What a function answers. 1 to 11 are mistakes of the caller, 100 to 104 come from building a
    client, 200 to 211 from a call, and 900 to 902 should not happen."""

    #: It worked.
    OK = 0

    #: A pointer that must not be NULL is.
    NULL = 1

    #: An argument is wrong in itself.
    ARGUMENT = 2

    #: A text is not UTF-8.
    ENCODING = 3

    #: A number is outside its range.
    RANGE = 4

    #: The object is not in the state that this needs: a builder that has built, a request in use.
    STATE = 5

    #: A call was made from inside a callback of the same thread.
    REENTRY = 6

    #: The handle is of another type or was freed. Not every such mistake can be noticed.
    HANDLE = 7

    #: No such option, or a value it does not take.
    OPTION = 8

    #: There is no endpoint of this label or URL.
    NOT_FOUND = 9

    #: The buffer is too small; the size needed was written.
    BUFFER = 10

    #: Not possible in this build or on this system.
    UNSUPPORTED = 11

    #: A base URL is wrong.
    URL = 100

    #: The settings do not go together.
    CONFIG = 101

    #: A certificate or key cannot be used, or there are no roots to trust.
    TLS_MATERIAL = 102

    #: Two endpoints are the same.
    DUPLICATE = 103

    #: https beside http, which the option allow_mixed_schemes has not allowed.
    DOWNGRADE = 104

    #: No endpoint may be tried now.
    NO_ENDPOINT = 200

    #: No further attempt is left or allowed; the last attempt's reason and phase say why.
    ATTEMPTS_SPENT = 201

    #: The deadline of the call passed, or would have passed during the next wait.
    DEADLINE = 202

    #: The retry budget is empty.
    BUDGET_SPENT = 203

    #: Only the body, which cannot be sent a second time, forbade another attempt.
    NOT_REPLAYABLE = 204

    #: The caller cancelled.
    CANCELLED = 205

    #: The client was shut down.
    SHUT_DOWN = 206

    #: The body of the answer broke off.
    BODY = 207

    #: The body of the answer is larger than the option max_body.
    TOO_LARGE = 208

    #: The request's body reader refused, or gave more or fewer bytes than its length.
    BODY_SOURCE = 209

    #: The answer was turned down by require_success; the error keeps its status and body.
    REJECTED = 210

    #: Too many redirects, or one to where none may go.
    REDIRECTS = 211

    #: A fault of anyhost itself. Please report it.
    INTERNAL = 900

    #: A panic was caught. Please report it.
    PANIC = 901

    #: The client took part in a panic and answers nothing any more.
    BROKEN = 902


class State(Number):
    """Whether an endpoint may be tried."""

    #: It may be tried.
    ELIGIBLE = 0

    #: It failed and rests.
    COOLING = 1

    #: The next request may try whether it has recovered.
    PROBE_ALLOWED = 2

    #: A request is trying that now.
    PROBING = 3

    #: It was taken out.
    DISABLED = 4


class Phase(Number):
    """How far an attempt got."""

    #: It did not begin.
    NONE = 0

    #: Looking up the name.
    RESOLVE = 1

    #: Connecting to the proxy.
    PROXY_CONNECT = 2

    #: Authenticating to the proxy.
    PROXY_AUTH = 3

    #: Asking the proxy for a tunnel.
    TUNNEL = 4

    #: Connecting.
    CONNECT = 5

    #: In the TLS handshake.
    TLS = 6

    #: Sending the request.
    SEND = 7

    #: Waiting for the head of the answer.
    HEAD = 8

    #: Reading the body of the answer, or all of it was read.
    BODY = 9


class Reason(Number):
    """Why an attempt failed."""

    #: It did not.
    NONE = 0

    #: The name was not resolved.
    DNS = 1

    #: The connection was refused.
    REFUSED = 2

    #: There is no way to the host.
    UNREACHABLE = 3

    #: It took too long.
    TIMEOUT = 4

    #: The TLS handshake failed.
    TLS = 5

    #: The certificate was not accepted.
    TLS_CERT = 6

    #: The connection was reset.
    RESET = 7

    #: The connection was closed before the answer.
    EOF = 8

    #: What came was no HTTP.
    PROTOCOL = 9

    #: The server reported an error of its own.
    STATUS_5XX = 10

    #: The server wants fewer requests.
    RATE_LIMITED = 11

    #: The proxy refused the credentials.
    AUTH = 12

    #: The proxy refused the tunnel.
    TUNNEL_REFUSED = 13

    #: The caller turned the answer down.
    PREDICATE = 14

    #: The caller took the endpoint out.
    OPERATOR = 15

    #: The caller cancelled.
    CANCELLED = 16

    #: The deadline of the call passed.
    DEADLINE = 17

    #: It failed on this side, before the network.
    LOCAL = 18

    #: A connection kept alive had died before the answer began.
    STALE_CONNECTION = 19

    #: The status is none that means anything.
    BAD_ANSWER = 20

    #: The answer broke off.
    TRUNCATED = 21

    #: The circuit breaker is open.
    CIRCUIT_OPEN = 22


class Delivery(Number):
    """Did the request reach a server?"""

    #: No byte of it was sent.
    NOT_SENT = 0

    #: A proxy in front of the server said that it was not.
    NOT_PROCESSED = 1

    #: It may have been received.
    MAYBE = 2

    #: A server answered it.
    ANSWERED = 3


class EventType(Number):
    """What an event tells."""

    #: An attempt begins.
    ATTEMPT_STARTED = 1

    #: An attempt is over.
    ATTEMPT_ENDED = 2

    #: The state of an endpoint changed.
    STATE_CHANGED = 3

    #: The weight of an endpoint changed.
    WEIGHT_CHANGED = 4

    #: The list of endpoints was replaced.
    POOL_UPDATED = 5

    #: An endpoint is preferred for a while.
    HOLD_SET = 6

    #: It is preferred no longer.
    HOLD_ENDED = 7

    #: The call waits before it comes back to an endpoint.
    WAITING = 8

    #: The call is over.
    CALL_ENDED = 9

    #: The process is a fork: it opens connections of its own.
    FORK_NOTICED = 10

    #: Every endpoint has the lowest weight.
    ALL_AT_MINIMUM = 11

    #: For the first time in its life the client left an endpoint that does not answer.
    FAILOVER = 12


class Kind(Number):
    """What a member of a snapshot is."""

    #: A base URL of the service.
    ENDPOINT = 1

    #: A proxy on the way to it.
    PROXY = 2


class Verdict(Number):
    """What a judge of answers may say."""

    #: What would be without a judge.
    DEFAULT = 0

    #: The answer is good.
    ACCEPT = 1

    #: The endpoint is to blame; the next one is tried if that is allowed.
    FAULT = 2

    #: The caller is to blame; no other endpoint would answer better.
    CALLER = 3


class Retry(Number):
    """What may be said on another attempt."""

    #: What would be without the callback.
    DEFAULT = 0

    #: Go on, where sending the request again is permitted.
    AGAIN = 1

    #: Stop.
    STOP = 2


FreeCallback = CFUNCTYPE(None, c_void_p)
ReadCallback = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_size_t, POINTER(c_size_t))
RewindCallback = CFUNCTYPE(c_int32, c_void_p)
ProgressCallback = CFUNCTYPE(c_int32, c_void_p, c_uint64, c_uint64, c_int64)
EventCallback = CFUNCTYPE(None, c_void_p, c_void_p)
JudgeCallback = CFUNCTYPE(c_int32, c_void_p, c_void_p)
RetryCallback = CFUNCTYPE(c_int32, c_void_p, c_void_p)

# What each function returns, and what it takes.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "anyhost_status_name": (c_char_p, c_int32),
    "anyhost_status_text": (c_char_p, c_int32),
    "anyhost_open": (c_int32, c_char_p, POINTER(c_void_p), POINTER(c_void_p)),
    "anyhost_get": (c_int32, c_void_p, c_char_p, POINTER(c_void_p), POINTER(c_void_p)),
    "anyhost_head": (c_int32, c_void_p, c_char_p, POINTER(c_void_p), POINTER(c_void_p)),
    "anyhost_delete": (c_int32, c_void_p, c_char_p, POINTER(c_void_p), POINTER(c_void_p)),
    "anyhost_post": (
        c_int32, c_void_p, c_char_p, c_char_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(c_void_p),
    ),
    "anyhost_put": (
        c_int32, c_void_p, c_char_p, c_char_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(c_void_p),
    ),
    "anyhost_patch": (
        c_int32, c_void_p, c_char_p, c_char_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(c_void_p),
    ),
    "anyhost_response_free": (None, c_void_p),
    "anyhost_response_status": (c_int32, c_void_p),
    "anyhost_response_body": (
        c_int32, c_void_p, POINTER(c_void_p), POINTER(c_size_t), POINTER(c_void_p),
    ),
    "anyhost_response_read": (
        c_int32, c_void_p, c_void_p, c_size_t, POINTER(c_size_t), POINTER(c_void_p),
    ),
    "anyhost_response_header": (c_char_p, c_void_p, c_char_p, c_size_t, POINTER(c_size_t)),
    "anyhost_response_header_count": (c_size_t, c_void_p),
    "anyhost_response_header_at": (
        c_int32, c_void_p, c_size_t, POINTER(c_char_p), POINTER(c_char_p), POINTER(c_size_t),
    ),
    "anyhost_response_content_length": (c_int64, c_void_p),
    "anyhost_response_url": (c_char_p, c_void_p),
    "anyhost_response_endpoint": (c_char_p, c_void_p),
    "anyhost_response_elapsed_us": (c_uint64, c_void_p),
    "anyhost_response_retry_after_ms": (c_uint64, c_void_p),
    "anyhost_response_attempt_count": (c_size_t, c_void_p),
    "anyhost_response_attempt": (c_void_p, c_void_p, c_size_t),
    "anyhost_error_free": (None, c_void_p),
    "anyhost_error_status": (c_int32, c_void_p),
    "anyhost_error_message": (c_char_p, c_void_p),
    "anyhost_error_delivery": (c_int32, c_void_p),
    "anyhost_error_reason": (c_int32, c_void_p),
    "anyhost_error_phase": (c_int32, c_void_p),
    "anyhost_error_http_status": (c_int32, c_void_p),
    "anyhost_error_os_error": (c_int32, c_void_p),
    "anyhost_error_option": (c_char_p, c_void_p),
    "anyhost_error_retry_after_ms": (c_uint64, c_void_p),
    "anyhost_error_attempt_count": (c_size_t, c_void_p),
    "anyhost_error_attempt": (c_void_p, c_void_p, c_size_t),
    "anyhost_error_body": (c_int32, c_void_p, POINTER(c_void_p), POINTER(c_size_t)),
    "anyhost_error_json": (c_int32, c_void_p, c_void_p, c_size_t, POINTER(c_size_t)),
    "anyhost_error_explain": (c_int32, c_void_p, c_void_p, c_size_t, POINTER(c_size_t)),
    "anyhost_attempt_number": (c_uint32, c_void_p),
    "anyhost_attempt_endpoint": (c_char_p, c_void_p),
    "anyhost_attempt_proxy": (c_char_p, c_void_p),
    "anyhost_attempt_message": (c_char_p, c_void_p),
    "anyhost_attempt_phase": (c_int32, c_void_p),
    "anyhost_attempt_reason": (c_int32, c_void_p),
    "anyhost_attempt_delivery": (c_int32, c_void_p),
    "anyhost_attempt_http_status": (c_int32, c_void_p),
    "anyhost_attempt_reused_connection": (c_int32, c_void_p),
    "anyhost_attempt_is_replay": (c_int32, c_void_p),
    "anyhost_attempt_is_hop": (c_int32, c_void_p),
    "anyhost_attempt_os_error": (c_int32, c_void_p),
    "anyhost_attempt_retry_after_ms": (c_uint64, c_void_p),
    "anyhost_attempt_started_us": (c_uint64, c_void_p),
    "anyhost_attempt_elapsed_us": (c_uint64, c_void_p),
    "anyhost_attempt_bytes_sent": (c_uint64, c_void_p),
    "anyhost_attempt_bytes_received": (c_uint64, c_void_p),
    "anyhost_client_ref": (c_void_p, c_void_p),
    "anyhost_client_free": (None, c_void_p),
    "anyhost_client_send": (c_int32, c_void_p, c_void_p, POINTER(c_void_p), POINTER(c_void_p)),
    "anyhost_client_stream": (
        c_int32, c_void_p, c_void_p, POINTER(c_void_p), POINTER(c_void_p),
    ),
    "anyhost_client_shutdown": (c_int32, c_void_p),
    "anyhost_client_drop_idle": (c_int32, c_void_p),
    "anyhost_client_set_weight": (c_int32, c_void_p, c_char_p, c_uint32),
    "anyhost_client_disable": (c_int32, c_void_p, c_char_p, c_char_p),
    "anyhost_client_enable": (c_int32, c_void_p, c_char_p),
    "anyhost_client_probe": (
        c_int32, c_void_p, c_char_p, c_void_p, POINTER(c_void_p), POINTER(c_void_p),
    ),
    "anyhost_client_snapshot": (c_int32, c_void_p, POINTER(c_void_p)),
    "anyhost_client_apply": (c_int32, c_void_p, c_void_p, POINTER(c_void_p)),
    "anyhost_request_new": (c_int32, c_char_p, c_char_p, POINTER(c_void_p), POINTER(c_void_p)),
    "anyhost_request_free": (None, c_void_p),
    "anyhost_request_set_header": (c_int32, c_void_p, c_char_p, c_char_p),
    "anyhost_request_add_header": (c_int32, c_void_p, c_char_p, c_char_p),
    "anyhost_request_add_header_n": (c_int32, c_void_p, c_char_p, c_size_t, c_void_p, c_size_t),
    "anyhost_request_set_body": (c_int32, c_void_p, c_void_p, c_size_t),
    "anyhost_request_set_body_borrowed": (
        c_int32, c_void_p, c_void_p, c_size_t, c_void_p, FreeCallback,
    ),
    "anyhost_request_set_body_reader": (
        c_int32, c_void_p, ReadCallback, RewindCallback, c_void_p, FreeCallback, c_int64,
    ),
    "anyhost_request_set": (c_int32, c_void_p, c_char_p, c_char_p),
    "anyhost_request_set_int": (c_int32, c_void_p, c_char_p, c_int64),
    "anyhost_request_set_cancel": (c_int32, c_void_p, c_void_p),
    "anyhost_request_set_progress": (c_int32, c_void_p, ProgressCallback, c_void_p, c_uint64),
    "anyhost_builder_new": (c_int32, POINTER(c_void_p)),
    "anyhost_builder_free": (None, c_void_p),
    "anyhost_builder_set": (c_int32, c_void_p, c_char_p, c_char_p),
    "anyhost_builder_set_int": (c_int32, c_void_p, c_char_p, c_int64),
    "anyhost_builder_preset": (c_int32, c_void_p, c_char_p),
    "anyhost_builder_add_endpoint": (c_int32, c_void_p, c_char_p, c_uint32, c_uint32, c_char_p),
    "anyhost_builder_add_proxy": (c_int32, c_void_p, c_char_p, c_uint32, c_char_p),
    "anyhost_builder_add_header": (c_int32, c_void_p, c_char_p, c_char_p, c_int32),
    "anyhost_builder_endpoint_header": (
        c_int32, c_void_p, c_char_p, c_char_p, c_char_p, c_int32,
    ),
    "anyhost_builder_endpoint_server_name": (c_int32, c_void_p, c_char_p, c_char_p),
    "anyhost_builder_add_root_pem": (c_int32, c_void_p, c_void_p, c_size_t),
    "anyhost_builder_set_client_cert_pem": (
        c_int32, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t,
    ),
    "anyhost_builder_on_event": (c_int32, c_void_p, EventCallback, c_void_p, FreeCallback),
    "anyhost_builder_on_judge": (c_int32, c_void_p, JudgeCallback, c_void_p, FreeCallback),
    "anyhost_builder_on_retry": (c_int32, c_void_p, RetryCallback, c_void_p, FreeCallback),
    "anyhost_builder_build": (c_int32, c_void_p, POINTER(c_void_p), POINTER(c_void_p)),
    "anyhost_event_kind": (c_int32, c_void_p),
    "anyhost_event_call_id": (c_uint64, c_void_p),
    "anyhost_event_endpoint": (c_char_p, c_void_p),
    "anyhost_event_text": (c_char_p, c_void_p),
    "anyhost_event_attempt": (c_void_p, c_void_p),
    "anyhost_event_wait_ms": (c_uint64, c_void_p),
    "anyhost_event_reason": (c_int32, c_void_p),
    "anyhost_event_phase": (c_int32, c_void_p),
    "anyhost_event_proxy": (c_char_p, c_void_p),
    "anyhost_event_old_state": (c_int32, c_void_p),
    "anyhost_event_new_state": (c_int32, c_void_p),
    "anyhost_event_old_weight": (c_uint32, c_void_p),
    "anyhost_event_new_weight": (c_uint32, c_void_p),
    "anyhost_cancel_new": (c_int32, POINTER(c_void_p)),
    "anyhost_cancel_ref": (c_void_p, c_void_p),
    "anyhost_cancel_free": (None, c_void_p),
    "anyhost_cancel_trigger": (None, c_void_p),
    "anyhost_cancel_is_triggered": (c_int32, c_void_p),
    "anyhost_snapshot_free": (None, c_void_p),
    "anyhost_snapshot_count": (c_size_t, c_void_p),
    "anyhost_snapshot_at": (c_void_p, c_void_p, c_size_t),
    "anyhost_snapshot_find": (c_void_p, c_void_p, c_char_p),
    "anyhost_snapshot_json": (c_int32, c_void_p, c_void_p, c_size_t, POINTER(c_size_t)),
    "anyhost_snapshot_text": (c_int32, c_void_p, c_void_p, c_size_t, POINTER(c_size_t)),
    "anyhost_prometheus": (
        c_int32, POINTER(c_char_p), POINTER(c_void_p), c_size_t, c_void_p, c_size_t, POINTER(c_size_t),
    ),
    "anyhost_member_label": (c_char_p, c_void_p),
    "anyhost_member_url": (c_char_p, c_void_p),
    "anyhost_member_detail": (c_char_p, c_void_p),
    "anyhost_member_kind": (c_int32, c_void_p),
    "anyhost_member_state": (c_int32, c_void_p),
    "anyhost_member_reason": (c_int32, c_void_p),
    "anyhost_member_phase": (c_int32, c_void_p),
    "anyhost_member_priority": (c_uint32, c_void_p),
    "anyhost_member_weight": (c_uint32, c_void_p),
    "anyhost_member_max_weight": (c_uint32, c_void_p),
    "anyhost_member_failures_in_a_row": (c_uint32, c_void_p),
    "anyhost_member_in_flight": (c_uint32, c_void_p),
    "anyhost_member_cooling_ms": (c_uint64, c_void_p),
    "anyhost_member_since_ms": (c_uint64, c_void_p),
    "anyhost_member_attempts": (c_uint64, c_void_p),
    "anyhost_member_successes": (c_uint64, c_void_p),
    "anyhost_member_failures": (c_uint64, c_void_p),
    "anyhost_member_latency_us": (c_uint64, c_void_p),
    "anyhost_update_new": (c_int32, POINTER(c_void_p)),
    "anyhost_update_free": (None, c_void_p),
    "anyhost_update_add_endpoint": (c_int32, c_void_p, c_char_p, c_uint32, c_uint32, c_char_p),
    "anyhost_update_add_proxy": (c_int32, c_void_p, c_char_p, c_uint32, c_char_p),
    "anyhost_update_endpoint_header": (
        c_int32, c_void_p, c_char_p, c_char_p, c_char_p, c_int32,
    ),
    "anyhost_update_endpoint_server_name": (c_int32, c_void_p, c_char_p, c_char_p),
    "anyhost_breaker_new": (c_int32, c_uint32, c_uint64, c_uint64, POINTER(c_void_p)),
    "anyhost_breaker_free": (None, c_void_p),
    "anyhost_breaker_allow": (c_int32, c_void_p, c_char_p, POINTER(c_int32), POINTER(c_uint64)),
    "anyhost_breaker_record_failure": (c_int32, c_void_p, c_char_p, POINTER(c_uint64)),
    "anyhost_breaker_record_success": (c_int32, c_void_p, c_char_p),
    "anyhost_option_count": (c_size_t,),
    "anyhost_option_name": (c_char_p, c_size_t),
    "anyhost_option_default": (c_char_p, c_size_t),
    "anyhost_option_help": (c_char_p, c_size_t),
    "anyhost_option_scope": (c_int32, c_size_t),
    "anyhost_state_name": (c_char_p, c_int32),
    "anyhost_phase_name": (c_char_p, c_int32),
    "anyhost_reason_name": (c_char_p, c_int32),
    "anyhost_delivery_name": (c_char_p, c_int32),
    "anyhost_event_name": (c_char_p, c_int32),
    "anyhost_version": (c_char_p,),
    "anyhost_version_number": (c_uint32,),
    "anyhost_abi": (c_uint32,),
    "anyhost_build_info": (c_char_p,),
}
