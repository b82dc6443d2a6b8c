/* Sixty-four threads that wait for the network in four ways, and come back at once. */
#include "check.h"
#include <pthread.h>
#include <time.h>

enum { THREADS = 64, UPLOAD = 16 * 1024 * 1024 };

static anyhost_client *client, *deaf;
static anyhost_cancel *cancel;
static char *upload;
static int32_t expected;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double returned[THREADS];

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1000.0 + (double)now.tv_nsec / 1000000.0;
}

static anyhost_request *request_of(const char *method, const char *path) {
    anyhost_request *request = NULL;
    OK(anyhost_request_new(method, path, &request, NULL));
    OK(anyhost_request_set(request, "attempt_timeout", "off"));
    OK(anyhost_request_set_cancel(request, cancel));
    return request;
}

/* Waits for a head, within a body, within a streamed body, or for room to send. */
static void *wait_in_vain(void *argument) {
    int number = *(int *)argument;
    anyhost_request *request;
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    char buf[16];
    size_t n = 1;
    int32_t status;
    switch (number % 4) {
    case 0:
        request = request_of("GET", "/head");
        status = anyhost_client_send(client, request, &answer, &err);
        break;
    case 1:
        request = request_of("GET", "/body");
        status = anyhost_client_send(client, request, &answer, &err);
        break;
    case 2:
        request = request_of("GET", "/body");
        /* The head may still be on its way when the end comes. */
        status = anyhost_client_stream(client, request, &answer, &err);
        while (status == ANYHOST_OK && n > 0)
            status = anyhost_response_read(answer, buf, sizeof buf, &n, &err);
        break;
    default:
        request = request_of("PUT", "/send");
        OK(anyhost_request_set_body_borrowed(request, upload, UPLOAD, NULL, NULL));
        status = anyhost_client_send(deaf, request, &answer, &err);
        break;
    }
    returned[number] = now_ms();
    pthread_mutex_lock(&lock);
    SAME(status, expected);
    pthread_mutex_unlock(&lock);
    SAME(anyhost_error_status(err), expected);
    anyhost_error_free(err);
    anyhost_response_free(answer);
    anyhost_request_free(request);
    return NULL;
}

/* Blocks all threads, waits for the word that they are, ends them in one way or the other, and says how
 * long the last one took. */
static double blocked_until(int32_t status) {
    pthread_t threads[THREADS];
    int numbers[THREADS], i;
    double began, last = 0;
    expected = status;
    OK(anyhost_cancel_new(&cancel));
    for (i = 0; i < THREADS; i++) {
        numbers[i] = i;
        SAME(pthread_create(&threads[i], NULL, wait_in_vain, &numbers[i]), 0);
    }
    puts("waiting");
    fflush(stdout);
    SAME(getchar(), '\n');
    began = now_ms();
    if (status == ANYHOST_E_CANCELLED) {
        anyhost_cancel_trigger(cancel);
    } else {
        OK(anyhost_client_shutdown(client));
        OK(anyhost_client_shutdown(deaf));
    }
    for (i = 0; i < THREADS; i++) {
        SAME(pthread_join(threads[i], NULL), 0);
        if (returned[i] - began > last) last = returned[i] - began;
    }
    anyhost_cancel_free(cancel);
    return last;
}

int main(int argc, char **argv) {
    anyhost_response *answer = NULL;
    anyhost_request *request;
    int round;
    begin(argc, 2);
    upload = calloc(UPLOAD, 1);
    CHECK(upload != NULL);
    OK(anyhost_open(argv[1], &client, NULL));
    OK(anyhost_open(argv[2], &deaf, NULL));
    for (round = 0; round < 3; round++)
        printf("%d us\n", (int)(blocked_until(ANYHOST_E_CANCELLED) * 1000));
    printf("%d us\n", (int)(blocked_until(ANYHOST_E_SHUT_DOWN) * 1000));

    /* One that was triggered ends what begins later, before anything is sent. */
    OK(anyhost_cancel_new(&cancel));
    CHECK(anyhost_cancel_ref(cancel) == cancel);
    anyhost_cancel_free(cancel);
    anyhost_cancel_trigger(cancel);
    anyhost_cancel_trigger(cancel);
    anyhost_client_free(client);
    OK(anyhost_open(argv[1], &client, NULL));
    request = request_of("GET", "/late");
    SAME(anyhost_client_send(client, request, &answer, NULL), ANYHOST_E_CANCELLED);
    anyhost_request_free(request);
    anyhost_cancel_free(cancel);
    anyhost_client_free(client);
    anyhost_client_free(deaf);
    free(upload);
    return passed();
}
