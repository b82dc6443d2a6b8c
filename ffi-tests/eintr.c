/* A timer that interrupts every system call of a call: none of it reaches the caller. */
#include "check.h"
#include <time.h>

static volatile sig_atomic_t ticks;
static timer_t clock_of_signals;

static void tick(int number) {
    (void)number;
    ticks++;
}

static void every_ms(int flags, long ms) {
    struct sigaction action;
    struct itimerspec timer;
    memset(&action, 0, sizeof action);
    action.sa_handler = tick;
    action.sa_flags = flags;
    SAME(sigaction(SIGUSR1, &action, NULL), 0);
    timer.it_interval.tv_sec = timer.it_value.tv_sec = 0;
    timer.it_interval.tv_nsec = timer.it_value.tv_nsec = ms * 1000000;
    SAME(timer_settime(clock_of_signals, 0, &timer, NULL), 0);
}

static void asks(anyhost_client *client, const char *limits) {
    static const char *const paths[] = { "/head", "/body" };
    size_t i;
    for (i = 0; i < 2; i++) {
        anyhost_request *request = NULL;
        anyhost_response *answer = NULL;
        OK(anyhost_request_new("GET", paths[i], &request, NULL));
        OK(anyhost_request_set(request, "attempt_timeout", limits));
        OK(anyhost_request_set(request, "connect_timeout", limits));
        OK(anyhost_client_send(client, request, &answer, NULL));
        BODY(answer, "0123456789");
        SAME(anyhost_response_attempt_count(answer), 1);
        anyhost_response_free(answer);
        anyhost_request_free(request);
    }
}

int main(int argc, char **argv) {
    static const int flags[] = { 0, SA_RESTART };
    struct sigevent event;
    size_t i;
    begin(argc, 1);
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    SAME(timer_create(CLOCK_MONOTONIC, &event, &clock_of_signals), 0);
    for (i = 0; i < 2; i++) {
        anyhost_client *client = NULL;
        OK(anyhost_open(argv[1], &client, NULL));
        every_ms(flags[i], 5);
        asks(client, "off");
        asks(client, "30s");
        OK(anyhost_client_drop_idle(client));
        asks(client, "off");
        every_ms(0, 0);
        anyhost_client_free(client);
    }
    CHECK(ticks > 20);
    return passed();
}
