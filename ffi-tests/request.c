/* A request of one's own: headers, bodies of every kind, options, and sending it again. The test
 * looks at what the server received. */
#include "check.h"

static const char TEXT_OF_BODY[] = "0123456789";

/* A body read in pieces of three bytes. */
struct reader {
    size_t at;
    int rewinds, freed;
};

static int32_t read_some(void *user, uint8_t *buf, size_t cap, size_t *out_n) {
    struct reader *reader = user;
    size_t left = 10 - reader->at, n = left < 3 ? left : 3;
    if (n > cap) n = cap;
    memcpy(buf, TEXT_OF_BODY + reader->at, n);
    reader->at += n;
    *out_n = n;
    return 0;
}

static int32_t rewind_it(void *user) {
    struct reader *reader = user;
    reader->at = 0;
    reader->rewinds++;
    return 0;
}

static void freed(void *user) {
    ((struct reader *)user)->freed++;
}

static anyhost_request *make(const char *method, const char *path) {
    anyhost_request *request = NULL;
    anyhost_error *err = NULL;
    OK(anyhost_request_new(method, path, &request, &err));
    CHECK(request != NULL && err == NULL);
    return request;
}

static void send_it(anyhost_client *client, anyhost_request *request, int32_t http_status) {
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    int32_t status = anyhost_client_send(client, request, &answer, &err);
    TEXT(anyhost_error_message(err), "");
    OK(status);
    SAME(anyhost_response_status(answer), http_status);
    anyhost_response_free(answer);
}

int main(int argc, char **argv) {
    char urls[256], body[] = "copied", lent[] = "borrowed";
    struct reader once = {0, 0, 0}, again = {0, 0, 0}, chunks = {0, 0, 0}, loan = {0, 0, 0};
    anyhost_client *client = NULL, *both = NULL;
    anyhost_request *request;
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;

    begin(argc, 2);
    OK(anyhost_open(argv[2], &client, &err));
    snprintf(urls, sizeof urls, "%s,%s", argv[1], argv[2]);
    OK(anyhost_open(urls, &both, &err));

    /* Headers: replaced, removed, added, and of bytes above 0x7F. */
    request = make("GET", "/headers");
    OK(anyhost_request_set_header(request, "X-Replaced", "old"));
    OK(anyhost_request_set_header(request, "x-replaced", "new"));
    OK(anyhost_request_set_header(request, "X-Removed", "gone"));
    OK(anyhost_request_set_header(request, "X-Removed", NULL));
    OK(anyhost_request_add_header(request, "X-Twice", "1"));
    OK(anyhost_request_add_header(request, "X-Twice", "2"));
    OK(anyhost_request_add_header_n(request, "X-Bytes!", 7, "\xe4\xff!", 2));
    OK(anyhost_request_add_header_n(request, "X-Empty", 7, NULL, 0));
    SAME(anyhost_request_set_header(request, "X-Bad", "a\r\nX-Smuggled: 1"), ANYHOST_E_ARGUMENT);
    SAME(anyhost_request_set_header(request, "X Bad", "a"), ANYHOST_E_ARGUMENT);
    SAME(anyhost_request_add_header_n(request, "X-Bad", 5, "a\0b", 3), ANYHOST_E_ARGUMENT);
    SAME(anyhost_request_set_header(request, "Content-Length", "7"), ANYHOST_E_ARGUMENT);
    send_it(client, request, 200);
    anyhost_request_free(request);

    /* Copied: what was passed in may change. Sent twice. */
    request = make("POST", "/copied");
    OK(anyhost_request_set_body(request, body, 6));
    memset(body, '?', 6);
    send_it(client, request, 200);
    send_it(client, request, 200);
    /* Another body, and none. */
    OK(anyhost_request_set_body(request, NULL, 0));
    send_it(client, request, 200);
    anyhost_request_free(request);

    /* Borrowed: freed with the request, not before. */
    request = make("POST", "/borrowed");
    OK(anyhost_request_set_body_borrowed(request, lent, 8, &loan, freed));
    send_it(client, request, 200);
    SAME(loan.freed, 0);
    anyhost_request_free(request);
    SAME(loan.freed, 1);

    /* A reader without rewind: one call. */
    request = make("POST", "/once");
    OK(anyhost_request_set_body_reader(request, read_some, NULL, &once, freed, 10));
    send_it(client, request, 200);
    SAME(anyhost_client_send(client, request, &answer, &err), ANYHOST_E_STATE);
    CHECK(answer == NULL);
    anyhost_error_free(err);
    anyhost_request_free(request);
    SAME(once.freed, 1);

    /* Of unknown length: chunks. */
    request = make("POST", "/chunks");
    OK(anyhost_request_set_body_reader(request, read_some, rewind_it, &chunks, freed, -1));
    send_it(client, request, 200);
    anyhost_request_free(request);
    SAME(chunks.freed, 1);

    /* With rewind: the first host answers 503 to it, the second gets all of it again. */
    request = make("PUT", "/again");
    OK(anyhost_request_set_body_reader(request, read_some, rewind_it, &again, freed, 10));
    OK(anyhost_request_set(request, "resend", "idempotent"));
    send_it(both, request, 200);
    CHECK(again.rewinds >= 1);
    send_it(client, request, 200);
    /* The client's setting again: this one stays with the first host. */
    OK(anyhost_request_set(request, "resend", NULL));
    anyhost_client_free(both);
    OK(anyhost_open(urls, &both, &err));
    send_it(both, request, 503);
    /* As a number, a flag: an answer that is no success is an error. */
    OK(anyhost_request_set_int(request, "require_success", 1));
    SAME(anyhost_client_send(both, request, &answer, &err), ANYHOST_E_REJECTED);
    anyhost_error_free(err);
    SAME(anyhost_request_set(request, "hold_for", "1s"), ANYHOST_E_OPTION);
    SAME(anyhost_request_set(request, "deadline", "soon"), ANYHOST_E_OPTION);
    SAME(anyhost_request_set_int(request, "deadline", -5), ANYHOST_E_RANGE);
    anyhost_request_free(request);
    SAME(again.freed, 1);

    /* Paths and methods that no request has. */
    request = (anyhost_request *)client;
    SAME(anyhost_request_new("CONNECT", "/", &request, NULL), ANYHOST_E_ARGUMENT);
    CHECK(request == NULL);
    SAME(anyhost_request_new("", "/", &request, NULL), ANYHOST_E_ARGUMENT);
    SAME(anyhost_request_new("GET", "/a b", &request, NULL), ANYHOST_E_ARGUMENT);
    SAME(anyhost_request_new("GET", "/a#b", &request, NULL), ANYHOST_E_ARGUMENT);
    SAME(anyhost_request_new("GET", "/\xff", &request, NULL), ANYHOST_E_ENCODING);
    SAME(anyhost_request_new("GET", "/a\r\nX-Smuggled: 1", &request, NULL), ANYHOST_E_ARGUMENT);
    CHECK(request == NULL);

    anyhost_client_free(both);
    anyhost_client_free(client);
    return passed();
}
