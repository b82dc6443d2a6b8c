// anyhost.hpp as it is used: a host that refuses, one that answers, and one that answers 503.
#include "check.h"
#include <anyhost.hpp>
#include <anyhost.hpp>
#include <chrono>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

std::size_t allocations = 0;

std::string both(char **argv) { return std::string(argv[1]) + "," + argv[2]; }

struct Planted : std::runtime_error {
    Planted() : std::runtime_error("planted") {}
};

template <class F> void expect_planted(F call) {
    try {
        call();
    } catch (const Planted &) {
        return;
    }
    CHECK(!"the exception came through");
}

template <class F> int32_t status_of(F call) {
    try {
        call();
    } catch (const anyhost::Error &error) {
        CHECK(std::strlen(error.what()) > 0);
        return error.status();
    }
    return ANYHOST_OK;
}

void answers(char **argv) {
    anyhost::Client client(both(argv));
    anyhost::Response answer = client.get("/status?q=1");
    SAME(answer.status(), 200);
    TEXT(answer.endpoint(), argv[2]);
    PART(answer.url(), argv[2]);
    CHECK(answer.body() == "GET /status?q=1 ");
    TEXT(answer.text().c_str(), "GET /status?q=1 ");
    SAME(answer.content_length(), 16);
    CHECK(answer.elapsed().count() > 0);
    SAME(answer.retry_after().count(), 0);

    CHECK(answer.header("X-METHOD") == "GET");
    CHECK(answer.header("set-cookie", 1) == "b=2");
    CHECK(!answer.header("set-cookie", 2));
    SAME(answer.header("x-bytes").size(), 5);
    std::size_t cookies = 0;
    for (const anyhost::Header header : answer.headers())
        if (std::string(header.name) == "set-cookie") cookies += header.value.str().size();
    SAME(cookies, 6);

    SAME(answer.attempts().size(), 2);
    std::uint32_t number = 0;
    for (const anyhost::Attempt attempt : answer.attempts()) SAME(attempt.number(), ++number);
    const anyhost::Attempt refused = answer.attempts()[0];
    TEXT(refused.endpoint(), argv[1]);
    CHECK(refused.proxy() == nullptr);
    SAME(refused.phase(), ANYHOST_PHASE_CONNECT);
    SAME(refused.reason(), ANYHOST_REASON_REFUSED);
    SAME(refused.delivery(), ANYHOST_DELIVERY_NOT_SENT);
    SAME(refused.http_status(), 0);
    CHECK(refused.os_error() > 0 && !refused.reused_connection());
    CHECK(!refused.is_hop() && !refused.is_replay());
    PART(refused.message(), "refused");
    const anyhost::Attempt answered = answer.attempts()[1];
    CHECK(answered.bytes_sent() > 0 && answered.bytes_received() > 0);
    CHECK(answered.started() >= refused.elapsed() && answered.elapsed().count() > 0);
    CHECK(!answer.attempts()[2]);

    // Handles move, and what is left behind answers as NULL.
    anyhost::Response moved(std::move(answer));
    CHECK(!answer && moved);
    SAME(answer.status(), 0);
    SAME(answer.attempts().size(), 0);
    SAME(status_of([&] { answer.body(); }), ANYHOST_E_NULL);
    answer = std::move(moved);
    CHECK(answer.body() == "GET /status?q=1 ");
    char piece[4];
    SAME(answer.read(piece, 4), 4);
    SAME(std::memcmp(piece, "GET ", 4), 0);

    // A copy is the same client.
    const anyhost::Client copy(client);
    client = anyhost::Client();
    CHECK(!client);
    SAME(status_of([&] { client.get("/"); }), ANYHOST_E_NULL);
    CHECK(copy.head("/head").body().empty());
    const std::vector<char> bytes = {'o', 'n', 'e'};
    CHECK(copy.post("/post", "text/plain", bytes).body() == "POST /post one");
    CHECK(copy.put("/put", "text/plain", std::string("two")).body() == "PUT /put two");
    CHECK(copy.patch("/patch", nullptr, anyhost::Bytes()).body() == "PATCH /patch ");
    CHECK(copy.del("/delete").body() == "DELETE /delete ");
    copy.drop_idle();
}

void failures(char **argv) {
    SAME(status_of([] { anyhost::Client("nonsense://"); }), ANYHOST_E_URL);
    SAME(status_of([] { anyhost::Client(std::string("http://a\0b", 10)); }), ANYHOST_E_ENCODING);
    try {
        anyhost::Builder().set("base_urls", argv[2]).set("deadline", "soon").set("x", 1).build();
        CHECK(!"a wrong value was taken");
    } catch (const anyhost::Error &error) {
        SAME(error.status(), ANYHOST_E_OPTION);
        TEXT(error.option(), "deadline");
        TEXT(error.name(), "OPTION");
    }

    const anyhost::Client client(argv[1]);
    try {
        client.get("/");
        CHECK(!"nobody answers there");
    } catch (const std::exception &caught) {
        const anyhost::Error error = dynamic_cast<const anyhost::Error &>(caught);
        SAME(error.status(), ANYHOST_E_ATTEMPTS_SPENT);
        SAME(error.reason(), ANYHOST_REASON_REFUSED);
        SAME(error.phase(), ANYHOST_PHASE_CONNECT);
        SAME(error.delivery(), ANYHOST_DELIVERY_NOT_SENT);
        SAME(error.attempts().size(), 1);
        CHECK(error.os_error() > 0 && error.http_status() == 0 && error.option() == nullptr);
        CHECK(error.body().empty() && error.retry_after().count() == 0);
        PART(error.json().c_str(), "\"status_name\":\"ATTEMPTS_SPENT\"");
        PART(error.explain().c_str(), "\ncertain: no server received the request\nto do: ");
    }

    // The same by codes. An Error is written anew by each call.
    anyhost::Error error;
    CHECK(!client.get("/", error));
    SAME(error.status(), ANYHOST_E_ATTEMPTS_SPENT);
    const anyhost::Error kept(error);
    const anyhost::Client other(argv[2], error);
    CHECK(!error && other);
    TEXT(error.name(), "OK");
    CHECK(other.get("/codes", error).body(error) == "GET /codes ");
    CHECK(!error);
    SAME(kept.attempts().size(), 1);
    anyhost::Request request("GET", "/", error);
    CHECK(!request.set("deadline", "soon", error));
    SAME(error.status(), ANYHOST_E_OPTION);
    CHECK(request.set("deadline", "5s", error) && !error);

    request = anyhost::Request("GET", "/missing");
    request.set("require_success", true);
    CHECK(!other.send(request, error));
    SAME(error.status(), ANYHOST_E_REJECTED);
    SAME(error.http_status(), 404);
    CHECK(error.body() == "no such");
}

void requests(char **argv) {
    const anyhost::Client client(argv[2]);
    anyhost::Request request("PUT", std::string("/request"));
    request.set_header("X-Name", "value").set_header("X-Name", nullptr).add_header("X-Bytes", "\xe4");
    request.set("deadline", std::chrono::seconds(20)).set("max_attempts", 1).set("deadline", nullptr);
    request.set_body("copied");
    CHECK(client.send(request).body() == "PUT /request copied");
    request.set_body_moved(std::string(100, 'x'));
    SAME(client.send(request).content_length(), 113);

    int done = 0;
    const std::string borrowed = "borrowed";
    request.set_body_borrowed(borrowed, [&] { ++done; });
    CHECK(client.send(request).body() == "PUT /request borrowed");
    SAME(done, 0);
    request.set_body_borrowed(borrowed);
    SAME(done, 1);

    // By a reader, which goes back for the second time.
    std::size_t at = 0;
    request.set_body_reader(
        [&](unsigned char *buf, std::size_t cap) -> std::size_t {
            const std::size_t n = borrowed.copy(reinterpret_cast<char *>(buf), cap < 3 ? cap : 3, at);
            at += n;
            return n;
        },
        [&]() -> int32_t {
            at = 0;
            return 0;
        },
        8);
    anyhost::Request moved(std::move(request));
    SAME(status_of([&] { client.send(request); }), ANYHOST_E_NULL);
    CHECK(client.send(moved).body() == "PUT /request borrowed");
    CHECK(client.send(moved).body() == "PUT /request borrowed");
    moved.set_body_reader([](unsigned char *, std::size_t) { return anyhost::refuse; });
    SAME(status_of([&] { client.send(moved); }), ANYHOST_E_BODY_SOURCE);
    SAME(status_of([&] { moved.set_body_reader(nullptr); }), ANYHOST_E_NULL);
    SAME(status_of([] { anyhost::Request("", "/"); }), ANYHOST_E_ARGUMENT);

    const anyhost::Cancel cancel, same(cancel);
    request = anyhost::Request("GET", "/cancelled");
    request.set_cancel(cancel);
    same.trigger();
    CHECK(cancel.is_triggered());
    SAME(status_of([&] { client.send(request); }), ANYHOST_E_CANCELLED);

    request = anyhost::Request("GET", "/stream");
    anyhost::Response answer = client.stream(request);
    std::string read;
    char buf[5];
    for (std::size_t n; (n = answer.read(buf, sizeof buf)) > 0;) read.append(buf, n);
    TEXT(read.c_str(), "GET /stream ");

    // Progress, also of a stream that outlives its request.
    int told = 0;
    uint64_t received = 0;
    const auto count = [&](uint64_t, uint64_t bytes, int64_t) -> int32_t {
        ++told;
        received = bytes;
        return 0;
    };
    request = anyhost::Request("GET", "/progress");
    request.set_progress(count, std::chrono::milliseconds(1));
    client.send(request);
    CHECK(told > 0);
    SAME(received, 14);
    received = 0;
    answer = client.stream(request);
    request = anyhost::Request("GET", "/other");
    CHECK(answer.body() == "GET /progress ");
    SAME(received, 14);
    answer = client.stream(request.set_progress([](uint64_t, uint64_t, int64_t) -> int32_t { throw Planted(); }));
    expect_planted([&] { answer.body(); });
    anyhost::Request held("GET", "/held");
    held.set_progress([](uint64_t, uint64_t, int64_t) -> int32_t { return 1; });
    SAME(status_of([&] { client.send(held); }), ANYHOST_E_CANCELLED);
    held.set_progress([](uint64_t, uint64_t, int64_t) -> int32_t { throw Planted(); });
    expect_planted([&] { client.send(held); });
    SAME(status_of([&] { request.set_progress(count, std::chrono::milliseconds(0)); }), ANYHOST_E_RANGE);
    request.set_progress(nullptr);
    told = 0;
    client.send(request);
    SAME(told, 0);
}

// An exception ends the call, and nothing of that call calls back again.
void callbacks(char **argv) {
    int events = 0, judged = 0, asked = 0;
    bool throws_event = false, throws_judge = false, throws_retry = false;
    const anyhost::Client client =
        anyhost::Builder()
            .set("base_urls", std::string(argv[3]) + "," + argv[2])
            .on_event([&](const anyhost::Event &event) {
                ++events;
                CHECK(std::strlen(event.name()) > 0 && event.call_id() > 0);
                if (event.kind() == ANYHOST_EVENT_ATTEMPT_ENDED) TEXT(event.attempt().endpoint(), event.endpoint());
                if (throws_event) throw Planted();
            })
            .on_judge([&](const anyhost::Answer &answer) -> int32_t {
                ++judged;
                if (throws_judge) throw Planted();
                return answer.header("x-method") == "GET" ? ANYHOST_VERDICT_ACCEPT : ANYHOST_VERDICT_DEFAULT;
            })
            .on_retry([&](const anyhost::Attempt &last) -> int32_t {
                ++asked;
                SAME(last.http_status(), 503);
                if (throws_retry) throw Planted();
                return ANYHOST_RETRY_DEFAULT;
            })
            .build();

    const auto get = [&] { client.get("/callbacks"); };
    get();
    CHECK(events > 3);
    SAME(judged, 2);
    SAME(asked, 1);

    throws_event = true;
    events = 0;
    expect_planted(get);
    SAME(events, 1);
    SAME(judged, 2);
    anyhost::Error error;
    expect_planted([&] { client.get("/callbacks", error); });
    SAME(events, 2);
    throws_event = false;

    const anyhost::Client fresh =
        anyhost::Builder()
            .set("base_urls", std::string(argv[3]) + "," + argv[2])
            .on_judge([](const anyhost::Answer &) -> int32_t { throw Planted(); })
            .build();
    expect_planted([&] { fresh.get("/judged"); });
    const anyhost::Client stops =
        anyhost::Builder()
            .set("base_urls", std::string(argv[3]) + "," + argv[2])
            .on_retry([](const anyhost::Attempt &) -> int32_t { throw Planted(); })
            .build();
    expect_planted([&] { stops.get("/stopped"); });

    // The client is as good as before.
    get();

    anyhost::Request request("POST", "/thrown");
    request.set_body_reader([](unsigned char *, std::size_t) -> std::size_t { throw Planted(); }, nullptr, 5);
    expect_planted([&] { client.send(request); });
    request.set_body_reader([](unsigned char *, std::size_t) -> std::size_t { return 0; },
                            []() -> int32_t { throw Planted(); }, 0);
    client.send(request);
    expect_planted([&] { client.send(request); });

    // A callback that is freed by a destructor has nowhere to throw to, and is ended all the same.
    SAME(status_of([] { anyhost::Builder().on_event(nullptr).build(); }), ANYHOST_E_NULL);
}

void state(char **argv) {
    anyhost::Client client = anyhost::Builder()
                                 .add_endpoint(argv[1], 0, ANYHOST_PRIORITY_AUTO, "one")
                                 .add_endpoint(argv[2], 500, ANYHOST_PRIORITY_AUTO, "two")
                                 .add_header("X-All", "all")
                                 .endpoint_header("two", "X-Secret", "hidden", true)
                                 .set("when_none_eligible", "fail_fast")
                                 .build();
    client.get("/state");
    const anyhost::Snapshot snapshot = client.snapshot();
    SAME(snapshot.members().size(), 2);
    std::string labels;
    for (const anyhost::Member member : snapshot.members()) labels += member.label();
    TEXT(labels.c_str(), "onetwo");
    const anyhost::Member one = snapshot.find("one");
    SAME(one.kind(), ANYHOST_KIND_ENDPOINT);
    SAME(one.state(), ANYHOST_STATE_ELIGIBLE);
    SAME(one.reason(), ANYHOST_REASON_REFUSED);
    SAME(one.phase(), ANYHOST_PHASE_CONNECT);
    SAME(one.failures_in_a_row(), 1);
    SAME(one.attempts(), 1);
    SAME(one.failures(), 1);
    SAME(one.successes() + one.in_flight() + one.priority(), 0);
    SAME(one.cooling().count(), 0);
    CHECK(one.since().count() < 60000 && one.latency().count() == 0);
    CHECK(std::string(one.url()) == argv[1] && std::strlen(one.detail()) > 0);
    SAME(snapshot.find("two").weight(), 500);
    SAME(snapshot.find("two").max_weight(), 500);
    CHECK(!snapshot.find("three"));
    PART(snapshot.json().c_str(), "\"two\"");
    PART(snapshot.text().c_str(), "\none     eligible ");
    const std::string page = anyhost::prometheus({{"a", &snapshot}, {"b", &snapshot}});
    PART(page.c_str(), "anyhost_member_weight{client=\"b\",kind=\"endpoint\",member=\"two\"} 500\n");
    CHECK(anyhost::prometheus({}).find("client=") == std::string::npos);
    CHECK(anyhost::Error().explain().empty());

    client.set_weight("two", 700);
    client.disable("two", "maintenance");
    SAME(client.snapshot().find("two").state(), ANYHOST_STATE_DISABLED);
    TEXT(client.snapshot().find("two").detail(), "maintenance");
    anyhost::Request request("GET", "/probe");
    CHECK(client.probe("two", request).body() == "GET /probe ");
    client.enable("two");
    SAME(client.snapshot().find("two").weight(), 700);
    SAME(status_of([&] { client.enable("three"); }), ANYHOST_E_NOT_FOUND);

    anyhost::Update update;
    update.add_endpoint(argv[2], 0, ANYHOST_PRIORITY_AUTO, "new").endpoint_header("new", "X-One", "1");
    update.endpoint_server_name("new", "name.example");
    client.apply(update);
    SAME(client.snapshot().members().size(), 1);
    TEXT(client.get("/new").endpoint(), "new");
    SAME(status_of([&] { client.apply(anyhost::Update().add_endpoint("nonsense://")); }), ANYHOST_E_URL);
    client.shutdown();
    SAME(status_of([&] { client.get("/late"); }), ANYHOST_E_SHUT_DOWN);
}

void beside() {
    const anyhost::Breaker breaker(2, std::chrono::seconds(30), std::chrono::hours(1));
    std::chrono::milliseconds wait(7);
    CHECK(breaker.allow("mail", wait));
    SAME(wait.count(), 0);
    breaker.record_failure("mail");
    CHECK(breaker.record_failure("mail").count() > 0);
    CHECK(!breaker.allow("mail", wait) && wait.count() > 0);
    CHECK(breaker.allow("other"));
    breaker.record_success("mail");
    CHECK(breaker.allow("mail"));
    SAME(status_of([&] { breaker.allow(nullptr); }), ANYHOST_E_NULL);

    SAME(anyhost::abi(), ANYHOST_ABI);
    SAME(anyhost::version_number(), ANYHOST_VERSION_NUMBER);
    CHECK(std::strlen(anyhost::version()) > 0 && std::strlen(anyhost::build_info()) > 0);
    TEXT(anyhost::state_name(ANYHOST_STATE_COOLING), "cooling");
    TEXT(anyhost::phase_name(ANYHOST_PHASE_TLS), "tls");
    TEXT(anyhost::reason_name(ANYHOST_REASON_DNS), "dns");
    TEXT(anyhost::delivery_name(ANYHOST_DELIVERY_MAYBE), "maybe");
    TEXT(anyhost::event_name(ANYHOST_EVENT_WAITING), "waiting");
    bool found = false;
    for (const anyhost::Option option : anyhost::options())
        if (std::string(option.name) == "max_attempts")
            found = option.scope == 3 && std::string(option.default_value) == "0" && *option.help != 0;
    CHECK(found);
}

// What works allocates nothing here. The library itself does not use operator new.
void allocates_nothing(char **argv) {
    int events = 0;
    const anyhost::Client client = anyhost::Builder()
                                       .set("base_urls", argv[2])
                                       .on_event([&](const anyhost::Event &) { ++events; })
                                       .build();
    anyhost::Request request("GET", "/quiet");
    const std::string path = "/a path that is too long to be kept inside of a std::string";
    client.send(request);
    events = 0;
    const std::size_t before = allocations;
    anyhost::Response answer = client.send(request);
    answer = client.post("/quiet", "text/plain", path);
    SAME(answer.body().size(), 12 + path.size());
    SAME(answer.attempts()[0].number(), 1);
    anyhost::Error error;
    answer = client.get("/quiet?with=a&rather=long&query=behind&it", error);
    CHECK(answer.header("x-method") == "GET");
    SAME(allocations - before, 0);
    CHECK(events > 0);
}

} // namespace

void *operator new(std::size_t size) {
    ++allocations;
    void *const memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) std::abort();
    return memory;
}

void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

int main(int argc, char **argv) {
    begin(argc, 3);
    answers(argv);
    failures(argv);
    requests(argv);
    callbacks(argv);
    state(argv);
    beside();
    allocates_nothing(argv);
    CHECK(allocations > 0);
    return passed();
}
