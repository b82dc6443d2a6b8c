/* Settings by name, endpoints one by one, certificates, and the mistake that build remembers. */
#include "check.h"

static void build_fails(anyhost_builder *builder, int32_t status, const char *option,
                        const char *part) {
    anyhost_client *client = (anyhost_client *)builder;
    anyhost_error *err = NULL;
    SAME(anyhost_builder_build(builder, &client, &err), status);
    CHECK(client == NULL);
    SAME(anyhost_error_status(err), status);
    if (option != NULL) TEXT(anyhost_error_option(err), option);
    PART(anyhost_error_message(err), part);
    anyhost_error_free(err);
    anyhost_builder_free(builder);
}

static anyhost_builder *fresh(void) {
    anyhost_builder *builder = NULL;
    OK(anyhost_builder_new(&builder));
    CHECK(builder != NULL);
    return builder;
}

/* Every option there is takes the text of its own default. */
static void walk_options(void) {
    size_t i, requests = 0, count = anyhost_option_count();
    CHECK(count >= 20);
    for (i = 0; i < count; i++) {
        anyhost_builder *builder = fresh();
        const char *name = anyhost_option_name(i);
        const char *value = anyhost_option_default(i);
        int32_t scope = anyhost_option_scope(i);
        CHECK(scope == 1 || scope == 3);
        requests += scope == 3;
        CHECK(strlen(anyhost_option_help(i)) > 0);
        OK(anyhost_builder_set(builder, name, NULL));
        if (value[0] != '\0') OK(anyhost_builder_set(builder, name, value));
        anyhost_builder_free(builder);
    }
    CHECK(requests > 0 && requests < count);
    CHECK(anyhost_option_name(count) == NULL);
    CHECK(anyhost_option_default(count) == NULL);
    CHECK(anyhost_option_help(count) == NULL);
    SAME(anyhost_option_scope(count), 0);
}

int main(int argc, char **argv) {
    const char *plain, *tls, *pem;
    anyhost_builder *builder;
    anyhost_client *client = NULL;
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;

    begin(argc, 3);
    plain = argv[1], tls = argv[2], pem = argv[3];
    walk_options();

    /* Everything at once, and what the server gets of it (which the test looks at). */
    builder = fresh();
    OK(anyhost_builder_set(builder, "deadline", "30s"));
    OK(anyhost_builder_set(builder, "user_agent", "builder.c"));
    OK(anyhost_builder_set_int(builder, "hold_for", 250));
    OK(anyhost_builder_set_int(builder, "require_success", 0));
    OK(anyhost_builder_add_endpoint(builder, plain, 0, ANYHOST_PRIORITY_AUTO, "first"));
    OK(anyhost_builder_add_header(builder, "X-All", "all", 0));
    OK(anyhost_builder_add_header(builder, "X-Both", "client", 0));
    OK(anyhost_builder_endpoint_header(builder, "first", "X-One", "one", 1));
    OK(anyhost_builder_endpoint_header(builder, plain, "X-Both", "endpoint", 0));
    OK(anyhost_builder_build(builder, &client, &err));
    CHECK(err == NULL);
    OK(anyhost_get(client, "/built", &answer, &err));
    TEXT(anyhost_response_endpoint(answer), "first");
    anyhost_response_free(answer);
    anyhost_client_free(client);

    /* It is spent: everything else says so, and it still has to be freed. */
    SAME(anyhost_builder_set(builder, "hold_for", "1s"), ANYHOST_E_STATE);
    SAME(anyhost_builder_set_int(builder, "hold_for", 1), ANYHOST_E_STATE);
    SAME(anyhost_builder_add_endpoint(builder, plain, 0, 0, NULL), ANYHOST_E_STATE);
    SAME(anyhost_builder_add_header(builder, "X-A", "a", 0), ANYHOST_E_STATE);
    SAME(anyhost_builder_endpoint_header(builder, "first", "X-A", "a", 0), ANYHOST_E_STATE);
    SAME(anyhost_builder_add_root_pem(builder, pem, strlen(pem)), ANYHOST_E_STATE);
    build_fails(builder, ANYHOST_E_STATE, NULL, "");

    /* A certificate: without it the server is not believed. */
    builder = fresh();
    OK(anyhost_builder_set(builder, "base_urls", tls));
    OK(anyhost_builder_set(builder, "tls_roots", "none"));
    OK(anyhost_builder_add_root_pem(builder, pem, strlen(pem)));
    OK(anyhost_builder_build(builder, &client, &err));
    anyhost_builder_free(builder);
    OK(anyhost_get(client, "/tls", &answer, &err));
    SAME(anyhost_response_status(answer), 200);
    anyhost_response_free(answer);
    anyhost_client_free(client);
    OK(anyhost_open(tls, &client, &err));
    SAME(anyhost_get(client, "/tls", &answer, &err), ANYHOST_E_ATTEMPTS_SPENT);
    SAME(anyhost_error_reason(err), ANYHOST_REASON_TLS_CERT);
    SAME(anyhost_error_phase(err), ANYHOST_PHASE_TLS);
    SAME(anyhost_error_delivery(err), ANYHOST_DELIVERY_NOT_SENT);
    anyhost_error_free(err);
    anyhost_client_free(client);

    /* Of several mistakes build tells the first, by option and value. */
    builder = fresh();
    SAME(anyhost_builder_set(builder, "deadline", "soon"), ANYHOST_E_OPTION);
    SAME(anyhost_builder_set(builder, "no_such_option", "1"), ANYHOST_E_OPTION);
    SAME(anyhost_builder_set_int(builder, "hold_for", -1), ANYHOST_E_RANGE);
    OK(anyhost_builder_set(builder, "base_urls", plain));
    build_fails(builder, ANYHOST_E_OPTION, "deadline", "soon");

    builder = fresh();
    SAME(anyhost_builder_add_endpoint(builder, plain, 1001, 0, NULL), ANYHOST_E_RANGE);
    build_fails(builder, ANYHOST_E_RANGE, "weight", "weight");
    builder = fresh();
    SAME(anyhost_builder_endpoint_header(builder, "nobody", "X-A", "a", 0), ANYHOST_E_NOT_FOUND);
    build_fails(builder, ANYHOST_E_NOT_FOUND, NULL, "");
    build_fails(fresh(), ANYHOST_E_CONFIG, NULL, "");
    return passed();
}
