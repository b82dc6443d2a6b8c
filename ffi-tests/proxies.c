/* Proxies: one refuses, one lets through; seen in attempts, events and snapshots, and replaced. */
#include "check.h"

static int through_proxy, cooled;

static void watch(void *user, const anyhost_event *event) {
    const char *proxy = anyhost_event_proxy(event);
    (void)user;
    if (proxy == NULL) return;
    if (anyhost_event_kind(event) == ANYHOST_EVENT_ATTEMPT_STARTED) through_proxy += 1;
    if (anyhost_event_kind(event) == ANYHOST_EVENT_STATE_CHANGED
        && anyhost_event_new_state(event) == ANYHOST_STATE_COOLING) {
        TEXT(proxy, "bad");
        CHECK(anyhost_event_endpoint(event) == NULL);
        cooled += 1;
    }
}

static void mistakes(void) {
    anyhost_builder *builder = NULL;
    anyhost_client *client = NULL;
    OK(anyhost_builder_new(&builder));
    SAME(anyhost_builder_add_proxy(builder, "gopher://u:geheim@p", 0, NULL), ANYHOST_E_URL);
    SAME(anyhost_builder_add_proxy(builder, "http://p", 1001, NULL), ANYHOST_E_RANGE);
    SAME(anyhost_builder_add_proxy(builder, NULL, 0, NULL), ANYHOST_E_NULL);
    SAME(anyhost_builder_build(builder, &client, NULL), ANYHOST_E_URL);
    anyhost_builder_free(builder);
}

int main(int argc, char **argv) {
    anyhost_builder *builder = NULL;
    anyhost_client *client = NULL;
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    anyhost_snapshot *now = NULL;
    anyhost_update *update = NULL;
    const anyhost_member *member;
    const anyhost_attempt *attempt;
    size_t tried;
    begin(argc, 2);
    mistakes();

    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_add_proxy(builder, argv[1], 0, "bad"));
    OK(anyhost_builder_add_proxy(builder, argv[2], 1, "good"));
    OK(anyhost_builder_on_event(builder, watch, NULL, NULL));
    OK(anyhost_builder_build(builder, &client, NULL));
    anyhost_builder_free(builder);

    /* Without endpoints a path is a whole URL. */
    SAME(anyhost_get(client, "/path", &answer, &err), ANYHOST_E_ARGUMENT);
    anyhost_error_free(err);
    for (tried = 0; cooled == 0 && tried < 10000; tried++) {
        OK(anyhost_get(client, "http://service.test/x", &answer, NULL));
        TEXT(anyhost_response_endpoint(answer), "http://service.test");
        attempt = anyhost_response_attempt(answer, anyhost_response_attempt_count(answer) - 1);
        TEXT(anyhost_attempt_proxy(attempt), "good");
        anyhost_response_free(answer);
    }
    SAME(cooled, 1);
    SAME(through_proxy, tried + 1);

    OK(anyhost_client_snapshot(client, &now));
    member = anyhost_snapshot_find(now, "bad");
    SAME(anyhost_member_kind(member), ANYHOST_KIND_PROXY);
    SAME(anyhost_member_state(member), ANYHOST_STATE_COOLING);
    SAME(anyhost_member_reason(member), ANYHOST_REASON_REFUSED);
    SAME(anyhost_member_phase(member), ANYHOST_PHASE_PROXY_CONNECT);
    CHECK(anyhost_member_cooling_ms(member) > 20000);
    PART(anyhost_member_url(member), "http://127.0.0.1:");
    CHECK(strstr(anyhost_member_url(member), "geheim") == NULL);
    SAME(anyhost_member_kind(anyhost_snapshot_find(now, "http://service.test")),
         ANYHOST_KIND_ENDPOINT);
    anyhost_snapshot_free(now);

    /* Never straight: with the last proxy out of service nothing goes out. */
    OK(anyhost_client_disable(client, "good", "moved"));
    SAME(anyhost_get(client, "http://service.test/never", &answer, &err), ANYHOST_E_NO_ENDPOINT);
    PART(anyhost_error_message(err), "proxy bad is cooling (refused");
    CHECK(anyhost_error_retry_after_ms(err) > 20000);
    anyhost_error_free(err);
    OK(anyhost_client_enable(client, "good"));

    OK(anyhost_update_new(&update));
    OK(anyhost_update_add_proxy(update, argv[2], 0, "renamed"));
    OK(anyhost_client_apply(client, update, NULL));
    anyhost_update_free(update);
    OK(anyhost_get(client, "http://service.test/last", &answer, NULL));
    TEXT(anyhost_attempt_proxy(anyhost_response_attempt(answer, 0)), "renamed");
    anyhost_response_free(answer);

    anyhost_client_free(client);
    return passed();
}
