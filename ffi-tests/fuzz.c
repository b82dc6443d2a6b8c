/* Sequences of calls (`sequence.h`) under the sanitizers.
 *
 * fuzz SERVER REFUSING FILE...           replays files
 * fuzz SERVER REFUSING --seed N COUNT    makes COUNT sequences of the seed, and says how to repeat one */
#include "sequence.h"

enum { LONGEST = 200 };

/* xorshift64*: the same numbers everywhere. */
static uint8_t random_byte(uint64_t *state) {
    *state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
    return (uint8_t)((*state * UINT64_C(2685821657736338717)) >> 56);
}

int main(int argc, char **argv) {
    uint8_t data[1 << 16];
    int i;
    CHECK(argc >= 4);
    alarm(LONGEST_RUN);
    server = argv[1], refusing = argv[2];
    if (strcmp(argv[3], "--seed") == 0 && argc == 6) {
        unsigned long seed = strtoul(argv[4], NULL, 10), count = strtoul(argv[5], NULL, 10), n;
        /* As many as that take their time. */
        alarm(LONGEST_RUN + (unsigned)(count / 10));
        for (n = 0; n < count; n++) {
            uint64_t state = (seed + n) * UINT64_C(0x9E3779B97F4A7C15) + 1;
            size_t len;
            fprintf(stderr, "repeat with --seed %lu 1\n", seed + n);
            for (len = 0; len < LONGEST; len++) data[len] = random_byte(&state);
            sequence(data, LONGEST);
        }
    } else {
        for (i = 3; i < argc; i++) {
            FILE *file = fopen(argv[i], "rb");
            size_t len;
            CHECK(file != NULL);
            fprintf(stderr, "%s\n", argv[i]);
            len = fread(data, 1, sizeof data, file);
            fclose(file);
            sequence(data, len);
        }
    }
    printf("%lu calls\n", calls);
    return passed();
}
