/* Every status that can be had today, once, and what the error says beside it. */
#include "check.h"

static anyhost_error *err;

/* The call failed so, its output was cleared, and the error says the same; it is the last one's. */
static void failed(int line, int32_t got, int32_t status, const void *out) {
    check_int(__FILE__, line, "status", got, status);
    check_int(__FILE__, line, "output", out != NULL, 0);
    check_int(__FILE__, line, "status of the error", anyhost_error_status(err), status);
    if (anyhost_error_message(err)[0] == '\0' || strchr(anyhost_error_message(err), '\n') != NULL)
        check_fail(__FILE__, line, "no one-line message", anyhost_error_message(err));
}

/* FAILS(status, output, call(…)): `output` and `err` are set to what a failure must not leave. */
#define FAILS(status, out, call) \
    do { \
        int32_t got; \
        anyhost_error_free(err); \
        err = NULL; \
        (out) = POISON; \
        got = (call); \
        failed(__LINE__, got, (status), (out)); \
    } while (0)
#define POISON ((void *)&err)

/* What the last error says of the last attempt. */
#define SAYS(reason, phase, delivery, attempts) \
    do { \
        TEXT(anyhost_reason_name(anyhost_error_reason(err)), (reason)); \
        TEXT(anyhost_phase_name(anyhost_error_phase(err)), (phase)); \
        TEXT(anyhost_delivery_name(anyhost_error_delivery(err)), (delivery)); \
        SAME(anyhost_error_attempt_count(err), (attempts)); \
    } while (0)

static int32_t refuses(void *user, uint8_t *buf, size_t cap, size_t *out_n) {
    (void)user, (void)buf, (void)cap;
    *out_n = 0;
    return 1;
}

static int32_t reads_x(void *user, uint8_t *buf, size_t cap, size_t *out_n) {
    int *left = user;
    *out_n = *left > 0 && cap > 0 ? 1 : 0;
    *left -= (int)*out_n;
    if (*out_n == 1) buf[0] = 'x';
    return 0;
}

static anyhost_client *client_of(const char *urls) {
    anyhost_client *client = NULL;
    OK(anyhost_open(urls, &client, NULL));
    return client;
}

static anyhost_request *request_of(const char *method, const char *path) {
    anyhost_request *request = NULL;
    OK(anyhost_request_new(method, path, &request, NULL));
    return request;
}

static void on_event(void *user, const anyhost_event *event) {
    (void)user, (void)event;
}

static void as_json(void) {
    char buf[4000];
    size_t needed = 0, again = 0;
    SAME(anyhost_error_json(err, NULL, 0, &needed), ANYHOST_E_BUFFER);
    CHECK(needed > 100 && needed < sizeof buf);
    memset(buf, 'x', sizeof buf);
    SAME(anyhost_error_json(err, buf, needed - 1, &again), ANYHOST_E_BUFFER);
    SAME(again, needed);
    TEXT(buf, "");
    OK(anyhost_error_json(err, buf, needed, &again));
    SAME(again, needed);
    SAME(strlen(buf) + 1, needed);
    SAME(buf[needed], 'x');
    PART(buf, "\"status_name\":\"ATTEMPTS_SPENT\"");
    PART(buf, "\"reason\":\"refused\"");
    PART(buf, "\"attempts\":[{\"number\":1,");
}

/* At length: what was tried, what is certain, what to do. */
static void at_length(const char *endpoint) {
    char buf[4000], line[200];
    size_t needed = 0, again = 0;
    SAME(anyhost_error_explain(err, NULL, 0, &needed), ANYHOST_E_BUFFER);
    CHECK(needed > 100 && needed < sizeof buf);
    SAME(anyhost_error_explain(err, buf, needed - 1, &again), ANYHOST_E_BUFFER);
    SAME(again, needed);
    TEXT(buf, "");
    OK(anyhost_error_explain(err, buf, needed, &again));
    SAME(strlen(buf) + 1, needed);
    CHECK(strncmp(buf, "ATTEMPTS_SPENT: no further attempt is left or allowed\n", 54) == 0);
    snprintf(line, sizeof line, "\ntried:\n  1. %s: refused while connecting (not sent), ", endpoint);
    PART(buf, line);
    PART(buf, "\ncertain: no server received the request\nto do: it is safe to call again; ");
    CHECK(strstr(buf, "secret") == NULL);
    SAME(buf[needed - 2], '\n');
}

int main(int argc, char **argv) {
    const char *server, *refusing, *text, *first;
    char urls[512];
    const uint8_t *body;
    size_t len;
    int left = 5;
    anyhost_client *client, *two, *out;
    anyhost_builder *builder = NULL;
    anyhost_request *request, *made;
    anyhost_response *answer;
    anyhost_cancel *cancel = NULL;
    static char path[64 * 1024];

    begin(argc, 2);
    server = argv[1], refusing = argv[2];

    /* Mistakes of the caller. */
    client = client_of(server);
    FAILS(ANYHOST_E_NULL, answer, anyhost_get(client, NULL, &answer, &err));
    TEXT(anyhost_error_option(err), "path");
    FAILS(ANYHOST_E_NULL, answer, anyhost_get(NULL, "/", &answer, &err));
    TEXT(anyhost_error_option(err), "client");
    FAILS(ANYHOST_E_ARGUMENT, answer, anyhost_get(client, "/a b", &answer, &err));
    SAYS("none", "none", "not_sent", 0);
    FAILS(ANYHOST_E_ENCODING, answer, anyhost_get(client, "/\xff", &answer, &err));
    FAILS(ANYHOST_E_ENCODING, out, anyhost_open("http://\xff", &out, &err));
    request = request_of("GET", "/ok");
    FAILS(ANYHOST_E_HANDLE, answer,
          anyhost_client_send((anyhost_client *)(void *)request, request, &answer, &err));
    FAILS(ANYHOST_E_HANDLE, answer,
          anyhost_client_send(client, (anyhost_request *)(void *)client, &answer, &err));
    SAME(anyhost_response_status((anyhost_response *)(void *)request), 0);
    anyhost_request_free(request);
    FAILS(ANYHOST_E_ARGUMENT, made, anyhost_request_new("GE T", "/", &made, &err));

    /* The status of the setters has no error beside it: build tells it. */
    OK(anyhost_builder_new(&builder));
    SAME(anyhost_builder_set(builder, "no_such_option", "1"), ANYHOST_E_OPTION);
    SAME(anyhost_builder_add_endpoint(builder, server, 1001, 0, NULL), ANYHOST_E_RANGE);
    SAME(anyhost_builder_endpoint_header(builder, "nobody", "X-A", "a", 0), ANYHOST_E_NOT_FOUND);
    SAME(anyhost_builder_on_event(builder, NULL, NULL, NULL), ANYHOST_E_NULL);
    OK(anyhost_builder_on_event(builder, on_event, NULL, NULL));
    FAILS(ANYHOST_E_OPTION, out, anyhost_builder_build(builder, &out, &err));
    TEXT(anyhost_error_option(err), "no_such_option");
    FAILS(ANYHOST_E_STATE, out, anyhost_builder_build(builder, &out, &err));
    anyhost_builder_free(builder);

    /* Building. */
    FAILS(ANYHOST_E_URL, out, anyhost_open("http://", &out, &err));
    FAILS(ANYHOST_E_URL, out, anyhost_open("ftp://127.0.0.1", &out, &err));
    FAILS(ANYHOST_E_CONFIG, out, anyhost_open("", &out, &err));
    FAILS(ANYHOST_E_DUPLICATE, out,
          anyhost_open("http://127.0.0.1:80, http://127.0.0.1", &out, &err));
    FAILS(ANYHOST_E_DOWNGRADE, out,
          anyhost_open("https://127.0.0.1, http://127.0.0.2", &out, &err));
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_set(builder, "base_urls", "https://127.0.0.1"));
    OK(anyhost_builder_add_root_pem(builder, "no certificate", 14));
    FAILS(ANYHOST_E_TLS_MATERIAL, out, anyhost_builder_build(builder, &out, &err));
    anyhost_builder_free(builder);
    FAILS(ANYHOST_E_URL, out, anyhost_open("http://user:secret@127.0.0.1:x", &out, &err));
    CHECK(strstr(anyhost_error_message(err), "secret") == NULL);

    /* Calls. */
    snprintf(urls, sizeof urls, "%s,%s", refusing, server);
    two = client_of(refusing);
    FAILS(ANYHOST_E_ATTEMPTS_SPENT, answer, anyhost_get(two, "/q?secret=1", &answer, &err));
    SAYS("refused", "connect", "not_sent", 1);
    CHECK(strstr(anyhost_error_message(err), "secret") == NULL);
    CHECK(anyhost_error_os_error(err) > 0);
    SAME(anyhost_error_http_status(err), 0);
    SAME(anyhost_error_retry_after_ms(err), 0);
    CHECK(anyhost_error_option(err) == NULL);
    TEXT(anyhost_attempt_endpoint(anyhost_error_attempt(err, 0)), refusing);
    CHECK(anyhost_error_attempt(err, 1) == NULL);
    OK(anyhost_error_body(err, &body, &len));
    SAME(len, 0);
    SAME(body[0], 0);
    as_json();
    at_length(refusing);
    anyhost_client_free(two);

    FAILS(ANYHOST_E_ATTEMPTS_SPENT, answer,
          anyhost_post(client, "/reset", NULL, "x", 1, &answer, &err));
    SAYS("reset", "head", "maybe", 1);
    request = request_of("GET", "/slow");
    OK(anyhost_request_set_int(request, "deadline", 100));
    FAILS(ANYHOST_E_DEADLINE, answer, anyhost_client_send(client, request, &answer, &err));
    SAYS("deadline", "head", "maybe", 1);
    anyhost_request_free(request);
    FAILS(ANYHOST_E_BODY, answer, anyhost_get(client, "/cut", &answer, &err));
    SAYS("truncated", "body", "answered", 1);
    request = request_of("GET", "/large");
    OK(anyhost_request_set(request, "max_body", "10"));
    FAILS(ANYHOST_E_TOO_LARGE, answer, anyhost_client_send(client, request, &answer, &err));
    anyhost_request_free(request);
    request = request_of("POST", "/ok");
    OK(anyhost_request_set_body_reader(request, refuses, NULL, NULL, NULL, -1));
    FAILS(ANYHOST_E_BODY_SOURCE, answer, anyhost_client_send(client, request, &answer, &err));
    anyhost_request_free(request);
    request = request_of("GET", "/missing");
    OK(anyhost_request_set(request, "require_success", "on"));
    FAILS(ANYHOST_E_REJECTED, answer, anyhost_client_send(client, request, &answer, &err));
    SAME(anyhost_error_http_status(err), 404);
    SAME(anyhost_error_delivery(err), ANYHOST_DELIVERY_ANSWERED);
    OK(anyhost_error_body(err, &body, &len));
    SAME(len, 7);
    TEXT((const char *)body, "no such");
    anyhost_request_free(request);
    anyhost_client_free(client);

    /* A body that can be read once: refused, it could go elsewhere but for the body. */
    two = client_of(urls);
    request = request_of("POST", "/ok");
    OK(anyhost_request_set_body_reader(request, reads_x, NULL, &left, NULL, 5));
    FAILS(ANYHOST_E_NOT_REPLAYABLE, answer, anyhost_client_send(two, request, &answer, &err));
    SAYS("refused", "connect", "not_sent", 1);
    anyhost_request_free(request);
    anyhost_client_free(two);

    /* Those of a client that is managed: a circuit that is open, an end from outside. */
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_set(builder, "base_urls", refusing));
    OK(anyhost_builder_set(builder, "breaker", "on"));
    OK(anyhost_builder_set_int(builder, "breaker_threshold", 1));
    OK(anyhost_builder_build(builder, &client, NULL));
    anyhost_builder_free(builder);
    FAILS(ANYHOST_E_ATTEMPTS_SPENT, answer, anyhost_get(client, "/ok", &answer, &err));
    FAILS(ANYHOST_E_NO_ENDPOINT, answer, anyhost_get(client, "/ok", &answer, &err));
    SAYS("none", "none", "not_sent", 0);
    CHECK(anyhost_error_retry_after_ms(err) > 25000);
    anyhost_client_free(client);
    client = client_of(server);
    FAILS(ANYHOST_E_REDIRECTS, answer, anyhost_get(client, "/around", &answer, &err));
    SAME(anyhost_error_attempt_count(err), 11);
    SAME(anyhost_attempt_is_hop(anyhost_error_attempt(err, 0)), 0);
    SAME(anyhost_attempt_is_hop(anyhost_error_attempt(err, 10)), 1);
    request = request_of("GET", "/503");
    OK(anyhost_request_set(request, "error_statuses", "503"));
    FAILS(ANYHOST_E_REJECTED, answer, anyhost_client_send(client, request, &answer, &err));
    SAME(anyhost_error_retry_after_ms(err), 7000);
    anyhost_request_free(request);
    OK(anyhost_cancel_new(&cancel));
    anyhost_cancel_trigger(cancel);
    request = request_of("GET", "/ok");
    OK(anyhost_request_set_cancel(request, cancel));
    anyhost_cancel_free(cancel);
    FAILS(ANYHOST_E_CANCELLED, answer, anyhost_client_send(client, request, &answer, &err));
    anyhost_request_free(request);
    OK(anyhost_client_shutdown(client));
    FAILS(ANYHOST_E_SHUT_DOWN, answer, anyhost_get(client, "/ok", &answer, &err));
    anyhost_client_free(client);
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_set(builder, "base_urls", server));
    OK(anyhost_builder_set(builder, "retry_budget", "1%"));
    OK(anyhost_builder_set_int(builder, "attempts_per_endpoint", 100));
    OK(anyhost_builder_set(builder, "backoff_base", "1ms"));
    OK(anyhost_builder_set(builder, "backoff_max", "1ms"));
    OK(anyhost_builder_build(builder, &client, NULL));
    anyhost_builder_free(builder);
    FAILS(ANYHOST_E_BUDGET_SPENT, answer, anyhost_get(client, "/reset", &answer, &err));
    anyhost_client_free(client);

    /* A path that is longer than any URL, and the longest. */
    client = client_of(server);
    memset(path, 'a', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    FAILS(ANYHOST_E_ARGUMENT, answer, anyhost_get(client, path, &answer, &err));
    path[60 * 1024] = '\0';
    OK(anyhost_get(client, path, &answer, NULL));
    anyhost_response_free(answer);
    FAILS(ANYHOST_E_ARGUMENT, made, anyhost_request_new("", "/", &made, &err));
    anyhost_client_free(client);

    /* Names and texts of what was met; the error is optional everywhere. */
    TEXT(anyhost_status_name(ANYHOST_E_DEADLINE), "DEADLINE");
    text = anyhost_status_text(ANYHOST_E_DEADLINE);
    CHECK(strlen(text) > 0 && strcmp(text, "unknown") != 0);
    SAME(anyhost_open("", &out, NULL), ANYHOST_E_CONFIG);

    /* An error is left alone by success, and by a call that is given another place. */
    first = anyhost_error_message(err);
    client = client_of(server);
    OK(anyhost_get(client, "/ok", &answer, &err));
    CHECK(anyhost_error_message(err) == first);
    anyhost_response_free(answer);
    anyhost_client_free(client);
    anyhost_error_free(err);
    return passed();
}
