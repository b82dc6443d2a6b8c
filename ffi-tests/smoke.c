/* The shortest use, from opening to freeing: every method, over a first host that refuses. */
#include "check.h"

static void expect(anyhost_response *answer, const char *body) {
    SAME(anyhost_response_status(answer), 200);
    BODY(answer, body);
    anyhost_response_free(answer);
}

/* The shortest way to a client; where everything takes its time, one that does as well. */
static anyhost_client *opened(const char *urls, int patient) {
    anyhost_builder *builder = NULL;
    anyhost_client *client = NULL;
    anyhost_error *err = NULL;
    if (!patient) {
        OK(anyhost_open(urls, &client, &err));
    } else {
        OK(anyhost_builder_new(&builder));
        OK(anyhost_builder_set(builder, "base_urls", urls));
        OK(anyhost_builder_set(builder, "connect_timeout", "30s"));
        OK(anyhost_builder_set(builder, "attempt_timeout", "30s"));
        OK(anyhost_builder_build(builder, &client, &err));
        anyhost_builder_free(builder);
    }
    CHECK(client != NULL && err == NULL);
    return client;
}

/* Two URLs, and anything more to be patient. */
int main(int argc, char **argv) {
    char urls[256];
    anyhost_client *client = NULL;
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    const anyhost_attempt *attempt;
    const char *name, *value;
    size_t len, i, n, found = 0;
    char piece[3];

    begin(argc > 3 ? 3 : argc, 2);
    snprintf(urls, sizeof urls, " %s , %s", argv[1], argv[2]);
    client = opened(urls, argc > 3);

    OK(anyhost_get(client, "/status?q=1", &answer, &err));
    CHECK(err == NULL);
    SAME(anyhost_response_status(answer), 200);
    SAME(anyhost_response_content_length(answer), strlen("GET /status?q=1 "));
    TEXT(anyhost_response_endpoint(answer), argv[2]);
    PART(anyhost_response_url(answer), argv[2]);
    CHECK(strchr(anyhost_response_url(answer), '?') == NULL);
    CHECK(anyhost_response_elapsed_us(answer) > 0);
    SAME(anyhost_response_retry_after_ms(answer), 0);
    BODY(answer, "GET /status?q=1 ");

    /* Piece by piece, and whole again. */
    OK(anyhost_response_read(answer, piece, 3, &n, &err));
    SAME(n, 3);
    SAME(memcmp(piece, "GET", 3), 0);
    for (len = n; OK(anyhost_response_read(answer, piece, 3, &n, &err)), n > 0; len += n) {}
    SAME(len, strlen("GET /status?q=1 "));
    BODY(answer, "GET /status?q=1 ");

    /* Headers: any case, several of one name, bytes above 0x7F. */
    TEXT(anyhost_response_header(answer, "X-METHOD", 0, &len), "GET");
    SAME(len, 3);
    TEXT(anyhost_response_header(answer, "set-cookie", 0, NULL), "a=1");
    TEXT(anyhost_response_header(answer, "set-cookie", 1, NULL), "b=2");
    CHECK(anyhost_response_header(answer, "set-cookie", 2, &len) == NULL);
    SAME(len, 0);
    TEXT(anyhost_response_header(answer, "x-bytes", 0, &len), "gr\xc3\xbcn");
    SAME(len, 5);
    for (i = 0; i < anyhost_response_header_count(answer); i++) {
        OK(anyhost_response_header_at(answer, i, &name, &value, &len));
        SAME(strlen(value), len);
        found += strcmp(name, "set-cookie") == 0;
    }
    SAME(found, 2);

    /* Attempts: refused, then answered. */
    SAME(anyhost_response_attempt_count(answer), 2);
    attempt = anyhost_response_attempt(answer, 0);
    SAME(anyhost_attempt_number(attempt), 1);
    TEXT(anyhost_attempt_endpoint(attempt), argv[1]);
    CHECK(anyhost_attempt_proxy(attempt) == NULL);
    SAME(anyhost_attempt_phase(attempt), ANYHOST_PHASE_CONNECT);
    SAME(anyhost_attempt_reason(attempt), ANYHOST_REASON_REFUSED);
    SAME(anyhost_attempt_delivery(attempt), ANYHOST_DELIVERY_NOT_SENT);
    SAME(anyhost_attempt_http_status(attempt), 0);
    SAME(anyhost_attempt_bytes_sent(attempt), 0);
    SAME(anyhost_attempt_bytes_received(attempt), 0);
    CHECK(anyhost_attempt_os_error(attempt) > 0);
    PART(anyhost_attempt_message(attempt), "refused");
    attempt = anyhost_response_attempt(answer, 1);
    SAME(anyhost_attempt_number(attempt), 2);
    SAME(anyhost_attempt_phase(attempt), ANYHOST_PHASE_BODY);
    SAME(anyhost_attempt_reason(attempt), ANYHOST_REASON_NONE);
    SAME(anyhost_attempt_delivery(attempt), ANYHOST_DELIVERY_ANSWERED);
    SAME(anyhost_attempt_http_status(attempt), 200);
    SAME(anyhost_attempt_reused_connection(attempt), 0);
    SAME(anyhost_attempt_retry_after_ms(attempt), 0);
    TEXT(anyhost_attempt_message(attempt), "");
    CHECK(anyhost_attempt_bytes_sent(attempt) > 0);
    CHECK(anyhost_attempt_bytes_received(attempt) > 0);
    CHECK(anyhost_attempt_elapsed_us(attempt) > 0);
    CHECK(anyhost_attempt_started_us(attempt)
          >= anyhost_attempt_elapsed_us(anyhost_response_attempt(answer, 0)));
    CHECK(anyhost_response_attempt(answer, 2) == NULL);
    anyhost_response_free(answer);

    /* The fallback is preferred now, and its connection is used again. */
    OK(anyhost_head(client, "/head", &answer, &err));
    SAME(anyhost_response_attempt_count(answer), 1);
    SAME(anyhost_attempt_reused_connection(anyhost_response_attempt(answer, 0)), 1);
    TEXT(anyhost_response_header(answer, "x-method", 0, NULL), "HEAD");
    expect(answer, "");
    OK(anyhost_post(client, "/post", "text/plain", "one\0two", 7, &answer, &err));
    SAME(anyhost_response_content_length(answer), 18);
    anyhost_response_free(answer);
    OK(anyhost_put(client, "/put", "text/plain", "body", 4, &answer, &err));
    expect(answer, "PUT /put body");
    OK(anyhost_patch(client, "/patch", NULL, NULL, 0, &answer, &err));
    expect(answer, "PATCH /patch ");
    OK(anyhost_delete(client, "/delete", &answer, &err));
    expect(answer, "DELETE /delete ");

    CHECK(err == NULL);
    anyhost_client_free(client);
    return passed();
}
