/* A body of 1 MiB, read in pieces of every size, and whole. */
#include "check.h"

enum { SIZE = 1024 * 1024 };

static void read_in_pieces(anyhost_client *client, const char *path, size_t piece) {
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    const uint8_t *whole = NULL;
    size_t len = 0, at, n, i;
    unsigned char *buf = malloc(piece);

    CHECK(buf != NULL);
    OK(anyhost_get(client, path, &answer, &err));
    SAME(anyhost_response_content_length(answer), SIZE);
    for (at = 0; at < SIZE; at += n) {
        OK(anyhost_response_read(answer, buf, piece, &n, &err));
        CHECK(n > 0 && n <= piece);
        for (i = 0; i < n; i++) CHECK(buf[i] == (at + i) % 251);
    }
    /* The end, as often as one asks. */
    OK(anyhost_response_read(answer, buf, piece, &n, &err));
    SAME(n, 0);
    OK(anyhost_response_read(answer, NULL, 0, &n, &err));
    SAME(n, 0);
    OK(anyhost_response_body(answer, &whole, &len, &err));
    SAME(len, SIZE);
    for (i = 0; i < len; i++) CHECK(whole[i] == i % 251);
    SAME(whole[len], 0);
    free(buf);
    anyhost_response_free(answer);
}

int main(int argc, char **argv) {
    anyhost_client *client = NULL;
    anyhost_response *answer = NULL;
    const uint8_t *body = NULL;
    size_t len = 7;
    begin(argc, 1);
    OK(anyhost_open(argv[1], &client, NULL));
    read_in_pieces(client, "/", 1);
    read_in_pieces(client, "/", 16);
    read_in_pieces(client, "/chunks", 65536);
    read_in_pieces(client, "/chunks", SIZE + 1);
    OK(anyhost_get(client, "/empty", &answer, NULL));
    OK(anyhost_response_body(answer, &body, &len, NULL));
    CHECK(body != NULL);
    SAME(len, 0);
    SAME(body[0], 0);
    anyhost_response_free(answer);
    anyhost_client_free(client);
    return passed();
}
