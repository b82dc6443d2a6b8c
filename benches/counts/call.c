/* call CASE SUBJECT CALLS PLAIN TLS REFUSING AUTHORITY: what `case.rs` does, through anyhost.h. */
#include <anyhost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, anyhost_error *error) {
    fprintf(stderr, "%s: %s\n", what, error ? anyhost_error_message(error) : "");
    exit(1);
}

static void set(anyhost_builder *builder, const char *option, const char *value) {
    if (anyhost_builder_set(builder, option, value) != ANYHOST_OK) fail(option, NULL);
}

static void trust(anyhost_builder *builder, const char *file) {
    static char pem[1 << 16];
    FILE *in = fopen(file, "rb");
    if (!in) fail(file, NULL);
    size_t length = fread(pem, 1, sizeof pem, in);
    fclose(in);
    set(builder, "tls_roots", "none");
    if (anyhost_builder_add_root_pem(builder, pem, length) != ANYHOST_OK) fail(file, NULL);
}

int main(int argc, char **argv) {
    static char body[1024];
    if (argc != 8) return 2;
    const char *which = argv[1];
    long calls = atol(argv[3]);
    anyhost_builder *builder;
    anyhost_client *client;
    anyhost_error *error = NULL;
    memset(body, 'x', sizeof body);
    if (anyhost_builder_new(&builder) != ANYHOST_OK) fail("builder", NULL);
    if (strcmp(which, "failover") == 0) {
        set(builder, "hold_for", "0");
        set(builder, "deadline", "30s");
        set(builder, "base_urls", argv[6]);
        set(builder, "base_urls", argv[4]);
    } else {
        if (anyhost_builder_preset(builder, "resilient") != ANYHOST_OK) fail("preset", NULL);
        set(builder, "base_urls", strcmp(which, "get, TLS") == 0 ? argv[5] : argv[4]);
    }
    trust(builder, argv[7]);
    if (anyhost_builder_build(builder, &client, &error) != ANYHOST_OK) fail("build", error);
    anyhost_builder_free(builder);
    for (long i = 0; i < calls; i++) {
        anyhost_response *answer = NULL;
        const uint8_t *bytes;
        size_t length;
        int32_t status;
        if (strcmp(which, "post") == 0)
            status = anyhost_post(client, "/x", NULL, body, sizeof body, &answer, &error);
        else
            status = anyhost_get(client, "/x", &answer, &error);
        if (status != ANYHOST_OK) fail("call", error);
        status = anyhost_response_body(answer, &bytes, &length, &error);
        if (status != ANYHOST_OK || length != 1024) fail("body", error);
        anyhost_response_free(answer);
    }
    anyhost_client_free(client);
    return 0;
}
