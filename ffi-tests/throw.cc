// An exception that leaves a callback ends the process with a message, instead of unwinding through
// the library. The test looks at how this program ends.
#include "check.h"
#include <stdexcept>

int main(int argc, char **argv) {
    begin(argc, 1);
    anyhost_builder *builder = nullptr;
    anyhost_client *client = nullptr;
    anyhost_response *answer = nullptr;
    OK(anyhost_builder_new(&builder));
    OK(anyhost_builder_set(builder, "base_urls", argv[1]));
    OK(anyhost_builder_on_event(
        builder, [](void *, const anyhost_event *) { throw std::runtime_error("planted"); },
        nullptr, nullptr));
    OK(anyhost_builder_build(builder, &client, nullptr));
    try {
        anyhost_get(client, "/", &answer, nullptr);
        puts("the call returned");
    } catch (const std::exception &) {
        puts("the exception came through");
    }
    fflush(stdout);
    return 0;
}
