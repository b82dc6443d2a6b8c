/* The interpreter of `ffi-tests`, called with the bytes of the fuzzer. */

/* The fuzzer takes note of what aborts. */
#define CHECK_ENDS() abort()
#include "sequence.h"

void run_sequence(const char *at_server, const char *at_refusing, const uint8_t *data, size_t len) {
    server = at_server, refusing = at_refusing;
    sequence(data, len);
}
