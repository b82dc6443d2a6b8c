// anyhost.hpp where exceptions are off: the forms that write an Error are all there is.
#include "check.h"
#include <anyhost.hpp>

#if ANYHOST_EXCEPTIONS
#error "compile this with -fno-exceptions"
#endif

int main(int argc, char **argv) {
    begin(argc, 2);
    anyhost::Error error;
    int events = 0;
    anyhost::Client client = anyhost::Builder()
                                 .set("base_urls", std::string(argv[1]) + "," + argv[2])
                                 .set("deadline", std::chrono::seconds(30))
                                 .on_event([&](const anyhost::Event &) { ++events; })
                                 .build(error);
    CHECK(client && !error);
    anyhost::Request request("PUT", "/codes", error);
    CHECK(request.set_header("X-Name", "value", error) && request.set_body("body", error));
    const anyhost::Response answer = client.send(request, error);
    CHECK(answer && !error && events > 0);
    CHECK(answer.body(error) == "PUT /codes body");
    SAME(answer.attempts().size(), 2);

    const anyhost::Client nobody(argv[1], error);
    CHECK(!nobody.get("/", error));
    SAME(error.status(), ANYHOST_E_ATTEMPTS_SPENT);
    SAME(error.attempts().size(), 1);
    CHECK(!client.enable("nowhere", error));
    SAME(error.status(), ANYHOST_E_NOT_FOUND);
    anyhost::Update update;
    CHECK(client.apply(update.add_endpoint("nonsense://"), error) == false);
    SAME(error.status(), ANYHOST_E_URL);
    update = anyhost::Update();
    update.add_endpoint(argv[2]);
    CHECK(client.apply(update, error));
    SAME(client.snapshot(error).members().size(), 1);
    CHECK(client.shutdown(error));
    CHECK(!client.get("/", error));
    SAME(error.status(), ANYHOST_E_SHUT_DOWN);
    return passed();
}
