/* Who owns what, in every order: counts, borrowed pointers, and free_user exactly once. */
#include "check.h"

static int freed;

static void count_free(void *user) {
    SAME(*(int *)user, 7);
    freed++;
}

static void on_event(void *user, const anyhost_event *event) {
    (void)event;
    SAME(*(int *)user, 7);
}

static int32_t read_nothing(void *user, uint8_t *buf, size_t cap, size_t *out_n) {
    (void)user, (void)buf, (void)cap;
    *out_n = 0;
    return 0;
}

static int seven = 7;

static void free_nothing(void) {
    anyhost_builder_free(NULL);
    anyhost_client_free(NULL);
    anyhost_request_free(NULL);
    anyhost_response_free(NULL);
    anyhost_error_free(NULL);
    anyhost_cancel_free(NULL);
    anyhost_update_free(NULL);
    anyhost_snapshot_free(NULL);
    anyhost_breaker_free(NULL);
    CHECK(anyhost_client_ref(NULL) == NULL);
    CHECK(anyhost_cancel_ref(NULL) == NULL);
}

/* Every handle of a client works until the last one goes. */
static void handles(const char *url) {
    anyhost_client *client = NULL, *more;
    anyhost_response *answer = NULL;
    int i;
    OK(anyhost_open(url, &client, NULL));
    more = anyhost_client_ref(client);
    CHECK(more == client);
    for (i = 0; i < 10; i++) CHECK(anyhost_client_ref(client) == client);
    for (i = 0; i < 11; i++) anyhost_client_free(client);
    OK(anyhost_get(more, "/alive", &answer, NULL));
    anyhost_client_free(more);
    /* An answer does not need its client. */
    BODY(answer, "GET /alive ");
    TEXT(anyhost_attempt_endpoint(anyhost_response_attempt(answer, 0)), url);
    anyhost_response_free(answer);
}

/* What an answer and an error lend lives as long as they do, whatever else goes. */
static void borrowed(const char *url) {
    anyhost_client *client = NULL;
    anyhost_request *request = NULL;
    anyhost_response *answer = NULL, *other = NULL;
    anyhost_error *err = NULL;
    const char *header, *message;
    const anyhost_attempt *attempt, *failed;
    OK(anyhost_open(url, &client, NULL));
    OK(anyhost_request_new("GET", "/a", &request, NULL));
    OK(anyhost_client_send(client, request, &answer, &err));
    anyhost_request_free(request);
    header = anyhost_response_header(answer, "x-method", 0, NULL);
    attempt = anyhost_response_attempt(answer, 0);
    OK(anyhost_get(client, "/b", &other, &err));
    anyhost_response_free(other);
    SAME(anyhost_post(client, "/resets", NULL, NULL, 0, &other, &err), ANYHOST_E_ATTEMPTS_SPENT);
    CHECK(other == NULL);
    anyhost_client_free(client);
    message = anyhost_error_message(err);
    failed = anyhost_error_attempt(err, 0);
    TEXT(header, "GET");
    SAME(anyhost_attempt_http_status(attempt), 200);
    anyhost_response_free(answer);
    CHECK(strlen(message) > 0);
    TEXT(anyhost_attempt_endpoint(failed), url);
    anyhost_error_free(err);
}

/* A request keeps what it needs of its cancel handle, and a snapshot needs no client. */
static void independent(const char *url) {
    anyhost_client *client = NULL;
    anyhost_request *request = NULL;
    anyhost_response *answer = NULL;
    anyhost_cancel *cancel = NULL, *more;
    anyhost_snapshot *now = NULL;
    const anyhost_member *member;
    OK(anyhost_open(url, &client, NULL));
    OK(anyhost_cancel_new(&cancel));
    more = anyhost_cancel_ref(cancel);
    OK(anyhost_request_new("GET", "/", &request, NULL));
    OK(anyhost_request_set_cancel(request, cancel));
    anyhost_cancel_free(cancel);
    anyhost_cancel_trigger(more);
    anyhost_cancel_free(more);
    OK(anyhost_client_snapshot(client, &now));
    member = anyhost_snapshot_at(now, 0);
    SAME(anyhost_client_send(client, request, &answer, NULL), ANYHOST_E_CANCELLED);
    anyhost_client_free(client);
    anyhost_request_free(request);
    TEXT(anyhost_member_label(member), url);
    SAME(anyhost_member_attempts(member), 0);
    anyhost_snapshot_free(now);
}

static void other_is_freed(const char *url) {
    anyhost_client *client = NULL;
    anyhost_response *first = NULL, *second = NULL;
    OK(anyhost_open(url, &client, NULL));
    OK(anyhost_get(client, "/1", &first, NULL));
    OK(anyhost_get(client, "/2", &second, NULL));
    anyhost_response_free(first);
    BODY(second, "GET /2 ");
    anyhost_client_free(client);
    anyhost_response_free(second);
}

/* free_user of an observer: with the last handle of the client, or the builder, or at once. */
static void observers(const char *url) {
    anyhost_builder *builder = NULL;
    anyhost_client *client = NULL, *more;

    freed = 0;
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_set(builder, "base_urls", url));
    OK(anyhost_builder_on_event(builder, on_event, &seven, count_free));
    SAME(freed, 0);
    /* Another takes its place. */
    OK(anyhost_builder_on_event(builder, on_event, &seven, count_free));
    SAME(freed, 1);
    OK(anyhost_builder_build(builder, &client, NULL));
    anyhost_builder_free(builder);
    more = anyhost_client_ref(client);
    anyhost_client_free(client);
    SAME(freed, 1);
    anyhost_client_free(more);
    SAME(freed, 2);

    /* A builder that never builds, and one that fails to. */
    freed = 0;
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_on_event(builder, on_event, &seven, count_free));
    anyhost_builder_free(builder);
    SAME(freed, 1);
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_on_event(builder, on_event, &seven, count_free));
    SAME(anyhost_builder_build(builder, &client, NULL), ANYHOST_E_CONFIG);
    SAME(freed, 2);
    /* Spent: the function fails, and frees all the same. */
    SAME(anyhost_builder_on_event(builder, on_event, &seven, count_free), ANYHOST_E_STATE);
    SAME(freed, 3);
    anyhost_builder_free(builder);
    SAME(freed, 3);
    SAME(anyhost_builder_on_event(NULL, on_event, &seven, count_free), ANYHOST_E_NULL);
    SAME(freed, 4);
    OK(anyhost_builder_new(&builder));
    SAME(anyhost_builder_on_event(builder, NULL, &seven, count_free), ANYHOST_E_NULL);
    SAME(freed, 5);
    anyhost_builder_free(builder);
    SAME(freed, 5);
}

/* free_user of a body: with the next body, or the request, or at once. */
static void bodies(void) {
    anyhost_request *request = NULL;
    freed = 0;
    OK(anyhost_request_new("POST", "/", &request, NULL));
    OK(anyhost_request_set_body_borrowed(request, "abc", 3, &seven, count_free));
    SAME(freed, 0);
    OK(anyhost_request_set_body_reader(request, read_nothing, NULL, &seven, count_free, 0));
    SAME(freed, 1);
    OK(anyhost_request_set_body(request, "abc", 3));
    SAME(freed, 2);
    SAME(anyhost_request_set_body_borrowed(request, NULL, 3, &seven, count_free), ANYHOST_E_NULL);
    SAME(freed, 3);
    SAME(anyhost_request_set_body_reader(request, NULL, NULL, &seven, count_free, 0),
         ANYHOST_E_NULL);
    SAME(freed, 4);
    SAME(anyhost_request_set_body_reader(request, read_nothing, NULL, &seven, count_free, -2),
         ANYHOST_E_RANGE);
    SAME(freed, 5);
    SAME(anyhost_request_set_body_reader(NULL, read_nothing, NULL, &seven, count_free, 0),
         ANYHOST_E_NULL);
    SAME(freed, 6);
    OK(anyhost_request_set_body_borrowed(request, NULL, 0, &seven, count_free));
    anyhost_request_free(request);
    SAME(freed, 7);
}

int main(int argc, char **argv) {
    begin(argc, 1);
    free_nothing();
    handles(argv[1]);
    other_is_freed(argv[1]);
    independent(argv[1]);
    observers(argv[1]);
    bodies();
    borrowed(argv[1]);
    return passed();
}
