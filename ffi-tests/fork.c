/* A client that is used on both sides of a fork: nobody gets the other's answer. */
#include "check.h"
#include <sys/wait.h>

static int ask(anyhost_client *client, char who, int calls) {
    int i, wrong = 0;
    for (i = 0; i < calls; i++) {
        char path[32], expected[64];
        const uint8_t *body = NULL;
        size_t len = 0;
        anyhost_response *answer = NULL;
        snprintf(path, sizeof path, "/%c/%d", who, i);
        snprintf(expected, sizeof expected, "GET %s ", path);
        if (anyhost_get(client, path, &answer, NULL) != ANYHOST_OK
            || anyhost_response_body(answer, &body, &len, NULL) != ANYHOST_OK
            || strcmp((const char *)body, expected) != 0)
            wrong++;
        anyhost_response_free(answer);
    }
    return wrong;
}

int main(int argc, char **argv) {
    anyhost_client *client = NULL;
    int how = 0, wrong;
    pid_t child;
    begin(argc, 1);
    OK(anyhost_open(argv[1], &client, NULL));
    SAME(ask(client, 'w', 3), 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(LONGEST_RUN);
        wrong = ask(client, 'c', 100);
        anyhost_client_free(client);
        _Exit(wrong == 0 ? 0 : 1);
    }
    wrong = ask(client, 'p', 100);
    SAME(waitpid(child, &how, 0), child);
    CHECK(WIFEXITED(how));
    SAME(WEXITSTATUS(how), 0);
    SAME(wrong, 0);
    anyhost_client_free(client);
    return passed();
}
