/* What judge and retry callbacks may say, and what they may do meanwhile. */
#include "check.h"
#include <pthread.h>

static pthread_t caller;
static anyhost_client *client;
static int32_t verdict, advice;
static int judged, advised, freed, streamed;

static int32_t on_judge(void *user, const anyhost_response *answer) {
    const uint8_t *body = NULL, *again = NULL;
    size_t len = 7;
    anyhost_error *err = NULL;
    anyhost_response *nested = NULL;
    anyhost_snapshot *now = NULL;

    SAME(*(int *)user, 7);
    CHECK(pthread_equal(pthread_self(), caller));
    CHECK(anyhost_response_header(answer, "X-Here", 0, NULL) != NULL);
    /* Its own attempt is not over. */
    SAME(anyhost_response_attempt_count(answer), judged);
    if (streamed) {
        SAME(anyhost_response_content_length(answer), -1);
        SAME(anyhost_response_body(answer, &body, &len, &err), ANYHOST_E_STATE);
        CHECK(body == NULL && len == 0);
        anyhost_error_free(err);
    } else {
        OK(anyhost_response_body(answer, &body, &len, &err));
        OK(anyhost_response_body(answer, &again, &len, &err));
        CHECK(body == again);
        SAME(len, 4);
        TEXT((const char *)body, "body");
    }
    /* It is lent: freeing it does nothing. */
    anyhost_response_free((anyhost_response *)answer);
    SAME(anyhost_get(client, "/nested", &nested, NULL), ANYHOST_E_REENTRY);
    OK(anyhost_client_snapshot(client, &now));
    SAME(anyhost_member_in_flight(anyhost_snapshot_find(now, anyhost_response_endpoint(answer))), 1);
    anyhost_snapshot_free(now);
    judged++;
    return judged == 1 ? verdict : ANYHOST_VERDICT_DEFAULT;
}

static int32_t on_retry(void *user, const anyhost_attempt *last) {
    SAME(*(int *)user, 7);
    CHECK(pthread_equal(pthread_self(), caller));
    SAME(anyhost_attempt_number(last), advised + 1);
    CHECK(strlen(anyhost_attempt_endpoint(last)) > 0);
    advised++;
    return advice;
}

static void on_free(void *user) {
    SAME(*(int *)user, 7);
    freed++;
}

/* How many attempts the call makes, and what it ends with. */
static int32_t ask(const char *method, const char *path, int32_t says, int32_t advises, int stream,
                   size_t attempts) {
    anyhost_request *request = NULL;
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    int32_t status;
    judged = advised = 0;
    verdict = says, advice = advises, streamed = stream;
    OK(anyhost_request_new(method, path, &request, NULL));
    status = stream ? anyhost_client_stream(client, request, &answer, &err)
                    : anyhost_client_send(client, request, &answer, &err);
    anyhost_request_free(request);
    if (status == ANYHOST_OK) {
        SAME(anyhost_response_attempt_count(answer), attempts);
        BODY(answer, "body");
    } else {
        const uint8_t *body;
        size_t len;
        SAME(anyhost_error_attempt_count(err), attempts);
        SAME(anyhost_error_reason(err), ANYHOST_REASON_PREDICATE);
        OK(anyhost_error_body(err, &body, &len));
        TEXT((const char *)body, "body");
    }
    anyhost_error_free(err);
    anyhost_response_free(answer);
    return status;
}

int main(int argc, char **argv) {
    static int seven = 7;
    const char *urls;
    anyhost_builder *builder = NULL;
    int stream;

    begin(argc, 1);
    caller = pthread_self();
    urls = argv[1];
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_set(builder, "base_urls", urls));
    OK(anyhost_builder_set(builder, "hold_for", "0"));
    OK(anyhost_builder_on_judge(builder, on_judge, &seven, on_free));
    OK(anyhost_builder_on_judge(builder, on_judge, &seven, on_free));
    SAME(freed, 1);
    OK(anyhost_builder_on_retry(builder, on_retry, &seven, on_free));
    SAME(anyhost_builder_on_retry(NULL, on_retry, &seven, on_free), ANYHOST_E_NULL);
    SAME(freed, 2);
    OK(anyhost_builder_build(builder, &client, NULL));
    SAME(anyhost_builder_on_judge(builder, on_judge, &seven, on_free), ANYHOST_E_STATE);
    SAME(freed, 3);
    anyhost_builder_free(builder);

    for (stream = 0; stream < 2; stream++) {
        OK(ask("GET", "/200", ANYHOST_VERDICT_DEFAULT, 0, stream, 1));
        OK(ask("GET", "/200", ANYHOST_VERDICT_ACCEPT, 0, stream, 1));
        OK(ask("GET", "/503", ANYHOST_VERDICT_ACCEPT, 0, stream, 1));
        OK(ask("GET", "/503", ANYHOST_VERDICT_DEFAULT, 0, stream, 2));
        /* The endpoint's fault is had elsewhere, by what may go out again. */
        OK(ask("GET", "/200", ANYHOST_VERDICT_FAULT, 0, stream, 2));
        SAME(ask("POST", "/200", ANYHOST_VERDICT_FAULT, 0, stream, 1), ANYHOST_E_REJECTED);
        /* The caller's own is not. */
        SAME(ask("GET", "/200", ANYHOST_VERDICT_CALLER, 0, stream, 1), ANYHOST_E_REJECTED);
        OK(ask("GET", "/200", 99, 0, stream, 1));
        OK(ask("GET", "/200", -1, 99, stream, 1));
        OK(ask("GET", "/200", INT32_MIN, INT32_MAX, stream, 1));
        /* "Again" moves on where the client would stop, but never with a write. */
        OK(ask("GET", "/500", 0, ANYHOST_RETRY_DEFAULT, stream, 1));
        OK(ask("GET", "/500", 0, ANYHOST_RETRY_AGAIN, stream, 2));
        OK(ask("POST", "/500", 0, ANYHOST_RETRY_AGAIN, stream, 1));
        OK(ask("GET", "/500", 0, 99, stream, 1));
        OK(ask("GET", "/503", 0, ANYHOST_RETRY_STOP, stream, 1));
    }
    SAME(freed, 3);
    anyhost_client_free(client);
    SAME(freed, 5);
    return passed();
}
