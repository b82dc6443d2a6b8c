/* Sixty-four threads on one client, while snapshots are taken and the list is replaced: every answer is
 * the right one, and the counts add up. The second argument is how many calls. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 64 };

static anyhost_client *client;
static const char *first, *second;
static int calls_each;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int working = THREADS;
static unsigned long answers, events;

static int anybody_works(void) {
    int some;
    pthread_mutex_lock(&lock);
    some = working > 0;
    pthread_mutex_unlock(&lock);
    return some;
}

static void *work(void *argument) {
    int number = *(int *)argument, i;
    for (i = 0; i < calls_each; i++) {
        char path[32], expected[64];
        anyhost_response *answer = NULL;
        snprintf(path, sizeof path, "/%d/%d", number, i);
        snprintf(expected, sizeof expected, "GET %s ", path);
        OK(anyhost_get(client, path, &answer, NULL));
        BODY(answer, expected);
        anyhost_response_free(answer);
    }
    pthread_mutex_lock(&lock);
    answers += (unsigned long)calls_each;
    working--;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *watch(void *argument) {
    (void)argument;
    do {
        anyhost_snapshot *now = NULL;
        size_t i, needed = 0;
        OK(anyhost_client_snapshot(client, &now));
        for (i = 0; i < anyhost_snapshot_count(now); i++) {
            const anyhost_member *member = anyhost_snapshot_at(now, i);
            SAME(anyhost_member_failures(member), 0);
            CHECK(anyhost_member_successes(member) <= anyhost_member_attempts(member));
            CHECK(anyhost_member_in_flight(member) <= THREADS);
        }
        SAME(anyhost_snapshot_json(now, NULL, 0, &needed), ANYHOST_E_BUFFER);
        anyhost_snapshot_free(now);
    } while (anybody_works());
    return NULL;
}

/* One of two endpoints stays, the other comes and goes. */
static void *replace(void *argument) {
    int i = 0;
    (void)argument;
    do {
        anyhost_update *update = NULL;
        OK(anyhost_update_new(&update));
        OK(anyhost_update_add_endpoint(update, first, 0, 0, "first"));
        if (i++ % 2 == 0) OK(anyhost_update_add_endpoint(update, second, 0, 0, "second"));
        OK(anyhost_client_apply(client, update, NULL));
        anyhost_update_free(update);
        OK(anyhost_client_set_weight(client, "first", (uint32_t)(1 + i % 1000)));
        if (i % 50 == 0) OK(anyhost_client_drop_idle(client));
    } while (anybody_works());
    return NULL;
}

static void on_event(void *user, const anyhost_event *event) {
    if (anyhost_event_kind(event) != ANYHOST_EVENT_ATTEMPT_ENDED) return;
    pthread_mutex_lock(&lock);
    ++*(unsigned long *)user;
    pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS], others[2];
    int numbers[THREADS], i;
    anyhost_builder *builder = NULL;
    begin(argc, 3);
    first = argv[1];
    second = argv[2];
    calls_each = atoi(argv[3]) / THREADS;
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_set(builder, "selection", "weighted"));
    OK(anyhost_builder_set(builder, "attempt_timeout", "60s"));
    OK(anyhost_builder_set(builder, "connect_timeout", "60s"));
    OK(anyhost_builder_add_endpoint(builder, first, 0, 0, "first"));
    OK(anyhost_builder_on_event(builder, on_event, &events, NULL));
    OK(anyhost_builder_build(builder, &client, NULL));
    anyhost_builder_free(builder);
    for (i = 0; i < THREADS; i++) {
        numbers[i] = i;
        SAME(pthread_create(&threads[i], NULL, work, &numbers[i]), 0);
    }
    SAME(pthread_create(&others[0], NULL, watch, NULL), 0);
    SAME(pthread_create(&others[1], NULL, replace, NULL), 0);
    for (i = 0; i < THREADS; i++) SAME(pthread_join(threads[i], NULL), 0);
    for (i = 0; i < 2; i++) SAME(pthread_join(others[i], NULL), 0);
    anyhost_client_free(client);
    printf("%lu %lu\n", answers, events);
    return passed();
}
