/*
 * Roost for C++17: objects that free themselves, keys as std::string_view, times as std::chrono. Header only; it calls the C
 * library and nothing else. The headers that roost.h includes describe what each call does.
 *
 *     roost::Filter seen = roost::Filter::create(1'000'000).or_throw();
 *     seen.add("swift").or_throw();
 *     if (seen.contains("swift")) ...
 *
 * Errors: a call that can fail returns a Status, or a Result: a Status and a value. Ask it (`if (!result) ...
 * result.status().text()`), or call or_throw(), which returns the value or throws roost::Error. With -fno-exceptions there is no
 * or_throw(). The compiler warns of results that nobody looks at.
 *
 * Objects own what they hold. They can be moved and not copied (`clone` copies a filter); one that was moved from, or that
 * an error left empty, may only be destroyed or assigned to. Threads and lifetimes are as in roost/filter.h.
 */
#ifndef ROOST_HPP
#define ROOST_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "roost.h"

#if defined(__cpp_exceptions)
#include <stdexcept>
#endif

namespace roost
{

/* ---- errors ---------------------------------------------------------------------------------------------------- */

#if defined(__cpp_exceptions)
/* What or_throw() throws; what() is the text of the status. */
class Error : public std::runtime_error
{
  public:
    explicit Error(roost_status code) : std::runtime_error(roost_status_text(code)), code_(code)
    {
    }
    roost_status code() const noexcept
    {
        return code_;
    }

  private:
    roost_status code_;
};
#endif

/* The status of a call; true where it succeeded. */
class [[nodiscard]] Status
{
  public:
    Status(roost_status code = ROOST_OK) noexcept : code_(code)
    {
    }
    explicit operator bool() const noexcept
    {
        return code_ == ROOST_OK;
    }
    roost_status code() const noexcept
    {
        return code_;
    }
    const char *text() const noexcept
    {
        return roost_status_text(code_);
    }
#if defined(__cpp_exceptions)
    void or_throw() const
    {
        if (code_ != ROOST_OK)
            throw Error(code_);
    }
#endif

  private:
    roost_status code_;
};

/* A status and a value. After an error the value is empty or false, unless a description says otherwise. */
template <typename Value> class [[nodiscard]] Result
{
  public:
    Result(roost_status code, Value value) : status_(code), value_(std::move(value))
    {
    }
    explicit operator bool() const noexcept
    {
        return static_cast<bool>(status_);
    }
    Status status() const noexcept
    {
        return status_;
    }
    Value &operator*() &noexcept
    {
        return value_;
    }
    const Value &operator*() const &noexcept
    {
        return value_;
    }
    Value &&operator*() &&noexcept
    {
        return std::move(value_);
    }
    Value *operator->() noexcept
    {
        return &value_;
    }
    const Value *operator->() const noexcept
    {
        return &value_;
    }
#if defined(__cpp_exceptions)
    Value or_throw() &&
    {
        status_.or_throw();
        return std::move(value_);
    }
#endif

  private:
    Status status_;
    Value value_;
};

/* ---- bytes and times ------------------------------------------------------------------------------------------- */

/* Bytes that the library has made: a frame, a message. */
class Buffer
{
  public:
    Buffer() noexcept = default;
    Buffer(Buffer &&other) noexcept : buffer_(std::exchange(other.buffer_, roost_buffer{}))
    {
    }
    Buffer &operator=(Buffer &&other) noexcept
    {
        std::swap(buffer_, other.buffer_);
        return *this;
    }
    ~Buffer()
    {
        roost_buffer_release(&buffer_);
    }

    const std::uint8_t *data() const noexcept
    {
        return buffer_.data;
    }
    std::size_t size() const noexcept
    {
        return buffer_.size;
    }
    bool empty() const noexcept
    {
        return buffer_.size == 0;
    }
    std::string_view view() const noexcept
    {
        return {reinterpret_cast<const char *>(buffer_.data), buffer_.size};
    }
    operator std::string_view() const noexcept
    {
        return view();
    }

    /* For calls of the C library, which fill it. It must be empty. */
    roost_buffer *out() noexcept
    {
        return &buffer_;
    }

  private:
    roost_buffer buffer_{};
};

/* Times of windows and counters: microseconds since 1970 where they come from the system's clock. */
using Time = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;
inline Time now()
{
    return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

/* ---- what all filters can do ------------------------------------------------------------------------------------ */

/* The owner of a roost_filter: merges, frames, deltas, digests. Filter, Window and Counter add their elements to it. */
class Mergeable
{
  public:
    /* The filter, for calls of the C library that this header does not have. It stays with its owner. */
    roost_filter *get() const noexcept
    {
        return handle_.get();
    }

    Result<bool> merge(const Mergeable &other)
    {
        bool changed = false;
        roost_status status = roost_filter_merge(get(), &changed, other.get());
        return {status, changed};
    }
    /* Merges a frame of a state or a delta, which may come from anyone. */
    Result<bool> merge_frame(std::string_view frame)
    {
        bool changed = false;
        roost_status status = roost_filter_merge_frame(get(), &changed, frame.data(), frame.size());
        return {status, changed};
    }
    Result<Buffer> encode() const
    {
        Buffer frame;
        roost_status status = roost_filter_encode(get(), frame.out());
        return {status, std::move(frame)};
    }
    /* What changed since a cursor, which moves on; at first it is roost_cursor{}, and the delta is the whole state. */
    Result<Buffer> encode_delta(roost_cursor &cursor)
    {
        Buffer frame;
        roost_cursor since = cursor;
        roost_status status = roost_filter_encode_delta(get(), frame.out(), &cursor, &since);
        return {status, std::move(frame)};
    }
    /* The reply to a request of a Sync. After ROOST_MISMATCH, ROOST_PROTOCOL and ROOST_CORRUPT it tells the peer so: send it. */
    Result<Buffer> reply(std::string_view request, bool *changed = nullptr)
    {
        Buffer message;
        roost_status status = roost_sync_reply(get(), message.out(), changed, request.data(), request.size());
        return {status, std::move(message)};
    }
    /* 32 hexadecimal digits, equal for equal states. */
    std::string digest()
    {
        char text[33];
        roost_digest_text(roost_filter_digest(get()), text);
        return text;
    }
    roost_info info() const
    {
        roost_info info{};
        roost_filter_get_info(get(), &info);
        return info;
    }
    const roost_config &config() const noexcept
    {
        return *roost_filter_get_config(get());
    }
    friend bool operator==(const Mergeable &a, const Mergeable &b)
    {
        return roost_filter_equal(a.get(), b.get());
    }
    friend bool operator!=(const Mergeable &a, const Mergeable &b)
    {
        return !(a == b);
    }

  protected:
    struct Release {
        void operator()(roost_filter *filter) const noexcept
        {
            roost_filter_free(filter);
        }
    };
    Mergeable() noexcept = default;
    explicit Mergeable(roost_filter *filter) noexcept : handle_(filter)
    {
    }

    template <typename Kind> static Result<Kind> make(const roost_config &config, const roost_environment *environment)
    {
        if (!Kind::has(config.kind))
            return {ROOST_INVALID, Kind()};
        roost_filter *filter = nullptr;
        roost_status status = roost_filter_new(&filter, &config, environment);
        return {status, Kind(filter)};
    }
    /* ROOST_MISMATCH for a frame of another kind. */
    template <typename Kind> static Result<Kind> decode_as(std::string_view frame, const roost_environment *environment)
    {
        roost_filter *filter = nullptr;
        roost_status status = roost_filter_decode(&filter, frame.data(), frame.size(), environment);
        Kind decoded(filter);
        if (status == ROOST_OK && !Kind::has(decoded.config().kind))
            return {ROOST_MISMATCH, Kind()};
        return {status, std::move(decoded)};
    }
    template <typename Kind> Result<Kind> clone_as() const
    {
        roost_filter *copy = nullptr;
        roost_status status = roost_filter_clone(get(), &copy);
        return {status, Kind(copy)};
    }

  private:
    std::unique_ptr<roost_filter, Release> handle_;
};

/* ---- filters --------------------------------------------------------------------------------------------------- */

/* A Bloom or cuckoo filter (roost/filter.h). */
class Filter : public Mergeable
{
  public:
    Filter() noexcept = default;

    static Result<Filter> create(const roost_config &config, const roost_environment *environment = nullptr)
    {
        return make<Filter>(config, environment);
    }
    /* With the default configuration but for these; ROOST_ORCUCKOO has removal. */
    static Result<Filter> create(std::uint64_t capacity, roost_kind kind = ROOST_BLOOM)
    {
        roost_config config = roost_config_default();
        config.capacity = capacity;
        config.kind = kind;
        return create(config);
    }
    static Result<Filter> decode(std::string_view frame, const roost_environment *environment = nullptr)
    {
        return decode_as<Filter>(frame, environment);
    }
    Result<Filter> clone() const
    {
        return clone_as<Filter>();
    }

    /* The value tells whether the element is new. */
    Result<bool> add(std::string_view key)
    {
        bool changed = false;
        roost_status status = roost_filter_add(get(), &changed, key.data(), key.size());
        return {status, changed};
    }
    /* Adds all of a container of strings. The value is how many were added before an error, if there was one. */
    template <typename Keys> Result<std::size_t> add_many(const Keys &keys)
    {
        std::vector<roost_bytes> bytes = bytes_of(keys);
        std::size_t done = 0;
        roost_status status = roost_filter_add_many(get(), nullptr, &done, bytes.data(), bytes.size());
        return {status, done};
    }
    bool contains(std::string_view key) const
    {
        return roost_filter_contains(get(), key.data(), key.size());
    }
    std::uint64_t count(std::string_view key) const
    {
        return roost_filter_count(get(), key.data(), key.size());
    }

    /* The time of the changes that follow, with ROOST_LAST_WRITER_WINS; for other filters it does nothing. */
    void set_time(Time time = now()) noexcept
    {
        roost_filter_set_time(get(), static_cast<std::uint64_t>(time.time_since_epoch().count()));
    }

    /* The value tells whether the element was there. ROOST_UNSUPPORTED but for ROOST_ORCUCKOO. */
    Result<bool> remove(std::string_view key)
    {
        bool changed = false;
        roost_status status = roost_filter_remove(get(), &changed, key.data(), key.size());
        return {status, changed};
    }

  private:
    friend class Mergeable;
    explicit Filter(roost_filter *filter) noexcept : Mergeable(filter)
    {
    }
    static bool has(roost_kind kind) noexcept
    {
        return kind != ROOST_WINDOW && kind != ROOST_COUNTER;
    }

    template <typename Keys> static std::vector<roost_bytes> bytes_of(const Keys &keys)
    {
        std::vector<roost_bytes> bytes;
        for (const auto &key : keys) {
            std::string_view view = key;
            bytes.push_back({view.data(), view.size()});
        }
        return bytes;
    }
};

/* ---- windows and counters -------------------------------------------------------------------------------------- */

inline std::uint64_t microseconds_of(Time time)
{
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
}

/* The configuration of a window or a counter (roost/window.h). */
inline roost_config window_config(roost_kind kind, std::chrono::microseconds length, std::uint64_t capacity)
{
    roost_config config = roost_window_config_default(kind, static_cast<std::uint64_t>(length.count()));
    config.capacity = capacity;
    return config;
}

/* The elements of the last minutes, hours or days. */
class Window : public Mergeable
{
  public:
    Window() noexcept = default;

    static Result<Window> create(const roost_config &config, const roost_environment *environment = nullptr)
    {
        return make<Window>(config, environment);
    }
    /* For about so many elements within the length of the window. */
    static Result<Window> create(std::chrono::microseconds length, std::uint64_t capacity)
    {
        return create(window_config(ROOST_WINDOW, length, capacity));
    }
    static Result<Window> decode(std::string_view frame, const roost_environment *environment = nullptr)
    {
        return decode_as<Window>(frame, environment);
    }
    Result<Window> clone() const
    {
        return clone_as<Window>();
    }

    /* The value tells whether the element came within the window before. */
    Result<bool> add(std::string_view key, Time time = now())
    {
        bool seen = false;
        roost_status status = roost_window_add(get(), &seen, key.data(), key.size(), microseconds_of(time));
        return {status, seen};
    }
    bool contains(std::string_view key, Time time = now()) const
    {
        return roost_window_contains(get(), key.data(), key.size(), microseconds_of(time));
    }

  private:
    friend class Mergeable;
    explicit Window(roost_filter *filter) noexcept : Mergeable(filter)
    {
    }
    static bool has(roost_kind kind) noexcept
    {
        return kind == ROOST_WINDOW;
    }
};

/* A sum of operations, each of which counts once however often it is tried. */
class Counter : public Mergeable
{
  public:
    Counter() noexcept = default;

    static Result<Counter> create(const roost_config &config, const roost_environment *environment = nullptr)
    {
        return make<Counter>(config, environment);
    }
    static Result<Counter> create(std::chrono::microseconds length, std::uint64_t capacity)
    {
        return create(window_config(ROOST_COUNTER, length, capacity));
    }
    static Result<Counter> decode(std::string_view frame, const roost_environment *environment = nullptr)
    {
        return decode_as<Counter>(frame, environment);
    }
    Result<Counter> clone() const
    {
        return clone_as<Counter>();
    }

    /* The value tells whether the operation was counted: false means that it was before. */
    Result<bool> increment(std::string_view id, std::int64_t amount = 1, Time time = now())
    {
        bool applied = false;
        roost_status status =
            roost_counter_increment(get(), &applied, nullptr, id.data(), id.size(), amount, microseconds_of(time));
        return {status, applied};
    }
    /* After ROOST_OVERFLOW it is the nearest end of the range. */
    Result<std::int64_t> value() const
    {
        std::int64_t value = 0;
        roost_status status = roost_counter_get_value(get(), &value);
        return {status, value};
    }

  private:
    friend class Mergeable;
    explicit Counter(roost_filter *filter) noexcept : Mergeable(filter)
    {
    }
    static bool has(roost_kind kind) noexcept
    {
        return kind == ROOST_COUNTER;
    }
};

/* ---- exchanges ------------------------------------------------------------------------------------------------- */

/* The initiator of a sync (roost/sync.h); the responder calls Mergeable::reply. */
class Sync
{
  public:
    Sync() noexcept = default;

    /* The filter must outlive the sync, and stay where it is. `memory`: what save_memory returned after an earlier sync. */
    static Result<Sync> create(Mergeable &filter, std::string_view memory = {})
    {
        roost_sync *sync = nullptr;
        roost_status status = roost_sync_new(&sync, filter.get(), memory.data(), memory.size());
        return {status, Sync(sync)};
    }
    /* The next request; an empty one means that the sync is over. At first there is no reply to pass. */
    Result<Buffer> next(std::string_view reply = {})
    {
        Buffer request;
        roost_status status = roost_sync_next(handle_.get(), request.out(), reply.data(), reply.size());
        return {status, std::move(request)};
    }
    roost_sync_result result() const
    {
        return roost_sync_get_result(handle_.get());
    }
    Result<Buffer> save_memory() const
    {
        Buffer memory;
        roost_status status = roost_sync_save_memory(handle_.get(), memory.out());
        return {status, std::move(memory)};
    }

  private:
    struct Release {
        void operator()(roost_sync *sync) const noexcept
        {
            roost_sync_free(sync);
        }
    };
    explicit Sync(roost_sync *sync) noexcept : handle_(sync)
    {
    }
    std::unique_ptr<roost_sync, Release> handle_;
};

/* One side of a reconciliation of two sets of keys (roost/reconcile.h). */
class Reconcile
{
  public:
    Reconcile() noexcept = default;

    static Result<Reconcile> initiator(const roost_reconcile_config &config = {},
                                       const roost_environment *environment = nullptr)
    {
        roost_reconcile *session = nullptr;
        roost_status status = roost_reconcile_new_initiator(&session, &config, environment);
        return {status, Reconcile(session)};
    }
    /* From the first message of the initiator; add the keys, then pass the same message to next. */
    static Result<Reconcile> responder(std::string_view message, const roost_environment *environment = nullptr)
    {
        roost_reconcile *session = nullptr;
        roost_status status = roost_reconcile_new_responder(&session, message.data(), message.size(), environment);
        return {status, Reconcile(session)};
    }
    Status add(std::string_view key, std::uint64_t count = 1)
    {
        return roost_reconcile_add(handle_.get(), key.data(), key.size(), count);
    }
    /* The next message to send; an empty one means that nothing more is to be sent. After an error one that is not empty
       tells the peer: send it. */
    Result<Buffer> next(std::string_view received = {})
    {
        Buffer message;
        roost_status status = roost_reconcile_next(handle_.get(), message.out(), received.data(), received.size());
        return {status, std::move(message)};
    }
    bool is_done() const
    {
        return roost_reconcile_is_done(handle_.get());
    }
    roost_reconcile_result result() const
    {
        return roost_reconcile_get_result(handle_.get());
    }

    /* The keys of this side that the other one lacks, once the session is done; `index` counts the calls of add from 0. */
    std::vector<roost_difference> differences() const
    {
        std::vector<roost_difference> differences(is_done() ? result().only_here : 0);
        if (!differences.empty())
            roost_reconcile_get_differences(handle_.get(), differences.data());
        return differences;
    }

  private:
    struct Release {
        void operator()(roost_reconcile *session) const noexcept
        {
            roost_reconcile_free(session);
        }
    };
    explicit Reconcile(roost_reconcile *session) noexcept : handle_(session)
    {
    }
    std::unique_ptr<roost_reconcile, Release> handle_;
};

} // namespace roost

#endif
