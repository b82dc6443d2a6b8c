/* A client that is used on both sides of a fork: nobody gets the other's answer. */
#include "check.h"
#include <sys/wait.h>

enum { CALLS = 200, PREFORKED = 8 };

static const char *pem;

static anyhost_client *client_of(const char *url) {
    anyhost_builder *builder = NULL;
    anyhost_client *client = NULL;
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_set(builder, "base_urls", url));
    OK(anyhost_builder_set(builder, "tls_roots", "none"));
    OK(anyhost_builder_add_root_pem(builder, pem, strlen(pem)));
    OK(anyhost_builder_build(builder, &client, NULL));
    anyhost_builder_free(builder);
    return client;
}

static int ask(anyhost_client *client, const char *who, int calls) {
    int i, wrong = 0;
    for (i = 0; i < calls; i++) {
        char path[32], expected[64];
        const uint8_t *body = NULL;
        size_t len = 0;
        anyhost_response *answer = NULL;
        snprintf(path, sizeof path, "/%s/%d", who, i);
        snprintf(expected, sizeof expected, "GET %s ", path);
        if (anyhost_get(client, path, &answer, NULL) != ANYHOST_OK
            || anyhost_response_body(answer, &body, &len, NULL) != ANYHOST_OK
            || strcmp((const char *)body, expected) != 0)
            wrong++;
        anyhost_response_free(answer);
    }
    return wrong;
}

static void ended_well(pid_t child) {
    int how = 0;
    SAME(waitpid(child, &how, 0), child);
    CHECK(WIFEXITED(how));
    SAME(WEXITSTATUS(how), 0);
}

/* Reads on in an answer whose first byte was read. */
static int32_t rest_of(anyhost_response *answer, size_t *read) {
    char buf[1000];
    size_t n = 1;
    *read = 0;
    while (n > 0) {
        int32_t status = anyhost_response_read(answer, buf, sizeof buf, &n, NULL);
        if (status != ANYHOST_OK) return status;
        *read += n;
    }
    return ANYHOST_OK;
}

/* Idle connections and an answer that is half read are there when the process forks. */
static void both_sides(const char *url) {
    anyhost_client *client = client_of(url);
    anyhost_request *request = NULL;
    anyhost_response *half = NULL;
    char first;
    size_t n = 0;
    pid_t child;
    int wrong;

    SAME(ask(client, "w", 3), 0);
    OK(anyhost_request_new("GET", "/large", &request, NULL));
    OK(anyhost_client_stream(client, request, &half, NULL));
    anyhost_request_free(request);
    OK(anyhost_response_read(half, &first, 1, &n, NULL));
    SAME(n, 1);
    SAME(ask(client, "w", 3), 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        pid_t grandchild;
        alarm(LONGEST_RUN);
        wrong = ask(client, "c", CALLS);
        /* A child of the child, which warms nothing and asks again. */
        grandchild = fork();
        if (grandchild == 0) {
            alarm(LONGEST_RUN);
            _Exit(ask(client, "g", 20) == 0 ? 0 : 1);
        }
        wrong += ask(client, "c", 20);
        ended_well(grandchild);
        anyhost_response_free(half);
        anyhost_client_free(client);
        _Exit(wrong == 0 ? 0 : 1);
    }
    wrong = ask(client, "p", CALLS);
    ended_well(child);
    SAME(wrong, 0);
    /* The child has let go of its copy, and that has reached nobody. */
    OK(rest_of(half, &n));
    SAME(n, (1 << 20) - 1);
    anyhost_response_free(half);
    anyhost_client_free(client);
}

/* The way of servers: one client is made, many children use it. */
static void preforked(const char *url) {
    anyhost_client *client = client_of(url);
    pid_t children[PREFORKED];
    int i;
    SAME(ask(client, "w", 1), 0);
    for (i = 0; i < PREFORKED; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            char who[8];
            alarm(LONGEST_RUN);
            snprintf(who, sizeof who, "f%d", i);
            _Exit(ask(client, who, 25) == 0 ? 0 : 1);
        }
    }
    for (i = 0; i < PREFORKED; i++) ended_well(children[i]);
    SAME(ask(client, "w", 1), 0);
    anyhost_client_free(client);
}

int main(int argc, char **argv) {
    begin(argc, 2);
    pem = argv[2];
    both_sides(argv[1]);
    preforked(argv[1]);
    return passed();
}
