/* The library, loaded and let go of by a program that was not linked with it. */
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>

enum { ROUNDS = 100 };

static const char *url;

/* A function of the library at hand, by its name. POSIX lets a pointer to a function be had so. */
#define FIND(library, function, name) \
    do { \
        *(void **)&(function) = dlsym((library), (name)); \
        CHECK((function) != NULL); \
    } while (0)

/* One call by a thread of its own, which ends after the library was let go of. */
static void *use(void *file) {
    int32_t (*open_client)(const char *, anyhost_client **, anyhost_error **);
    int32_t (*get)(anyhost_client *, const char *, anyhost_response **, anyhost_error **);
    int32_t (*status)(const anyhost_response *);
    void (*free_response)(anyhost_response *);
    void (*free_client)(anyhost_client *);
    uint32_t (*abi)(void);
    anyhost_client *client = NULL;
    anyhost_response *answer = NULL;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) check_fail(__FILE__, __LINE__, "dlopen", dlerror());
    FIND(library, open_client, "anyhost_open");
    FIND(library, get, "anyhost_get");
    FIND(library, status, "anyhost_response_status");
    FIND(library, free_response, "anyhost_response_free");
    FIND(library, free_client, "anyhost_client_free");
    FIND(library, abi, "anyhost_abi");
    SAME(abi(), ANYHOST_ABI);
    OK(open_client(url, &client, NULL));
    OK(get(client, "/", &answer, NULL));
    SAME(status(answer), 200);
    free_response(answer);
    free_client(client);
    SAME(dlclose(library), 0);
    return NULL;
}

static int is_mapped(const char *file) {
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) found |= strstr(line, file) != NULL;
    fclose(maps);
    return found;
}

int main(int argc, char **argv) {
    char first[4096];
    pthread_t thread;
    void *global;
    int i;
    begin(argc, 3);
    url = argv[1];
    SAME(snprintf(first, sizeof first, "%s", argv[2]), (int)strlen(argv[2]));
    CHECK(!is_mapped(argv[2]));
    for (i = 0; i < ROUNDS; i++) {
        SAME(pthread_create(&thread, NULL, use, first), 0);
        SAME(pthread_join(thread, NULL), 0);
    }
    /* Closing is harmless, because it stays. */
    CHECK(is_mapped(argv[2]));
    /* A copy under another name, beside it, and its names for all. */
    global = dlopen(argv[3], RTLD_NOW | RTLD_GLOBAL);
    CHECK(global != NULL);
    SAME(pthread_create(&thread, NULL, use, argv[3]), 0);
    SAME(pthread_join(thread, NULL), 0);
    SAME(pthread_create(&thread, NULL, use, first), 0);
    SAME(pthread_join(thread, NULL), 0);
    SAME(dlclose(global), 0);
    return passed();
}
