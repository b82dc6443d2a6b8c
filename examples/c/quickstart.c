/* One call, any host that can answer: what each attempt came to.
 *
 *     cc quickstart.c -lanyhost -o quickstart
 *     ./quickstart https://a.example,https://b.example /path
 */
#include <anyhost.h>
#include <stdio.h>

static void header(void) {
    printf("  %2s %-28s %-8s %-16s %-13s %6s  %s\n", "#", "endpoint", "phase", "reason", "delivery",
           "ms", "status");
}

static void row(const anyhost_attempt *attempt) {
    printf("  %2lu %-28s %-8s %-16s %-13s %6lu  ", (unsigned long)anyhost_attempt_number(attempt),
           anyhost_attempt_endpoint(attempt), anyhost_phase_name(anyhost_attempt_phase(attempt)),
           anyhost_reason_name(anyhost_attempt_reason(attempt)),
           anyhost_delivery_name(anyhost_attempt_delivery(attempt)),
           (unsigned long)(anyhost_attempt_elapsed_us(attempt) / 1000));
    if (anyhost_attempt_http_status(attempt) != 0)
        printf("%d", (int)anyhost_attempt_http_status(attempt));
    printf("\n");
}

int main(int argc, char **argv) {
    const char *path = argc > 2 ? argv[2] : "/";
    anyhost_client *client = NULL;
    anyhost_response *answer = NULL;
    anyhost_error *error = NULL;
    const uint8_t *body;
    size_t len, i;
    int failed;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "give base URLs, separated by commas, and a path\n");
        return 2;
    }
    /* One check for both calls: without a client there is no answer either. */
    if (anyhost_open(argv[1], &client, &error) == ANYHOST_OK
        && anyhost_get(client, path, &answer, &error) == ANYHOST_OK) {
        printf("GET %s: %d from %s\n\n", path, (int)anyhost_response_status(answer),
               anyhost_response_endpoint(answer));
        header();
        for (i = 0; i < anyhost_response_attempt_count(answer); i++)
            row(anyhost_response_attempt(answer, i));
        if (anyhost_response_body(answer, &body, &len, NULL) == ANYHOST_OK) {
            printf("\n");
            fwrite(body, 1, len, stdout);
            printf("\n");
        }
    } else {
        printf("GET %s: error: %s: %s\n\n", path, anyhost_status_name(anyhost_error_status(error)),
               anyhost_error_message(error));
        header();
        for (i = 0; i < anyhost_error_attempt_count(error); i++)
            row(anyhost_error_attempt(error, i));
    }
    failed = answer == NULL;
    anyhost_response_free(answer);
    anyhost_error_free(error);
    anyhost_client_free(client);
    return failed;
}
