/* A write that may have been received is not sent again, and the error says so. The test counts at
 * both servers. */
#include "check.h"

int main(int argc, char **argv) {
    char urls[256];
    anyhost_client *client = NULL;
    anyhost_response *answer = (anyhost_response *)(void *)urls;
    anyhost_error *err = NULL;
    begin(argc, 2);
    snprintf(urls, sizeof urls, "%s,%s", argv[1], argv[2]);
    OK(anyhost_open(urls, &client, NULL));
    SAME(anyhost_post(client, "/orders", "text/plain", "one coffee", 10, &answer, &err),
         ANYHOST_E_ATTEMPTS_SPENT);
    CHECK(answer == NULL);
    SAME(anyhost_error_delivery(err), ANYHOST_DELIVERY_MAYBE);
    SAME(anyhost_error_reason(err), ANYHOST_REASON_RESET);
    SAME(anyhost_error_attempt_count(err), 1);
    SAME(anyhost_attempt_delivery(anyhost_error_attempt(err, 0)), ANYHOST_DELIVERY_MAYBE);
    anyhost_error_free(err);
    /* A read may go to the second. */
    OK(anyhost_get(client, "/orders", &answer, &err));
    TEXT(anyhost_response_endpoint(answer), argv[2]);
    anyhost_response_free(answer);
    anyhost_client_free(client);
    return passed();
}
