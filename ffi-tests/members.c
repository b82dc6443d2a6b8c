/* The endpoints of a client while it lives: seen, weighed, taken out, put back, probed, replaced. */
#include "check.h"

static anyhost_client *client;
static const char *first, *second, *third;

static anyhost_snapshot *snapshot(void) {
    anyhost_snapshot *now = NULL;
    OK(anyhost_client_snapshot(client, &now));
    return now;
}

static int32_t state_of(const char *key) {
    anyhost_snapshot *now = snapshot();
    int32_t state = anyhost_member_state(anyhost_snapshot_find(now, key));
    anyhost_snapshot_free(now);
    return state;
}

static void get(const char *path, const char *endpoint) {
    anyhost_response *answer = NULL;
    OK(anyhost_get(client, path, &answer, NULL));
    TEXT(anyhost_response_endpoint(answer), endpoint);
    anyhost_response_free(answer);
}

/* For a person and for Prometheus; two clients on one page. */
static void shown(const anyhost_snapshot *now) {
    const char *names[2] = {"pay\"ments", "search"};
    const anyhost_snapshot *both[2];
    char text[8000];
    size_t needed = 0, again = 0;

    SAME(anyhost_snapshot_text(now, NULL, 0, &needed), ANYHOST_E_BUFFER);
    SAME(anyhost_snapshot_text(now, text, needed - 1, &again), ANYHOST_E_BUFFER);
    TEXT(text, "");
    OK(anyhost_snapshot_text(now, text, needed, &again));
    SAME(strlen(text) + 1, needed);
    CHECK(strncmp(text, "member  state     for ", 22) == 0);
    PART(text, "\none     eligible  ");
    PART(text, "1000/1000         1       1        0  -     last failed: refused\ntwo     eligible  ");

    both[0] = both[1] = now;
    SAME(anyhost_prometheus(names, both, 2, NULL, 0, &needed), ANYHOST_E_BUFFER);
    CHECK(needed < sizeof text);
    OK(anyhost_prometheus(names, both, 2, text, sizeof text, &again));
    SAME(again, needed);
    SAME(strlen(text) + 1, needed);
    PART(text, "anyhost_member_failures_total{client=\"pay\\\"ments\",kind=\"endpoint\",member=\"one\",reason=\"refused\"} 1\n");
    PART(text, "anyhost_member_successes_total{client=\"search\",kind=\"endpoint\",member=\"two\"} 1\n");
    /* A metric is named once, however many clients there are. */
    CHECK(strstr(strstr(text, "# TYPE anyhost_member_weight ") + 1, "# TYPE anyhost_member_weight ") == NULL);
    OK(anyhost_prometheus(names, both, 0, text, sizeof text, &again));
    CHECK(strstr(text, "client=") == NULL);
    names[1] = NULL;
    SAME(anyhost_prometheus(names, both, 2, text, sizeof text, &again), ANYHOST_E_NULL);
    names[1] = "search";
    both[1] = NULL;
    SAME(anyhost_prometheus(names, both, 2, text, sizeof text, &again), ANYHOST_E_NULL);
    both[1] = (const anyhost_snapshot *)(const void *)client;
    SAME(anyhost_prometheus(names, both, 2, text, sizeof text, &again), ANYHOST_E_HANDLE);
    SAME(again, 0);
}

/* The first endpoint refuses, the second answers. */
static void seen(void) {
    anyhost_snapshot *now;
    const anyhost_member *member;
    char *json;
    size_t needed = 0;

    get("/seen", "two");
    now = snapshot();
    SAME(anyhost_snapshot_count(now), 2);
    CHECK(anyhost_snapshot_at(now, 2) == NULL);
    CHECK(anyhost_snapshot_find(now, "three") == NULL);
    CHECK(anyhost_snapshot_find(now, second) == anyhost_snapshot_at(now, 1));
    member = anyhost_snapshot_at(now, 0);
    CHECK(member == anyhost_snapshot_find(now, "one"));
    TEXT(anyhost_member_label(member), "one");
    PART(first, "user:pw@");
    PART(anyhost_member_url(member), "http://127.0.0.1:");
    CHECK(strstr(anyhost_member_url(member), "pw") == NULL);
    SAME(anyhost_member_kind(member), ANYHOST_KIND_ENDPOINT);
    SAME(anyhost_member_reason(member), ANYHOST_REASON_REFUSED);
    SAME(anyhost_member_phase(member), ANYHOST_PHASE_CONNECT);
    SAME(anyhost_member_priority(member), 0);
    SAME(anyhost_member_weight(member), 1000);
    SAME(anyhost_member_max_weight(member), 1000);
    SAME(anyhost_member_failures_in_a_row(member), 1);
    SAME(anyhost_member_in_flight(member), 0);
    SAME(anyhost_member_cooling_ms(member), 0);
    CHECK(anyhost_member_since_ms(member) < 60000);
    SAME(anyhost_member_attempts(member), 1);
    SAME(anyhost_member_successes(member), 0);
    SAME(anyhost_member_failures(member), 1);
    SAME(anyhost_member_latency_us(member), 0);
    SAME(anyhost_member_successes(anyhost_snapshot_at(now, 1)), 1);

    SAME(anyhost_snapshot_json(now, NULL, 0, &needed), ANYHOST_E_BUFFER);
    json = malloc(needed);
    CHECK(json != NULL);
    SAME(anyhost_snapshot_json(now, json, needed - 1, &needed), ANYHOST_E_BUFFER);
    TEXT(json, "");
    OK(anyhost_snapshot_json(now, json, needed, &needed));
    SAME(strlen(json) + 1, needed);
    PART(json, "{\"members\":[{\"label\":\"one\",\"url\":\"http://127.0.0.1:");
    PART(json, "\"kind\":\"endpoint\",\"state\":\"eligible\",\"reason\":\"refused\",\"phase\":\"connect\"");
    PART(json, "\"reasons\":{\"refused\":1},\"transitions\":[]");
    CHECK(strstr(json, "pw") == NULL);
    free(json);
    shown(now);
    anyhost_snapshot_free(now);
}

static void taken_out(void) {
    anyhost_snapshot *now;
    const anyhost_member *member;
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    char json[8000];
    size_t needed = 0;

    OK(anyhost_client_disable(client, second, "being moved"));
    OK(anyhost_client_disable(client, "one", ""));
    now = snapshot();
    member = anyhost_snapshot_find(now, "two");
    SAME(anyhost_member_state(member), ANYHOST_STATE_DISABLED);
    SAME(anyhost_member_reason(member), ANYHOST_REASON_OPERATOR);
    TEXT(anyhost_member_detail(member), "being moved");
    OK(anyhost_snapshot_json(now, json, sizeof json, &needed));
    PART(json, "\"from\":\"eligible\",\"to\":\"disabled\",\"reason\":\"operator\"");
    /* It stays what it was. */
    OK(anyhost_client_enable(client, "two"));
    SAME(anyhost_member_state(member), ANYHOST_STATE_DISABLED);
    anyhost_snapshot_free(now);
    SAME(state_of("two"), ANYHOST_STATE_ELIGIBLE);
    SAME(state_of("one"), ANYHOST_STATE_DISABLED);

    OK(anyhost_client_disable(client, "two", "all"));
    SAME(anyhost_get(client, "/none", &answer, &err), ANYHOST_E_NO_ENDPOINT);
    SAME(anyhost_error_attempt_count(err), 0);
    anyhost_error_free(err);
    OK(anyhost_client_enable(client, "one"));
    OK(anyhost_client_enable(client, "two"));
    get("/back", "two");
    SAME(anyhost_client_disable(client, "nobody", "x"), ANYHOST_E_NOT_FOUND);
    SAME(anyhost_client_enable(client, "nobody"), ANYHOST_E_NOT_FOUND);
}

static void weighed(void) {
    anyhost_snapshot *now;
    OK(anyhost_client_set_weight(client, "two", 7));
    now = snapshot();
    SAME(anyhost_member_weight(anyhost_snapshot_find(now, "two")), 7);
    SAME(anyhost_member_max_weight(anyhost_snapshot_find(now, "two")), 7);
    anyhost_snapshot_free(now);
    OK(anyhost_client_set_weight(client, second, 0));
    now = snapshot();
    SAME(anyhost_member_weight(anyhost_snapshot_find(now, "two")), 1000);
    anyhost_snapshot_free(now);
    SAME(anyhost_client_set_weight(client, "two", 1001), ANYHOST_E_RANGE);
    SAME(anyhost_client_set_weight(client, "nobody", 1), ANYHOST_E_NOT_FOUND);
}

static void probed(void) {
    anyhost_request *request = NULL;
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    OK(anyhost_request_new("HEAD", "/health", &request, NULL));
    OK(anyhost_client_probe(client, "two", request, &answer, &err));
    SAME(anyhost_response_status(answer), 200);
    anyhost_response_free(answer);
    SAME(anyhost_client_probe(client, first, request, &answer, &err), ANYHOST_E_ATTEMPTS_SPENT);
    SAME(anyhost_error_attempt_count(err), 1);
    anyhost_error_free(err);
    SAME(anyhost_client_probe(client, "nobody", request, &answer, &err), ANYHOST_E_NOT_FOUND);
    anyhost_error_free(err);
    anyhost_request_free(request);
}

static void replaced(void) {
    anyhost_update *update = NULL;
    anyhost_error *err = NULL;
    anyhost_snapshot *now;

    OK(anyhost_update_new(&update));
    /* It names nobody, so all stay. */
    OK(anyhost_client_apply(client, update, &err));
    OK(anyhost_update_add_endpoint(update, third, 0, ANYHOST_PRIORITY_AUTO, "three"));
    OK(anyhost_update_add_endpoint(update, second, 500, ANYHOST_PRIORITY_AUTO, "zwei"));
    OK(anyhost_update_endpoint_header(update, "three", "X-Of", "third", 1));
    SAME(anyhost_update_endpoint_header(NULL, "three", "X-Of", "x", 0), ANYHOST_E_NULL);
    OK(anyhost_client_apply(client, update, &err));
    OK(anyhost_client_apply(client, update, &err));
    now = snapshot();
    SAME(anyhost_snapshot_count(now), 2);
    CHECK(anyhost_snapshot_find(now, "one") == NULL);
    CHECK(anyhost_snapshot_find(now, "two") == NULL);
    SAME(anyhost_member_max_weight(anyhost_snapshot_find(now, "zwei")), 500);
    /* What is known of it stays. */
    CHECK(anyhost_member_successes(anyhost_snapshot_find(now, "zwei")) > 0);
    anyhost_snapshot_free(now);
    get("/new", "three");

    /* The first mistake is kept, and the client as it was. */
    SAME(anyhost_update_add_endpoint(update, "gopher://x", 0, 0, NULL), ANYHOST_E_URL);
    SAME(anyhost_update_endpoint_server_name(update, "nobody", "a.example"), ANYHOST_E_NOT_FOUND);
    SAME(anyhost_client_apply(client, update, &err), ANYHOST_E_URL);
    TEXT(anyhost_error_option(err), "url");
    PART(anyhost_error_message(err), "gopher");
    anyhost_error_free(err);
    anyhost_update_free(update);
    OK(anyhost_update_new(&update));
    OK(anyhost_update_add_endpoint(update, second, 0, 0, NULL));
    OK(anyhost_update_add_endpoint(update, second, 0, 0, NULL));
    SAME(anyhost_client_apply(client, update, &err), ANYHOST_E_DUPLICATE);
    anyhost_error_free(err);
    anyhost_update_free(update);
    get("/same", "three");
}

static void ended(void) {
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    OK(anyhost_client_drop_idle(client));
    get("/dropped", "three");
    OK(anyhost_client_shutdown(client));
    OK(anyhost_client_shutdown(client));
    SAME(anyhost_get(client, "/never", &answer, &err), ANYHOST_E_SHUT_DOWN);
    CHECK(answer == NULL);
    anyhost_error_free(err);
}

int main(int argc, char **argv) {
    anyhost_builder *builder = NULL;
    begin(argc, 3);
    first = argv[1];
    second = argv[2];
    third = argv[3];
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_add_endpoint(builder, first, 0, ANYHOST_PRIORITY_AUTO, "one"));
    OK(anyhost_builder_add_endpoint(builder, second, 0, ANYHOST_PRIORITY_AUTO, "two"));
    OK(anyhost_builder_set(builder, "hold_for", "0"));
    OK(anyhost_builder_build(builder, &client, NULL));
    anyhost_builder_free(builder);
    seen();
    taken_out();
    weighed();
    probed();
    replaced();
    ended();
    anyhost_client_free(client);
    return passed();
}
