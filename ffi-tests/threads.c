/* Sixteen threads on one client; the test counts what the server got. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 16, CALLS = 25 };

static anyhost_client *client;
static unsigned long attempts[THREADS];

static void *work(void *argument) {
    int number = *(int *)argument, i;
    anyhost_client *own = anyhost_client_ref(client);
    for (i = 0; i < CALLS; i++) {
        char path[32], body[80];
        anyhost_response *answer = NULL;
        anyhost_error *err = NULL;
        snprintf(path, sizeof path, "/%d/%d", number, i);
        if (i % 2 == 0) OK(anyhost_get(own, path, &answer, &err));
        else OK(anyhost_put(own, path, NULL, path, strlen(path), &answer, &err));
        if (i % 2 == 0) snprintf(body, sizeof body, "GET %s ", path);
        else snprintf(body, sizeof body, "PUT %s %s", path, path);
        BODY(answer, body);
        attempts[number] += anyhost_response_attempt_count(answer);
        anyhost_response_free(answer);
    }
    anyhost_client_free(own);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    int numbers[THREADS], i;
    unsigned long all = 0;
    begin(argc, 1);
    OK(anyhost_open(argv[1], &client, NULL));
    for (i = 0; i < THREADS; i++) {
        numbers[i] = i;
        SAME(pthread_create(&threads[i], NULL, work, &numbers[i]), 0);
    }
    for (i = 0; i < THREADS; i++) {
        SAME(pthread_join(threads[i], NULL), 0);
        all += attempts[i];
    }
    anyhost_client_free(client);
    printf("%lu\n", all);
    return passed();
}
