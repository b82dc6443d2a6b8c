/* What C callers reported: bytes that end a text for C and not for HTTP, and callbacks that give up. */
#include "check.h"

static anyhost_client *client_of(const char *urls) {
    anyhost_builder *builder = NULL;
    anyhost_client *client = NULL;
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_set(builder, "base_urls", urls));
    OK(anyhost_builder_set(builder, "breaker", "on"));
    OK(anyhost_builder_set_int(builder, "breaker_threshold", 1));
    OK(anyhost_builder_build(builder, &client, NULL));
    anyhost_builder_free(builder);
    return client;
}

static anyhost_request *request_of(const char *method, const char *path) {
    anyhost_request *request = NULL;
    OK(anyhost_request_new(method, path, &request, NULL));
    return request;
}

/* F156: NUL in bodies both ways, in a field sent and received, and in what an error is told from. */
static void nul_bytes(const char *url) {
    anyhost_client *client = client_of(url);
    anyhost_request *request = request_of("GET", "/");
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    const uint8_t *body = NULL;
    size_t len = 0;

    OK(anyhost_post(client, "/echo", NULL, "\0a\0b\0", 5, &answer, &err));
    OK(anyhost_response_body(answer, &body, &len, &err));
    SAME(len, 5);
    SAME(memcmp(body, "\0a\0b\0", 5), 0);
    anyhost_response_free(answer);

    SAME(anyhost_request_add_header_n(request, "X", 1, "a\0b", 3), ANYHOST_E_ARGUMENT);
    SAME(anyhost_request_add_header_n(request, "X\0Y", 3, "a", 1), ANYHOST_E_ARGUMENT);
    anyhost_request_free(request);

    /* RFC 9110, 5.5: such a field is no field. */
    SAME(anyhost_get(client, "/field", &answer, &err), ANYHOST_E_ATTEMPTS_SPENT);
    SAME(anyhost_error_reason(err), ANYHOST_REASON_PROTOCOL);
    CHECK(answer == NULL && strlen(anyhost_error_message(err)) > 10);
    anyhost_error_free(err);
    anyhost_client_free(client);
}

static int32_t stops(void *user, uint64_t sent, uint64_t received, int64_t total) {
    (void)user, (void)sent, (void)total;
    return received > 10 * 1024;
}

/* Data, then the end; or a refusal, where `user` says so. */
static int32_t reads(void *user, uint8_t *buf, size_t cap, size_t *out_n) {
    int *steps = user;
    CHECK(cap >= 3);
    *out_n = *steps > 0 ? 3 : 0;
    memcpy(buf, "abc", *out_n);
    return (*steps)-- == -7;
}

/* F160: a callback can go on, end the body, refuse, and end the call; none of it is a host's fault. */
static void callbacks(const char *first, const char *second) {
    char urls[512];
    anyhost_client *client;
    anyhost_request *request = request_of("GET", "/slow");
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    anyhost_snapshot *snapshot = NULL;
    int data_and_end = 2, refuses = -7;

    snprintf(urls, sizeof urls, "%s,%s", first, second);
    client = client_of(urls);
    OK(anyhost_request_set_progress(request, stops, NULL, 5));
    SAME(anyhost_client_send(client, request, &answer, &err), ANYHOST_E_CANCELLED);
    SAME(anyhost_error_attempt_count(err), 1);
    anyhost_error_free(err);
    anyhost_request_free(request);

    request = request_of("PUT", "/refused");
    OK(anyhost_request_set_body_reader(request, reads, NULL, &refuses, NULL, -1));
    SAME(anyhost_client_send(client, request, &answer, &err), ANYHOST_E_BODY_SOURCE);
    SAME(anyhost_error_attempt_count(err), 1);
    anyhost_error_free(err);
    anyhost_request_free(request);

    /* One failure would have opened the circuit. */
    OK(anyhost_client_snapshot(client, &snapshot));
    SAME(anyhost_member_state(anyhost_snapshot_find(snapshot, first)), ANYHOST_STATE_ELIGIBLE);
    anyhost_snapshot_free(snapshot);
    request = request_of("PUT", "/echo");
    OK(anyhost_request_set_body_reader(request, reads, NULL, &data_and_end, NULL, -1));
    OK(anyhost_client_send(client, request, &answer, &err));
    BODY(answer, "abcabc");
    TEXT(anyhost_response_endpoint(answer), first);
    anyhost_response_free(answer);
    anyhost_request_free(request);
    anyhost_client_free(client);
}

int main(int argc, char **argv) {
    begin(argc, 2);
    nul_bytes(argv[1]);
    callbacks(argv[1], argv[2]);
    return passed();
}
