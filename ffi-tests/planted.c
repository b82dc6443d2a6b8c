/* Mistakes that the sanitizers have to find, or they prove nothing: a handle that is not freed, one that is
 * read after it was, and a callback that counts without a lock. */
#include "check.h"
#include <pthread.h>

static int unguarded;

static void on_event(void *user, const anyhost_event *event) {
    (void)user, (void)event;
    unguarded++;
}

static void *ask(void *client) {
    anyhost_response *answer = NULL;
    SAME(anyhost_get(client, "/", &answer, NULL), ANYHOST_E_ATTEMPTS_SPENT);
    return NULL;
}

static void race(void) {
    anyhost_builder *builder = NULL;
    anyhost_client *client = NULL;
    pthread_t threads[8];
    int i;
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_set(builder, "base_urls", "http://127.0.0.1:9"));
    OK(anyhost_builder_on_event(builder, on_event, NULL, NULL));
    OK(anyhost_builder_build(builder, &client, NULL));
    anyhost_builder_free(builder);
    for (i = 0; i < 8; i++) SAME(pthread_create(&threads[i], NULL, ask, client), 0);
    for (i = 0; i < 8; i++) SAME(pthread_join(threads[i], NULL), 0);
    anyhost_client_free(client);
    CHECK(unguarded > 0);
}

int main(int argc, char **argv) {
    anyhost_client *client = NULL;
    anyhost_request *request = NULL;
    begin(argc, 1);
    if (strcmp(argv[1], "race") == 0) {
        race();
        return passed();
    }
    OK(anyhost_open("http://127.0.0.1:9", &client, NULL));
    OK(anyhost_request_new("GET", "/", &request, NULL));
    anyhost_request_free(request);
    if (strcmp(argv[1], "leak") == 0) {
        client = NULL;
        return passed();
    }
    anyhost_client_free(client);
    SAME(*(volatile char *)client, 0);
    return passed();
}
