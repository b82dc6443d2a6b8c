/* A daemon: one client for all threads, options from a file, events in the log, an orderly end.
 *
 *     cc -pthread daemon.c `pkg-config --cflags --libs anyhost` -o daemon
 *     ./daemon daemon.conf 1000
 *
 * Each of four workers posts a line of metrics every 1000 ms. daemon.conf has options of the library, "name =
 * value" on a line each. SIGUSR1 prints what is known of the hosts; SIGTERM and SIGINT end it.
 */
#define _POSIX_C_SOURCE 200809L
#include <anyhost.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORKERS = 4 };

static long pause_ms;
static int stopping;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stop = PTHREAD_COND_INITIALIZER;

/* Runs in the thread whose call caused the event. What a call may do by itself is no news. */
static void on_event(void *user, const anyhost_event *event) {
    (void)user;
    switch (anyhost_event_kind(event)) {
    case ANYHOST_EVENT_FAILOVER:
    case ANYHOST_EVENT_STATE_CHANGED:
    case ANYHOST_EVENT_HOLD_SET:
    case ANYHOST_EVENT_HOLD_ENDED:
    case ANYHOST_EVENT_ALL_AT_MINIMUM:
        fprintf(stderr, "%s\n", anyhost_event_text(event));
    }
}

/* The library says how much room a text takes, and then writes it. */
static void explain(const anyhost_error *error) {
    size_t size = 0;
    char *text;
    anyhost_error_explain(error, NULL, 0, &size);
    text = malloc(size);
    if (text != NULL && anyhost_error_explain(error, text, size, &size) == ANYHOST_OK) fputs(text, stderr);
    free(text);
}

static void print_state(anyhost_client *client) {
    anyhost_snapshot *now = NULL;
    size_t size = 0;
    char *text;
    if (anyhost_client_snapshot(client, &now) != ANYHOST_OK) return;
    anyhost_snapshot_text(now, NULL, 0, &size);
    text = malloc(size);
    if (text != NULL && anyhost_snapshot_text(now, text, size, &size) == ANYHOST_OK) fputs(text, stderr);
    free(text);
    anyhost_snapshot_free(now);
}

/* Waits until the next post is due; 0 when there is none any more. */
static int next_is_due(void) {
    struct timespec due;
    int goes_on;
    clock_gettime(CLOCK_REALTIME, &due);
    due.tv_sec += pause_ms / 1000;
    due.tv_nsec += pause_ms % 1000 * 1000000;
    if (due.tv_nsec >= 1000000000) due.tv_sec++, due.tv_nsec -= 1000000000;
    pthread_mutex_lock(&lock);
    while (!stopping && pthread_cond_timedwait(&stop, &lock, &due) == 0)
        ;
    goes_on = !stopping;
    pthread_mutex_unlock(&lock);
    return goes_on;
}

static void *worker(void *arg) {
    anyhost_client *client = arg;
    do {
        anyhost_response *answer = NULL;
        anyhost_error *error = NULL;
        int32_t status = anyhost_post(client, "/v1/metrics", "text/plain", "up 1\n", 5, &answer, &error);
        if (status != ANYHOST_OK && status != ANYHOST_E_SHUT_DOWN) explain(error);
        anyhost_response_free(answer);
        anyhost_error_free(error);
    } while (next_is_due());
    return NULL;
}

/* The line that is wrong, or 0. The builder remembers what is wrong with it, and tells when it builds. */
static int read_options(anyhost_builder *builder, FILE *file) {
    char line[1024];
    int number;
    for (number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        char *name = line + strspn(line, " \t\n");
        char *end = name + strcspn(name, " \t\n=");
        char *value = end + strspn(end, " \t=");
        if (*name == '\0' || *name == '#') continue;
        value[strcspn(value, "\r\n")] = '\0';
        *end = '\0';
        if (anyhost_builder_set(builder, name, value) != ANYHOST_OK) return number;
    }
    return 0;
}

static anyhost_client *open_client(const char *path) {
    anyhost_client *client = NULL;
    anyhost_builder *builder = NULL;
    anyhost_error *error = NULL;
    FILE *file = fopen(path, "r");
    int wrong;
    if (file == NULL) {
        perror(path);
        return NULL;
    }
    anyhost_builder_new(&builder);
    anyhost_builder_on_event(builder, on_event, NULL, NULL);
    wrong = read_options(builder, file);
    fclose(file);
    if (anyhost_builder_build(builder, &client, &error) != ANYHOST_OK)
        fprintf(stderr, "%s:%d: %s\n", path, wrong, anyhost_error_message(error));
    anyhost_error_free(error);
    anyhost_builder_free(builder);
    return client;
}

int main(int argc, char **argv) {
    pthread_t threads[WORKERS];
    anyhost_client *client;
    sigset_t signals;
    int i, got = 0;

    if (argc != 3 || (pause_ms = atol(argv[2])) <= 0) {
        fprintf(stderr, "usage: %s OPTIONS-FILE MILLISECONDS\n", argv[0]);
        return 2;
    }
    /* Signals are for the main thread, which waits for them; the workers inherit that. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);

    client = open_client(argv[1]);
    if (client == NULL) return 1;
    for (i = 0; i < WORKERS; i++)
        if (pthread_create(&threads[i], NULL, worker, client) != 0) abort();
    while (got != SIGTERM && got != SIGINT)
        if (sigwait(&signals, &got) == 0 && got == SIGUSR1) print_state(client);

    /* Calls under way end at once, wherever they are. */
    pthread_mutex_lock(&lock);
    stopping = 1;
    pthread_cond_broadcast(&stop);
    pthread_mutex_unlock(&lock);
    anyhost_client_shutdown(client);
    for (i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    anyhost_client_free(client);
    return 0;
}
