/* The circuit breaker by itself: by key, with the waits it is given. */
#include "check.h"

int main(int argc, char **argv) {
    anyhost_breaker *breaker = NULL;
    int32_t allowed = 7;
    uint64_t wait = 7, first, second;
    int i;
    (void)argv;
    begin(argc, 0);

    /* Base 30 s, threshold 5: the first window has the wait of its number of failures, 480 s. */
    OK(anyhost_breaker_new(0, 0, 0, &breaker));
    for (i = 0; i < 4; i++) OK(anyhost_breaker_record_failure(breaker, "db", NULL));
    OK(anyhost_breaker_allow(breaker, "db", &allowed, &wait));
    SAME(allowed, 1);
    SAME(wait, 0);
    OK(anyhost_breaker_record_failure(breaker, "db", &first));
    CHECK(first >= 480000 && first <= 960000);
    OK(anyhost_breaker_allow(breaker, "db", &allowed, &wait));
    SAME(allowed, 0);
    CHECK(wait > 470000 && wait <= first);
    allowed = 7;
    OK(anyhost_breaker_allow(breaker, "db", &allowed, NULL));
    SAME(allowed, 0);
    /* Another key is another circuit, and any text is a key. */
    OK(anyhost_breaker_allow(breaker, "", &allowed, &wait));
    SAME(allowed, 1);
    OK(anyhost_breaker_record_success(breaker, "db"));
    OK(anyhost_breaker_allow(breaker, "db", &allowed, &wait));
    SAME(allowed, 1);
    anyhost_breaker_free(breaker);

    /* One failure opens, and waits never pass the maximum. */
    OK(anyhost_breaker_new(1, 60000, 100000, &breaker));
    OK(anyhost_breaker_record_failure(breaker, "q", &first));
    OK(anyhost_breaker_record_failure(breaker, "q", &second));
    CHECK(first >= 60000 && first <= 100000);
    CHECK(second > 99000 && second <= 100000);
    anyhost_breaker_free(breaker);

    /* A window that ends lets one probe through. */
    OK(anyhost_breaker_new(1, 1, 1, &breaker));
    OK(anyhost_breaker_record_failure(breaker, "p", NULL));
    do OK(anyhost_breaker_allow(breaker, "p", &allowed, NULL)); while (!allowed);
    anyhost_breaker_free(breaker);

    /* A maximum below the default base is the base too; a base above the maximum is a mistake. */
    OK(anyhost_breaker_new(1, 0, 1000, &breaker));
    OK(anyhost_breaker_record_failure(breaker, "s", &first));
    SAME(first, 1000);
    anyhost_breaker_free(breaker);
    SAME(anyhost_breaker_new(1, 2000, 1000, &breaker), ANYHOST_E_RANGE);
    CHECK(breaker == NULL);
    SAME(anyhost_breaker_allow(NULL, "x", &allowed, &wait), ANYHOST_E_NULL);
    SAME(allowed, 0);
    return passed();
}
