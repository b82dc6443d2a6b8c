// One call, any host that can answer: what each attempt came to.
//
//     c++ -std=c++11 quickstart.cpp -lanyhost -o quickstart
//     ./quickstart https://a.example,https://b.example /path
#include <anyhost.hpp>
#include <cstdio>

template <class Attempts> static void table(const Attempts &attempts) {
    std::printf("  %2s %-28s %-8s %-16s %-13s %6s  %s\n", "#", "endpoint", "phase", "reason", "delivery",
                "ms", "status");
    for (const anyhost::Attempt attempt : attempts) {
        std::printf("  %2lu %-28s %-8s %-16s %-13s %6lld  ", static_cast<unsigned long>(attempt.number()),
                    attempt.endpoint(), anyhost_phase_name(attempt.phase()),
                    anyhost_reason_name(attempt.reason()), anyhost_delivery_name(attempt.delivery()),
                    static_cast<long long>(attempt.elapsed().count() / 1000));
        if (attempt.http_status() != 0) std::printf("%d", static_cast<int>(attempt.http_status()));
        std::printf("\n");
    }
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        std::fprintf(stderr, "give base URLs, separated by commas, and a path\n");
        return 2;
    }
    const char *path = argc > 2 ? argv[2] : "/";
    try {
        const anyhost::Client client(argv[1]);
        const anyhost::Response answer = client.get(path);
        std::printf("GET %s: %d from %s\n\n", path, static_cast<int>(answer.status()), answer.endpoint());
        table(answer.attempts());
        std::printf("\n%s\n", answer.text().c_str());
        return 0;
    } catch (const anyhost::Error &error) {
        std::printf("GET %s: error: %s: %s\n\n", path, error.name(), error.what());
        table(error.attempts());
        return 1;
    }
}
