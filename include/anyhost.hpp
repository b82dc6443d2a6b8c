/*
 * anyhost for C++11 and later: the functions of anyhost.h as classes. A header and nothing to link beyond
 * the C library; what a function does, its options and its numbers are said in anyhost.h.
 *
 *     anyhost::Client client("https://api.example.com, https://fallback.example.com");
 *     anyhost::Response answer = client.get("/v1/status");
 *     std::cout << answer.status() << ' ' << answer.text() << '\n';
 *
 * Failures. Each function that can fail is there twice: as it stands it throws anyhost::Error; with an
 * `Error &` as its last argument it writes that one instead, and returns something empty or false. Without
 * exceptions (-fno-exceptions) the second form is the only one. Builder and Update remember what failed
 * until build() and Client::apply().
 *
 * Handles move and free what they hold. Client and Cancel can be copied too: each copy is another
 * reference to the same thing. A handle that was moved from, or is empty for a failure, may be asked
 * everything: it answers as the C functions do for NULL.
 *
 * Views (View, Attempt, Event, Member, Answer) belong to what they were had from, as in C, and must not
 * outlive it. They are pointers: copy them freely.
 *
 * Text is a `const char *` or a std::string, and is not copied on its way. A std::string with a NUL
 * inside is ANYHOST_E_ENCODING, like every text that is not UTF-8.
 *
 * Callbacks are std::function. One that throws ends its call as soon as that can be: nothing of the
 * call calls back again, and the call throws what the callback threw, in place of its own outcome and in
 * both forms. Where no call of this header is on the stack (a handle given to a C function) such an
 * exception ends the process. While a handle is destroyed it is lost.
 *
 * Nothing here allocates on the way of a call that works. Callbacks and bodies that are handed over
 * allocate once, when they are handed over.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef ANYHOST_HPP
#define ANYHOST_HPP

#include <anyhost.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define ANYHOST_EXCEPTIONS 1
#else
#define ANYHOST_EXCEPTIONS 0
#endif

namespace anyhost {

/* What goes in and comes out. */

/** A text on its way in: nothing is copied, so it lives no longer than the call. */
class Text {
public:
    /** NULL is no text: the default of an option, the origin as a label. */
    Text(const char *text) noexcept : text_(text) {}
    /* The byte FF is no UTF-8: what is cut off at a NUL must not pass for the whole. */
    Text(const std::string &text) noexcept
        : text_(std::memchr(text.data(), 0, text.size()) == nullptr ? text.c_str() : "\xFF") {}

    const char *c_str() const noexcept { return text_; }

private:
    const char *text_;
};

/** Bytes on their way in: a text, or whatever has data() and size(). */
class Bytes {
public:
    Bytes() noexcept : data_(nullptr), size_(0) {}
    Bytes(const void *data, std::size_t size) noexcept : data_(data), size_(size) {}
    Bytes(const char *text) noexcept
        : data_(text), size_(text == nullptr ? 0 : std::strlen(text)) {}
    template <class T, class = decltype(std::declval<const T &>().data()),
              class = decltype(std::declval<const T &>().size())>
    Bytes(const T &bytes) noexcept
        : data_(bytes.data()), size_(bytes.size() * sizeof(*bytes.data())) {}

    const void *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

private:
    const void *data_;
    std::size_t size_;
};

/** Borrowed bytes, with a NUL behind them; false where there are none at all. */
class View {
public:
    View() noexcept : data_(nullptr), size_(0) {}
    View(const char *data, std::size_t size) noexcept : data_(data), size_(size) {}

    explicit operator bool() const noexcept { return data_ != nullptr; }
    const char *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    const char *begin() const noexcept { return data_; }
    const char *end() const noexcept { return data_ + size_; }
    /** A copy that stays. */
    std::string str() const { return size_ == 0 ? std::string() : std::string(data_, size_); }

    friend bool operator==(const View &view, const char *text) noexcept {
        return std::strlen(text) == view.size_ && std::memcmp(view.data(), text, view.size_) == 0;
    }
    friend bool operator!=(const View &view, const char *text) noexcept { return !(view == text); }

private:
    const char *data_;
    std::size_t size_;
};

namespace detail {

/** What is at each place of something that is counted, by `Of::count` and `Of::at`; it can be walked. */
template <class Of> class Range {
public:
    using Owner = typename Of::Owner;
    using Item = typename Of::Item;

    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Item;
        using difference_type = std::ptrdiff_t;
        using pointer = const Item *;
        using reference = Item;

        iterator(const Owner *owner, std::size_t i) noexcept : owner_(owner), i_(i) {}
        Item operator*() const noexcept { return Of::at(owner_, i_); }
        iterator &operator++() noexcept {
            ++i_;
            return *this;
        }
        iterator operator++(int) noexcept { return iterator(owner_, i_++); }
        bool operator==(const iterator &other) const noexcept { return i_ == other.i_; }
        bool operator!=(const iterator &other) const noexcept { return i_ != other.i_; }

    private:
        const Owner *owner_;
        std::size_t i_;
    };

    explicit Range(const Owner *owner) noexcept : owner_(owner) {}
    std::size_t size() const noexcept { return Of::count(owner_); }
    bool empty() const noexcept { return size() == 0; }
    /** Beyond the last it is empty. */
    Item operator[](std::size_t i) const noexcept { return Of::at(owner_, i); }
    iterator begin() const noexcept { return iterator(owner_, 0); }
    iterator end() const noexcept { return iterator(owner_, size()); }

private:
    const Owner *owner_;
};

inline void drop(anyhost_client *it) noexcept { anyhost_client_free(it); }
inline void drop(anyhost_builder *it) noexcept { anyhost_builder_free(it); }
inline void drop(anyhost_request *it) noexcept { anyhost_request_free(it); }
inline void drop(anyhost_response *it) noexcept { anyhost_response_free(it); }
inline void drop(anyhost_error *it) noexcept { anyhost_error_free(it); }
inline void drop(anyhost_cancel *it) noexcept { anyhost_cancel_free(it); }
inline void drop(anyhost_snapshot *it) noexcept { anyhost_snapshot_free(it); }
inline void drop(anyhost_update *it) noexcept { anyhost_update_free(it); }
inline void drop(anyhost_breaker *it) noexcept { anyhost_breaker_free(it); }

/** One thing of the library, freed at the end. */
template <class T> class Handle {
public:
    Handle() noexcept : it_(nullptr) {}
    explicit Handle(T *it) noexcept : it_(it) {}
    Handle(Handle &&other) noexcept : it_(other.release()) {}
    Handle &operator=(Handle &&other) noexcept {
        if (this != &other) {
            T *before = it_;
            it_ = other.release();
            drop(before);
        }
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() { drop(it_); }

    T *get() const noexcept { return it_; }
    T *release() noexcept {
        T *it = it_;
        it_ = nullptr;
        return it;
    }

private:
    T *it_;
};

/**
 * A call of this header that is on the stack: where an exception of a callback waits for its end.
 *
 * The thread keeps a plain pointer to the innermost one, so that a call without an exception costs two
 * stores.
 */
class Frame {
public:
    Frame() noexcept : outer_(innermost()) { innermost() = this; }
    Frame(const Frame &) = delete;
    Frame &operator=(const Frame &) = delete;
    ~Frame() { innermost() = outer_; }

    /** Throws what a callback threw. The last line of a call. */
    void finish() {
#if ANYHOST_EXCEPTIONS
        if (thrown_) {
            std::exception_ptr thrown = std::move(thrown_);
            thrown_ = nullptr;
            std::rethrow_exception(thrown);
        }
#endif
    }

    /** What the callback answers, or `otherwise` once a callback of this call has thrown. */
    template <class R, class F> static R guard(R otherwise, F callback) noexcept {
#if ANYHOST_EXCEPTIONS
        Frame *const frame = innermost();
        if (frame != nullptr && frame->thrown_) return otherwise;
        try {
            return callback();
        } catch (...) {
            if (frame == nullptr) std::terminate();
            frame->thrown_ = std::current_exception();
            return otherwise;
        }
#else
        (void)otherwise;
        return callback();
#endif
    }

private:
    static Frame *&innermost() noexcept {
        static thread_local Frame *frame = nullptr;
        return frame;
    }

    Frame *outer_;
#if ANYHOST_EXCEPTIONS
    std::exception_ptr thrown_;
#endif
};

/** For anyhost_free_cb: what was handed over with new. */
template <class T> void forget(void *user) noexcept { delete static_cast<T *>(user); }

} // namespace detail

/* What is looked at. */

/** One attempt of a call; see anyhost_attempt. */
class Attempt {
public:
    explicit Attempt(const anyhost_attempt *it) noexcept : it_(it) {}
    explicit operator bool() const noexcept { return it_ != nullptr; }
    const anyhost_attempt *get() const noexcept { return it_; }

    std::uint32_t number() const noexcept { return anyhost_attempt_number(it_); }
    const char *endpoint() const noexcept { return anyhost_attempt_endpoint(it_); }
    /** NULL for a direct connection. */
    const char *proxy() const noexcept { return anyhost_attempt_proxy(it_); }
    const char *message() const noexcept { return anyhost_attempt_message(it_); }
    std::int32_t phase() const noexcept { return anyhost_attempt_phase(it_); }
    std::int32_t reason() const noexcept { return anyhost_attempt_reason(it_); }
    std::int32_t delivery() const noexcept { return anyhost_attempt_delivery(it_); }
    std::int32_t http_status() const noexcept { return anyhost_attempt_http_status(it_); }
    bool reused_connection() const noexcept { return anyhost_attempt_reused_connection(it_) == 1; }
    bool is_hop() const noexcept { return anyhost_attempt_is_hop(it_) == 1; }
    bool is_replay() const noexcept { return anyhost_attempt_is_replay(it_) == 1; }
    std::int32_t os_error() const noexcept { return anyhost_attempt_os_error(it_); }
    std::chrono::milliseconds retry_after() const noexcept {
        return std::chrono::milliseconds(anyhost_attempt_retry_after_ms(it_));
    }
    std::chrono::microseconds started() const noexcept {
        return std::chrono::microseconds(anyhost_attempt_started_us(it_));
    }
    std::chrono::microseconds elapsed() const noexcept {
        return std::chrono::microseconds(anyhost_attempt_elapsed_us(it_));
    }
    std::uint64_t bytes_sent() const noexcept { return anyhost_attempt_bytes_sent(it_); }
    std::uint64_t bytes_received() const noexcept { return anyhost_attempt_bytes_received(it_); }

private:
    const anyhost_attempt *it_;
};

/** Something that happened in a client; it lives until the callback returns. See anyhost_event. */
class Event {
public:
    explicit Event(const anyhost_event *it) noexcept : it_(it) {}
    const anyhost_event *get() const noexcept { return it_; }

    std::int32_t kind() const noexcept { return anyhost_event_kind(it_); }
    const char *name() const noexcept { return anyhost_event_name(kind()); }
    std::uint64_t call_id() const noexcept { return anyhost_event_call_id(it_); }
    const char *endpoint() const noexcept { return anyhost_event_endpoint(it_); }
    /** In one line, for a log. */
    const char *text() const noexcept { return anyhost_event_text(it_); }
    const char *proxy() const noexcept { return anyhost_event_proxy(it_); }
    /** False where there is none. */
    Attempt attempt() const noexcept { return Attempt(anyhost_event_attempt(it_)); }
    std::int32_t old_state() const noexcept { return anyhost_event_old_state(it_); }
    std::int32_t new_state() const noexcept { return anyhost_event_new_state(it_); }
    std::uint32_t old_weight() const noexcept { return anyhost_event_old_weight(it_); }
    std::uint32_t new_weight() const noexcept { return anyhost_event_new_weight(it_); }
    std::int32_t reason() const noexcept { return anyhost_event_reason(it_); }
    std::int32_t phase() const noexcept { return anyhost_event_phase(it_); }
    std::chrono::milliseconds wait() const noexcept {
        return std::chrono::milliseconds(anyhost_event_wait_ms(it_));
    }

private:
    const anyhost_event *it_;
};

/** An endpoint or a proxy in a snapshot; see anyhost_member. */
class Member {
public:
    explicit Member(const anyhost_member *it) noexcept : it_(it) {}
    explicit operator bool() const noexcept { return it_ != nullptr; }
    const anyhost_member *get() const noexcept { return it_; }

    const char *label() const noexcept { return anyhost_member_label(it_); }
    const char *url() const noexcept { return anyhost_member_url(it_); }
    const char *detail() const noexcept { return anyhost_member_detail(it_); }
    std::int32_t kind() const noexcept { return anyhost_member_kind(it_); }
    std::int32_t state() const noexcept { return anyhost_member_state(it_); }
    std::int32_t reason() const noexcept { return anyhost_member_reason(it_); }
    std::int32_t phase() const noexcept { return anyhost_member_phase(it_); }
    std::uint32_t priority() const noexcept { return anyhost_member_priority(it_); }
    std::uint32_t weight() const noexcept { return anyhost_member_weight(it_); }
    std::uint32_t max_weight() const noexcept { return anyhost_member_max_weight(it_); }
    std::uint32_t failures_in_a_row() const noexcept { return anyhost_member_failures_in_a_row(it_); }
    std::uint32_t in_flight() const noexcept { return anyhost_member_in_flight(it_); }
    /** What is left of it. */
    std::chrono::milliseconds cooling() const noexcept {
        return std::chrono::milliseconds(anyhost_member_cooling_ms(it_));
    }
    std::chrono::milliseconds since() const noexcept {
        return std::chrono::milliseconds(anyhost_member_since_ms(it_));
    }
    std::uint64_t attempts() const noexcept { return anyhost_member_attempts(it_); }
    std::uint64_t successes() const noexcept { return anyhost_member_successes(it_); }
    std::uint64_t failures() const noexcept { return anyhost_member_failures(it_); }
    std::chrono::microseconds latency() const noexcept {
        return std::chrono::microseconds(anyhost_member_latency_us(it_));
    }

private:
    const anyhost_member *it_;
};

/** A header of an answer. */
struct Header {
    /** In lower case. */
    const char *name;
    View value;
};

namespace detail {

struct ResponseAttempts {
    using Owner = anyhost_response;
    using Item = Attempt;
    static std::size_t count(const Owner *owner) noexcept { return anyhost_response_attempt_count(owner); }
    static Item at(const Owner *owner, std::size_t i) noexcept {
        return Attempt(anyhost_response_attempt(owner, i));
    }
};

struct ErrorAttempts {
    using Owner = anyhost_error;
    using Item = Attempt;
    static std::size_t count(const Owner *owner) noexcept { return anyhost_error_attempt_count(owner); }
    static Item at(const Owner *owner, std::size_t i) noexcept {
        return Attempt(anyhost_error_attempt(owner, i));
    }
};

struct ResponseHeaders {
    using Owner = anyhost_response;
    using Item = Header;
    static std::size_t count(const Owner *owner) noexcept { return anyhost_response_header_count(owner); }
    static Item at(const Owner *owner, std::size_t i) noexcept {
        Header header = {nullptr, View()};
        const char *value = nullptr;
        std::size_t size = 0;
        anyhost_response_header_at(owner, i, &header.name, &value, &size);
        header.value = View(value, size);
        return header;
    }
};

struct SnapshotMembers {
    using Owner = anyhost_snapshot;
    using Item = Member;
    static std::size_t count(const Owner *owner) noexcept { return anyhost_snapshot_count(owner); }
    static Item at(const Owner *owner, std::size_t i) noexcept {
        return Member(anyhost_snapshot_at(owner, i));
    }
};

/** What a function writes that is asked for the size first. */
template <class T>
std::string written(const T *it, std::int32_t (*write)(const T *, char *, std::size_t, std::size_t *)) {
    std::size_t needed = 0;
    write(it, nullptr, 0, &needed);
    if (needed == 0) return std::string();
    std::string text(needed, '\0');
    write(it, &text[0], needed, &needed);
    text.resize(needed - 1);
    return text;
}

} // namespace detail

/* What went wrong. */

/**
 * What went wrong, and everything known about it; false where nothing did. See anyhost_error.
 *
 * Copies share what they know. Where a function has no more to say than its status, the rest is 0.
 */
class Error : public std::exception {
public:
    Error() noexcept : status_(ANYHOST_OK) {}
    explicit Error(std::int32_t status) noexcept : status_(status) {}
    /** Of what a C function answered; `owned` is freed with the last copy, and may be NULL. */
    Error(std::int32_t status, anyhost_error *owned) : status_(status) {
        if (owned != nullptr) it_.reset(owned, [](anyhost_error *it) { anyhost_error_free(it); });
    }

    explicit operator bool() const noexcept { return status_ != ANYHOST_OK; }
    const anyhost_error *get() const noexcept { return it_.get(); }

    /** ANYHOST_OK, or one of ANYHOST_E_*. */
    std::int32_t status() const noexcept { return status_; }
    const char *name() const noexcept { return anyhost_status_name(status_); }
    /** In one line. */
    const char *what() const noexcept override {
        return it_ ? anyhost_error_message(it_.get()) : anyhost_status_text(status_);
    }
    std::int32_t reason() const noexcept { return anyhost_error_reason(it_.get()); }
    std::int32_t phase() const noexcept { return anyhost_error_phase(it_.get()); }
    /** Whether the request reached a server: one of ANYHOST_DELIVERY_*. */
    std::int32_t delivery() const noexcept { return anyhost_error_delivery(it_.get()); }
    std::int32_t http_status() const noexcept { return anyhost_error_http_status(it_.get()); }
    std::int32_t os_error() const noexcept { return anyhost_error_os_error(it_.get()); }
    /** NULL where no option or argument is wrong. */
    const char *option() const noexcept { return anyhost_error_option(it_.get()); }
    std::chrono::milliseconds retry_after() const noexcept {
        return std::chrono::milliseconds(anyhost_error_retry_after_ms(it_.get()));
    }
    detail::Range<detail::ErrorAttempts> attempts() const noexcept {
        return detail::Range<detail::ErrorAttempts>(it_.get());
    }
    /** What the answer said that was turned down. */
    View body() const noexcept {
        const std::uint8_t *data = nullptr;
        std::size_t size = 0;
        anyhost_error_body(it_.get(), &data, &size);
        return View(reinterpret_cast<const char *>(data), size);
    }
    std::string json() const { return detail::written(it_.get(), anyhost_error_json); }
    /** Several lines for a log: what was tried, what is certain, what to do. See anyhost_error_explain. */
    std::string explain() const { return detail::written(it_.get(), anyhost_error_explain); }

    /** Throws itself if anything is wrong. */
    void raise() const {
#if ANYHOST_EXCEPTIONS
        if (status_ != ANYHOST_OK) throw *this;
#endif
    }

private:
    std::int32_t status_;
    std::shared_ptr<anyhost_error> it_;
};

namespace detail {

/** Runs a call that may call back and answers a status, and writes what it came to. */
template <class F> void run(Error &error, F call) {
    Frame frame;
    anyhost_error *owned = nullptr;
    const std::int32_t status = call(&owned);
    if (status != ANYHOST_OK || error) error = Error(status, owned);
    frame.finish();
}

/** The same of a call that makes something. */
template <class T, class F> T make(Error &error, F call) {
    Frame frame;
    typename T::Raw *made = nullptr;
    anyhost_error *owned = nullptr;
    const std::int32_t status = call(&made, &owned);
    T it(made);
    if (status != ANYHOST_OK || error) error = Error(status, owned);
    frame.finish();
    return it;
}

/** A status of a function that has no more to say. */
inline bool worked(std::int32_t status, Error &error) {
    if (status != ANYHOST_OK || error) error = Error(status);
    return status == ANYHOST_OK;
}

} // namespace detail

/* What comes back. */

/** An answer that is looked at; see anyhost_response. */
class Answer {
public:
    explicit Answer(const anyhost_response *it) noexcept : it_(it) {}
    explicit operator bool() const noexcept { return it_ != nullptr; }
    const anyhost_response *get() const noexcept { return it_; }

    std::int32_t status() const noexcept { return anyhost_response_status(it_); }
    std::int64_t content_length() const noexcept { return anyhost_response_content_length(it_); }
    const char *url() const noexcept { return anyhost_response_url(it_); }
    const char *endpoint() const noexcept { return anyhost_response_endpoint(it_); }
    std::chrono::microseconds elapsed() const noexcept {
        return std::chrono::microseconds(anyhost_response_elapsed_us(it_));
    }
    std::chrono::milliseconds retry_after() const noexcept {
        return std::chrono::milliseconds(anyhost_response_retry_after_ms(it_));
    }
    /** False where there is no such header. */
    View header(const Text &name, std::size_t nth = 0) const noexcept {
        std::size_t size = 0;
        const char *value = anyhost_response_header(it_, name.c_str(), nth, &size);
        return View(value, size);
    }
    detail::Range<detail::ResponseHeaders> headers() const noexcept {
        return detail::Range<detail::ResponseHeaders>(it_);
    }
    detail::Range<detail::ResponseAttempts> attempts() const noexcept {
        return detail::Range<detail::ResponseAttempts>(it_);
    }

    /** The body, whole, as often as you like. It lives as long as the answer. */
    View body(Error &error) const {
        const std::uint8_t *data = nullptr;
        std::size_t size = 0;
        detail::run(error, [&](anyhost_error **err) {
            return anyhost_response_body(it_, &data, &size, err);
        });
        return View(reinterpret_cast<const char *>(data), size);
    }
    /** A copy of it that stays. */
    std::string text(Error &error) const { return body(error).str(); }
#if ANYHOST_EXCEPTIONS
    View body() const {
        Error error;
        const View view = body(error);
        error.raise();
        return view;
    }
    std::string text() const { return body().str(); }
#endif

protected:
    const anyhost_response *it_;
};

/** The answer to a call. It can be moved. */
class Response : public Answer {
public:
    using Raw = anyhost_response;

    Response() noexcept : Answer(nullptr) {}
    /** What a C function handed out; it is freed at the end. */
    explicit Response(anyhost_response *owned) noexcept : Answer(owned) {}
    Response(Response &&other) noexcept : Answer(nullptr) { swap(other); }
    Response &operator=(Response &&other) noexcept {
        Response(std::move(other)).swap(*this);
        return *this;
    }
    Response(const Response &) = delete;
    Response &operator=(const Response &) = delete;
    ~Response() {
        if (it_ == nullptr) return;
        detail::Frame lost;
        anyhost_response_free(release());
    }

    void swap(Response &other) noexcept {
        std::swap(it_, other.it_);
        progress_.swap(other.progress_);
    }
    /** From here on it is yours to free. */
    anyhost_response *release() noexcept {
        const anyhost_response *it = it_;
        it_ = nullptr;
        return const_cast<anyhost_response *>(it);
    }

    /** The next bytes of the body; 0 at its end. */
    std::size_t read(void *buf, std::size_t cap, Error &error) {
        std::size_t n = 0;
        anyhost_response *it = const_cast<anyhost_response *>(it_);
        detail::run(error, [&](anyhost_error **err) { return anyhost_response_read(it, buf, cap, &n, err); });
        return n;
    }
#if ANYHOST_EXCEPTIONS
    std::size_t read(void *buf, std::size_t cap) {
        Error error;
        const std::size_t n = read(buf, cap, error);
        error.raise();
        return n;
    }
#endif

private:
    friend class Client;

    /* Called while the body of a stream is read. */
    std::shared_ptr<void> progress_;
};

/* What goes out. */

/** Ends calls from any thread; see anyhost_cancel. A copy ends the same ones. */
class Cancel {
public:
    Cancel() noexcept { anyhost_cancel_new(&it_); }
    Cancel(const Cancel &other) noexcept : it_(anyhost_cancel_ref(other.it_)) {}
    Cancel(Cancel &&other) noexcept : it_(other.it_) { other.it_ = nullptr; }
    Cancel &operator=(Cancel other) noexcept {
        std::swap(it_, other.it_);
        return *this;
    }
    ~Cancel() { anyhost_cancel_free(it_); }

    anyhost_cancel *get() const noexcept { return it_; }
    void trigger() const noexcept { anyhost_cancel_trigger(it_); }
    bool is_triggered() const noexcept { return anyhost_cancel_is_triggered(it_) == 1; }

private:
    anyhost_cancel *it_ = nullptr;
};

/**
 * Asked for the next bytes of a body: writes up to `cap` of them to `buf` and answers their number, 0 at
 * the end, `refuse` to end the call.
 */
using ReadCallback = std::function<std::size_t(unsigned char *buf, std::size_t cap)>;
/** Asked to go back to where a body begins: answers 0, or anything else to refuse. */
using RewindCallback = std::function<std::int32_t()>;
/** Told how far a call is, -1 for an unknown total: answers 0, or anything else to cancel. */
using ProgressCallback =
    std::function<std::int32_t(std::uint64_t sent, std::uint64_t received, std::int64_t total)>;

/** What a ReadCallback answers to end the call with ANYHOST_E_BODY_SOURCE. */
constexpr std::size_t refuse = SIZE_MAX;

/** A request, which can be sent more than once; see anyhost_request. */
class Request {
public:
    using Raw = anyhost_request;

    /** A method as "GET", and a path, which may carry a query. Empty on failure. */
    Request(const Text &method, const Text &path, Error &error) {
        anyhost_request *made = nullptr;
        detail::run(error, [&](anyhost_error **err) {
            return anyhost_request_new(method.c_str(), path.c_str(), &made, err);
        });
        it_ = detail::Handle<anyhost_request>(made);
    }

    anyhost_request *get() const noexcept { return it_.get(); }

    /** Replaces; NULL removes. */
    bool set_header(const Text &name, const Text &value, Error &error) {
        return detail::worked(anyhost_request_set_header(get(), name.c_str(), value.c_str()), error);
    }
    /** Values may hold any byte above 0x7F. */
    bool add_header(const Bytes &name, const Bytes &value, Error &error) {
        return detail::worked(anyhost_request_add_header_n(get(), static_cast<const char *>(name.data()),
                                                           name.size(), value.data(), value.size()),
                              error);
    }
    /** Copied. */
    bool set_body(const Bytes &body, Error &error) {
        return detail::worked(anyhost_request_set_body(get(), body.data(), body.size()), error);
    }
    /** Not copied: the bytes have to stay until `done`, or as long as the request. */
    bool set_body_borrowed(const Bytes &body, std::function<void()> done, Error &error) {
        using Done = std::function<void()>;
        anyhost_free_cb free_user = nullptr;
        Done *user = nullptr;
        if (done) {
            user = new Done(std::move(done));
            free_user = [](void *held) {
                const std::unique_ptr<Done> it(static_cast<Done *>(held));
                detail::Frame::guard(0, [&]() -> int {
                    (*it)();
                    return 0;
                });
            };
        }
        return detail::worked(
            anyhost_request_set_body_borrowed(get(), body.data(), body.size(), user, free_user), error);
    }
    /** Neither copied nor borrowed: the text goes into the request. */
    bool set_body_moved(std::string body, Error &error) {
        std::string *held = new std::string(std::move(body));
        return detail::worked(anyhost_request_set_body_borrowed(get(), held->data(), held->size(), held,
                                                                detail::forget<std::string>),
                              error);
    }
    /** Without `rewind` it can be sent once; a length of -1 is an unknown one. */
    bool set_body_reader(ReadCallback read, RewindCallback rewind, std::int64_t length, Error &error) {
        struct Source {
            ReadCallback read;
            RewindCallback rewind;
        };
        const anyhost_read_cb on_read = [](void *user, std::uint8_t *buf, std::size_t cap, std::size_t *out) {
            *out = 0;
            return detail::Frame::guard<std::int32_t>(1, [&]() -> std::int32_t {
                const std::size_t n = static_cast<Source *>(user)->read(buf, cap);
                if (n == refuse) return 1;
                *out = n;
                return 0;
            });
        };
        const anyhost_rewind_cb on_rewind = [](void *user) {
            return detail::Frame::guard<std::int32_t>(
                1, [&]() -> std::int32_t { return static_cast<Source *>(user)->rewind(); });
        };
        const bool reads = static_cast<bool>(read), rewinds = static_cast<bool>(rewind);
        Source *source = new Source{std::move(read), std::move(rewind)};
        return detail::worked(
            anyhost_request_set_body_reader(get(), reads ? on_read : nullptr,
                                            rewinds ? on_rewind : nullptr, source,
                                            detail::forget<Source>, length),
            error);
    }
    /** An option for this request; NULL lets the client's setting hold again. */
    bool set(const Text &option, const Text &value, Error &error) {
        return detail::worked(anyhost_request_set(get(), option.c_str(), value.c_str()), error);
    }
    bool set(const Text &option, std::chrono::milliseconds value, Error &error) {
        return set(option, static_cast<std::int64_t>(value.count()), error);
    }
    template <class I, class = typename std::enable_if<std::is_integral<I>::value>::type>
    bool set(const Text &option, I value, Error &error) {
        return detail::worked(
            anyhost_request_set_int(get(), option.c_str(), static_cast<std::int64_t>(value)), error);
    }
    bool set_cancel(const Cancel &cancel, Error &error) {
        return detail::worked(anyhost_request_set_cancel(get(), cancel.get()), error);
    }
    /** An empty callback takes the last one away. */
    bool set_progress(ProgressCallback callback, std::chrono::milliseconds every, Error &error) {
        std::shared_ptr<ProgressCallback> held =
            callback ? std::make_shared<ProgressCallback>(std::move(callback)) : nullptr;
        const anyhost_progress_cb on_progress = [](void *user, std::uint64_t sent, std::uint64_t received,
                                                   std::int64_t total) {
            return detail::Frame::guard<std::int32_t>(1, [&]() -> std::int32_t {
                return (*static_cast<ProgressCallback *>(user))(sent, received, total);
            });
        };
        const std::uint64_t every_ms =
            every.count() < 0 ? 0 : static_cast<std::uint64_t>(every.count());
        const std::int32_t status = anyhost_request_set_progress(get(), held ? on_progress : nullptr,
                                                                 held.get(), every_ms);
        if (status == ANYHOST_OK) progress_ = std::move(held);
        return detail::worked(status, error);
    }

#if ANYHOST_EXCEPTIONS
    Request(const Text &method, const Text &path) {
        Error error;
        *this = Request(method, path, error);
        error.raise();
    }
    Request &set_header(const Text &name, const Text &value) {
        Error error;
        set_header(name, value, error);
        return checked(error);
    }
    Request &add_header(const Bytes &name, const Bytes &value) {
        Error error;
        add_header(name, value, error);
        return checked(error);
    }
    Request &set_body(const Bytes &body) {
        Error error;
        set_body(body, error);
        return checked(error);
    }
    Request &set_body_borrowed(const Bytes &body, std::function<void()> done = nullptr) {
        Error error;
        set_body_borrowed(body, std::move(done), error);
        return checked(error);
    }
    Request &set_body_moved(std::string body) {
        Error error;
        set_body_moved(std::move(body), error);
        return checked(error);
    }
    Request &set_body_reader(ReadCallback read, RewindCallback rewind = nullptr, std::int64_t length = -1) {
        Error error;
        set_body_reader(std::move(read), std::move(rewind), length, error);
        return checked(error);
    }
    template <class V> Request &set(const Text &option, const V &value) {
        Error error;
        set(option, value, error);
        return checked(error);
    }
    Request &set_cancel(const Cancel &cancel) {
        Error error;
        set_cancel(cancel, error);
        return checked(error);
    }
    Request &set_progress(ProgressCallback callback,
                          std::chrono::milliseconds every = std::chrono::milliseconds(100)) {
        Error error;
        set_progress(std::move(callback), every, error);
        return checked(error);
    }

private:
    Request &checked(const Error &error) {
        error.raise();
        return *this;
    }
#endif

private:
    friend class Client;

    /* Outlives the request, which may call it; an answer that is still read keeps it too. */
    std::shared_ptr<ProgressCallback> progress_;
    detail::Handle<anyhost_request> it_;
};

/* The state of a client. */

/** A client's members at one moment; see anyhost_snapshot. */
class Snapshot {
public:
    using Raw = anyhost_snapshot;

    Snapshot() noexcept {}
    explicit Snapshot(anyhost_snapshot *owned) noexcept : it_(owned) {}

    anyhost_snapshot *get() const noexcept { return it_.get(); }
    detail::Range<detail::SnapshotMembers> members() const noexcept {
        return detail::Range<detail::SnapshotMembers>(it_.get());
    }
    /** The one of this label or URL; false where there is none. */
    Member find(const Text &key) const noexcept {
        return Member(anyhost_snapshot_find(it_.get(), key.c_str()));
    }
    std::string json() const {
        return detail::written<anyhost_snapshot>(it_.get(), anyhost_snapshot_json);
    }
    /** A table for a person; see anyhost_snapshot_text. */
    std::string text() const {
        return detail::written<anyhost_snapshot>(it_.get(), anyhost_snapshot_text);
    }

private:
    detail::Handle<anyhost_snapshot> it_;
};

/** A page for Prometheus of clients, each by a name of your choice; see anyhost_prometheus. */
inline std::string prometheus(const std::vector<std::pair<std::string, const Snapshot *>> &clients) {
    std::vector<const char *> names;
    std::vector<const anyhost_snapshot *> snapshots;
    for (const auto &client : clients) {
        names.push_back(client.first.c_str());
        snapshots.push_back(client.second->get());
    }
    std::size_t needed = 0;
    /* Neither list may be NULL, as that of an empty vector may be. */
    names.push_back(nullptr);
    snapshots.push_back(nullptr);
    anyhost_prometheus(names.data(), snapshots.data(), clients.size(), nullptr, 0, &needed);
    if (needed == 0) return std::string();
    std::string text(needed, '\0');
    anyhost_prometheus(names.data(), snapshots.data(), clients.size(), &text[0], needed, &needed);
    text.resize(needed - 1);
    return text;
}

/**
 * Endpoints that replace those of a client; see anyhost_update.
 *
 * Nothing here fails but Client::apply(), which says what the first thing was that failed.
 */
class Update {
public:
    Update() noexcept {
        anyhost_update *made = nullptr;
        anyhost_update_new(&made);
        it_ = detail::Handle<anyhost_update>(made);
    }

    anyhost_update *get() const noexcept { return it_.get(); }

    Update &add_endpoint(const Text &url, std::uint32_t weight = 0,
                         std::uint32_t priority = ANYHOST_PRIORITY_AUTO, const Text &label = nullptr) {
        return done(anyhost_update_add_endpoint(get(), url.c_str(), weight, priority, label.c_str()));
    }
    Update &add_proxy(const Text &url, std::uint32_t weight = 0, const Text &label = nullptr) {
        return done(anyhost_update_add_proxy(get(), url.c_str(), weight, label.c_str()));
    }
    Update &endpoint_header(const Text &key, const Text &name, const Text &value, bool secret = false) {
        return done(anyhost_update_endpoint_header(get(), key.c_str(), name.c_str(), value.c_str(),
                                                   secret ? 1 : 0));
    }
    Update &endpoint_server_name(const Text &key, const Text &name) {
        return done(anyhost_update_endpoint_server_name(get(), key.c_str(), name.c_str()));
    }

private:
    /* The library remembers the first failure. */
    Update &done(std::int32_t) noexcept { return *this; }

    detail::Handle<anyhost_update> it_;
};

/** A client of one service that lives under one or more base URLs. A copy is the same client. */
class Client {
public:
    using Raw = anyhost_client;

    Client() noexcept : it_(nullptr) {}
    /** What a C function handed out; it is freed at the end. */
    explicit Client(anyhost_client *owned) noexcept : it_(owned) {}
    /** Base URLs, separated by commas, in order of preference. Empty on failure. */
    Client(const Text &base_urls, Error &error) : it_(nullptr) {
        detail::make<Client>(error, [&](anyhost_client **out, anyhost_error **err) {
            return anyhost_open(base_urls.c_str(), out, err);
        }).swap(*this);
    }
    Client(const Client &other) noexcept : it_(anyhost_client_ref(other.it_)) {}
    Client(Client &&other) noexcept : it_(other.it_) { other.it_ = nullptr; }
    Client &operator=(Client other) noexcept {
        swap(other);
        return *this;
    }
    ~Client() {
        if (it_ == nullptr) return;
        detail::Frame lost;
        anyhost_client_free(it_);
    }

    void swap(Client &other) noexcept { std::swap(it_, other.it_); }
    explicit operator bool() const noexcept { return it_ != nullptr; }
    anyhost_client *get() const noexcept { return it_; }

    Response get(const Text &path, Error &error) const { return plain(anyhost_get, path, error); }
    Response head(const Text &path, Error &error) const { return plain(anyhost_head, path, error); }
    Response del(const Text &path, Error &error) const { return plain(anyhost_delete, path, error); }
    Response post(const Text &path, const Text &content_type, const Bytes &body, Error &error) const {
        return with_body(anyhost_post, path, content_type, body, error);
    }
    Response put(const Text &path, const Text &content_type, const Bytes &body, Error &error) const {
        return with_body(anyhost_put, path, content_type, body, error);
    }
    Response patch(const Text &path, const Text &content_type, const Bytes &body, Error &error) const {
        return with_body(anyhost_patch, path, content_type, body, error);
    }
    /** Reads the whole body within the attempt. */
    Response send(Request &request, Error &error) const {
        return detail::make<Response>(error, [&](anyhost_response **out, anyhost_error **err) {
            return anyhost_client_send(it_, request.get(), out, err);
        });
    }
    /** Returns with the head; Response::read has the body. */
    Response stream(Request &request, Error &error) const {
        Response answer =
            detail::make<Response>(error, [&](anyhost_response **out, anyhost_error **err) {
                return anyhost_client_stream(it_, request.get(), out, err);
            });
        answer.progress_ = request.progress_;
        return answer;
    }
    /** One attempt at this member only: your own health check. */
    Response probe(const Text &key, Request &request, Error &error) const {
        return detail::make<Response>(error, [&](anyhost_response **out, anyhost_error **err) {
            return anyhost_client_probe(it_, key.c_str(), request.get(), out, err);
        });
    }
    /** Wakes every blocked call. */
    bool shutdown(Error &error) const {
        return changed(error, [&] { return anyhost_client_shutdown(it_); });
    }
    bool drop_idle(Error &error) const {
        return changed(error, [&] { return anyhost_client_drop_idle(it_); });
    }
    bool set_weight(const Text &key, std::uint32_t weight, Error &error) const {
        return changed(error, [&] { return anyhost_client_set_weight(it_, key.c_str(), weight); });
    }
    bool disable(const Text &key, const Text &why, Error &error) const {
        return changed(error, [&] { return anyhost_client_disable(it_, key.c_str(), why.c_str()); });
    }
    bool enable(const Text &key, Error &error) const {
        return changed(error, [&] { return anyhost_client_enable(it_, key.c_str()); });
    }
    Snapshot snapshot(Error &error) const {
        return detail::make<Snapshot>(error, [&](anyhost_snapshot **out, anyhost_error **) {
            return anyhost_client_snapshot(it_, out);
        });
    }
    bool apply(const Update &update, Error &error) const {
        detail::run(error, [&](anyhost_error **err) { return anyhost_client_apply(it_, update.get(), err); });
        return !error;
    }

#if ANYHOST_EXCEPTIONS
    explicit Client(const Text &base_urls) : it_(nullptr) {
        Error error;
        Client(base_urls, error).swap(*this);
        error.raise();
    }
    Response get(const Text &path) const {
        Error error;
        return checked(get(path, error), error);
    }
    Response head(const Text &path) const {
        Error error;
        return checked(head(path, error), error);
    }
    Response del(const Text &path) const {
        Error error;
        return checked(del(path, error), error);
    }
    Response post(const Text &path, const Text &content_type, const Bytes &body) const {
        Error error;
        return checked(post(path, content_type, body, error), error);
    }
    Response put(const Text &path, const Text &content_type, const Bytes &body) const {
        Error error;
        return checked(put(path, content_type, body, error), error);
    }
    Response patch(const Text &path, const Text &content_type, const Bytes &body) const {
        Error error;
        return checked(patch(path, content_type, body, error), error);
    }
    Response send(Request &request) const {
        Error error;
        return checked(send(request, error), error);
    }
    Response stream(Request &request) const {
        Error error;
        return checked(stream(request, error), error);
    }
    Response probe(const Text &key, Request &request) const {
        Error error;
        return checked(probe(key, request, error), error);
    }
    void shutdown() const {
        Error error;
        shutdown(error);
        error.raise();
    }
    void drop_idle() const {
        Error error;
        drop_idle(error);
        error.raise();
    }
    void set_weight(const Text &key, std::uint32_t weight) const {
        Error error;
        set_weight(key, weight, error);
        error.raise();
    }
    void disable(const Text &key, const Text &why) const {
        Error error;
        disable(key, why, error);
        error.raise();
    }
    void enable(const Text &key) const {
        Error error;
        enable(key, error);
        error.raise();
    }
    Snapshot snapshot() const {
        Error error;
        return checked(snapshot(error), error);
    }
    void apply(const Update &update) const {
        Error error;
        apply(update, error);
        error.raise();
    }
#endif

private:
    template <class F> Response plain(F call, const Text &path, Error &error) const {
        return detail::make<Response>(error, [&](anyhost_response **out, anyhost_error **err) {
            return call(it_, path.c_str(), out, err);
        });
    }
    template <class F>
    Response with_body(F call, const Text &path, const Text &type, const Bytes &body, Error &error) const {
        return detail::make<Response>(error, [&](anyhost_response **out, anyhost_error **err) {
            return call(it_, path.c_str(), type.c_str(), body.data(), body.size(), out, err);
        });
    }
    template <class F> static bool changed(Error &error, F call) {
        detail::run(error, [&](anyhost_error **) { return call(); });
        return !error;
    }
    template <class T> static T checked(T made, const Error &error) {
        error.raise();
        return made;
    }

    anyhost_client *it_;
};

/**
 * Settings on their way to a client; see anyhost_builder.
 *
 * Nothing here fails but build(), which says what the first setting was that failed.
 */
class Builder {
public:
    Builder() noexcept {
        anyhost_builder *made = nullptr;
        anyhost_builder_new(&made);
        it_ = detail::Handle<anyhost_builder>(made);
    }

    anyhost_builder *get() const noexcept { return it_.get(); }

    /** NULL is the default. */
    Builder &set(const Text &option, const Text &value) {
        return done(anyhost_builder_set(get(), option.c_str(), value.c_str()));
    }
    Builder &set(const Text &option, std::chrono::milliseconds value) {
        return set(option, static_cast<std::int64_t>(value.count()));
    }
    template <class I, class = typename std::enable_if<std::is_integral<I>::value>::type>
    Builder &set(const Text &option, I value) {
        return done(anyhost_builder_set_int(get(), option.c_str(), static_cast<std::int64_t>(value)));
    }
    Builder &preset(const Text &name) { return done(anyhost_builder_preset(get(), name.c_str())); }
    Builder &add_endpoint(const Text &url, std::uint32_t weight = 0,
                          std::uint32_t priority = ANYHOST_PRIORITY_AUTO, const Text &label = nullptr) {
        return done(anyhost_builder_add_endpoint(get(), url.c_str(), weight, priority, label.c_str()));
    }
    Builder &add_proxy(const Text &url, std::uint32_t weight = 0, const Text &label = nullptr) {
        return done(anyhost_builder_add_proxy(get(), url.c_str(), weight, label.c_str()));
    }
    Builder &add_header(const Text &name, const Text &value, bool secret = false) {
        return done(anyhost_builder_add_header(get(), name.c_str(), value.c_str(), secret ? 1 : 0));
    }
    Builder &endpoint_header(const Text &key, const Text &name, const Text &value, bool secret = false) {
        return done(anyhost_builder_endpoint_header(get(), key.c_str(), name.c_str(), value.c_str(),
                                                    secret ? 1 : 0));
    }
    Builder &endpoint_server_name(const Text &key, const Text &name) {
        return done(anyhost_builder_endpoint_server_name(get(), key.c_str(), name.c_str()));
    }
    Builder &add_root_pem(const Bytes &pem) {
        return done(anyhost_builder_add_root_pem(get(), pem.data(), pem.size()));
    }
    Builder &set_client_cert_pem(const Bytes &cert, const Bytes &key) {
        return done(anyhost_builder_set_client_cert_pem(get(), cert.data(), cert.size(), key.data(),
                                                        key.size()));
    }
    /** Told what happens. */
    Builder &on_event(std::function<void(const Event &)> callback) {
        using Callback = std::function<void(const Event &)>;
        const anyhost_event_cb told = [](void *user, const anyhost_event *event) {
            detail::Frame::guard(0, [&]() -> int {
                (*static_cast<Callback *>(user))(Event(event));
                return 0;
            });
        };
        const bool any = static_cast<bool>(callback);
        return done(anyhost_builder_on_event(get(), any ? told : nullptr,
                                             new Callback(std::move(callback)),
                                             detail::forget<Callback>));
    }
    /** Judges answers: one of ANYHOST_VERDICT_*. */
    Builder &on_judge(std::function<std::int32_t(const Answer &)> callback) {
        using Callback = std::function<std::int32_t(const Answer &)>;
        const anyhost_judge_cb judges = [](void *user, const anyhost_response *answer) {
            /* After an exception nothing else is to be tried, and no endpoint to be blamed. */
            return detail::Frame::guard<std::int32_t>(ANYHOST_VERDICT_CALLER, [&]() -> std::int32_t {
                return (*static_cast<Callback *>(user))(Answer(answer));
            });
        };
        const bool any = static_cast<bool>(callback);
        return done(anyhost_builder_on_judge(get(), any ? judges : nullptr,
                                             new Callback(std::move(callback)),
                                             detail::forget<Callback>));
    }
    /** Says whether to go on after this attempt: one of ANYHOST_RETRY_*. */
    Builder &on_retry(std::function<std::int32_t(const Attempt &)> callback) {
        using Callback = std::function<std::int32_t(const Attempt &)>;
        const anyhost_retry_cb decides = [](void *user, const anyhost_attempt *last) {
            return detail::Frame::guard<std::int32_t>(ANYHOST_RETRY_STOP, [&]() -> std::int32_t {
                return (*static_cast<Callback *>(user))(Attempt(last));
            });
        };
        const bool any = static_cast<bool>(callback);
        return done(anyhost_builder_on_retry(get(), any ? decides : nullptr,
                                             new Callback(std::move(callback)),
                                             detail::forget<Callback>));
    }

    /** The client; the builder is spent. */
    Client build(Error &error) {
        return detail::make<Client>(error, [&](anyhost_client **out, anyhost_error **err) {
            return anyhost_builder_build(get(), out, err);
        });
    }
#if ANYHOST_EXCEPTIONS
    Client build() {
        Error error;
        Client client = build(error);
        error.raise();
        return client;
    }
#endif

private:
    /* The library remembers the first failure. */
    Builder &done(std::int32_t) noexcept { return *this; }

    detail::Handle<anyhost_builder> it_;
};

/* Beside clients. */

inline const char *version() noexcept { return anyhost_version(); }
inline std::uint32_t version_number() noexcept { return anyhost_version_number(); }
inline std::uint32_t abi() noexcept { return anyhost_abi(); }
inline const char *build_info() noexcept { return anyhost_build_info(); }

/* Names of numbers, never NULL. */
inline const char *status_name(std::int32_t number) noexcept { return anyhost_status_name(number); }
inline const char *status_text(std::int32_t number) noexcept { return anyhost_status_text(number); }
inline const char *state_name(std::int32_t number) noexcept { return anyhost_state_name(number); }
inline const char *phase_name(std::int32_t number) noexcept { return anyhost_phase_name(number); }
inline const char *reason_name(std::int32_t number) noexcept { return anyhost_reason_name(number); }
inline const char *delivery_name(std::int32_t number) noexcept { return anyhost_delivery_name(number); }
inline const char *event_name(std::int32_t number) noexcept { return anyhost_event_name(number); }

/** What can be set on a builder or a request. */
struct Option {
    const char *name;
    const char *default_value;
    const char *help;
    /** Bits: 1 client, 2 request. */
    std::int32_t scope;
};

namespace detail {

struct AllOptions {
    using Owner = void;
    using Item = Option;
    static std::size_t count(const Owner *) noexcept { return anyhost_option_count(); }
    static Item at(const Owner *, std::size_t i) noexcept {
        return Option{anyhost_option_name(i), anyhost_option_default(i), anyhost_option_help(i),
                      anyhost_option_scope(i)};
    }
};

} // namespace detail

/** Every option there is. */
inline detail::Range<detail::AllOptions> options() noexcept {
    return detail::Range<detail::AllOptions>(nullptr);
}

/** A circuit breaker for what is not HTTP; see anyhost_breaker. Any thread may use it. */
class Breaker {
public:
    /** 0 is the default of each. */
    explicit Breaker(std::uint32_t threshold, std::chrono::milliseconds base, std::chrono::milliseconds max,
                     Error &error) {
        anyhost_breaker *made = nullptr;
        detail::worked(anyhost_breaker_new(threshold, static_cast<std::uint64_t>(base.count()),
                                           static_cast<std::uint64_t>(max.count()), &made),
                       error);
        it_ = detail::Handle<anyhost_breaker>(made);
    }

    anyhost_breaker *get() const noexcept { return it_.get(); }

    /** Whether a call may be made; `wait` says how long none may. */
    bool allow(const Text &key, std::chrono::milliseconds &wait, Error &error) const {
        std::int32_t allowed = 0;
        std::uint64_t wait_ms = 0;
        detail::worked(anyhost_breaker_allow(get(), key.c_str(), &allowed, &wait_ms), error);
        wait = std::chrono::milliseconds(wait_ms);
        return allowed == 1;
    }
    /** How long to stay away from it, also while its circuit is still closed. */
    std::chrono::milliseconds record_failure(const Text &key, Error &error) const {
        std::uint64_t backoff_ms = 0;
        detail::worked(anyhost_breaker_record_failure(get(), key.c_str(), &backoff_ms), error);
        return std::chrono::milliseconds(backoff_ms);
    }
    bool record_success(const Text &key, Error &error) const {
        return detail::worked(anyhost_breaker_record_success(get(), key.c_str()), error);
    }
#if ANYHOST_EXCEPTIONS
    explicit Breaker(std::uint32_t threshold = 0,
                     std::chrono::milliseconds base = std::chrono::milliseconds(0),
                     std::chrono::milliseconds max = std::chrono::milliseconds(0)) {
        Error error;
        *this = Breaker(threshold, base, max, error);
        error.raise();
    }
    bool allow(const Text &key) const {
        std::chrono::milliseconds wait;
        return allow(key, wait);
    }
    bool allow(const Text &key, std::chrono::milliseconds &wait) const {
        Error error;
        const bool allowed = allow(key, wait, error);
        error.raise();
        return allowed;
    }
    std::chrono::milliseconds record_failure(const Text &key) const {
        Error error;
        const std::chrono::milliseconds backoff = record_failure(key, error);
        error.raise();
        return backoff;
    }
    void record_success(const Text &key) const {
        Error error;
        record_success(key, error);
        error.raise();
    }
#endif

private:
    detail::Handle<anyhost_breaker> it_;
};

} // namespace anyhost

#endif /* ANYHOST_HPP */
