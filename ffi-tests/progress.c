/* How far a call is: told on its own thread and in time, wherever it waits, and able to end it. */
#include "check.h"
#include <pthread.h>
#include <time.h>

static anyhost_client *client, *encrypted;
static pthread_t caller;
static int told, end_at;
static uint64_t most_sent, most_received;
static int64_t last_total;

static int32_t on_progress(void *user, uint64_t sent, uint64_t received, int64_t total) {
    anyhost_response *nested = NULL;
    SAME(*(int *)user, 7);
    CHECK(pthread_equal(pthread_self(), caller));
    CHECK(received >= most_received && sent >= most_sent);
    SAME(anyhost_get(client, "/nested", &nested, NULL), ANYHOST_E_REENTRY);
    most_sent = sent, most_received = received, last_total = total;
    told++;
    return told == end_at ? -1 : 0;
}

static int seven = 7;

static anyhost_request *request_of(const char *method, const char *path, uint64_t every_ms) {
    anyhost_request *request = NULL;
    OK(anyhost_request_new(method, path, &request, NULL));
    OK(anyhost_request_set_progress(request, on_progress, &seven, every_ms));
    told = end_at = 0;
    most_sent = most_received = 0, last_total = 7;
    return request;
}

static void ends(anyhost_client *by, const char *path) {
    anyhost_request *request = request_of("GET", path, 20);
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    end_at = 2;
    SAME(anyhost_client_send(by, request, &answer, &err), ANYHOST_E_CANCELLED);
    SAME(anyhost_error_reason(err), ANYHOST_REASON_CANCELLED);
    SAME(told, 2);
    anyhost_error_free(err);
    anyhost_request_free(request);
}

int main(int argc, char **argv) {
    anyhost_request *request;
    anyhost_response *answer = NULL;
    char buf[64];
    size_t n = 1;

    begin(argc, 2);
    caller = pthread_self();
    OK(anyhost_open(argv[1], &client, NULL));
    OK(anyhost_open(argv[2], &encrypted, NULL));

    /* A head that takes 1.5 s, told about every 100 ms: 15, give or take a half. */
    request = request_of("POST", "/late", 100);
    OK(anyhost_request_set_body(request, "0123456789", 10));
    OK(anyhost_client_send(client, request, &answer, NULL));
    anyhost_response_free(answer);
    printf("told %d times\n", told);
    CHECK(told >= 8 && told <= 23);
    SAME(most_sent, 10);
    SAME(most_received, 4);
    SAME(last_total, 4);
    /* Nobody is told any more. */
    told = 0;
    OK(anyhost_request_set_progress(request, NULL, NULL, 0));
    OK(anyhost_client_send(client, request, &answer, NULL));
    SAME(told, 0);
    anyhost_response_free(answer);
    SAME(anyhost_request_set_progress(request, on_progress, &seven, 0), ANYHOST_E_RANGE);
    anyhost_request_free(request);

    /* It ends what waits for a head, in a body, in a handshake. */
    ends(client, "/head");
    ends(client, "/body");
    ends(encrypted, "/");

    /* A streamed body is told of while it is read. */
    request = request_of("GET", "/drip", 10);
    OK(anyhost_client_stream(client, request, &answer, NULL));
    anyhost_request_free(request);
    told = 0;
    while (n > 0) OK(anyhost_response_read(answer, buf, sizeof buf, &n, NULL));
    CHECK(told > 0);
    SAME(most_received, 10);
    anyhost_response_free(answer);

    anyhost_client_free(client);
    anyhost_client_free(encrypted);
    return passed();
}
