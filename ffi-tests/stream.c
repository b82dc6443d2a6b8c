/* Answers handed out at their head: read in pieces and whole, to the end, to a break, and not at all. */
#include "check.h"

enum { SIZE = 1 << 20 };

static anyhost_client *client;
static char whole[SIZE];

static anyhost_response *stream(const char *path, const char *option, const char *value) {
    anyhost_request *request = NULL;
    anyhost_response *answer = NULL;
    OK(anyhost_request_new("GET", path, &request, NULL));
    if (option != NULL) OK(anyhost_request_set(request, option, value));
    OK(anyhost_client_stream(client, request, &answer, NULL));
    anyhost_request_free(request);
    SAME(anyhost_response_status(answer), 200);
    SAME(anyhost_response_attempt_count(answer), 1);
    return answer;
}

/* Reads in pieces of at most `cap`, to the end or to the first failure. */
static int32_t drain(anyhost_response *answer, size_t cap, size_t *read, anyhost_error **err) {
    static char buf[65536];
    size_t n = 1;
    *read = 0;
    while (n > 0) {
        int32_t status = anyhost_response_read(answer, buf, cap, &n, err);
        if (status != ANYHOST_OK) {
            SAME(n, 0);
            return status;
        }
        CHECK(n <= cap && *read + n <= SIZE);
        CHECK(memcmp(buf, whole + *read, n) == 0);
        *read += n;
    }
    return ANYHOST_OK;
}

static void in_pieces(const char *path, size_t cap) {
    anyhost_response *answer = stream(path, NULL, NULL);
    anyhost_error *err = NULL;
    const uint8_t *body = (const uint8_t *)whole;
    size_t read, len = 7;
    OK(drain(answer, cap, &read, &err));
    SAME(read, SIZE);
    /* The end is the end, and what was let go is gone. */
    OK(drain(answer, cap, &read, &err));
    SAME(read, 0);
    SAME(anyhost_response_body(answer, &body, &len, &err), ANYHOST_E_STATE);
    CHECK(body == NULL && len == 0);
    anyhost_error_free(err);
    anyhost_response_free(answer);
}

static void at_once(void) {
    anyhost_response *answer = stream("/length", NULL, NULL);
    anyhost_error *err = NULL;
    const uint8_t *body = NULL, *again = NULL;
    size_t len = 0, read;
    SAME(anyhost_response_content_length(answer), SIZE);
    OK(anyhost_response_body(answer, &body, &len, &err));
    OK(anyhost_response_body(answer, &again, &len, &err));
    CHECK(body == again);
    SAME(len, SIZE);
    SAME(body[SIZE], 0);
    CHECK(memcmp(body, whole, SIZE) == 0);
    OK(drain(answer, 1000, &read, &err));
    SAME(read, SIZE);
    anyhost_response_free(answer);
    answer = stream("/chunks", NULL, NULL);
    SAME(anyhost_response_content_length(answer), -1);
    anyhost_response_free(answer);
    answer = stream("/empty", NULL, NULL);
    OK(anyhost_response_body(answer, &body, &len, &err));
    SAME(len, 0);
    SAME(body[0], 0);
    anyhost_response_free(answer);
}

/* A body that is too large can still be read in pieces; none of it is lost. */
static void too_large(const char *path) {
    anyhost_response *answer = stream(path, "max_body", "5000");
    anyhost_error *err = NULL;
    const uint8_t *body;
    size_t len, read;
    int i;
    for (i = 0; i < 2; i++) {
        SAME(anyhost_response_body(answer, &body, &len, &err), ANYHOST_E_TOO_LARGE);
        SAME(anyhost_error_attempt_count(err), 1);
        SAME(anyhost_error_http_status(err), 200);
        anyhost_error_free(err);
        err = NULL;
    }
    OK(drain(answer, 777, &read, &err));
    SAME(read, SIZE);
    anyhost_response_free(answer);
}

/* What breaks off is never an end, however it is read and however often. */
static void broken(void) {
    anyhost_response *answer = stream("/cut", NULL, NULL);
    anyhost_error *err = NULL;
    const uint8_t *body;
    size_t len, read;
    int i;
    SAME(drain(answer, 3, &read, &err), ANYHOST_E_BODY);
    SAME(read, 4);
    SAME(anyhost_error_reason(err), ANYHOST_REASON_TRUNCATED);
    SAME(anyhost_error_phase(err), ANYHOST_PHASE_BODY);
    SAME(anyhost_error_delivery(err), ANYHOST_DELIVERY_ANSWERED);
    anyhost_error_free(err);
    SAME(drain(answer, 3, &read, NULL), ANYHOST_E_BODY);
    anyhost_response_free(answer);

    answer = stream("/cut", NULL, NULL);
    for (i = 0; i < 2; i++) SAME(anyhost_response_body(answer, &body, &len, NULL), ANYHOST_E_BODY);
    SAME(drain(answer, 3, &read, NULL), ANYHOST_E_BODY);
    SAME(read, 4);
    anyhost_response_free(answer);
}

static void cancelled(void) {
    anyhost_cancel *cancel = NULL;
    anyhost_request *request = NULL;
    anyhost_response *answer = NULL;
    size_t read;
    OK(anyhost_cancel_new(&cancel));
    OK(anyhost_request_new("GET", "/endless", &request, NULL));
    OK(anyhost_request_set_cancel(request, cancel));
    OK(anyhost_client_stream(client, request, &answer, NULL));
    anyhost_request_free(request);
    SAME(anyhost_cancel_is_triggered(cancel), 0);
    anyhost_cancel_trigger(cancel);
    SAME(anyhost_cancel_is_triggered(cancel), 1);
    anyhost_cancel_free(cancel);
    SAME(drain(answer, 3, &read, NULL), ANYHOST_E_CANCELLED);
    anyhost_response_free(answer);
}

/* It outlives its client, and may be dropped unread. */
static void outlives(const char *url) {
    anyhost_client *other = NULL;
    anyhost_request *request = NULL;
    anyhost_response *answer = NULL, *unread = NULL;
    size_t read;
    OK(anyhost_open(url, &other, NULL));
    OK(anyhost_request_new("GET", "/length", &request, NULL));
    OK(anyhost_client_stream(other, request, &answer, NULL));
    OK(anyhost_client_stream(other, request, &unread, NULL));
    anyhost_request_free(request);
    anyhost_client_free(other);
    anyhost_response_free(unread);
    OK(drain(answer, 4096, &read, NULL));
    SAME(read, SIZE);
    anyhost_response_free(answer);
}

/* One answer's body is another request's body. */
static int32_t pass_on(void *user, uint8_t *buf, size_t cap, size_t *out_n) {
    return anyhost_response_read(user, buf, cap, out_n, NULL);
}

static void passed_on(void) {
    anyhost_response *from = stream("/length", NULL, NULL), *to = NULL;
    anyhost_request *request = NULL;
    OK(anyhost_request_new("PUT", "/copy", &request, NULL));
    OK(anyhost_request_set_body_reader(request, pass_on, NULL, from, NULL, SIZE));
    OK(anyhost_client_send(client, request, &to, NULL));
    BODY(to, "1048576");
    anyhost_request_free(request);
    anyhost_response_free(to);
    anyhost_response_free(from);
}

int main(int argc, char **argv) {
    size_t i;
    begin(argc, 1);
    for (i = 0; i < SIZE; i++) whole[i] = (char)(i % 251);
    OK(anyhost_open(argv[1], &client, NULL));
    in_pieces("/length", 1000);
    in_pieces("/chunks", 65536);
    in_pieces("/close", 4093);
    at_once();
    too_large("/length");
    too_large("/chunks");
    broken();
    cancelled();
    outlives(argv[1]);
    passed_on();
    anyhost_client_free(client);
    return passed();
}
