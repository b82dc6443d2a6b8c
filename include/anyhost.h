/*
 * anyhost: an HTTP client for services that live under more than one host.
 *
 * THE RULES, once for all functions
 *
 * Status. A function that can fail returns int32_t: ANYHOST_OK (0) or one of ANYHOST_E_*. What it
 * hands out goes through its last arguments, and those are written in every case: NULL or 0 when it
 * fails. A last argument `anyhost_error **err` may be NULL; it is written only on failure, and the
 * error is then yours to free.
 *
 * Ownership. What you receive from a function whose name ends in _new or _ref, or through an
 * argument `T **out`, is yours until you hand it to anyhost_T_free; freeing NULL does nothing. Every
 * other pointer you receive is borrowed: it belongs to the handle in the first argument, may be read
 * as long as that handle lives, and is not freed. What you pass in is copied before the function
 * returns, unless its name ends in _borrowed. A `free_user` callback runs exactly once, also when
 * the function that took it fails.
 *
 * Text. NUL-ended UTF-8 in both directions; other bytes are ANYHOST_E_ENCODING. The values of
 * headers may hold any byte above 0x7F and come with their length. No text that comes out holds
 * a password, the query of a URL or the value of a header that was declared secret.
 *
 * NULL. Where a handle or a text is needed, NULL is ANYHOST_E_NULL. A getter that cannot fail
 * answers NULL, 0 or -1 for it. (NULL, 0) is the empty byte string. A number outside its range is
 * ANYHOST_E_RANGE.
 *
 * Threads. Clients and errors may be used by any number of threads at once. Builders, requests and
 * responses may go from thread to thread, but serve one at a time.
 *
 * Callbacks run on the thread that is inside the call which caused them, and never under a lock of
 * this library. Returning 0 always means: do what you would do without me. A callback must return:
 * no longjmp and no exception may leave it.
 *
 * The process. There is nothing to set up or to tear down. No environment variable is read unless an
 * option asks for it, save SSL_CERT_FILE and SSL_CERT_DIR where the system's roots are used. No
 * signal handler is changed, and a peer that goes away never ends the process by SIGPIPE. After
 * fork() a child opens connections of its own. Should this library fail inside, the call says
 * ANYHOST_E_PANIC, and from then on the client says ANYHOST_E_BROKEN to everything but its _free.
 *
 * Versions. ANYHOST_ABI is the number in the name of the shared library (libanyhost.so.0). Within
 * one such number functions and enumerators are added, never removed or renumbered, so be prepared
 * for values that this header does not know. Enumerators are names for numbers: every signature says
 * int32_t.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef ANYHOST_H
#define ANYHOST_H

/* Generated from src/ffi: `ANYHOST_BLESS=1 cargo test --test keep`. Edits made here are lost. */

#include <stddef.h>
#include <stdint.h>

/* Stands before every declaration. Define it before the #include to replace it. */
#ifndef ANYHOST_API
#if defined(_WIN32) && !defined(ANYHOST_STATIC)
#define ANYHOST_API __declspec(dllimport)
#else
#define ANYHOST_API
#endif
#endif

/* The version of this header; anyhost_version_number() is the one of the library. */
#define ANYHOST_VERSION_MAJOR 0
#define ANYHOST_VERSION_MINOR 1
#define ANYHOST_VERSION_PATCH 0
/* MAJOR * 10000 + MINOR * 100 + PATCH */
#define ANYHOST_VERSION_NUMBER 100
/* The number in the name of the shared library. */
#define ANYHOST_ABI 0


/**
 * A priority that follows from the option selection: with "ordered" the place in the list.
 */
#define ANYHOST_PRIORITY_AUTO UINT32_MAX

/**
 * What a function answers. 1 to 11 are mistakes of the caller, 100 to 104 come from building a client,
 * 200 to 211 from a call, and 900 to 902 should not happen.
 */
typedef enum {
    /**
     * It worked.
     */
    ANYHOST_OK = 0,
    /**
     * A pointer that must not be NULL is.
     */
    ANYHOST_E_NULL = 1,
    /**
     * An argument is wrong in itself.
     */
    ANYHOST_E_ARGUMENT = 2,
    /**
     * A text is not UTF-8.
     */
    ANYHOST_E_ENCODING = 3,
    /**
     * A number is outside its range.
     */
    ANYHOST_E_RANGE = 4,
    /**
     * The object is not in the state that this needs: a builder that has built, a request in use.
     */
    ANYHOST_E_STATE = 5,
    /**
     * A call was made from inside a callback of the same thread.
     */
    ANYHOST_E_REENTRY = 6,
    /**
     * The handle is of another type or was freed. Not every such mistake can be noticed.
     */
    ANYHOST_E_HANDLE = 7,
    /**
     * No such option, or a value it does not take.
     */
    ANYHOST_E_OPTION = 8,
    /**
     * There is no endpoint of this label or URL.
     */
    ANYHOST_E_NOT_FOUND = 9,
    /**
     * The buffer is too small; the size needed was written.
     */
    ANYHOST_E_BUFFER = 10,
    /**
     * Not possible in this build or on this system.
     */
    ANYHOST_E_UNSUPPORTED = 11,
    /**
     * A base URL is wrong.
     */
    ANYHOST_E_URL = 100,
    /**
     * The settings do not go together.
     */
    ANYHOST_E_CONFIG = 101,
    /**
     * A certificate or key cannot be used, or there are no roots to trust.
     */
    ANYHOST_E_TLS_MATERIAL = 102,
    /**
     * Two endpoints are the same.
     */
    ANYHOST_E_DUPLICATE = 103,
    /**
     * https beside http, which the option allow_mixed_schemes has not allowed.
     */
    ANYHOST_E_DOWNGRADE = 104,
    /**
     * No endpoint may be tried now.
     */
    ANYHOST_E_NO_ENDPOINT = 200,
    /**
     * No further attempt is left or allowed; the last attempt's reason and phase say why.
     */
    ANYHOST_E_ATTEMPTS_SPENT = 201,
    /**
     * The deadline of the call passed, or would have passed during the next wait.
     */
    ANYHOST_E_DEADLINE = 202,
    /**
     * The retry budget is empty.
     */
    ANYHOST_E_BUDGET_SPENT = 203,
    /**
     * Only the body, which cannot be sent a second time, forbade another attempt.
     */
    ANYHOST_E_NOT_REPLAYABLE = 204,
    /**
     * The caller cancelled.
     */
    ANYHOST_E_CANCELLED = 205,
    /**
     * The client was shut down.
     */
    ANYHOST_E_SHUT_DOWN = 206,
    /**
     * The body of the answer broke off.
     */
    ANYHOST_E_BODY = 207,
    /**
     * The body of the answer is larger than the option max_body.
     */
    ANYHOST_E_TOO_LARGE = 208,
    /**
     * The request's body reader refused, or gave more or fewer bytes than its length.
     */
    ANYHOST_E_BODY_SOURCE = 209,
    /**
     * The answer was turned down by require_success; the error keeps its status and body.
     */
    ANYHOST_E_REJECTED = 210,
    /**
     * Too many redirects, or one to where none may go.
     */
    ANYHOST_E_REDIRECTS = 211,
    /**
     * A fault of anyhost itself. Please report it.
     */
    ANYHOST_E_INTERNAL = 900,
    /**
     * A panic was caught. Please report it.
     */
    ANYHOST_E_PANIC = 901,
    /**
     * The client took part in a panic and answers nothing any more.
     */
    ANYHOST_E_BROKEN = 902
} anyhost_status;

/**
 * Whether an endpoint may be tried.
 */
typedef enum {
    /**
     * It may be tried.
     */
    ANYHOST_STATE_ELIGIBLE = 0,
    /**
     * It failed and rests.
     */
    ANYHOST_STATE_COOLING = 1,
    /**
     * The next request may try whether it has recovered.
     */
    ANYHOST_STATE_PROBE_ALLOWED = 2,
    /**
     * A request is trying that now.
     */
    ANYHOST_STATE_PROBING = 3,
    /**
     * It was taken out.
     */
    ANYHOST_STATE_DISABLED = 4
} anyhost_state;

/**
 * How far an attempt got.
 */
typedef enum {
    /**
     * It did not begin.
     */
    ANYHOST_PHASE_NONE = 0,
    /**
     * Looking up the name.
     */
    ANYHOST_PHASE_RESOLVE = 1,
    /**
     * Connecting to the proxy.
     */
    ANYHOST_PHASE_PROXY_CONNECT = 2,
    /**
     * Authenticating to the proxy.
     */
    ANYHOST_PHASE_PROXY_AUTH = 3,
    /**
     * Asking the proxy for a tunnel.
     */
    ANYHOST_PHASE_TUNNEL = 4,
    /**
     * Connecting.
     */
    ANYHOST_PHASE_CONNECT = 5,
    /**
     * In the TLS handshake.
     */
    ANYHOST_PHASE_TLS = 6,
    /**
     * Sending the request.
     */
    ANYHOST_PHASE_SEND = 7,
    /**
     * Waiting for the head of the answer.
     */
    ANYHOST_PHASE_HEAD = 8,
    /**
     * Reading the body of the answer, or all of it was read.
     */
    ANYHOST_PHASE_BODY = 9
} anyhost_phase;

/**
 * Why an attempt failed.
 */
typedef enum {
    /**
     * It did not.
     */
    ANYHOST_REASON_NONE = 0,
    /**
     * The name was not resolved.
     */
    ANYHOST_REASON_DNS = 1,
    /**
     * The connection was refused.
     */
    ANYHOST_REASON_REFUSED = 2,
    /**
     * There is no way to the host.
     */
    ANYHOST_REASON_UNREACHABLE = 3,
    /**
     * It took too long.
     */
    ANYHOST_REASON_TIMEOUT = 4,
    /**
     * The TLS handshake failed.
     */
    ANYHOST_REASON_TLS = 5,
    /**
     * The certificate was not accepted.
     */
    ANYHOST_REASON_TLS_CERT = 6,
    /**
     * The connection was reset.
     */
    ANYHOST_REASON_RESET = 7,
    /**
     * The connection was closed before the answer.
     */
    ANYHOST_REASON_EOF = 8,
    /**
     * What came was no HTTP.
     */
    ANYHOST_REASON_PROTOCOL = 9,
    /**
     * The server reported an error of its own.
     */
    ANYHOST_REASON_STATUS_5XX = 10,
    /**
     * The server wants fewer requests.
     */
    ANYHOST_REASON_RATE_LIMITED = 11,
    /**
     * The proxy refused the credentials.
     */
    ANYHOST_REASON_AUTH = 12,
    /**
     * The proxy refused the tunnel.
     */
    ANYHOST_REASON_TUNNEL_REFUSED = 13,
    /**
     * The caller turned the answer down.
     */
    ANYHOST_REASON_PREDICATE = 14,
    /**
     * The caller took the endpoint out.
     */
    ANYHOST_REASON_OPERATOR = 15,
    /**
     * The caller cancelled.
     */
    ANYHOST_REASON_CANCELLED = 16,
    /**
     * The deadline of the call passed.
     */
    ANYHOST_REASON_DEADLINE = 17,
    /**
     * It failed on this side, before the network.
     */
    ANYHOST_REASON_LOCAL = 18,
    /**
     * A connection kept alive had died before the answer began.
     */
    ANYHOST_REASON_STALE_CONNECTION = 19,
    /**
     * The status is none that means anything.
     */
    ANYHOST_REASON_BAD_ANSWER = 20,
    /**
     * The answer broke off.
     */
    ANYHOST_REASON_TRUNCATED = 21,
    /**
     * The circuit breaker is open.
     */
    ANYHOST_REASON_CIRCUIT_OPEN = 22
} anyhost_reason;

/**
 * Did the request reach a server?
 */
typedef enum {
    /**
     * No byte of it was sent.
     */
    ANYHOST_DELIVERY_NOT_SENT = 0,
    /**
     * A proxy in front of the server said that it was not.
     */
    ANYHOST_DELIVERY_NOT_PROCESSED = 1,
    /**
     * It may have been received.
     */
    ANYHOST_DELIVERY_MAYBE = 2,
    /**
     * A server answered it.
     */
    ANYHOST_DELIVERY_ANSWERED = 3
} anyhost_delivery;

/**
 * What an event tells.
 */
typedef enum {
    /**
     * An attempt begins.
     */
    ANYHOST_EVENT_ATTEMPT_STARTED = 1,
    /**
     * An attempt is over.
     */
    ANYHOST_EVENT_ATTEMPT_ENDED = 2,
    /**
     * The state of an endpoint changed.
     */
    ANYHOST_EVENT_STATE_CHANGED = 3,
    /**
     * The weight of an endpoint changed.
     */
    ANYHOST_EVENT_WEIGHT_CHANGED = 4,
    /**
     * The list of endpoints was replaced.
     */
    ANYHOST_EVENT_POOL_UPDATED = 5,
    /**
     * An endpoint is preferred for a while.
     */
    ANYHOST_EVENT_HOLD_SET = 6,
    /**
     * It is preferred no longer.
     */
    ANYHOST_EVENT_HOLD_ENDED = 7,
    /**
     * The call waits before it comes back to an endpoint.
     */
    ANYHOST_EVENT_WAITING = 8,
    /**
     * The call is over.
     */
    ANYHOST_EVENT_CALL_ENDED = 9,
    /**
     * The process is a fork: it opens connections of its own.
     */
    ANYHOST_EVENT_FORK_NOTICED = 10,
    /**
     * Every endpoint has the lowest weight.
     */
    ANYHOST_EVENT_ALL_AT_MINIMUM = 11,
    /**
     * For the first time in its life the client left an endpoint that does not answer.
     */
    ANYHOST_EVENT_FAILOVER = 12
} anyhost_event_type;

/**
 * What a member of a snapshot is.
 */
typedef enum {
    /**
     * A base URL of the service.
     */
    ANYHOST_KIND_ENDPOINT = 1,
    /**
     * A proxy on the way to it.
     */
    ANYHOST_KIND_PROXY = 2
} anyhost_kind;

/**
 * What a judge of answers may say.
 */
typedef enum {
    /**
     * What would be without a judge.
     */
    ANYHOST_VERDICT_DEFAULT = 0,
    /**
     * The answer is good.
     */
    ANYHOST_VERDICT_ACCEPT = 1,
    /**
     * The endpoint is to blame; the next one is tried if that is allowed.
     */
    ANYHOST_VERDICT_FAULT = 2,
    /**
     * The caller is to blame; no other endpoint would answer better.
     */
    ANYHOST_VERDICT_CALLER = 3
} anyhost_verdict;

/**
 * What may be said on another attempt.
 */
typedef enum {
    /**
     * What would be without the callback.
     */
    ANYHOST_RETRY_DEFAULT = 0,
    /**
     * Go on, where sending the request again is permitted.
     */
    ANYHOST_RETRY_AGAIN = 1,
    /**
     * Stop.
     */
    ANYHOST_RETRY_STOP = 2
} anyhost_retry;

/**
 * One attempt of a call. It belongs to the answer, error or event it was had from.
 *
 * It never changes: any number of threads may read it.
 */
typedef struct anyhost_attempt anyhost_attempt;

/**
 * Circuit breakers by key, for what is not HTTP: a database, a queue, a licence server.
 *
 * Ask anyhost_breaker_allow before each attempt, and report what came of it. A key is any text. Any
 * number of threads may use one at once.
 */
typedef struct anyhost_breaker anyhost_breaker;

/**
 * Settings on their way to a client.
 *
 * A function that fails is remembered: anyhost_builder_build answers the first failure, so that only
 * it needs to be checked. One thread at a time.
 */
typedef struct anyhost_builder anyhost_builder;

/**
 * Ends calls early. Any number of threads may use one at once.
 *
 * It is given to requests with anyhost_request_set_cancel, one or many, and stays triggered: for later
 * calls a new one is made.
 */
typedef struct anyhost_cancel anyhost_cancel;

/**
 * A client of one service that lives under one or more base URLs.
 *
 * Any number of threads may use one at once.
 */
typedef struct anyhost_client anyhost_client;

/**
 * What went wrong, and everything known about it. It never changes: any number of threads may read it.
 *
 * Everything it hands out belongs to it, and lives as long as it does.
 */
typedef struct anyhost_error anyhost_error;

/**
 * Something that happened in a client. It lives until the callback it was passed to returns, and so
 * does everything it hands out.
 */
typedef struct anyhost_event anyhost_event;

/**
 * An endpoint or a proxy, as it was when its snapshot was taken. It belongs to the snapshot.
 *
 * It never changes: any number of threads may read it.
 */
typedef struct anyhost_member anyhost_member;

/**
 * A request, which can be sent more than once.
 *
 * One thread at a time. While it is being sent, everything else on it answers ANYHOST_E_STATE.
 */
typedef struct anyhost_request anyhost_request;

/**
 * The answer to a call: status, headers, body, and every attempt that led to it.
 *
 * Everything it hands out belongs to it, and lives as long as it does. One thread at a time.
 */
typedef struct anyhost_response anyhost_response;

/**
 * The endpoints of a client as they were at one moment. It never changes: any number of threads may read
 * it.
 *
 * Everything it hands out belongs to it, and lives as long as it does.
 */
typedef struct anyhost_snapshot anyhost_snapshot;

/**
 * Lists of endpoints and of proxies, to be put in the place of a client's by anyhost_client_apply. A list that
 * names nobody leaves the client's as it is.
 *
 * A function that fails is remembered: anyhost_client_apply answers the first failure, so that only it
 * needs to be checked. One thread at a time.
 */
typedef struct anyhost_update anyhost_update;

/**
 * Told that `user` is not needed any more. It runs exactly once.
 */
typedef void (*anyhost_free_cb)(void *user);

/**
 * Asked for the next bytes of a request's body; see anyhost_request_set_body_reader.
 *
 * Writes up to `cap` bytes to `buf` and their number to `*out_n`; 0 is the end of the body. Answers 0,
 * or anything else to refuse, which ends the call with ANYHOST_E_BODY_SOURCE.
 */
typedef int32_t (*anyhost_read_cb)(void *user, uint8_t *buf, size_t cap, size_t *out_n);

/**
 * Asked to go back to where a request's body begins; see anyhost_request_set_body_reader.
 *
 * Answers 0, or anything else to refuse, which ends the call with ANYHOST_E_BODY_SOURCE.
 */
typedef int32_t (*anyhost_rewind_cb)(void *user);

/**
 * Told how far a call is; see anyhost_request_set_progress.
 *
 * `sent` and `received` count the bytes of the bodies in the attempt under way, as they go and come
 * (before decoding), and begin anew with the next; `total` is how many will be received, -1 where that is
 * not known. Answers 0, or anything else to end the call with ANYHOST_E_CANCELLED.
 */
typedef int32_t (*anyhost_progress_cb)(void *user, uint64_t sent, uint64_t received, int64_t total);

/**
 * Told what happens in a client; see anyhost_builder_on_event.
 *
 * `event` is borrowed until the callback returns, and so is everything it hands out.
 */
typedef void (*anyhost_event_cb)(void *user, const anyhost_event *event);

/**
 * Asked what an answer is worth, one of ANYHOST_VERDICT_*; see anyhost_builder_on_judge.
 *
 * `response` is borrowed until the callback returns, and so is everything it hands out. It has the
 * attempts before its own. Of anyhost_client_stream it has the head only: anyhost_response_body is
 * ANYHOST_E_STATE then. A number that is no verdict means ANYHOST_VERDICT_DEFAULT.
 */
typedef int32_t (*anyhost_judge_cb)(void *user, const anyhost_response *response);

/**
 * Asked whether to go on, one of ANYHOST_RETRY_*; see anyhost_builder_on_retry.
 *
 * `last` is the attempt that was not good, borrowed until the callback returns. A number that is none of
 * them means ANYHOST_RETRY_DEFAULT.
 */
typedef int32_t (*anyhost_retry_cb)(void *user, const anyhost_attempt *last);

#ifdef __cplusplus
extern "C" {
#endif /* __cplusplus */

/**
 * The name of a status without its prefix, as "ATTEMPTS_SPENT"; "OK" for 0.
 *
 * Never NULL: "unknown" for a number that is none. The text is static. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_status_name(int32_t status);

/**
 * What a status means, in a few words; "success" for 0.
 *
 * Never NULL: "unknown" for a number that is none. The text is static. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_status_text(int32_t status);

/**
 * Opens a client of one service, with every setting at its default.
 *
 * `base_urls` is a comma-separated list in the order to be tried, as "https://a.example,
 * https://b.example". `*out` is yours, to be freed with anyhost_client_free.
 *
 * ANYHOST_E_URL for an entry that is no base URL, ANYHOST_E_CONFIG for an empty list,
 * ANYHOST_E_DUPLICATE for the same endpoint twice, ANYHOST_E_DOWNGRADE for https beside http,
 * ANYHOST_E_TLS_MATERIAL where the system has no certificates to trust. Nothing is connected yet. Any
 * thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_open(const char *base_urls,
                     anyhost_client **out,
                     anyhost_error **err);

/**
 * Sends a GET request and reads the whole answer.
 *
 * `path` is appended to the base URL of whichever endpoint gets the request; a query may follow it,
 * and its bytes go out as they are. `*out` is yours, to be freed with anyhost_response_free. Any
 * status of HTTP is an answer and ANYHOST_OK, unless the option require_success says otherwise.
 *
 * Without an answer: a status from 200 on, with every attempt in the error. ANYHOST_E_ARGUMENT for a
 * path that no request can carry, ANYHOST_E_REENTRY from inside a callback. Blocks. Any thread, any
 * number at once. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_get(anyhost_client *client,
                    const char *path,
                    anyhost_response **out,
                    anyhost_error **err);

/**
 * Sends a HEAD request: as anyhost_get, and the answer has headers only.
 *
 * `*out` is yours, to be freed with anyhost_response_free. Statuses as anyhost_get. Blocks. Any
 * thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_head(anyhost_client *client,
                     const char *path,
                     anyhost_response **out,
                     anyhost_error **err);

/**
 * Sends a DELETE request, which has no body.
 *
 * It is not sent again after a server may have received it, unless the option resend allows that: the
 * error's delivery says what is certain. `*out` is yours, to be freed with anyhost_response_free.
 * Statuses as anyhost_get. Blocks. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_delete(anyhost_client *client,
                       const char *path,
                       anyhost_response **out,
                       anyhost_error **err);

/**
 * Sends a POST request with `len` bytes of `body`, and reads the whole answer.
 *
 * `content_type` is the header of that name; NULL = none. `body` is only read, and no longer than the
 * function runs; (NULL, 0) is an empty body. It is not sent again after a server may have received
 * it, unless the option resend allows that: the error's delivery says what is certain. `*out` is
 * yours, to be freed with anyhost_response_free.
 *
 * Statuses as anyhost_get; ANYHOST_E_NULL for a body that is NULL and not empty. Blocks. Any thread.
 * Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_post(anyhost_client *client,
                     const char *path,
                     const char *content_type,
                     const void *body,
                     size_t len,
                     anyhost_response **out,
                     anyhost_error **err);

/**
 * Sends a PUT request: all is as with anyhost_post.
 *
 * `*out` is yours, to be freed with anyhost_response_free. NULL and statuses as anyhost_post. Blocks.
 * Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_put(anyhost_client *client,
                    const char *path,
                    const char *content_type,
                    const void *body,
                    size_t len,
                    anyhost_response **out,
                    anyhost_error **err);

/**
 * Sends a PATCH request: all is as with anyhost_post.
 *
 * `*out` is yours, to be freed with anyhost_response_free. NULL and statuses as anyhost_post. Blocks.
 * Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_patch(anyhost_client *client,
                      const char *path,
                      const char *content_type,
                      const void *body,
                      size_t len,
                      anyhost_response **out,
                      anyhost_error **err);

/**
 * Frees an answer and everything it handed out. NULL does nothing. Since 0.1.0.
 */
ANYHOST_API void anyhost_response_free(anyhost_response *response);

/**
 * The status of HTTP, as 200; 0 for NULL.
 *
 * Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_response_status(const anyhost_response *response);

/**
 * The body, whole: `*out` leads to `*out_len` bytes, and one 0 byte follows them.
 *
 * They live as long as the answer, and may be asked for any number of times, also beside
 * anyhost_response_read. An empty body is a pointer to the 0 byte. Of an answer that is streamed this
 * reads what is still to come, at most as much as the option max_body allows, and blocks meanwhile.
 *
 * ANYHOST_E_NULL if `out` or `out_len` is NULL. Of an answer that is streamed: ANYHOST_E_STATE where a part
 * of it was read before, and in a judge; ANYHOST_E_TOO_LARGE; ANYHOST_E_BODY, ANYHOST_E_DEADLINE,
 * ANYHOST_E_CANCELLED or ANYHOST_E_SHUT_DOWN for one that did not come to its end. What came before such
 * a failure can be had from anyhost_response_read. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_response_body(const anyhost_response *response,
                              const uint8_t **out,
                              size_t *out_len,
                              anyhost_error **err);

/**
 * The next bytes of the body: copies up to `cap` of them to `buf` and writes their number to `*out_n`.
 *
 * 0 bytes are the end of the body, which is never one that broke off. Of an answer that is streamed this
 * blocks until there is something. Allowed in callbacks: one call's answer can be another one's body.
 *
 * ANYHOST_E_NULL if `out_n` is NULL, or `buf` is and `cap` is not 0. Of an answer that is streamed:
 * ANYHOST_E_BODY, ANYHOST_E_DEADLINE, ANYHOST_E_CANCELLED or ANYHOST_E_SHUT_DOWN where it does not go on,
 * again and again. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_response_read(anyhost_response *response,
                              void *buf,
                              size_t cap,
                              size_t *out_n,
                              anyhost_error **err);

/**
 * The value of the header of this name, in any case; of several the one at `nth`, from 0.
 *
 * NULL where there is none, and for a `response` or `name` of NULL. The value is NUL-ended and may
 * hold any byte above 0x7F; its length goes to `*out_len`, unless that is NULL. It lives as long as
 * the answer. Since 0.1.0.
 */
ANYHOST_API
const char *anyhost_response_header(const anyhost_response *response,
                                    const char *name,
                                    size_t nth,
                                    size_t *out_len);

/**
 * How many headers there are, each value counted; 0 for NULL.
 *
 * Since 0.1.0.
 */
ANYHOST_API size_t anyhost_response_header_count(const anyhost_response *response);

/**
 * The header at `i`, from 0: its name in lower case, its value, and the value's length.
 *
 * Both are NUL-ended and live as long as the answer; the value may hold any byte above 0x7F.
 * ANYHOST_E_RANGE if there are not so many, ANYHOST_E_NULL if one of the three outputs is NULL. Since
 * 0.1.0.
 */
ANYHOST_API
int32_t anyhost_response_header_at(const anyhost_response *response,
                                   size_t i,
                                   const char **name,
                                   const char **value,
                                   size_t *value_len);

/**
 * The length of the body in bytes; -1 where it is not known, and for NULL.
 *
 * An answer that was read whole always has one; one that is streamed where its head says so and nothing
 * is decoded. Since 0.1.0.
 */
ANYHOST_API
int64_t anyhost_response_content_length(const anyhost_response *response);

/**
 * The URL that answered, without user info and query; NULL for NULL.
 *
 * The text lives as long as the answer. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_response_url(const anyhost_response *response);

/**
 * The label of the endpoint that answered; NULL for NULL.
 *
 * The text lives as long as the answer. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_response_endpoint(const anyhost_response *response);

/**
 * How long the call took, in microseconds, if the answer is streamed up to its head; 0 for NULL.
 *
 * Since 0.1.0.
 */
ANYHOST_API uint64_t anyhost_response_elapsed_us(const anyhost_response *response);

/**
 * How long the server wants to be left alone, in milliseconds; 0 where it did not say, and for NULL.
 *
 * Since 0.1.0.
 */
ANYHOST_API
uint64_t anyhost_response_retry_after_ms(const anyhost_response *response);

/**
 * How many attempts the call made, replays included; 0 for NULL.
 *
 * Since 0.1.0.
 */
ANYHOST_API size_t anyhost_response_attempt_count(const anyhost_response *response);

/**
 * The attempt at `i`, from 0; NULL beyond the last, and for NULL.
 *
 * It lives as long as the answer. Since 0.1.0.
 */
ANYHOST_API
const anyhost_attempt *anyhost_response_attempt(const anyhost_response *response,
                                                size_t i);

/**
 * Frees an error and everything it handed out. NULL does nothing. Any thread. Since 0.1.0.
 */
ANYHOST_API void anyhost_error_free(anyhost_error *error);

/**
 * What kind of error it is: one of ANYHOST_E_*, the same that the function answered; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_error_status(const anyhost_error *error);

/**
 * What went wrong, in one line. Never NULL: "" for NULL.
 *
 * The text lives as long as the error. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_error_message(const anyhost_error *error);

/**
 * Whether the request reached a server, the most certain of all attempts: one of ANYHOST_DELIVERY_*.
 *
 * 0, not sent, where no attempt was made, and for NULL. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_error_delivery(const anyhost_error *error);

/**
 * Why the last attempt failed: one of ANYHOST_REASON_*; 0 where none did, and for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_error_reason(const anyhost_error *error);

/**
 * How far the last attempt got: one of ANYHOST_PHASE_*; 0 where none was made, and for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_error_phase(const anyhost_error *error);

/**
 * The status of the last answer whose head arrived; 0 where none did, and for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_error_http_status(const anyhost_error *error);

/**
 * The operating system's error number (errno) of the last attempt; 0 where there was none, and for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_error_os_error(const anyhost_error *error);

/**
 * The option or argument that is wrong; NULL where it is none of them, and for NULL.
 *
 * The text lives as long as the error. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_error_option(const anyhost_error *error);

/**
 * How long the service wants to be left alone, in milliseconds; 0 where it did not say, and for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API
uint64_t anyhost_error_retry_after_ms(const anyhost_error *error);

/**
 * How many attempts the call made, replays included; 0 where it was no call, and for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API size_t anyhost_error_attempt_count(const anyhost_error *error);

/**
 * The attempt at `i`, from 0; NULL beyond the last, and for NULL.
 *
 * It lives as long as the error. Any thread. Since 0.1.0.
 */
ANYHOST_API const anyhost_attempt *anyhost_error_attempt(const anyhost_error *error, size_t i);

/**
 * What the answer said that was turned down: `*out` leads to `*out_len` bytes, and a 0 byte follows.
 *
 * Cut after 64 KiB; empty where no answer was turned down. The bytes live as long as the error.
 * ANYHOST_E_NULL if `out` or `out_len` is NULL. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_error_body(const anyhost_error *error,
                           const uint8_t **out,
                           size_t *out_len);

/**
 * The error as a JSON object: fields named as the getters, with names for numbers of a family.
 *
 * Writes it to `buf`, which has room for `cap` bytes, NUL-ended. `*out_needed` is how many bytes it
 * takes with its NUL, in every case. ANYHOST_E_BUFFER if that is more than `cap`: `buf` then holds ""
 * (nothing for a `cap` of 0), so (NULL, 0) asks for the size. ANYHOST_E_NULL if `out_needed` is NULL, or
 * `buf` is and `cap` is not 0. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_error_json(const anyhost_error *error,
                           char *buf,
                           size_t cap,
                           size_t *out_needed);

/**
 * The error at length, for a log that somebody reads at night.
 *
 * Several lines, each ended by a line feed: what went wrong, "tried:" with each attempt, "not tried:" with
 * who may not be tried now and for how long, "certain:" with what is known of the delivery, and "to do:".
 * Its words may change from version to version: programs read the getters or anyhost_error_json.
 *
 * Writes it to `buf` as anyhost_error_json does. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_error_explain(const anyhost_error *error,
                              char *buf,
                              size_t cap,
                              size_t *out_needed);

/**
 * Its place in the call, from 1; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API uint32_t anyhost_attempt_number(const anyhost_attempt *attempt);

/**
 * The label of the endpoint; NULL for NULL.
 *
 * The text lives as long as the attempt. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_attempt_endpoint(const anyhost_attempt *attempt);

/**
 * The label of the proxy it went through; NULL where it went straight to the endpoint, and for NULL.
 *
 * The text lives as long as the attempt. Any thread. Since 0.1.0.
 */
ANYHOST_API
const char *anyhost_attempt_proxy(const anyhost_attempt *attempt);

/**
 * A few words on what broke, "" where nothing did; NULL for NULL.
 *
 * The text lives as long as the attempt. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_attempt_message(const anyhost_attempt *attempt);

/**
 * How far it got: one of ANYHOST_PHASE_*; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_attempt_phase(const anyhost_attempt *attempt);

/**
 * Why it failed: one of ANYHOST_REASON_*; 0 where it did not, and for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_attempt_reason(const anyhost_attempt *attempt);

/**
 * Whether the request reached a server in this attempt: one of ANYHOST_DELIVERY_*; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_attempt_delivery(const anyhost_attempt *attempt);

/**
 * The status of the answer; 0 where no head of one arrived, and for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_attempt_http_status(const anyhost_attempt *attempt);

/**
 * 1 = it went over a connection kept alive from an earlier exchange, 0 = over a new one; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_attempt_reused_connection(const anyhost_attempt *attempt);

/**
 * 1 = it is the replay, on a new connection, of the attempt before it, which met a connection that had
 * died; 0 = it is not, and for NULL.
 *
 * A replay shares that attempt's limits, and counts against none. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_attempt_is_replay(const anyhost_attempt *attempt);

/**
 * 1 = it asked for what a redirect points to; 0 = it did not, and for NULL.
 *
 * Such a hop counts in no limit of attempts. Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_attempt_is_hop(const anyhost_attempt *attempt);

/**
 * The operating system's error number (errno); 0 where there was none, and for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_attempt_os_error(const anyhost_attempt *attempt);

/**
 * How long the server wants to be left alone, in milliseconds; 0 where it did not say, and for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API
uint64_t anyhost_attempt_retry_after_ms(const anyhost_attempt *attempt);

/**
 * When it began, in microseconds from the start of the call; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API uint64_t anyhost_attempt_started_us(const anyhost_attempt *attempt);

/**
 * How long it took, in microseconds; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API uint64_t anyhost_attempt_elapsed_us(const anyhost_attempt *attempt);

/**
 * HTTP bytes sent, before encryption; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API uint64_t anyhost_attempt_bytes_sent(const anyhost_attempt *attempt);

/**
 * HTTP bytes received, after decryption; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API uint64_t anyhost_attempt_bytes_received(const anyhost_attempt *attempt);

/**
 * One more handle to the same client: the same pointer, to be freed once more.
 *
 * For another owner, a second thread say. NULL for NULL. Any thread. Since 0.1.0.
 */
ANYHOST_API anyhost_client *anyhost_client_ref(anyhost_client *client);

/**
 * Frees a handle; with the last one the client goes, and its connections are closed.
 *
 * A call that is under way ends first: freeing does not end it, and is allowed in callbacks. NULL
 * does nothing. Any thread. Since 0.1.0.
 */
ANYHOST_API void anyhost_client_free(anyhost_client *client);

/**
 * Sends a request and reads the whole answer.
 *
 * The body of the answer is read within the attempt, so an answer that breaks off can still be had
 * from another endpoint. Any status of HTTP is an answer and ANYHOST_OK, unless the option
 * require_success says otherwise. `request` stays yours and may be sent again; until this returns
 * nothing else may be done with it. `*out` is yours, to be freed with anyhost_response_free.
 *
 * Without an answer: a status from 200 on, with every attempt in the error. ANYHOST_E_STATE where the
 * request is in use, or its body was a one-shot reader that an earlier call has read;
 * ANYHOST_E_REENTRY from inside a callback. Blocks. Any thread, any number at once, each with a request
 * of its own. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_client_send(anyhost_client *client,
                            anyhost_request *request,
                            anyhost_response **out,
                            anyhost_error **err);

/**
 * Sends a request and hands the answer out when its head is there, for a body that is large or comes
 * slowly.
 *
 * The body is read with anyhost_response_read, piece by piece as it comes, or whole with
 * anyhost_response_body. What breaks off after the head is an error of those, and not had from another
 * endpoint. The option attempt_timeout holds up to the head; deadline, stall_timeout, cancel and shutdown
 * hold until the body ends. Freeing the answer before that closes its connection. `request` is free
 * again when this returns. `*out` is yours, to be freed with anyhost_response_free; it may outlive the
 * client.
 *
 * Statuses as anyhost_client_send. Blocks. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_client_stream(anyhost_client *client,
                              anyhost_request *request,
                              anyhost_response **out,
                              anyhost_error **err);

/**
 * Ends the client: every call under way and every later one answers ANYHOST_E_SHUT_DOWN.
 *
 * That holds for all handles of the client, and for bodies that are still being read. Idle connections
 * are closed. It does not wait, and there is no way back; the handles are still to be freed.
 *
 * ANYHOST_E_NULL for NULL. Allowed in callbacks. Any thread, but no signal handler. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_client_shutdown(anyhost_client *client);

/**
 * Closes the idle connections, because the network has changed or the machine is about to sleep.
 *
 * Those in use are closed when their answer is complete. ANYHOST_E_NULL for NULL. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_client_drop_idle(anyhost_client *client);

/**
 * Sets the weight of an endpoint, the live one and the maximum; 0 = the option weight_max.
 *
 * `key` is its label, or its URL as it was given.
 *
 * ANYHOST_E_NOT_FOUND where no endpoint has this key, ANYHOST_E_RANGE for a weight outside weight_min to
 * weight_max. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_client_set_weight(anyhost_client *client,
                                  const char *key,
                                  uint32_t weight);

/**
 * Takes an endpoint out of service until anyhost_client_enable: no call tries it.
 *
 * `key` is its label, or its URL as it was given. `why` is what snapshots say of it, "" for nothing. The
 * texts are copied. Allowed in callbacks.
 *
 * ANYHOST_E_NOT_FOUND where no endpoint has this key. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_client_disable(anyhost_client *client,
                               const char *key,
                               const char *why);

/**
 * Puts an endpoint back into service. With a circuit breaker the first request to it is a probe.
 *
 * `key` is its label, or its URL as it was given. Allowed in callbacks.
 *
 * ANYHOST_E_NOT_FOUND where no endpoint has this key. Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_client_enable(anyhost_client *client, const char *key);

/**
 * Sends a request to one endpoint only, once, whatever its state: a health check of your own.
 *
 * `key` is its label, or its URL as it was given. A good answer closes its circuit, a failure counts as
 * one; what is disabled stays disabled. Redirects are not followed. `request` as in
 * anyhost_client_send. `*out` is yours, to be freed with anyhost_response_free.
 *
 * ANYHOST_E_NOT_FOUND where no endpoint has this key; else as anyhost_client_send. Blocks. Any thread.
 * Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_client_probe(anyhost_client *client,
                             const char *key,
                             anyhost_request *request,
                             anyhost_response **out,
                             anyhost_error **err);

/**
 * Takes a snapshot: every endpoint as it is now, with what is known of it.
 *
 * `*out` is yours, to be freed with anyhost_snapshot_free. ANYHOST_E_NULL if `client` or `out` is NULL.
 * Allowed in callbacks. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_client_snapshot(anyhost_client *client,
                                anyhost_snapshot **out);

/**
 * Replaces the list of endpoints at once by that of `update`, which stays yours and may be applied again.
 *
 * Endpoints that stay keep their live weight and state; priority, label, headers and, unless it is 0, the
 * maximum weight are those of the update. Calls under way start nothing on those that are taken out. An
 * update that names no endpoint leaves them as they are. A mistake changes nothing.
 *
 * The first failure in making the update; ANYHOST_E_DUPLICATE, ANYHOST_E_DOWNGRADE and
 * ANYHOST_E_TLS_MATERIAL as anyhost_builder_build; ANYHOST_E_STATE where the update is in use. Any
 * thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_client_apply(anyhost_client *client,
                             const anyhost_update *update,
                             anyhost_error **err);

/**
 * A new request of this method for this path.
 *
 * `path` is appended to the base URL of whichever endpoint gets the request; a query may follow it,
 * and its bytes go out as they are. The texts are copied. `*out` is yours, to be freed with
 * anyhost_request_free.
 *
 * ANYHOST_E_ARGUMENT for a method that is none, for CONNECT, and for a path with a fragment, a blank, a
 * control character, a character beyond ASCII, <, > or a backtick, or a " in its query, and for one longer
 * than 60 KiB. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_request_new(const char *method,
                            const char *path,
                            anyhost_request **out,
                            anyhost_error **err);

/**
 * Frees a request; one that is being sent goes when its call ends. NULL does nothing. Since 0.1.0.
 */
ANYHOST_API void anyhost_request_free(anyhost_request *request);

/**
 * Sets a header, in the place of all of this name; a `value` of NULL takes them away.
 *
 * The texts are copied. The header goes to whichever endpoint gets the request.
 *
 * ANYHOST_E_ARGUMENT for what no header can be, and for Content-Length, Transfer-Encoding and
 * Connection. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_request_set_header(anyhost_request *request,
                                   const char *name,
                                   const char *value);

/**
 * Adds a header beside those of the same name. The texts are copied.
 *
 * Statuses as anyhost_request_set_header; a `value` of NULL is ANYHOST_E_NULL. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_request_add_header(anyhost_request *request,
                                   const char *name,
                                   const char *value);

/**
 * Adds a header of a name and a value with their lengths, which need no NUL at their ends.
 *
 * The value may hold any byte above 0x7F. (NULL, 0) is an empty value. Both are copied.
 *
 * Statuses as anyhost_request_set_header; ANYHOST_E_NULL for a name or a value that is NULL and not
 * empty. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_request_add_header_n(anyhost_request *request,
                                     const char *name,
                                     size_t name_len,
                                     const void *value,
                                     size_t value_len);

/**
 * Sets the body: `len` bytes of `data`, copied. They can be sent again to another endpoint.
 *
 * (NULL, 0) is an empty body. ANYHOST_E_NULL if `data` is NULL and `len` is not 0. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_request_set_body(anyhost_request *request,
                                 const void *data,
                                 size_t len);

/**
 * Sets the body: `len` bytes of `data`, which are not copied and have to stay as they are.
 *
 * `free_user` (unless it is NULL) is called with `user` when they are not needed any more, because
 * the request has another body or is freed: exactly once, also if this function fails. The bytes can be
 * sent again to another endpoint.
 *
 * (NULL, 0) is an empty body. ANYHOST_E_NULL if `data` is NULL and `len` is not 0. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_request_set_body_borrowed(anyhost_request *request,
                                          const void *data,
                                          size_t len,
                                          void *user,
                                          anyhost_free_cb free_user);

/**
 * Sets the body: what `read` gives, asked for during the call on the thread that makes it.
 *
 * `length` is how many bytes that will be, and fewer or more are ANYHOST_E_BODY_SOURCE; -1 = unknown,
 * and the body is sent in chunks. `rewind` goes back to the first byte, so that the request can go to
 * another endpoint or be sent again; with NULL the body can be read once, and makes one attempt only.
 * `user` is passed to both, and to `free_user` (unless that is NULL) when the request has another body
 * or is freed: exactly once, also if this function fails.
 *
 * ANYHOST_E_NULL if `read` is NULL, ANYHOST_E_RANGE for a length below -1. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_request_set_body_reader(anyhost_request *request,
                                        anyhost_read_cb read,
                                        anyhost_rewind_cb rewind,
                                        void *user,
                                        anyhost_free_cb free_user,
                                        int64_t length);

/**
 * Sets an option for this request, in the place of the client's setting.
 *
 * Only options whose anyhost_option_scope has the bit 2. A `value` of NULL lets the client's setting
 * hold again. The texts are copied. Statuses as anyhost_builder_set. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_request_set(anyhost_request *request,
                            const char *option,
                            const char *value);

/**
 * Sets an option for this request as a number: durations in milliseconds, flags as 0 or 1.
 *
 * Statuses as anyhost_builder_set_int. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_request_set_int(anyhost_request *request,
                                const char *option,
                                int64_t value);

/**
 * Lets `cancel` end the calls of this request, in the place of an earlier one.
 *
 * `cancel` stays yours, and may be freed at once. One that was triggered ends them as they begin.
 *
 * ANYHOST_E_NULL if one of them is NULL. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_request_set_cancel(anyhost_request *request, anyhost_cancel *cancel);

/**
 * Has `on_progress` called about every `every_ms` milliseconds while a call of this request is under way,
 * and once for each answer that is complete; NULL = nobody is told any more.
 *
 * It runs on the thread that makes the call, also while that waits for bytes, and while a streamed body is
 * read on the thread that reads it. Not while the body's own reader runs. `user` is passed to it, and has
 * to be there as long as the request calls, or its answer is read.
 *
 * ANYHOST_E_RANGE for 0 milliseconds, ANYHOST_E_NULL if `request` is NULL. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_request_set_progress(anyhost_request *request,
                                     anyhost_progress_cb on_progress,
                                     void *user,
                                     uint64_t every_ms);

/**
 * A new builder, with every setting at its default.
 *
 * `*out` is yours, to be freed with anyhost_builder_free. ANYHOST_E_NULL if `out` is NULL. Any thread.
 * Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_builder_new(anyhost_builder **out);

/**
 * Frees a builder, spent or not. NULL does nothing. Since 0.1.0.
 */
ANYHOST_API void anyhost_builder_free(anyhost_builder *builder);

/**
 * Sets an option by name, as text: "250ms", "5s", "off"; anyhost_option_name lists them.
 *
 * A `value` of NULL sets it back to its default. "base_urls" adds endpoints, every time it is set. The
 * texts are copied.
 *
 * ANYHOST_E_OPTION for a name that there is not, or a value that it does not take; ANYHOST_E_URL for a
 * base URL that is none. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_builder_set(anyhost_builder *builder,
                            const char *option,
                            const char *value);

/**
 * Sets an option by name, as a number: durations in milliseconds, sizes in bytes, flags as 0 or 1.
 *
 * ANYHOST_E_RANGE for a number below 0; ANYHOST_E_OPTION as anyhost_builder_set, and for a limit of 0:
 * no limit is the text "off". Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_builder_set_int(anyhost_builder *builder,
                                const char *option,
                                int64_t value);

/**
 * Sets the options of a preset: "default", "datatug", "agoda", "breaker", "resilient".
 *
 * What is set after it takes its place. The text is copied.
 *
 * ANYHOST_E_OPTION for a name that there is not. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_builder_preset(anyhost_builder *builder, const char *name);

/**
 * Adds an endpoint.
 *
 * `url` is its base URL; user info in it is Basic authentication for this endpoint alone. `weight` is
 * its share where endpoints are drawn by weight, 1 to 1000; 0 = the default. `priority` is its place
 * in the order, lower numbers first; ANYHOST_PRIORITY_AUTO = as the option selection says, which is
 * its place in the list. `label` is what it is called in attempts, events and errors; NULL = its
 * origin. The texts are copied.
 *
 * ANYHOST_E_URL for a URL that is none, ANYHOST_E_RANGE for a weight above 1000. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_builder_add_endpoint(anyhost_builder *builder,
                                     const char *url,
                                     uint32_t weight,
                                     uint32_t priority,
                                     const char *label);

/**
 * Adds a proxy. With at least one, every request goes through one of them, drawn by weight.
 *
 * `url` has the scheme http, https, socks4, socks4a, socks5 or socks5h, with user info where the proxy
 * asks who we are; or it is the word `direct`, which stands for going straight to the endpoint: nothing
 * else ever does. `weight` is its share, 1 to 1000; 0 = the default. `label` is what it is called in
 * attempts, events and errors; NULL = scheme://host:port. The texts are copied.
 *
 * A client with proxies and no endpoints takes whole URLs in the place of paths.
 *
 * ANYHOST_E_URL for what is no proxy, ANYHOST_E_RANGE for a weight above 1000. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_builder_add_proxy(anyhost_builder *builder,
                                  const char *url,
                                  uint32_t weight,
                                  const char *label);

/**
 * Adds a header that every request carries, unless the request has its own of that name.
 *
 * With a `secret` of 1 no text will ever show its value; 0 = it may be shown. Authorization, Cookie,
 * Proxy-Authorization, X-Api-Key, Api-Key and X-Auth-Token are secrets anyway. The texts are copied.
 *
 * ANYHOST_E_ARGUMENT for what no header can be, and for Content-Length, Transfer-Encoding and
 * Connection; ANYHOST_E_RANGE for another number than 0 and 1. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_builder_add_header(anyhost_builder *builder,
                                   const char *name,
                                   const char *value,
                                   int32_t secret);

/**
 * Adds a header that every request to one endpoint carries, and no request to another.
 *
 * `key` is the label of an endpoint added before, or its base URL as it was given. `secret` and the
 * rest as anyhost_builder_add_header; the header takes the place of the client's of that name.
 *
 * ANYHOST_E_NOT_FOUND where no endpoint has this key; else as anyhost_builder_add_header. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_builder_endpoint_header(anyhost_builder *builder,
                                        const char *key,
                                        const char *name,
                                        const char *value,
                                        int32_t secret);

/**
 * Sets the name that the certificate of one endpoint is for, in the place of its URL's host.
 *
 * `key` is the label of an endpoint added before, or its base URL as it was given. `name` is a DNS name,
 * which the server is told (SNI), or an IP address, which it is not. The header Host stays that of the
 * URL. The texts are copied.
 *
 * ANYHOST_E_NOT_FOUND where no endpoint has this key, ANYHOST_E_ARGUMENT for what no certificate can be
 * for. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_builder_endpoint_server_name(anyhost_builder *builder,
                                             const char *key,
                                             const char *name);

/**
 * Adds certificates to trust beside those of the option tls_roots: `len` bytes of PEM, copied.
 *
 * With tls_roots at "none" they are the only ones. ANYHOST_E_NULL if `pem` is NULL and `len` is not 0.
 * What is no certificate is ANYHOST_E_TLS_MATERIAL from anyhost_builder_build. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_builder_add_root_pem(anyhost_builder *builder,
                                     const void *pem,
                                     size_t len);

/**
 * Sets the certificate to show to servers that ask for one, in the place of an earlier one: PEM, copied.
 *
 * `cert` holds the client's own certificate first and then those that lead from it to a root; `key` its
 * private key, not encrypted. It is shown to every endpoint that asks.
 *
 * ANYHOST_E_NULL if `cert` or `key` is NULL and its length is not 0; ANYHOST_E_TLS_MATERIAL where one
 * cannot be read, or the key is not that of the certificate. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_builder_set_client_cert_pem(anyhost_builder *builder,
                                            const void *cert,
                                            size_t cert_len,
                                            const void *key,
                                            size_t key_len);

/**
 * Has `on_event` called for everything that happens in the client, in the place of an earlier one.
 *
 * It runs on the thread whose call caused the event, so on several at once if several make calls.
 * `user` is passed to it, and to `free_user` (unless that is NULL) when it is not needed any more:
 * exactly once, also if this function fails, on whichever thread lets go of the client last.
 *
 * ANYHOST_E_NULL if `on_event` is NULL. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_builder_on_event(anyhost_builder *builder,
                                 anyhost_event_cb on_event,
                                 void *user,
                                 anyhost_free_cb free_user);

/**
 * Has `on_judge` asked about every answer before it counts, in the place of an earlier one.
 *
 * It says one of ANYHOST_VERDICT_*: whether the answer is good, whatever its status; the endpoint's
 * fault, to be had elsewhere if the request may go out again; or the caller's own. The last two are
 * ANYHOST_E_REJECTED where the call ends with them. It runs on the thread of the call, and is not asked
 * about redirects that are followed. `user` and `free_user` as in anyhost_builder_on_event.
 *
 * ANYHOST_E_NULL if `on_judge` is NULL. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_builder_on_judge(anyhost_builder *builder,
                                 anyhost_judge_cb on_judge,
                                 void *user,
                                 anyhost_free_cb free_user);

/**
 * Has `on_retry` asked after every attempt that was not good, in the place of an earlier one.
 *
 * It says one of ANYHOST_RETRY_*. ANYHOST_RETRY_AGAIN moves on where the client would stop, but only with
 * a request that may go out again (option resend), and within attempts, endpoints and deadline. It runs
 * on the thread of the call. `user` and `free_user` as in anyhost_builder_on_event.
 *
 * ANYHOST_E_NULL if `on_retry` is NULL. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_builder_on_retry(anyhost_builder *builder,
                                 anyhost_retry_cb on_retry,
                                 void *user,
                                 anyhost_free_cb free_user);

/**
 * Makes the client.
 *
 * The builder is spent then, also on failure: everything else answers ANYHOST_E_STATE, and it is still
 * yours to free. `*out` is yours, to be freed with anyhost_client_free.
 *
 * The first failure of an earlier function; ANYHOST_E_CONFIG without an endpoint, ANYHOST_E_DUPLICATE
 * for the same endpoint or label twice, ANYHOST_E_DOWNGRADE for https beside http,
 * ANYHOST_E_TLS_MATERIAL for a certificate that cannot be used, or none to trust. Nothing is connected
 * yet. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_builder_build(anyhost_builder *builder,
                              anyhost_client **out,
                              anyhost_error **err);

/**
 * What happened: one of ANYHOST_EVENT_*; 0 for NULL.
 *
 * Inside its callback. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_event_kind(const anyhost_event *event);

/**
 * Which call it belongs to, counted from 1 in the life of the client; 0 for NULL.
 *
 * Inside its callback. Since 0.1.0.
 */
ANYHOST_API uint64_t anyhost_event_call_id(const anyhost_event *event);

/**
 * The label of the endpoint it is about, of ANYHOST_EVENT_FAILOVER its host; NULL where it is about none.
 *
 * The text lives as long as the event. Inside its callback. Since 0.1.0.
 */
ANYHOST_API
const char *anyhost_event_endpoint(const anyhost_event *event);

/**
 * The event in one line, fit for a log, as "api-1: eligible -> cooling (refused)"; NULL for NULL.
 *
 * Its words may change from version to version: programs read the other getters. The text lives as long as
 * the event. Inside its callback. Since 0.1.0.
 */
ANYHOST_API
const char *anyhost_event_text(const anyhost_event *event);

/**
 * The attempt it is about: the one that is over, or that failed; NULL where there is none.
 *
 * It lives as long as the event. Inside its callback. Since 0.1.0.
 */
ANYHOST_API const anyhost_attempt *anyhost_event_attempt(const anyhost_event *event);

/**
 * How long the wait or the hold is, of ANYHOST_EVENT_CALL_ENDED how long the call took, in milliseconds.
 *
 * 0 where there is none, and for NULL. Inside its callback. Since 0.1.0.
 */
ANYHOST_API
uint64_t anyhost_event_wait_ms(const anyhost_event *event);

/**
 * Why the attempt failed: one of ANYHOST_REASON_*; 0 where none did, and for NULL.
 *
 * Inside its callback. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_event_reason(const anyhost_event *event);

/**
 * How far the attempt got: one of ANYHOST_PHASE_*; 0 where there is none, and for NULL.
 *
 * Inside its callback. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_event_phase(const anyhost_event *event);

/**
 * The label of the proxy it is about, or that the attempt goes through; NULL where there is none.
 *
 * The text lives as long as the event. Inside its callback. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_event_proxy(const anyhost_event *event);

/**
 * The state that the endpoint was in before: one of ANYHOST_STATE_*; -1 where none changed, and for NULL.
 *
 * Inside its callback. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_event_old_state(const anyhost_event *event);

/**
 * The state that the endpoint is in now: one of ANYHOST_STATE_*; -1 where none changed, and for NULL.
 *
 * Inside its callback. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_event_new_state(const anyhost_event *event);

/**
 * The weight that the endpoint had before; 0 where none changed, and for NULL.
 *
 * Inside its callback. Since 0.1.0.
 */
ANYHOST_API uint32_t anyhost_event_old_weight(const anyhost_event *event);

/**
 * The weight that the endpoint has now; 0 where none changed, and for NULL.
 *
 * Inside its callback. Since 0.1.0.
 */
ANYHOST_API uint32_t anyhost_event_new_weight(const anyhost_event *event);

/**
 * A new handle, which is not triggered.
 *
 * `*out` is yours, to be freed with anyhost_cancel_free. ANYHOST_E_NULL if `out` is NULL. Any thread.
 * Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_cancel_new(anyhost_cancel **out);

/**
 * One more handle to the same: the same pointer, to be freed once more.
 *
 * NULL for NULL. Any thread. Since 0.1.0.
 */
ANYHOST_API anyhost_cancel *anyhost_cancel_ref(anyhost_cancel *cancel);

/**
 * Frees a handle. Requests that have it keep what they need. NULL does nothing. Any thread. Since 0.1.0.
 */
ANYHOST_API
void anyhost_cancel_free(anyhost_cancel *cancel);

/**
 * Ends the calls of every request that has it, and those that begin later at once.
 *
 * They answer ANYHOST_E_CANCELLED, within milliseconds wherever they are; the error's delivery says
 * whether a server may have received the request. Bodies of theirs that are still being read end
 * likewise. It does not wait for that; a second time does nothing, and so does NULL. Allowed in
 * callbacks. Any thread, but no signal handler. Since 0.1.0.
 */
ANYHOST_API void anyhost_cancel_trigger(anyhost_cancel *cancel);

/**
 * 1 = it was triggered, 0 = it was not; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_cancel_is_triggered(const anyhost_cancel *cancel);

/**
 * Frees a snapshot and everything it handed out. NULL does nothing. Any thread. Since 0.1.0.
 */
ANYHOST_API void anyhost_snapshot_free(anyhost_snapshot *snapshot);

/**
 * How many members there are; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API size_t anyhost_snapshot_count(const anyhost_snapshot *snapshot);

/**
 * The member at `i`, from 0, by priority; NULL beyond the last, and for NULL.
 *
 * It lives as long as the snapshot. Any thread. Since 0.1.0.
 */
ANYHOST_API const anyhost_member *anyhost_snapshot_at(const anyhost_snapshot *snapshot, size_t i);

/**
 * The member of this label, or at this URL as it was given; NULL where there is none, and for NULL.
 *
 * It lives as long as the snapshot. Any thread. Since 0.1.0.
 */
ANYHOST_API
const anyhost_member *anyhost_snapshot_find(const anyhost_snapshot *snapshot,
                                            const char *key);

/**
 * The snapshot as a JSON object: "members", each with fields named as the getters, with names for
 * numbers of a family.
 *
 * Beyond the getters each has "reasons", how many attempts failed for which reason, and "transitions",
 * its last 16 changes of state, oldest first: "ago_ms", "from", "to", "reason", "phase".
 *
 * Writes it to `buf`, which has room for `cap` bytes, NUL-ended. `*out_needed` is how many bytes it
 * takes with its NUL, in every case. ANYHOST_E_BUFFER if that is more than `cap`: `buf` then holds ""
 * (nothing for a `cap` of 0), so (NULL, 0) asks for the size. ANYHOST_E_NULL if `out_needed` is NULL, or
 * `buf` is and `cap` is not 0. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_snapshot_json(const anyhost_snapshot *snapshot,
                              char *buf,
                              size_t cap,
                              size_t *out_needed);

/**
 * The snapshot as a table for a person: a line of headings, then one for each member with its state, for
 * how long it has been eligible or has not, weight, attempts, how long it will be left alone, and why.
 *
 * Each line ends with a line feed. Its form may change from version to version: programs read the getters or
 * anyhost_snapshot_json.
 *
 * Writes it to `buf` as anyhost_snapshot_json does. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_snapshot_text(const anyhost_snapshot *snapshot,
                              char *buf,
                              size_t cap,
                              size_t *out_needed);

/**
 * The snapshots of any number of clients as one page for Prometheus, in its text format.
 *
 * `clients` and `snapshots` lead to `count` pointers each: a name of your choice for each client, which becomes
 * the label "client", and its snapshot. Members have the labels "kind" and "member". Gauges are anyhost_member_state (1
 * for the state it is in), _weight, _max_weight, _in_flight, _cooling_seconds, _failures_in_a_row; counters
 * are anyhost_member_attempts_total, _successes_total and, by reason, _failures_total. Serve the page as
 * "text/plain; version=0.0.4".
 *
 * Writes it to `buf` as anyhost_snapshot_json does. ANYHOST_E_NULL if `clients`, `snapshots` or a pointer in
 * them is NULL. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_prometheus(const char *const *clients,
                           const anyhost_snapshot *const *snapshots,
                           size_t count,
                           char *buf,
                           size_t cap,
                           size_t *out_needed);

/**
 * Its label; NULL for NULL.
 *
 * The text lives as long as the snapshot. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_member_label(const anyhost_member *member);

/**
 * Its URL, without user info; NULL for NULL.
 *
 * The text lives as long as the snapshot. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_member_url(const anyhost_member *member);

/**
 * Why it is in its state, in words: those of anyhost_client_disable, or what broke last. "" where nothing
 * did; NULL for NULL.
 *
 * The text lives as long as the snapshot. Any thread. Since 0.1.0.
 */
ANYHOST_API
const char *anyhost_member_detail(const anyhost_member *member);

/**
 * What it is: one of ANYHOST_KIND_*; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_member_kind(const anyhost_member *member);

/**
 * Whether it may be tried: one of ANYHOST_STATE_*; -1 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_member_state(const anyhost_member *member);

/**
 * Why it is in this state, and of an eligible one why the last attempt failed: one of ANYHOST_REASON_*.
 *
 * 0 where nothing failed, and for NULL. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_member_reason(const anyhost_member *member);

/**
 * How far the attempt behind that reason got: one of ANYHOST_PHASE_*; 0 where there is none, and for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_member_phase(const anyhost_member *member);

/**
 * Its priority: lower numbers are tried first; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API uint32_t anyhost_member_priority(const anyhost_member *member);

/**
 * Its weight now; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API uint32_t anyhost_member_weight(const anyhost_member *member);

/**
 * The most that its weight can become; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API uint32_t anyhost_member_max_weight(const anyhost_member *member);

/**
 * Failures since its last good answer; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API uint32_t anyhost_member_failures_in_a_row(const anyhost_member *member);

/**
 * Attempts that are under way; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API uint32_t anyhost_member_in_flight(const anyhost_member *member);

/**
 * How long it will be left alone, in milliseconds.
 *
 * 0 where it is not, where it takes more than time, and for NULL. Any thread. Since 0.1.0.
 */
ANYHOST_API uint64_t anyhost_member_cooling_ms(const anyhost_member *member);

/**
 * How long it has been in its state, in milliseconds; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API uint64_t anyhost_member_since_ms(const anyhost_member *member);

/**
 * Attempts that have ended; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API uint64_t anyhost_member_attempts(const anyhost_member *member);

/**
 * Those of them with a good answer; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API uint64_t anyhost_member_successes(const anyhost_member *member);

/**
 * Those of them that were blamed on it; 0 for NULL.
 *
 * Any thread. Since 0.1.0.
 */
ANYHOST_API uint64_t anyhost_member_failures(const anyhost_member *member);

/**
 * What 99 of 100 recent good answers took at most, in microseconds.
 *
 * Known where the option attempt_timeout is "measured"; else 0, and for NULL. Any thread. Since 0.1.0.
 */
ANYHOST_API
uint64_t anyhost_member_latency_us(const anyhost_member *member);

/**
 * A new update, which names nobody yet.
 *
 * `*out` is yours, to be freed with anyhost_update_free. ANYHOST_E_NULL if `out` is NULL. Any thread.
 * Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_update_new(anyhost_update **out);

/**
 * Frees an update, applied or not. NULL does nothing. Since 0.1.0.
 */
ANYHOST_API void anyhost_update_free(anyhost_update *update);

/**
 * Adds an endpoint to the list, one that the client has or a new one.
 *
 * All as in anyhost_builder_add_endpoint, but for a `weight` of 0: an endpoint that the client has
 * keeps its maximum weight. The texts are copied.
 *
 * ANYHOST_E_URL for a URL that is none, ANYHOST_E_RANGE for a weight above 1000. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_update_add_endpoint(anyhost_update *update,
                                    const char *url,
                                    uint32_t weight,
                                    uint32_t priority,
                                    const char *label);

/**
 * Adds a proxy to the list, one that the client has or a new one.
 *
 * All as in anyhost_builder_add_proxy, but for a `weight` of 0: a proxy that the client has keeps its
 * maximum weight. One that stays with other credentials may be asked again if it had refused the old
 * ones. The texts are copied.
 *
 * ANYHOST_E_URL for what is no proxy, ANYHOST_E_RANGE for a weight above 1000. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_update_add_proxy(anyhost_update *update,
                                 const char *url,
                                 uint32_t weight,
                                 const char *label);

/**
 * Adds a header that every request to one endpoint of the list carries, and no request to another.
 *
 * `key` is the label of an endpoint of this list, or its base URL as it was given. Headers of an endpoint
 * are those of the list: what the client's builder gave it is not kept. The rest as
 * anyhost_builder_endpoint_header. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_update_endpoint_header(anyhost_update *update,
                                       const char *key,
                                       const char *name,
                                       const char *value,
                                       int32_t secret);

/**
 * Sets the name that the certificate of one endpoint of the list is for.
 *
 * `key` as in anyhost_update_endpoint_header; the rest as anyhost_builder_endpoint_server_name. Since
 * 0.1.0.
 */
ANYHOST_API
int32_t anyhost_update_endpoint_server_name(anyhost_update *update,
                                            const char *key,
                                            const char *name);

/**
 * A new breaker, whose circuits are all closed.
 *
 * `threshold` failures in a row open the circuit of a key; 0 = 5. It stays open for `base_ms`, doubled
 * with each further failure, up to `max_ms`; 0 = 30 s and 1 h. The first wait is that of its number of
 * failures: 480 s at the defaults. Jitter lengthens waits, never beyond `max_ms`. `*out` is yours, to be
 * freed with anyhost_breaker_free.
 *
 * ANYHOST_E_RANGE where the waits do not go together: a base above the maximum, or one too long for a
 * clock. ANYHOST_E_NULL if `out` is NULL. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_breaker_new(uint32_t threshold,
                            uint64_t base_ms,
                            uint64_t max_ms,
                            anyhost_breaker **out);

/**
 * Frees a breaker. NULL does nothing. Any thread. Since 0.1.0.
 */
ANYHOST_API void anyhost_breaker_free(anyhost_breaker *breaker);

/**
 * Whether an attempt for `key` may be made now: `*out_allowed` is 1 or 0.
 *
 * Of an open circuit one attempt in each window may be made, to see whether it is well again. Report
 * the outcome of every attempt that was allowed: one that is never reported costs a window. Where it
 * may not be made, `*out_wait_ms` is how long that lasts at least; 0 where it may. `out_wait_ms` may be
 * NULL.
 *
 * ANYHOST_OK in both cases; ANYHOST_E_NULL if another argument is NULL. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_breaker_allow(anyhost_breaker *breaker,
                              const char *key,
                              int32_t *out_allowed,
                              uint64_t *out_wait_ms);

/**
 * Counts a failure of `key`.
 *
 * `*out_backoff_ms` is how long to stay away from it, also while its circuit is still closed; it may be
 * NULL. ANYHOST_E_NULL if another argument is. Any thread. Since 0.1.0.
 */
ANYHOST_API
int32_t anyhost_breaker_record_failure(anyhost_breaker *breaker,
                                       const char *key,
                                       uint64_t *out_backoff_ms);

/**
 * Counts a success of `key`: its circuit is closed, and its failures are forgotten.
 *
 * ANYHOST_E_NULL if `breaker` or `key` is NULL. Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_breaker_record_success(anyhost_breaker *breaker, const char *key);

/**
 * How many options there are.
 *
 * Options are numbered from 0 in the order of the manual; later versions have more. Any thread. Since
 * 0.1.0.
 */
ANYHOST_API
size_t anyhost_option_count(void);

/**
 * The name of option `i`, as anyhost_builder_set takes it; NULL beyond the last.
 *
 * The text is static. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_option_name(size_t i);

/**
 * The text that stands for the default of option `i`, "" where there is none; NULL beyond the last.
 *
 * The text is static. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_option_default(size_t i);

/**
 * What option `i` means, in one line; NULL beyond the last.
 *
 * The text is static. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_option_help(size_t i);

/**
 * Who may set option `i`: 1 = a client, 3 = a client, and a request for itself; 0 beyond the last.
 *
 * The two bits are 1 for clients and 2 for requests. Any thread. Since 0.1.0.
 */
ANYHOST_API int32_t anyhost_option_scope(size_t i);

/**
 * The name of a state, in lower case and without its prefix, as "cooling".
 *
 * Never NULL: "unknown" for a number that is none. The text is static. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_state_name(int32_t state);

/**
 * The name of a phase, in lower case and without its prefix, as "connect".
 *
 * Never NULL: "unknown" for a number that is none. The text is static. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_phase_name(int32_t phase);

/**
 * The name of a reason, in lower case and without its prefix, as "refused".
 *
 * Never NULL: "unknown" for a number that is none. The text is static. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_reason_name(int32_t reason);

/**
 * The name of a delivery, in lower case and without its prefix, as "not_sent".
 *
 * Never NULL: "unknown" for a number that is none. The text is static. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_delivery_name(int32_t delivery);

/**
 * The name of an event, in lower case and without its prefix, as "attempt_started".
 *
 * Never NULL: "unknown" for a number that is none. The text is static. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_event_name(int32_t kind);

/**
 * The library's version, as "0.1.0".
 *
 * The text is static. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_version(void);

/**
 * The library's version as a number: major * 10000 + minor * 100 + patch.
 *
 * ANYHOST_VERSION_NUMBER is that of the header a program was compiled with. Any thread. Since 0.1.0.
 */
ANYHOST_API
uint32_t anyhost_version_number(void);

/**
 * The number in the name of the library, which changes when old programs cannot use it any more.
 *
 * A program that loads the library by itself compares it with ANYHOST_ABI. Any thread. Since 0.1.0.
 */
ANYHOST_API uint32_t anyhost_abi(void);

/**
 * One line on this build, for bug reports: version, ABI, system, and what was compiled in.
 *
 * The text is static; its form may change. Any thread. Since 0.1.0.
 */
ANYHOST_API const char *anyhost_build_info(void);

#ifdef __cplusplus
} /* extern "C" */
#endif /* __cplusplus */

#endif  /* ANYHOST_H */
