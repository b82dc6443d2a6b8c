/* What every program of these tests has: assertions that say where they are, and an end that no
 * program which hangs escapes. Include it first. */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <anyhost.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One second per step of a program, and more than enough under valgrind. */
#define LONGEST_RUN 60

/* How a program ends where an assertion does not hold. */
#ifndef CHECK_ENDS
#define CHECK_ENDS() _Exit(1)
#endif

static inline void check_fail(const char *file, int line, const char *what, const char *got) {
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, got);
    fflush(stdout);
    CHECK_ENDS();
}

static inline void check_int(const char *file, int line, const char *what, long long got,
                             long long expected) {
    char text[80];
    if (got == expected) return;
    snprintf(text, sizeof text, "%lld, expected %lld", got, expected);
    check_fail(file, line, what, text);
}

static inline void check_text(const char *file, int line, const char *what, const char *got,
                              const char *expected) {
    char text[2000];
    if (got != NULL && strcmp(got, expected) == 0) return;
    snprintf(text, sizeof text, "\"%s\", expected \"%s\"", got == NULL ? "(NULL)" : got, expected);
    check_fail(file, line, what, text);
}

static inline void check_part(const char *file, int line, const char *what, const char *got,
                              const char *part) {
    char text[2000];
    if (got != NULL && strstr(got, part) != NULL) return;
    snprintf(text, sizeof text, "\"%s\" without \"%s\"", got == NULL ? "(NULL)" : got, part);
    check_fail(file, line, what, text);
}

/* The condition holds. */
#define CHECK(condition) \
    do { if (!(condition)) check_fail(__FILE__, __LINE__, #condition, "does not hold"); } while (0)
/* Two integers are equal. */
#define SAME(got, expected) \
    check_int(__FILE__, __LINE__, #got, (long long)(got), (long long)(expected))
/* Two texts are equal. */
#define TEXT(got, expected) check_text(__FILE__, __LINE__, #got, (got), (expected))
/* A text has a part. */
#define PART(got, part) check_part(__FILE__, __LINE__, #got, (got), (part))
/* A call works. */
#define OK(call) SAME((call), ANYHOST_OK)

/* The first line of a program: it takes so many arguments, and ends. */
static inline void begin(int argc, int arguments) {
    alarm(LONGEST_RUN);
    SAME(argc, arguments + 1);
}

/* The last line of a program: its answer, and the word that it came so far. */
static inline int passed(void) {
    puts("passed");
    return 0;
}

/* The body of an answer is this text. */
#define BODY(response, text) check_body(__FILE__, __LINE__, (response), (text))

static inline void check_body(const char *file, int line, const anyhost_response *response,
                              const char *expected) {
    const uint8_t *body = NULL;
    size_t len = 0;
    anyhost_error *err = NULL;
    check_int(file, line, "body", anyhost_response_body(response, &body, &len, &err), ANYHOST_OK);
    CHECK(err == NULL);
    check_text(file, line, "body", (const char *)body, expected);
    check_int(file, line, "length of the body", (long long)len, (long long)strlen(expected));
}

#endif
