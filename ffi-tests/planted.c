/* Mistakes that the sanitizers have to find, or they prove nothing: a handle that is not freed, and
 * an answer that is read after it was. */
#include "check.h"

int main(int argc, char **argv) {
    anyhost_client *client = NULL;
    anyhost_request *request = NULL;
    begin(argc, 1);
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
