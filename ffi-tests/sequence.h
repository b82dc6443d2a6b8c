/* A sequence of calls, made of bytes: whatever the order, nothing is read after it was freed, nothing is
 * lost, and every status is one of the list. `fuzz.c` replays files and seeds; the fuzz target `sequence`
 * makes bytes of its own.
 *
 * Each byte picks a function, the next ones its arguments: handles from a small table, which may be empty
 * (NULL), and texts and numbers from lists of good, bad and odd ones. The program keeps account of what it
 * owns: it frees that once, and a borrowed pointer is used only while its owner lives. */
#ifndef SEQUENCE_H
#define SEQUENCE_H

#include "check.h"

enum { SLOTS = 3 };

static const uint8_t *next_byte, *end;
static const char *server, *refusing;
static int callbacks, user_marks;
static unsigned long calls;

static unsigned take(unsigned below) {
    return next_byte == end ? 0 : *next_byte++ % below;
}

/* What a sequence owns. */
static anyhost_builder *builders[SLOTS];
static anyhost_client *clients[SLOTS];
static anyhost_request *requests[SLOTS];
static anyhost_response *responses[SLOTS];
static anyhost_error *errors[SLOTS];
static anyhost_cancel *cancels[SLOTS];
static anyhost_update *updates[SLOTS];
static anyhost_snapshot *snapshots[SLOTS];
static anyhost_breaker *breakers[SLOTS];

/* The first is the likeliest: it is there from the beginning. */
#define PICK(table) ((table)[take(2 * SLOTS) / 2 * take(2)])

static const char *text(void) {
    static const char *const texts[] = {
        NULL, "", "/", "GET", "POST", "deadline", "50ms", "off", "X-Name", "value", "\xff\xfe", "a\r\nb",
        "Content-Length", "breaker", "on", "resend", "any", "attempt_timeout", "one", "base_urls",
        "selection", "weighted", "max_body", "3", "agoda", "stall_timeout", "connect_timeout", "200ms,1s",
        "/reset", "/cut", "/503", "/echo?q=1", "redirects", "0", "%", "Host", "require_success", "5xx",
        "error_statuses", "try_nearest", "when_none_eligible", "max_attempts", "seed", "1", "HEAD", "PUT",
    };
    unsigned which = take(sizeof texts / sizeof texts[0] + 2);
    if (which == 0) return server;
    if (which == 1) return refusing;
    return texts[which - 2];
}

static int64_t number(void) {
    static const int64_t numbers[] = { 0, 1, 2, 50, 100, 1000, 1001, -1, 65536, INT32_MAX, INT32_MIN,
                                       UINT32_MAX, INT64_MAX, INT64_MIN };
    return numbers[take(sizeof numbers / sizeof numbers[0])];
}

/* Bytes that are there, of a length that fits. */
static const void *bytes(size_t *len) {
    static const char data[64] = "0123456789";
    unsigned which = take(4);
    *len = which == 0 ? 0 : which == 1 ? 3 : sizeof data;
    return which == 0 ? NULL : data;
}

static void known(int32_t status) {
    calls++;
    CHECK(strcmp(anyhost_status_name(status), "unknown") != 0);
    CHECK(status != ANYHOST_E_PANIC && status != ANYHOST_E_BROKEN && status != ANYHOST_E_INTERNAL);
}

/* Keeps what was handed out, in the place of what is freed for it. */
#define KEEP(table, free_it, made) \
    do { \
        unsigned place = take(SLOTS); \
        (free_it)((table)[place]); \
        (table)[place] = (made); \
    } while (0)

static void touch(const anyhost_attempt *attempt) {
    char sink[64];
    if (attempt == NULL) return;
    snprintf(sink, sizeof sink, "%s%s%u%d%d", anyhost_attempt_endpoint(attempt),
             anyhost_attempt_message(attempt), (unsigned)anyhost_attempt_number(attempt),
             (int)anyhost_attempt_phase(attempt), (int)anyhost_attempt_is_hop(attempt));
}

static void failed(int32_t status, anyhost_error *err) {
    char json[4096];
    size_t needed = 0;
    known(status);
    if (status == ANYHOST_OK) {
        CHECK(err == NULL);
        return;
    }
    SAME(anyhost_error_status(err), status);
    CHECK(strlen(anyhost_error_message(err)) > 0);
    known(anyhost_error_json(err, json, take(2) * sizeof json, &needed));
    known(anyhost_error_explain(err, json, take(2) * sizeof json, &needed));
    touch(anyhost_error_attempt(err, 0));
    KEEP(errors, anyhost_error_free, err);
}

/* A call with an error beside its status. */
#define CALL(call) \
    do { \
        int32_t got = (call); \
        failed(got, err); \
    } while (0)

/* Callbacks that reach back into whatever there is. */
static void reach(void) {
    anyhost_snapshot *now = NULL;
    anyhost_response *nested = NULL;
    callbacks++;
    if (callbacks % 3 == 0 && clients[0] != NULL) {
        known(anyhost_client_snapshot(clients[0], &now));
        anyhost_snapshot_free(now);
        SAME(anyhost_get(clients[0], "/", &nested, NULL), ANYHOST_E_REENTRY);
    }
    if (callbacks % 5 == 0) anyhost_cancel_trigger(cancels[0]);
    if (callbacks % 7 == 0) known(anyhost_request_set_header(requests[0], "X-In", "callback"));
}

static void on_event(void *user, const anyhost_event *event) {
    CHECK(user == &user_marks);
    touch(anyhost_event_attempt(event));
    reach();
}

static int32_t on_judge(void *user, const anyhost_response *answer) {
    const uint8_t *body;
    size_t len;
    CHECK(user == &user_marks);
    if (callbacks % 2 == 0) known(anyhost_response_body(answer, &body, &len, NULL));
    reach();
    return callbacks % 6 - 1;
}

static int32_t on_retry(void *user, const anyhost_attempt *last) {
    CHECK(user == &user_marks);
    touch(last);
    reach();
    return callbacks % 4 - 1;
}

static int32_t on_read(void *user, uint8_t *buf, size_t cap, size_t *out_n) {
    CHECK(user == &user_marks);
    reach();
    *out_n = cap > 2 ? 2 : cap;
    memset(buf, 'r', *out_n);
    if (callbacks % 4 == 0) *out_n = 0;
    if (callbacks % 31 == 0) *out_n = cap + 1;
    return callbacks % 37 == 0;
}

static int32_t on_rewind(void *user) {
    CHECK(user == &user_marks);
    return callbacks++ % 11 == 0;
}

static void on_free(void *user) {
    CHECK(user == &user_marks);
    user_marks--;
}

/* `user` of a callback, which has to come back exactly once. */
static void *mark(void) {
    user_marks++;
    return &user_marks;
}

static void build(unsigned which) {
    anyhost_builder *builder = PICK(builders);
    anyhost_client *client = NULL;
    anyhost_error *err = NULL;
    const char *a, *b;
    size_t len;
    const void *data;
    switch (which) {
    case 0:
        builder = NULL;
        known(anyhost_builder_new(&builder));
        KEEP(builders, anyhost_builder_free, builder);
        break;
    case 1: a = text(), b = text(); known(anyhost_builder_set(builder, a, b)); break;
    case 2: a = text(); known(anyhost_builder_set_int(builder, a, number())); break;
    case 3: known(anyhost_builder_preset(builder, text())); break;
    case 4:
        a = text(), b = text();
        known(anyhost_builder_add_endpoint(builder, a, (uint32_t)number(), (uint32_t)number(), b));
        break;
    case 5: a = text(), b = text(); known(anyhost_builder_add_header(builder, a, b, (int32_t)number())); break;
    case 6: a = text(), b = text(); known(anyhost_builder_endpoint_header(builder, a, b, text(), 1)); break;
    case 7: a = text(); known(anyhost_builder_endpoint_server_name(builder, a, text())); break;
    case 8: data = bytes(&len); known(anyhost_builder_add_root_pem(builder, data, len)); break;
    case 9: data = bytes(&len); known(anyhost_builder_set_client_cert_pem(builder, data, len, data, len)); break;
    case 10: known(anyhost_builder_on_event(builder, take(4) ? on_event : NULL, mark(), on_free)); break;
    case 11: known(anyhost_builder_on_judge(builder, take(4) ? on_judge : NULL, mark(), on_free)); break;
    case 12: known(anyhost_builder_on_retry(builder, take(4) ? on_retry : NULL, mark(), on_free)); break;
    case 13:
        CALL(anyhost_builder_build(builder, &client, &err));
        KEEP(clients, anyhost_client_free, client);
        break;
    case 14:
        CALL(anyhost_open(text(), &client, &err));
        KEEP(clients, anyhost_client_free, client);
        break;
    default:
        known(anyhost_builder_set(builder, "base_urls", server));
        break;
    }
}

static void ask(unsigned which) {
    anyhost_request *request = PICK(requests);
    anyhost_client *client = PICK(clients);
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    const char *a, *b;
    size_t len;
    const void *data;
    switch (which) {
    case 0:
        a = text(), request = NULL;
        CALL(anyhost_request_new(a, text(), &request, &err));
        KEEP(requests, anyhost_request_free, request);
        break;
    case 1: a = text(); known(anyhost_request_set_header(request, a, text())); break;
    case 2: a = text(); known(anyhost_request_add_header(request, a, text())); break;
    case 3: data = bytes(&len); known(anyhost_request_add_header_n(request, data, len, data, len)); break;
    case 4: data = bytes(&len); known(anyhost_request_set_body(request, data, len)); break;
    case 5:
        data = bytes(&len);
        known(anyhost_request_set_body_borrowed(request, data, len, mark(), on_free));
        break;
    case 6:
        known(anyhost_request_set_body_reader(request, take(5) ? on_read : NULL, take(2) ? on_rewind : NULL,
                                              mark(), on_free, take(3) - 1));
        break;
    case 7: a = text(); known(anyhost_request_set(request, a, text())); break;
    case 8: a = text(); known(anyhost_request_set_int(request, a, number())); break;
    case 9: known(anyhost_request_set_cancel(request, PICK(cancels))); break;
    case 10:
        CALL(anyhost_client_send(client, request, &answer, &err));
        KEEP(responses, anyhost_response_free, answer);
        break;
    case 11:
        CALL(anyhost_client_stream(client, request, &answer, &err));
        KEEP(responses, anyhost_response_free, answer);
        break;
    case 12:
        CALL(anyhost_client_probe(client, text(), request, &answer, &err));
        KEEP(responses, anyhost_response_free, answer);
        break;
    case 13:
        CALL(anyhost_get(client, text(), &answer, &err));
        KEEP(responses, anyhost_response_free, answer);
        break;
    case 14:
        data = bytes(&len), b = text();
        CALL(anyhost_post(client, text(), b, data, len, &answer, &err));
        KEEP(responses, anyhost_response_free, answer);
        break;
    default:
        CALL(anyhost_client_send(client, request, &answer, &err));
        KEEP(responses, anyhost_response_free, answer);
        break;
    }
}

static void read_answer(unsigned which) {
    anyhost_response *answer = PICK(responses);
    anyhost_error *err = NULL;
    const char *name, *value;
    const uint8_t *body = NULL;
    char buf[100];
    size_t n = 0, i;
    switch (which) {
    case 0:
        CALL(anyhost_response_body(answer, &body, &n, &err));
        if (body != NULL) CHECK(body[n] == 0);
        break;
    case 1: CALL(anyhost_response_read(answer, buf, take(sizeof buf), &n, &err)); break;
    case 2:
        for (i = 0; i < anyhost_response_header_count(answer); i++) {
            OK(anyhost_response_header_at(answer, i, &name, &value, &n));
            CHECK(strlen(name) > 0 && strlen(value) == n);
        }
        break;
    case 3: (void)anyhost_response_header(answer, text(), take(3), &n); break;
    case 4: touch(anyhost_response_attempt(answer, take(3))); break;
    default:
        (void)anyhost_response_status(answer);
        (void)anyhost_response_content_length(answer);
        if (answer != NULL) CHECK(strlen(anyhost_response_url(answer)) > 0);
        break;
    }
}

static void manage(unsigned which) {
    anyhost_client *client = PICK(clients), *more;
    anyhost_update *update = PICK(updates);
    anyhost_snapshot *snapshot = PICK(snapshots);
    anyhost_cancel *cancel;
    anyhost_breaker *breaker = PICK(breakers);
    anyhost_error *err = NULL;
    const anyhost_member *member;
    const anyhost_snapshot *shown;
    const char *name;
    char json[8192];
    size_t needed;
    int32_t allowed;
    uint64_t wait;
    const char *a;
    switch (which) {
    case 0: more = anyhost_client_ref(client); CHECK(more == client); anyhost_client_free(more); break;
    case 1: if (take(8) == 0) known(anyhost_client_shutdown(client)); break;
    case 2: known(anyhost_client_drop_idle(client)); break;
    case 3: a = text(); known(anyhost_client_set_weight(client, a, (uint32_t)number())); break;
    case 4: a = text(); known(anyhost_client_disable(client, a, text())); break;
    case 5: known(anyhost_client_enable(client, text())); break;
    case 6:
        snapshot = NULL;
        known(anyhost_client_snapshot(client, &snapshot));
        KEEP(snapshots, anyhost_snapshot_free, snapshot);
        break;
    case 7:
        member = take(2) ? anyhost_snapshot_at(snapshot, take(3)) : anyhost_snapshot_find(snapshot, text());
        if (member != NULL) {
            CHECK(strlen(anyhost_member_label(member)) > 0 && strlen(anyhost_member_url(member)) > 0);
            CHECK(anyhost_member_detail(member) != NULL && anyhost_member_state(member) >= 0);
        }
        known(anyhost_snapshot_json(snapshot, json, take(2) * sizeof json, &needed));
        known(anyhost_snapshot_text(snapshot, json, take(2) * sizeof json, &needed));
        name = text();
        shown = snapshot;
        known(anyhost_prometheus(&name, &shown, take(2), json, take(2) * sizeof json, &needed));
        break;
    case 8:
        update = NULL;
        known(anyhost_update_new(&update));
        KEEP(updates, anyhost_update_free, update);
        break;
    case 9:
        a = text();
        known(anyhost_update_add_endpoint(update, take(2) ? server : a, (uint32_t)number(), 0, text()));
        break;
    case 10: a = text(); known(anyhost_update_endpoint_header(update, a, "X-A", text(), 0)); break;
    case 11: CALL(anyhost_client_apply(client, update, &err)); break;
    case 12:
        cancel = NULL;
        known(anyhost_cancel_new(&cancel));
        KEEP(cancels, anyhost_cancel_free, cancel);
        break;
    case 13: if (take(4) == 0) anyhost_cancel_trigger(PICK(cancels)); break;
    case 14:
        breaker = NULL;
        known(anyhost_breaker_new((uint32_t)number(), (uint64_t)number(), (uint64_t)number(), &breaker));
        KEEP(breakers, anyhost_breaker_free, breaker);
        break;
    default:
        a = text();
        known(anyhost_breaker_record_failure(breaker, a, &wait));
        known(anyhost_breaker_allow(breaker, a, &allowed, take(2) ? &wait : NULL));
        if (take(2)) known(anyhost_breaker_record_success(breaker, a));
        break;
    }
}

static void let_go(unsigned place) {
    anyhost_builder_free(builders[place]), builders[place] = NULL;
    anyhost_client_free(clients[place]), clients[place] = NULL;
    anyhost_request_free(requests[place]), requests[place] = NULL;
    anyhost_response_free(responses[place]), responses[place] = NULL;
    anyhost_error_free(errors[place]), errors[place] = NULL;
    anyhost_cancel_free(cancels[place]), cancels[place] = NULL;
    anyhost_update_free(updates[place]), updates[place] = NULL;
    anyhost_snapshot_free(snapshots[place]), snapshots[place] = NULL;
    anyhost_breaker_free(breakers[place]), breakers[place] = NULL;
}

/* What is there from the beginning, in the first places, so that sequences come to calls. */
static void begin_with(void) {
    char other[256];
    anyhost_builder *builder = NULL;
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_add_endpoint(builder, take(4) ? server : refusing, 0, 0, "one"));
    snprintf(other, sizeof other, "%s/two", take(4) ? server : refusing);
    OK(anyhost_builder_add_endpoint(builder, other, 0, 1, "two"));
    OK(anyhost_builder_set(builder, "deadline", "300ms"));
    if (take(2)) OK(anyhost_builder_on_event(builder, on_event, mark(), on_free));
    if (take(2)) OK(anyhost_builder_on_judge(builder, on_judge, mark(), on_free));
    if (take(2)) OK(anyhost_builder_on_retry(builder, on_retry, mark(), on_free));
    if (take(2)) OK(anyhost_builder_preset(builder, "resilient"));
    OK(anyhost_builder_build(builder, &clients[0], NULL));
    anyhost_builder_free(builder);
    OK(anyhost_request_new(take(2) ? "GET" : "PUT", take(2) ? "/echo" : "/cut", &requests[0], NULL));
    OK(anyhost_cancel_new(&cancels[0]));
    OK(anyhost_builder_new(&builders[0]));
    OK(anyhost_update_new(&updates[0]));
    OK(anyhost_client_snapshot(clients[0], &snapshots[0]));
    OK(anyhost_breaker_new(2, 0, 0, &breakers[0]));
}

static void sequence(const uint8_t *data, size_t len) {
    unsigned i;
    next_byte = data, end = data + len;
    callbacks = 0;
    begin_with();
    while (next_byte != end) {
        unsigned which = take(64);
        switch (which / 16) {
        case 0: build(which % 16); break;
        case 1: ask(which % 16); break;
        case 2: if (which % 16 == 15) let_go(take(SLOTS)); else read_answer(which % 8); break;
        default: manage(which % 16); break;
        }
    }
    for (i = 0; i < SLOTS; i++) let_go(i);
    /* Every `user` came back. */
    SAME(user_marks, 0);
}

#endif
