/* A long answer into a file, with a bar: streamed, so that its size does not matter.
 *
 *     cc download.c `pkg-config --cflags --libs anyhost` -o download
 *     ./download https://a.example,https://b.example /big.iso big.iso
 */
#include <anyhost.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 40 };

/* Told four times a second, also while nothing comes. Anything but 0 would end the call. */
static int32_t draw(void *user, uint64_t sent, uint64_t received, int64_t total) {
    char bar[WIDTH + 1];
    int full = total > 0 ? (int)(received * WIDTH / (uint64_t)total) : 0;
    (void)user, (void)sent;
    memset(bar, ' ', WIDTH);
    memset(bar, '#', (size_t)(full > WIDTH ? WIDTH : full));
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %lu KiB", bar, (unsigned long)(received / 1024));
    if (total > 0) fprintf(stderr, " of %lu", (unsigned long)((uint64_t)total / 1024));
    return 0;
}

/* The body into the file; what the last read says. */
static int32_t copy(anyhost_response *answer, FILE *file, uint64_t *size, anyhost_error **error) {
    static unsigned char piece[64 * 1024];
    size_t n = 0;
    int32_t status;
    while ((status = anyhost_response_read(answer, piece, sizeof piece, &n, error)) == ANYHOST_OK && n > 0) {
        if (fwrite(piece, 1, n, file) != n) return ANYHOST_E_INTERNAL;
        *size += n;
    }
    return status;
}

int main(int argc, char **argv) {
    anyhost_client *client = NULL;
    anyhost_request *request = NULL;
    anyhost_response *answer = NULL;
    anyhost_error *error = NULL;
    uint64_t size = 0;
    int32_t status;
    FILE *file;

    if (argc != 4) {
        fprintf(stderr, "give base URLs, separated by commas, a path, and a file to write to\n");
        return 2;
    }
    file = fopen(argv[3], "wb");
    if (file == NULL) {
        perror(argv[3]);
        return 1;
    }
    /* A long body may take as long as it likes, if it keeps coming: stall_timeout is what ends it. */
    if ((status = anyhost_open(argv[1], &client, &error)) == ANYHOST_OK
        && (status = anyhost_request_new("GET", argv[2], &request, &error)) == ANYHOST_OK) {
        anyhost_request_set(request, "attempt_timeout", "off");
        anyhost_request_set(request, "require_success", "on");
        anyhost_request_set_progress(request, draw, NULL, 250);
        status = anyhost_client_stream(client, request, &answer, &error);
    }
    if (status == ANYHOST_OK) status = copy(answer, file, &size, &error);
    if (fclose(file) != 0 && status == ANYHOST_OK) status = ANYHOST_E_INTERNAL;
    fprintf(stderr, "\n");
    if (status == ANYHOST_OK)
        printf("%lu bytes from %s\n", (unsigned long)size, anyhost_response_endpoint(answer));
    else
        fprintf(stderr, "%s: %s\n", anyhost_status_name(status), anyhost_error_message(error));
    anyhost_response_free(answer);
    anyhost_request_free(request);
    anyhost_client_free(client);
    anyhost_error_free(error);
    return status == ANYHOST_OK ? 0 : 1;
}
