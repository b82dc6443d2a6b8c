/* Callbacks: on the caller's thread, under no lock, and no call from inside them. */
#include "check.h"
#include <pthread.h>

static pthread_t caller;
static anyhost_client *client;
static anyhost_request *spare;
static const char *refusing, *server;
static int failovers, started, ended, calls_ended, nested, others, freed;
static uint64_t call_ids;

static void *another_thread(void *url) {
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    (void)url;
    OK(anyhost_get(client, "/other", &answer, &err));
    anyhost_response_free(answer);
    others++;
    return NULL;
}

/* What is allowed in a callback, and what is not. */
static void from_inside(void) {
    anyhost_response *answer = (anyhost_response *)(void *)&nested;
    anyhost_client *more;
    anyhost_error *err = NULL;
    pthread_t thread;

    SAME(anyhost_get(client, "/nested", &answer, &err), ANYHOST_E_REENTRY);
    CHECK(answer == NULL);
    SAME(anyhost_error_status(err), ANYHOST_E_REENTRY);
    anyhost_error_free(err);
    SAME(anyhost_client_send(client, spare, &answer, NULL), ANYHOST_E_REENTRY);
    SAME(anyhost_post(client, "/nested", NULL, NULL, 0, &answer, NULL), ANYHOST_E_REENTRY);

    /* A second thread makes a call meanwhile: no lock is held here. */
    SAME(pthread_create(&thread, NULL, another_thread, NULL), 0);
    SAME(pthread_join(thread, NULL), 0);

    /* Reading and freeing. */
    more = anyhost_client_ref(client);
    anyhost_client_free(more);
    anyhost_request_free(spare);
    spare = NULL;
    CHECK(anyhost_option_name(0) != NULL);
    nested++;
}

static void on_event(void *user, const anyhost_event *event) {
    char line[200];
    const anyhost_attempt *attempt = anyhost_event_attempt(event);
    int32_t kind = anyhost_event_kind(event);

    CHECK(user == (void *)&caller);
    CHECK(strcmp(anyhost_event_name(kind), "unknown") != 0);
    CHECK(anyhost_event_call_id(event) > 0);
    CHECK(anyhost_event_proxy(event) == NULL);
    SAME(anyhost_event_old_state(event), -1);
    SAME(anyhost_event_new_state(event), -1);
    SAME(anyhost_event_old_weight(event), 0);
    SAME(anyhost_event_new_weight(event), 0);
    if (!pthread_equal(pthread_self(), caller)) {
        CHECK(nested == 0); /* the thread that from_inside waits for */
        return;
    }
    call_ids |= (uint64_t)1 << anyhost_event_call_id(event);
    switch (kind) {
    case ANYHOST_EVENT_ATTEMPT_STARTED:
        CHECK(attempt == NULL);
        CHECK(anyhost_event_endpoint(event) != NULL);
        PART(anyhost_event_text(event), " attempt_started at ");
        CHECK(anyhost_event_text(event) == anyhost_event_text(event));
        started++;
        break;
    case ANYHOST_EVENT_ATTEMPT_ENDED:
        CHECK(attempt != NULL);
        TEXT(anyhost_event_endpoint(event), anyhost_attempt_endpoint(attempt));
        SAME(anyhost_event_reason(event), anyhost_attempt_reason(attempt));
        SAME(anyhost_event_phase(event), anyhost_attempt_phase(attempt));
        ended++;
        break;
    case ANYHOST_EVENT_FAILOVER:
        /* Hosts and nothing else: no scheme, no user info, no label. */
        TEXT(anyhost_event_endpoint(event), strstr(server, "//") + 2);
        TEXT(anyhost_attempt_endpoint(attempt), strstr(refusing, "//") + 2);
        SAME(anyhost_event_reason(event), ANYHOST_REASON_REFUSED);
        snprintf(line, sizeof line, "%s not answering, using %s", strstr(refusing, "//") + 2,
                 strstr(server, "//") + 2);
        TEXT(anyhost_event_text(event), line);
        failovers++;
        from_inside();
        break;
    case ANYHOST_EVENT_HOLD_SET:
        TEXT(anyhost_event_endpoint(event), "second");
        SAME(anyhost_event_wait_ms(event), 1);
        break;
    case ANYHOST_EVENT_CALL_ENDED:
        TEXT(anyhost_event_endpoint(event), "second");
        calls_ended++;
        break;
    default:
        break;
    }
}

static void on_free(void *user) {
    CHECK(user == (void *)&caller);
    freed++;
}

/* A callback may let go of the last handle: the call ends first. There are two handles and two
 * attempts. */
static anyhost_client *last;

static void let_go(void *user, const anyhost_event *event) {
    (void)user;
    if (anyhost_event_kind(event) != ANYHOST_EVENT_ATTEMPT_STARTED) return;
    SAME(freed, 1);
    anyhost_client_free(last);
}

static anyhost_client *build(anyhost_event_cb callback) {
    char url[256];
    anyhost_client *built = NULL;
    anyhost_builder *builder = NULL;
    OK(anyhost_builder_new(&builder));
    snprintf(url, sizeof url, "http://user:secret@%s", strstr(refusing, "//") + 2);
    OK(anyhost_builder_add_endpoint(builder, url, 0, ANYHOST_PRIORITY_AUTO, "first"));
    OK(anyhost_builder_add_endpoint(builder, server, 0, ANYHOST_PRIORITY_AUTO, "second"));
    OK(anyhost_builder_set_int(builder, "hold_for", 1));
    OK(anyhost_builder_on_event(builder, callback, &caller, on_free));
    OK(anyhost_builder_build(builder, &built, NULL));
    anyhost_builder_free(builder);
    return built;
}

int main(int argc, char **argv) {
    anyhost_response *answer = NULL;
    int i;

    begin(argc, 2);
    refusing = argv[1], server = argv[2];
    caller = pthread_self();
    client = build(on_event);
    OK(anyhost_request_new("GET", "/spare", &spare, NULL));
    for (i = 0; i < 3; i++) {
        OK(anyhost_get(client, "/events", &answer, NULL));
        anyhost_response_free(answer);
    }
    SAME(failovers, 1);
    SAME(nested, 1);
    SAME(others, 1);
    SAME(calls_ended, 3);
    SAME(started, ended);
    CHECK(started >= 4);
    /* 1, 3, 4: the second is the other thread's. */
    SAME(call_ids, 0x1a);
    SAME(freed, 0);
    anyhost_client_free(client);
    SAME(freed, 1);

    last = build(let_go);
    OK(anyhost_get(anyhost_client_ref(last), "/events", &answer, NULL));
    BODY(answer, "GET /events ");
    anyhost_response_free(answer);
    SAME(freed, 2);
    return passed();
}
