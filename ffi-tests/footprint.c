/* No thread is left behind by a client that makes calls, and none is there beside a call of plain use. */
#include "check.h"
#include <dirent.h>

static int threads(void) {
    struct dirent *entry;
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    while ((entry = readdir(tasks)) != NULL) count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

static int most;

static void on_event(void *user, const anyhost_event *event) {
    int now = threads();
    (void)user, (void)event;
    if (now > most) most = now;
}

int main(int argc, char **argv) {
    anyhost_builder *builder = NULL;
    anyhost_client *client = NULL;
    anyhost_response *answer = NULL;
    begin(argc, 1);
    SAME(threads(), 1);
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_set(builder, "base_urls", argv[1]));
    OK(anyhost_builder_on_event(builder, on_event, NULL, NULL));
    OK(anyhost_builder_build(builder, &client, NULL));
    anyhost_builder_free(builder);
    SAME(threads(), 1);
    OK(anyhost_get(client, "/", &answer, NULL));
    anyhost_response_free(answer);
    SAME(threads(), 1);
    anyhost_client_free(client);
    SAME(threads(), 1);
    SAME(most, 1);
    return passed();
}
