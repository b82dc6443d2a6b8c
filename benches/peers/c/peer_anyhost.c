// anyhost through its C contract, with deadline, connect limit, retries, breaker, selection on.
#define _GNU_SOURCE
#include "peer.h"
#include <anyhost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
const int PEER_SHAREABLE = 1;
struct peer { anyhost_client *client; int port; char host[64]; };
void peer_global_init(void) {}
static const char *path_of(const char *url) { return strchr(url + 8, '/'); }
static void fatal(const char *what) { fprintf(stderr, "%s\n", what); exit(1); }
struct peer *peer_new(const struct cfg *c) {
    struct peer *p = calloc(1, sizeof *p);
    anyhost_builder *b;
    anyhost_error *e = NULL;
    if (anyhost_builder_new(&b)) return NULL;
    anyhost_builder_preset(b, "resilient");
    if (!c->url2) anyhost_builder_set(b, "selection", "weighted");
    else anyhost_builder_set(b, "selection", "ordered");
    anyhost_builder_set(b, "deadline", "30s");
    anyhost_builder_set_int(b, "connect_timeout", c->ct_ms ? c->ct_ms : 5000);
    anyhost_builder_set_int(b, "max_idle_per_endpoint", c->fresh ? 0 : c->threads > 8 ? c->threads : 8);
    const char *colon = strrchr(c->url, ':');
    snprintf(p->host, sizeof p->host, "%.*s", (int)(colon - c->url), c->url);
    p->port = atoi(colon + 1);
    for (int i = 0; i < c->ports; i++) {
        char name[96];
        snprintf(name, sizeof name, "%s:%d", p->host, p->port + i);
        anyhost_builder_add_endpoint(b, name, 0, ANYHOST_PRIORITY_AUTO, name);
    }
    if (c->url2) {
        char *name = strndup(c->url2, path_of(c->url2) - c->url2);
        anyhost_builder_add_endpoint(b, name, 0, ANYHOST_PRIORITY_AUTO, name);
        free(name);
    }
    if (c->ca) {
        FILE *f = fopen(c->ca, "rb");
        char *pem = malloc(1 << 20);
        size_t n = fread(pem, 1, 1 << 20, f);
        fclose(f);
        anyhost_builder_set(b, "tls_roots", "none");
        anyhost_builder_add_root_pem(b, pem, n);
        free(pem);
    }
    if (anyhost_builder_build(b, &p->client, &e)) fatal(anyhost_error_message(e));
    anyhost_builder_free(b);
    return p;
}
long peer_get(struct peer *p, const char *url) {
    anyhost_response *r = NULL;
    anyhost_error *e = NULL;
    const uint8_t *body;
    size_t len;
    if (anyhost_get(p->client, path_of(url), &r, &e)) {
        fprintf(stderr, "%s\n", anyhost_error_message(e));
        anyhost_error_free(e);
        return -1;
    }
    if (anyhost_response_body(r, &body, &len, &e)) return -1;
    anyhost_response_free(r);
    return (long)len;
}
long peer_stream(struct peer *p, const char *url) {
    static __thread char buf[64 << 10];
    anyhost_request *q = NULL;
    anyhost_response *r = NULL;
    anyhost_error *e = NULL;
    size_t n = 0;
    long sum = 0;
    if (anyhost_request_new("GET", path_of(url), &q, &e)) return -1;
    if (anyhost_client_stream(p->client, q, &r, &e)) return -1;
    do {
        if (anyhost_response_read(r, buf, sizeof buf, &n, &e)) return -1;
        sum += (long)n;
    } while (n > 0);
    anyhost_response_free(r);
    anyhost_request_free(q);
    return sum;
}
long peer_post(struct peer *p, const char *url, const void *b, size_t n) {
    anyhost_response *r = NULL;
    anyhost_error *e = NULL;
    if (anyhost_post(p->client, path_of(url), NULL, b, n, &r, &e)) { anyhost_error_free(e); return -1; }
    int32_t s = anyhost_response_status(r);
    anyhost_response_free(r);
    return s < 300 ? 0 : -1;
}
void peer_free(struct peer *p) { anyhost_client_free(p->client); free(p); }
