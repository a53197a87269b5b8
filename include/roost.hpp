/*
 * Roost for C++17: objects that free themselves, keys and frames as views of bytes, times as std::chrono. Header only;
 * it calls the C library and nothing else. The headers that roost.h includes describe what each call does.
 *
 *     roost::Filter seen = roost::Filter::create(1'000'000).or_throw();
 *     seen.add("swift").or_throw();
 *     if (seen.contains("swift")) ...
 *
 * Errors: a call that can fail returns a Status, or a Result: a Status and a value. Ask it (`if (!result) ...
 * result.status().text()`), or call or_throw(), which returns the value or throws roost::Error. With -fno-exceptions
 * there is no or_throw(). The compiler warns of results that nobody looks at. `if (result)` asks whether the call
 * succeeded; `*result` is its answer. Nothing else throws, but for containers that this header makes or fills, which
 * may throw std::bad_alloc, and ranges and streams of yours, whose exceptions pass. The functions of a
 * roost_environment are called by C: they may not throw.
 *
 * Objects own what they hold. They can be moved and not copied (`clone` copies a filter). One that was made without
 * `create`, was moved from, or was left by an error is empty: it holds nothing, calls return ROOST_INVALID with a text
 * of their own, look-ups return false, and you may assign to it. Threads and lifetimes are as in roost/filter.h: const
 * calls may be made at the same time.
 */
#ifndef ROOST_HPP
#define ROOST_HPP

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "roost.h"
#include "roost/result.hpp"

namespace roost
{

/* ---- what all filters can do ------------------------------------------------------------------------------------ */

/* A filter of any kind: merges, frames, deltas, digests, replicas. */
class Mergeable
{
  public:
    Mergeable(const Mergeable &) = delete;
    Mergeable &operator=(const Mergeable &) = delete;

    /* Whether there is a filter: false for an object that is empty. */
    explicit operator bool() const noexcept { return filter_ != nullptr; }
    /* The filter, for calls of the C library that this header does not have. It stays with its owner. */
    roost_filter *get() noexcept { return filter_; }
    const roost_filter *get() const noexcept { return filter_; }

    Result<bool> merge(const Mergeable &other) noexcept
    {
        return detail::ask<bool>(get() && other,
                                 [&](bool &changed) { return roost_filter_merge(get(), &changed, other.get()); });
    }
    /* Merges a frame of a state or a delta, which may come from anyone. */
    Result<bool> merge_frame(Bytes frame) noexcept
    {
        return detail::ask<bool>(get(), [&](bool &changed) {
            return roost_filter_merge_frame(get(), &changed, frame.data(), frame.size());
        });
    }
    /* After an error it is ROOST_CONCURRENT. */
    Result<roost_order> compare(const Mergeable &other) const noexcept
    {
        return detail::ask<roost_order>(get() && other, ROOST_CONCURRENT, [&](roost_order &order) {
            return roost_filter_compare(get(), &order, other.get());
        });
    }
    Result<Buffer> encode() const noexcept
    {
        return detail::ask<Buffer>(get(), [&](Buffer &frame) { return roost_filter_encode(get(), frame.out()); });
    }
    /* What changed since a cursor, which moves on; at first it is roost_cursor{}, and the delta is the whole state. */
    Result<Buffer> encode_delta(roost_cursor &cursor) noexcept
    {
        return detail::ask<Buffer>(
            get(), [&](Buffer &frame) { return roost_filter_encode_delta(get(), frame.out(), &cursor, &cursor); });
    }
    /* The cursor of the present state, for deltas from here on. */
    Result<roost_cursor> cursor() noexcept
    {
        return detail::ask<roost_cursor>(get(),
                                         [&](roost_cursor &now) { return roost_filter_get_cursor(get(), &now); });
    }
    /* The reply to a request of a Sync. After ROOST_MISMATCH, ROOST_PROTOCOL and ROOST_CORRUPT it tells the peer so:
       send it. */
    Result<Buffer> reply(Bytes request, bool *changed = nullptr) noexcept
    {
        if (changed)
            *changed = false;
        return detail::ask<Buffer>(get(), [&](Buffer &message) {
            return roost_sync_reply(get(), message.out(), changed, request.data(), request.size());
        });
    }
    /* The identity and the journal of this replica, to be stored beside its frame. */
    Result<Buffer> save_replica() const noexcept
    {
        return detail::ask<Buffer>(get(), [&](Buffer &bytes) { return roost_filter_save_replica(get(), bytes.out()); });
    }
    /* For a filter that was just decoded from that frame; once. */
    Status restore_replica(Bytes saved) noexcept
    {
        return get() ? Status(roost_filter_restore_replica(get(), saved.data(), saved.size()))
                     : Status(ROOST_INVALID, Status::empty);
    }
    Result<bool> transfer_shares() noexcept
    {
        return detail::ask<bool>(get(), [&](bool &changed) { return roost_filter_transfer_shares(get(), &changed); });
    }
    /* 32 hexadecimal digits, equal for equal states. Not const: the filter caches it. */
    [[nodiscard]] std::string digest()
    {
        char text[33] = "";
        if (get())
            roost_digest_text(roost_filter_digest(get()), text);
        return text;
    }
    [[nodiscard]] roost_info info() const noexcept
    {
        roost_info info{};
        if (get())
            roost_filter_get_info(get(), &info);
        return info;
    }
    /* What is known without reading all of the filter. */
    [[nodiscard]] roost_info brief_info() const noexcept
    {
        roost_info info{};
        if (get())
            roost_filter_get_brief_info(get(), &info);
        return info;
    }
    /* All zero for an empty object. */
    [[nodiscard]] roost_config config() const noexcept
    {
        return get() ? *roost_filter_get_config(get()) : roost_config{};
    }
    /* 0 while the replica has no actor. */
    [[nodiscard]] std::uint64_t actor() const noexcept { return get() ? roost_filter_get_actor(get()) : 0; }
    /* Checks the invariants of the structure, for tests and for diagnosis. */
    Status check() const noexcept
    {
        return get() ? Status(roost_filter_check(get())) : Status(ROOST_INVALID, Status::empty);
    }
    friend bool operator==(const Mergeable &a, const Mergeable &b) noexcept
    {
        return a && b ? roost_filter_equal(a.get(), b.get()) : !a && !b;
    }
    friend bool operator!=(const Mergeable &a, const Mergeable &b) noexcept { return !(a == b); }

  protected:
    Mergeable() noexcept {} // not defaulted, here and below: C++17 would take the classes for aggregates
    ~Mergeable() = default;
    roost_filter *filter_ = nullptr;
};

/*
 * The owner of a filter: a Filter, a Window or a Counter, which is a `Basic`. What a File has loaded is a `Basic` that
 * the file owns.
 */
template <typename Self, typename Basic> class Owner : public Basic
{
  public:
    static Result<Self> create(const roost_config &config, const roost_environment *environment = nullptr) noexcept
    {
        return detail::ask<Self>(true, [&](Self &made) {
            return Basic::has(config.kind) ? Status(roost_filter_new(&made.filter_, &config, environment))
                                           : Status(ROOST_INVALID, Status::other_kind);
        });
    }
    static Result<Self> decode(Bytes frame, const roost_environment *environment = nullptr) noexcept
    {
        roost_filter *filter = nullptr;
        roost_status status = roost_filter_decode(&filter, frame.data(), frame.size(), environment);
        return status == ROOST_OK ? adopt(filter) : Result<Self>(status, Self());
    }
    /* Takes ownership of a filter of the C library, and frees it if it is of another kind (ROOST_MISMATCH). */
    static Result<Self> adopt(roost_filter *filter) noexcept
    {
        Self made;
        if (filter && Basic::has(roost_filter_get_config(filter)->kind))
            made.filter_ = filter;
        else
            roost_filter_free(filter);
        return {made ? Status()
                     : Status(filter ? ROOST_MISMATCH : ROOST_INVALID, filter ? Status::other_kind : Status::empty),
                std::move(made)};
    }
    /* Gives the ownership to the caller; nullptr where the object is empty. */
    [[nodiscard]] roost_filter *release() noexcept { return std::exchange(this->filter_, nullptr); }
    Result<Self> clone() const noexcept
    {
        return detail::ask<Self>(this->get(),
                                 [&](Self &copy) { return roost_filter_clone(this->get(), &copy.filter_); });
    }

  protected:
    Owner() noexcept {}
    Owner(Owner &&other) noexcept : Basic() { this->filter_ = other.release(); }
    Owner &operator=(Owner &&other) noexcept
    {
        roost_filter *filter = other.release(); // first: it may be this one
        roost_filter_free(this->filter_);
        this->filter_ = filter;
        return *this;
    }
    ~Owner() { roost_filter_free(this->filter_); }
};

/* ---- filters --------------------------------------------------------------------------------------------------- */

/* A Bloom or cuckoo filter (roost/filter.h). Many keys are any range of keys, or a list in braces. */
class BasicFilter : public Mergeable
{
  public:
    /* The value tells whether the element is new. */
    Result<bool> add(Bytes key) noexcept
    {
        return detail::ask<bool>(
            get(), [&](bool &changed) { return roost_filter_add(get(), &changed, key.data(), key.size()); });
    }
    /* Adds until one addition fails; the value tells how many were added by then, and how many of these are new. */
    template <typename Keys = std::initializer_list<Bytes>> Result<Batch> add_many(Keys &&keys)
    {
        return detail::ask<Batch>(get(), [&](Batch &batch) {
            return detail::change_many(
                keys, batch, [&](bool *changed, std::size_t *done, const roost_bytes *chunk, std::size_t count) {
                    return roost_filter_add_many(get(), changed, done, chunk, count);
                });
        });
    }
    [[nodiscard]] bool contains(Bytes key) const noexcept
    {
        return get() && roost_filter_contains(get(), key.data(), key.size());
    }
    [[nodiscard]] std::uint64_t count(Bytes key) const noexcept
    {
        return get() ? roost_filter_count(get(), key.data(), key.size()) : 0;
    }
    /* Writes a bool for each key to an output iterator, and returns where it ends. */
    template <typename Keys = std::initializer_list<Bytes>, typename Output>
    Output contains_many(Keys &&keys, Output found) const
    {
        detail::in_chunks(keys, [&](const roost_bytes *chunk, std::size_t count) {
            bool answers[detail::chunk_of<Keys>] = {};
            if (get())
                roost_filter_contains_many(get(), answers, chunk, count);
            for (std::size_t i = 0; i < count; i++)
                *found++ = answers[i];
            return true;
        });
        return found;
    }
    template <typename Keys = std::initializer_list<Bytes>>
    [[nodiscard]] std::vector<bool> contains_many(Keys &&keys) const
    {
        std::vector<bool> found;
        contains_many(keys, std::back_inserter(found));
        return found;
    }

    /* The time of the changes that follow, with ROOST_LAST_WRITER_WINS; for other filters it does nothing. */
    void set_time(Time time = now()) noexcept
    {
        if (get())
            roost_filter_set_time(get(), detail::microseconds_of(time));
    }

    /* The value tells whether the element was there. ROOST_UNSUPPORTED but for ROOST_ORCUCKOO. */
    Result<bool> remove(Bytes key) noexcept
    {
        return detail::ask<bool>(
            get(), [&](bool &changed) { return roost_filter_remove(get(), &changed, key.data(), key.size()); });
    }
    /* One copy, of a multiset. */
    Result<bool> remove_one(Bytes key) noexcept
    {
        return detail::ask<bool>(
            get(), [&](bool &changed) { return roost_filter_remove_one(get(), &changed, key.data(), key.size()); });
    }
    /* The value tells how many keys were done, and how many of them were there. After an error a few of the keys that
       follow may have been removed too; `changed` counts them. */
    template <typename Keys = std::initializer_list<Bytes>> Result<Batch> remove_many(Keys &&keys)
    {
        return detail::ask<Batch>(get(), [&](Batch &batch) {
            return detail::change_many(
                keys, batch, [&](bool *changed, std::size_t *done, const roost_bytes *chunk, std::size_t count) {
                    roost_status status = roost_filter_remove_many(get(), changed, chunk, count);
                    *done = status == ROOST_OK ? count : 0;
                    return status;
                });
        });
    }

    /* Whether the class is for this kind. */
    static constexpr bool has(roost_kind kind) noexcept { return kind != ROOST_WINDOW && kind != ROOST_COUNTER; }

  protected:
    BasicFilter() noexcept {}
    ~BasicFilter() = default;
};

class Filter : public Owner<Filter, BasicFilter>
{
  public:
    Filter() noexcept {}
    using Owner::create;

    /* With the default configuration but for these; ROOST_ORCUCKOO has removal. */
    static Result<Filter> create(std::uint64_t capacity, roost_kind kind = ROOST_BLOOM) noexcept
    {
        return create(capacity, roost_config_default().fpr, kind);
    }
    static Result<Filter> create(std::uint64_t capacity, double fpr, roost_kind kind = ROOST_BLOOM) noexcept
    {
        roost_config config = roost_config_default();
        config.capacity = capacity;
        config.fpr = fpr;
        config.kind = kind;
        return create(config);
    }
    /* One that grows, as `roost create` makes it without a capacity. */
    static Result<Filter> growing(roost_kind kind = ROOST_CUCKOO, double fpr = roost_config_default().fpr) noexcept
    {
        roost_config config = roost_config_default();
        config.kind = kind;
        config.fpr = fpr;
        config.scalable = true;
        config.capacity = kind == ROOST_BLOOM ? 10000 : 0; /* of its first table */
        return create(config);
    }
};

/* ---- windows and counters -------------------------------------------------------------------------------------- */

/* The configuration of a window or a counter (roost/window.h). */
inline roost_config window_config(roost_kind kind, std::chrono::microseconds length, std::uint64_t capacity) noexcept
{
    roost_config config = roost_window_config_default(kind, static_cast<std::uint64_t>(length.count()));
    config.capacity = capacity;
    return config;
}

/* What windows and counters have in common: they know the time. */
class BasicTimed : public Mergeable
{
  public:
    /* The latest time that is trusted: additions and merges that are later are refused. Time{}: any. */
    void set_latest(Time latest) noexcept
    {
        if (get()) // 0 would be any time, and a time before 1970 a number above all others
            roost_window_set_latest(get(), detail::microseconds_of(latest < Time{} ? Time(Time::duration(1)) : latest));
    }
    [[nodiscard]] roost_window_info window_info() const noexcept
    {
        roost_window_info info{};
        if (get())
            roost_window_get_info(get(), &info);
        return info;
    }

  protected:
    BasicTimed() noexcept {}
    ~BasicTimed() = default;
};

/* The elements of the last minutes, hours or days. */
class BasicWindow : public BasicTimed
{
  public:
    Status add(Bytes key, Time time = now()) noexcept { return seen(key, time).status(); }
    /* Adds the element; the value tells whether it came within the window before. */
    Result<bool> seen(Bytes key, Time time = now()) noexcept
    {
        return detail::ask<bool>(get(), [&](bool &seen) {
            return roost_window_add(get(), &seen, key.data(), key.size(), detail::microseconds_of(time));
        });
    }
    /* Adds until one addition fails; `changed` counts those that are new: that did not come within the window before. */
    template <typename Keys = std::initializer_list<Bytes>> Result<Batch> add_many(Keys &&keys, Time time = now())
    {
        return detail::ask<Batch>(get(), [&](Batch &batch) {
            return detail::change_many(
                keys, batch, [&](bool *fresh, std::size_t *done, const roost_bytes *chunk, std::size_t count) {
                    roost_status status =
                        roost_window_add_many(get(), fresh, done, chunk, count, detail::microseconds_of(time));
                    for (std::size_t i = 0; i < *done; i++)
                        fresh[i] = !fresh[i];
                    return status;
                });
        });
    }
    [[nodiscard]] bool contains(Bytes key, Time time = now()) const noexcept
    {
        return get() && roost_window_contains(get(), key.data(), key.size(), detail::microseconds_of(time));
    }

    static constexpr bool has(roost_kind kind) noexcept { return kind == ROOST_WINDOW; }

  protected:
    BasicWindow() noexcept {}
    ~BasicWindow() = default;
};

class Window : public Owner<Window, BasicWindow>
{
  public:
    Window() noexcept {}
    using Owner::create;

    /* For about so many elements within the length of the window. */
    static Result<Window> create(std::chrono::microseconds length, std::uint64_t capacity) noexcept
    {
        return create(window_config(ROOST_WINDOW, length, capacity));
    }
};

/* A sum of operations, each of which counts once however often it is tried. */
class BasicCounter : public BasicTimed
{
  public:
    /* The value tells whether the operation was counted: false means that it was before. */
    Result<bool> increment(Bytes id, std::int64_t amount = 1, Time time = now()) noexcept
    {
        return detail::ask<bool>(get(), [&](bool &applied) {
            return roost_counter_increment(get(), &applied, nullptr, id.data(), id.size(), amount,
                                           detail::microseconds_of(time));
        });
    }
    /* After ROOST_OVERFLOW it is the nearest end of the range. */
    Result<std::int64_t> value() const noexcept
    {
        return detail::ask<std::int64_t>(get(),
                                         [&](std::int64_t &value) { return roost_counter_get_value(get(), &value); });
    }

    static constexpr bool has(roost_kind kind) noexcept { return kind == ROOST_COUNTER; }

  protected:
    BasicCounter() noexcept {}
    ~BasicCounter() = default;
};

class Counter : public Owner<Counter, BasicCounter>
{
  public:
    Counter() noexcept {}
    using Owner::create;

    static Result<Counter> create(std::chrono::microseconds length, std::uint64_t capacity) noexcept
    {
        return create(window_config(ROOST_COUNTER, length, capacity));
    }
};

/* ---- filters of threads, filters in files ------------------------------------------------------------------------ */

/* A filter that threads share (roost/shared.h): all calls may be made by several threads at once, but not a move. */
class Shared
{
  public:
    static Result<Shared> create(const roost_config &config, const roost_environment *environment = nullptr) noexcept
    {
        return detail::ask<Shared>(
            true, [&](Shared &made) { return roost_shared_new(made.handle_.out(), &config, environment); });
    }
    explicit operator bool() const noexcept { return get() != nullptr; }
    roost_shared *get() const noexcept { return handle_.get(); }

    /* The value tells whether this call changed the state. */
    Result<bool> add(Bytes key) noexcept
    {
        return detail::ask<bool>(
            get(), [&](bool &changed) { return roost_shared_add(get(), &changed, key.data(), key.size()); });
    }
    [[nodiscard]] bool contains(Bytes key) const noexcept
    {
        return get() && roost_shared_contains(get(), key.data(), key.size());
    }
    /* Where it fails, a part of it may have been merged. */
    Result<bool> merge(const Mergeable &other) noexcept
    {
        return detail::ask<bool>(get() && other,
                                 [&](bool &changed) { return roost_shared_merge(get(), &changed, other.get()); });
    }
    /* The state of this moment, to encode, compare, save or sync. */
    Result<Filter> snapshot() const noexcept
    {
        roost_filter *copy = nullptr;
        Status status = get() ? Status(roost_shared_snapshot(get(), &copy)) : Status(ROOST_INVALID, Status::empty);
        return status ? Filter::adopt(copy) : Result<Filter>(status, Filter());
    }

  private:
    detail::Handle<roost_shared, roost_shared_free> handle_{};
};

/*
 * A file of one filter, as the program `roost` reads and writes them (roost/file.h). Lock it, load it, change what
 * filter(), window() or counter() returns, save it. The destructor unlocks; what was not saved is lost. Save changes
 * before they leave the process, as a frame, in a merge or by a sync: a file that lacks its own additions, which others
 * know, makes later ones that those others take for old.
 */
class File
{
  public:
    File() noexcept = default;
    File(File &&other) noexcept : handle_(std::move(other.handle_)), filter_(), window_(), counter_()
    {
        refresh();
        other.refresh();
    }
    File &operator=(File &&other) noexcept
    {
        handle_ = std::move(other.handle_);
        refresh();
        other.refresh();
        return *this;
    }

    /* Touches no disk: the file need not exist. */
    static Result<File> at(const char *path, const roost_environment *environment = nullptr) noexcept
    {
        return detail::ask<File>(true, [&](File &made) {
            return path ? roost_file_new(made.handle_.out(), path, environment) : ROOST_INVALID;
        });
    }
    /* Also of a std::filesystem::path. A path with a NUL in it, which would name another file, is ROOST_INVALID. */
    static Result<File> at(const std::string &path, const roost_environment *environment = nullptr) noexcept
    {
        return at(path.find('\0') == std::string::npos ? path.c_str() : nullptr, environment);
    }
    explicit operator bool() const noexcept { return get() != nullptr; }
    /* For calls of the C library that this header does not have. After one that gives the file another filter
       (roost_file_take_filter), call load() or set() before filter(). */
    roost_file *get() const noexcept { return handle_.get(); }
    /* Why the last call failed, in more words than its status has; "" if it did not. Valid until the next call. */
    [[nodiscard]] const char *error() const noexcept
    {
        return get() ? roost_file_get_error(get()) : Status(ROOST_INVALID, Status::empty).text();
    }

    /* Waits for other processes, and other objects of this one. */
    Status lock(roost_lock lock = ROOST_LOCK_EXCLUSIVE) noexcept
    {
        return call([&] { return roost_file_lock(get(), lock); });
    }
    Status try_lock(roost_lock lock = ROOST_LOCK_EXCLUSIVE) noexcept
    {
        return call([&] { return roost_file_try_lock(get(), lock); });
    }
    void unlock() noexcept
    {
        if (get())
            roost_file_unlock(get());
    }
    /* Of a locked file. */
    [[nodiscard]] bool exists() const noexcept { return get() && roost_file_exists(get()); }

    /* The value tells whether the file was read: false means that the filter is current. After an error there is no
       filter. */
    Result<bool> load() noexcept
    {
        bool reread = false;
        Status status = call([&] { return roost_file_load(get(), &reread); });
        return {status, reread};
    }
    Status save() noexcept
    {
        return call([&] { return roost_file_save(get()); });
    }
    /* Discards the changes of the filter: the next load reads the file. */
    void discard() noexcept
    {
        if (get())
            roost_file_discard(get());
    }
    Status reset_replica() noexcept
    {
        return call([&] { return roost_file_reset_replica(get()); });
    }
    [[nodiscard]] roost_replica_status replica_status() const noexcept
    {
        return get() ? roost_file_get_replica_status(get()) : ROOST_REPLICA_NEW;
    }

    /* What the file holds; the two others are empty. The references are to parts of this object, whatever it loads. */
    BasicFilter &filter() noexcept { return filter_; }
    BasicWindow &window() noexcept { return window_; }
    BasicCounter &counter() noexcept { return counter_; }
    const BasicFilter &filter() const noexcept { return filter_; }
    const BasicWindow &window() const noexcept { return window_; }
    const BasicCounter &counter() const noexcept { return counter_; }
    /* Gives the file a filter, for a file that is to be created or overwritten. */
    template <typename Self, typename Basic> Status set(Owner<Self, Basic> &&filter) noexcept
    {
        if (!filter)
            return {ROOST_INVALID, Status::empty};
        return call([&] { return roost_file_set_filter(get(), filter.release()), ROOST_OK; });
    }
    /* Reads the file into an object of its own, a new replica, to query or to merge; needs no lock. */
    template <typename Kind = Filter> Result<Kind> read() noexcept
    {
        roost_filter *filter = nullptr;
        Status status = call([&] { return roost_file_read(get(), &filter); });
        return status ? Kind::adopt(filter) : Result<Kind>(status, Kind());
    }

    /* The memory of syncs with a peer, for sync() and Sync::create; save it together with the filter. The bytes are valid
       until it changes, or the file is loaded or set. */
    [[nodiscard]] Bytes peer_cursor(const char *peer) const noexcept
    {
        return get() && peer ? Bytes(roost_file_get_peer_cursor(get(), peer)) : Bytes();
    }
    Status set_peer_cursor(const char *peer, Bytes memory) noexcept
    {
        return call([&] {
            return peer ? roost_file_set_peer_cursor(get(), peer, memory.data(), memory.size()) : ROOST_INVALID;
        });
    }

  private:
    template <typename Basic> struct Loaded : Basic {
        Loaded() noexcept {}
        void set(roost_filter *filter) noexcept
        {
            this->filter_ = filter && Basic::has(roost_filter_get_config(filter)->kind) ? filter : nullptr;
        }
    };
    void refresh() noexcept
    {
        roost_filter *loaded = get() ? roost_file_get_filter(get()) : nullptr;
        filter_.set(loaded);
        window_.set(loaded);
        counter_.set(loaded);
    }
    template <typename Call> Status call(Call make) noexcept
    {
        if (!get())
            return {ROOST_INVALID, Status::empty};
        roost_status status = make();
        refresh();
        return {status, status == ROOST_SYSTEM ? roost_file_get_errno(get()) : 0};
    }

    detail::Handle<roost_file, roost_file_free> handle_{};
    Loaded<BasicFilter> filter_{};
    Loaded<BasicWindow> window_{};
    Loaded<BasicCounter> counter_{};
};

/* ---- exchanges ------------------------------------------------------------------------------------------------- */

/* The initiator of a sync (roost/sync.h); the responder calls Mergeable::reply. */
class Sync
{
  public:
    /* Destroy the sync before the filter, and before a File rereads it; the object may be moved. `memory`: what
       save_memory returned after an earlier sync. */
    static Result<Sync> create(Mergeable &filter, Bytes memory = {}) noexcept
    {
        return detail::ask<Sync>(filter.get(), [&](Sync &made) {
            return roost_sync_new(made.handle_.out(), filter.get(), memory.data(), memory.size());
        });
    }
    explicit operator bool() const noexcept { return handle_.get() != nullptr; }
    /* The next request; an empty one means that the sync is over. At first there is no reply to pass. */
    Result<Buffer> next(Bytes reply = {}) noexcept
    {
        return detail::ask<Buffer>(handle_.get(), [&](Buffer &request) {
            return roost_sync_next(handle_.get(), request.out(), reply.data(), reply.size());
        });
    }
    [[nodiscard]] roost_sync_result result() const noexcept
    {
        return handle_.get() ? roost_sync_get_result(handle_.get()) : roost_sync_result{};
    }
    Result<Buffer> save_memory() const noexcept
    {
        return detail::ask<Buffer>(handle_.get(),
                                   [&](Buffer &memory) { return roost_sync_save_memory(handle_.get(), memory.out()); });
    }

  private:
    detail::Handle<roost_sync, roost_sync_free> handle_{};
};

/*
 * Messages over any stream, in the form of `roost sync` and `roost serve`: 0xd5, the size as a varint, the bytes.
 * `read` and `write` are as read(), recv(), write() and send() with the descriptor bound: read(to, size) returns how
 * many bytes it read, write(from, size) how many it wrote; 0 is the end of the stream, less than 0 an error, of which
 * errno has the number.
 */
template <typename Read, typename Write> class Stream
{
  public:
    Stream(Read read, Write write) : read_(std::move(read)), write_(std::move(write)) {}
    /* With the bytes that tell its size a message of up to 1 MiB is one write, and a longer one begins with 1 MiB: TCP
       holds back a small write until the one before it is acknowledged. */
    Status send(Bytes message)
    {
        std::string_view rest(static_cast<const char *>(message.data()), message.size());
        std::string begin = head_of(rest.size());
        begin += rest.substr(0, at_once);
        rest.remove_prefix(std::min<std::size_t>(rest.size(), at_once));
        Status status = write_all(begin);
        return status ? write_all(rest) : status;
    }
    /* Empty where the stream ends before a message. Memory grows with what arrives, not with the size that a peer
       announces. */
    Result<std::string> receive()
    {
        unsigned char byte = 0;
        Status status = read_all(reinterpret_cast<char *>(&byte), 1);
        if (!status)
            return {status == ROOST_PROTOCOL ? Status() : status, {}};
        std::uint64_t size = 0;
        status = byte == 0xd5 ? read_size(size) : Status(ROOST_PROTOCOL);
        std::string message;
        for (std::size_t had = 0; status && had < size; had = message.size()) {
            message.resize(had + static_cast<std::size_t>(std::min<std::uint64_t>(size - had, at_once)));
            status = read_all(&message[had], message.size() - had);
        }
        if (!status)
            message.clear();
        return {status, std::move(message)};
    }

  private:
    static constexpr std::size_t at_once = std::size_t(1) << 20;

    static std::string head_of(std::size_t size)
    {
        std::string head(1, '\xd5');
        for (; size > 0x7f; size >>= 7)
            head += static_cast<char>(size | 0x80);
        return head += static_cast<char>(size);
    }
    Status read_size(std::uint64_t &size)
    {
        Status status;
        unsigned char byte = 0x80;
        for (unsigned shift = 0; status && byte >= 0x80 && shift <= 42; shift += 7) {
            status = read_all(reinterpret_cast<char *>(&byte), 1);
            size |= std::uint64_t(byte & 0x7f) << shift;
        }
        return !status ? status : byte < 0x80 && size > 0 ? Status() : Status(ROOST_PROTOCOL);
    }
    Status read_all(char *to, std::size_t size) { return transfer_all(read_, to, size); }
    Status write_all(std::string_view from) { return transfer_all(write_, from.data(), from.size()); }
    /* What `call` returns may be nonsense. It is asked again only after a signal, or if it transferred something. */
    template <typename Call, typename Byte> static Status transfer_all(Call &call, Byte *bytes, std::size_t size)
    {
        for (std::size_t done = 0; done < size;) {
            errno = 0; // that of an earlier call may be EINTR
            const auto count = static_cast<std::int64_t>(call(bytes + done, size - done));
            if (count == 0)
                return {ROOST_PROTOCOL, Status::cut_off};
            if (count < 0 && errno != EINTR)
                return {ROOST_SYSTEM, errno};
            if (count > 0 && static_cast<std::uint64_t>(count) > size - done)
                return {ROOST_INVALID, Status::too_much};
            done += count > 0 ? static_cast<std::size_t>(count) : 0;
        }
        return {};
    }

    Read read_;
    Write write_;
};
template <typename Read, typename Write> Stream(Read, Write) -> Stream<Read, Write>;

/* Syncs with a peer that runs serve(), or `roost serve FILE`. `memory` is that of the sync before with this peer, as
   from a file; `next` (may be nullptr) becomes that for the next one. After an error it stays as it was. */
template <typename Read, typename Write>
Result<roost_sync_result> sync(Mergeable &filter, Stream<Read, Write> &stream, Bytes memory, Buffer *next)
{
    auto sync = Sync::create(filter, memory);
    Status status = sync.status();
    std::string reply;
    while (status) {
        auto request = sync->next(reply);
        status = request.status();
        if (!status || request->empty())
            break;
        status = stream.send(*request);
        auto received = status ? stream.receive() : Result<std::string>(status, {});
        status = received.status();
        reply = std::move(*received);
        if (status && reply.empty())
            status = {ROOST_PROTOCOL, Status::cut_off};
    }
    if (status && next) {
        auto saved = sync->save_memory();
        status = saved.status();
        if (status)
            *next = std::move(*saved);
    }
    return {status, sync->result()};
}

/* The same with one buffer for both (may be nullptr). */
template <typename Read, typename Write>
Result<roost_sync_result> sync(Mergeable &filter, Stream<Read, Write> &stream, Buffer *memory = nullptr)
{
    return sync(filter, stream, memory ? Bytes(*memory) : Bytes(), memory);
}

/* Responds to sync(), or to `roost sync`, until the peer closes the stream. */
template <typename Read, typename Write> Status serve(Mergeable &filter, Stream<Read, Write> &stream)
{
    while (true) {
        auto request = stream.receive();
        if (!request || request->empty())
            return request.status();
        auto reply = filter.reply(*request);
        Status sent = reply->empty() ? Status() : stream.send(*reply);
        if (!reply || !sent)
            return reply ? sent : reply.status();
    }
}

/* One side of a reconciliation of two sets of keys (roost/reconcile.h). */
class Reconcile
{
  public:
    static Result<Reconcile> initiator(const roost_reconcile_config &config = {},
                                       const roost_environment *environment = nullptr) noexcept
    {
        return detail::ask<Reconcile>(true, [&](Reconcile &made) {
            return roost_reconcile_new_initiator(made.handle_.out(), &config, environment);
        });
    }
    /* From the first message of the initiator; add the keys, then pass the same message to next. */
    static Result<Reconcile> responder(Bytes message, const roost_environment *environment = nullptr) noexcept
    {
        return detail::ask<Reconcile>(true, [&](Reconcile &made) {
            return roost_reconcile_new_responder(made.handle_.out(), message.data(), message.size(), environment);
        });
    }
    explicit operator bool() const noexcept { return get() != nullptr; }
    roost_reconcile *get() const noexcept { return handle_.get(); }

    Status add(Bytes key, std::uint64_t count = 1) noexcept
    {
        return get() ? Status(roost_reconcile_add(get(), key.data(), key.size(), count))
                     : Status(ROOST_INVALID, Status::empty);
    }
    /* The next message to send; an empty one means that nothing more is to be sent. After an error one that is not
       empty tells the peer: send it. */
    Result<Buffer> next(Bytes received = {}) noexcept
    {
        return detail::ask<Buffer>(get(), [&](Buffer &message) {
            return roost_reconcile_next(get(), message.out(), received.data(), received.size());
        });
    }
    [[nodiscard]] bool is_done() const noexcept { return get() && roost_reconcile_is_done(get()); }
    [[nodiscard]] roost_reconcile_result result() const noexcept
    {
        return get() ? roost_reconcile_get_result(get()) : roost_reconcile_result{};
    }
    /* How many copies of a key this side has, once next was called. */
    [[nodiscard]] std::uint64_t count(Bytes key) const noexcept
    {
        return result().messages > 0 ? roost_reconcile_count(get(), key.data(), key.size()) : 0;
    }

    /* The keys of this side that the other one lacks, once the session is done; `index` counts the calls of add from 0.
       */
    [[nodiscard]] std::vector<roost_difference> differences() const
    {
        std::vector<roost_difference> differences(is_done() ? static_cast<std::size_t>(result().only_here) : 0);
        if (!differences.empty())
            roost_reconcile_get_differences(get(), differences.data());
        return differences;
    }

  private:
    detail::Handle<roost_reconcile, roost_reconcile_free> handle_{};
};

} // namespace roost

#endif
