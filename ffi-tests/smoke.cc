// The same from C++11: handles in std::unique_ptr, whose deleters are the _free functions.
#include "check.h"
#include <anyhost.h>
#include <memory>
#include <string>

namespace {

struct Free {
    void operator()(anyhost_client *it) const { anyhost_client_free(it); }
    void operator()(anyhost_builder *it) const { anyhost_builder_free(it); }
    void operator()(anyhost_request *it) const { anyhost_request_free(it); }
    void operator()(anyhost_response *it) const { anyhost_response_free(it); }
    void operator()(anyhost_error *it) const { anyhost_error_free(it); }
};

using Client = std::unique_ptr<anyhost_client, Free>;
using Builder = std::unique_ptr<anyhost_builder, Free>;
using Request = std::unique_ptr<anyhost_request, Free>;
using Response = std::unique_ptr<anyhost_response, Free>;
using Error = std::unique_ptr<anyhost_error, Free>;

Response get(anyhost_client *client, const std::string &path) {
    anyhost_response *answer = nullptr;
    anyhost_error *error = nullptr;
    const int32_t status = anyhost_get(client, path.c_str(), &answer, &error);
    const Error owned(error);
    SAME(status, ANYHOST_OK);
    return Response(answer);
}

} // namespace

int main(int argc, char **argv) {
    begin(argc, 2);
    anyhost_builder *raw = nullptr;
    OK(anyhost_builder_new(&raw));
    const Builder builder(raw);
    const std::string urls = std::string(argv[1]) + "," + argv[2];
    int events = 0;
    OK(anyhost_builder_set(builder.get(), "base_urls", urls.c_str()));
    OK(anyhost_builder_on_event(
        builder.get(), [](void *user, const anyhost_event *) { ++*static_cast<int *>(user); },
        &events, nullptr));
    anyhost_client *made = nullptr;
    OK(anyhost_builder_build(builder.get(), &made, nullptr));
    const Client client(made);

    const Response answer = get(client.get(), "/c++");
    SAME(anyhost_response_status(answer.get()), 200);
    BODY(answer.get(), "GET /c++ ");
    SAME(anyhost_response_attempt_count(answer.get()), 2);
    CHECK(events > 0);

    anyhost_request *request = nullptr;
    OK(anyhost_request_new("PUT", "/c++", &request, nullptr));
    const Request owned(request);
    OK(anyhost_request_set_body(owned.get(), "body", 4));
    anyhost_response *second = nullptr;
    OK(anyhost_client_send(client.get(), owned.get(), &second, nullptr));
    const Response last(second);
    BODY(last.get(), "PUT /c++ body");
    return passed();
}
