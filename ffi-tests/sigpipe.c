/* A peer that goes away during an upload is an error, and never SIGPIPE, whose default ends the
 * process. */
#include "check.h"
#include <sys/socket.h>
#include <sys/wait.h>

enum { SIZE = 16 * 1024 * 1024 };

/* The default is in force: a write of one's own to a peer that is gone ends a process. */
static void the_signal_would_kill(void) {
    int ends[2], how = 0;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || close(ends[1]) != 0) _Exit(2);
        if (write(ends[0], "x", 1) != 1) _Exit(3);
        _Exit(4);
    }
    SAME(waitpid(child, &how, 0), child);
    CHECK(WIFSIGNALED(how));
    SAME(WTERMSIG(how), SIGPIPE);
}

static anyhost_client *client_of(const char *url, const char *pem) {
    anyhost_builder *builder = NULL;
    anyhost_client *client = NULL;
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_set(builder, "base_urls", url));
    OK(anyhost_builder_set(builder, "tls_roots", "none"));
    OK(anyhost_builder_add_root_pem(builder, pem, strlen(pem)));
    OK(anyhost_builder_build(builder, &client, NULL));
    anyhost_builder_free(builder);
    return client;
}

/* Uploads more than any socket takes, to a peer that resets when it has seen the head. */
static void upload(const char *url, const char *pem, const char *body) {
    anyhost_client *client = client_of(url, pem);
    anyhost_response *answer = NULL;
    anyhost_error *err = NULL;
    int i;
    for (i = 0; i < 3; i++) {
        SAME(anyhost_post(client, "/", NULL, body, SIZE, &answer, &err), ANYHOST_E_ATTEMPTS_SPENT);
        SAME(anyhost_error_reason(err), ANYHOST_REASON_RESET);
        SAME(anyhost_error_delivery(err), ANYHOST_DELIVERY_MAYBE);
        anyhost_error_free(err);
    }
    anyhost_client_free(client);
}

int main(int argc, char **argv) {
    struct sigaction action;
    char *body = malloc(SIZE);

    begin(argc, 3);
    CHECK(body != NULL);
    memset(body, 'x', SIZE);
    signal(SIGPIPE, SIG_DFL);
    the_signal_would_kill();
    upload(argv[1], argv[3], body);
    upload(argv[2], argv[3], body);
    SAME(sigaction(SIGPIPE, NULL, &action), 0);
    CHECK(action.sa_handler == SIG_DFL);
    free(body);
    return passed();
}
