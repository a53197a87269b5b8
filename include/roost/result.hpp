/*
 * What the classes of roost.hpp, which includes this header, take and return: Status, Result, Bytes, Buffer, Time.
 */
#ifndef ROOST_RESULT_HPP
#define ROOST_RESULT_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "status.h"
#include "types.h"

#if defined(__cpp_exceptions)
#include <stdexcept>
#endif

namespace roost
{

/* ---- errors ---------------------------------------------------------------------------------------------------- */

/* The status of a call; true where it succeeded. */
class [[nodiscard]] Status
{
  public:
    /* Errors that this header finds, with a text of their own. */
    static constexpr int empty = -1, other_kind = -2, cut_off = -3, too_much = -4;

    /* `detail`: one of the above, or the errno of ROOST_SYSTEM. */
    constexpr Status(roost_status code = ROOST_OK, int detail = 0) noexcept : code_(code), detail_(detail) {}
    constexpr explicit operator bool() const noexcept { return code_ == ROOST_OK; }
    constexpr roost_status code() const noexcept { return code_; }
    /* The errno of a call that returned ROOST_SYSTEM; otherwise 0. */
    constexpr int system_error() const noexcept { return detail_ > 0 ? detail_ : 0; }
    const char *text() const noexcept
    {
        return detail_ == empty        ? "the object is empty: it was not created, or was moved from"
               : detail_ == other_kind ? "another kind of filter"
               : detail_ == cut_off    ? "the connection ended within a message"
               : detail_ == too_much   ? "read or write returned more than it was asked for"
               : detail_ > 0           ? std::strerror(detail_)
                                       : roost_status_text(code_);
    }
#if defined(__cpp_exceptions)
    void or_throw() const;
#endif

  private:
    roost_status code_;
    int detail_;
};

constexpr bool operator==(Status a, Status b) noexcept
{
    return a.code() == b.code();
}
constexpr bool operator!=(Status a, Status b) noexcept
{
    return a.code() != b.code();
}

#if defined(__cpp_exceptions)
/* What or_throw() throws; what() is the text of the status. */
class Error : public std::runtime_error
{
  public:
    explicit Error(Status status) : std::runtime_error(status.text()), status_(status) {}
    roost_status code() const noexcept { return status_.code(); }
    Status status() const noexcept { return status_; }

  private:
    Status status_;
};

inline void Status::or_throw() const
{
    if (code_ != ROOST_OK)
        throw Error(*this);
}
#endif

/* A status and a value. After an error the value is empty, 0 or false, unless a description says otherwise. */
template <typename Value> class [[nodiscard]] Result
{
  public:
    Result(Status status, Value value) noexcept : status_(status), value_(std::move(value)) {}
    explicit operator bool() const noexcept { return static_cast<bool>(status_); }
    Status status() const noexcept { return status_; }
    Value &operator*() &noexcept { return value_; }
    const Value &operator*() const &noexcept { return value_; }
    Value operator*() &&noexcept { return std::move(value_); } // not a reference to what is gone in `for (x : *call())`
    Value *operator->() noexcept { return &value_; }
    const Value *operator->() const noexcept { return &value_; }
#if defined(__cpp_exceptions)
    Value or_throw() &&
    {
        status_.or_throw();
        return std::move(value_);
    }
    Value &or_throw() &
    {
        status_.or_throw();
        return value_;
    }
    const Value &or_throw() const &
    {
        status_.or_throw();
        return value_;
    }
#endif

  private:
    Status status_;
    Value value_;
};

/* ---- bytes and times ------------------------------------------------------------------------------------------- */

/*
 * A view of bytes that others own: a key, a frame, a message. Made of a string, of a std::string_view, of an array of
 * bytes, and of whatever has data() and size() and consists of bytes: std::vector<std::uint8_t>, std::span<const
 * std::byte>, a Buffer. An array of char is a text that ends at its first NUL, as everywhere.
 */
class Bytes
{
    template <typename Value>
    static constexpr bool is_byte = std::is_same_v<Value, std::byte> || // bool has one digit
                                    (std::is_integral_v<Value> &&std::numeric_limits<Value>::digits > 1 &&
                                     std::numeric_limits<Value>::digits <= 8);
    template <typename Value>
    static constexpr bool is_raw =
        std::is_same_v<Value, std::byte> || std::is_same_v<Value, unsigned char> || std::is_same_v<Value, signed char>;
    /* char8_t, which C++17 does not have */
    template <typename Value>
    static constexpr bool is_utf8 = is_byte<Value> && !std::is_same_v<Value, char> && !is_raw<Value>;
    template <typename Pointer>
    static constexpr bool leads_to_bytes =
        std::is_convertible_v<Pointer, const void *> &&is_byte<std::remove_cv_t<std::remove_pointer_t<Pointer>>>;

  public:
    constexpr Bytes() noexcept = default;
    constexpr Bytes(const void *data, std::size_t size) noexcept : data_(data), size_(size) {}
    constexpr Bytes(roost_bytes bytes) noexcept : Bytes(bytes.data, bytes.size) {}
    Bytes(const char *text) noexcept : Bytes(text, text ? std::strlen(text) : 0) {}
    template <typename Value, std::enable_if_t<is_utf8<Value>, int> = 0>
    Bytes(const Value *text) noexcept : Bytes(reinterpret_cast<const char *>(text))
    {
    }
    Bytes(std::nullptr_t) = delete;
    template <typename Value, std::size_t size, std::enable_if_t<is_raw<Value>, int> = 0>
    constexpr Bytes(const Value (&bytes)[size]) noexcept : Bytes(bytes, size)
    {
    }
    template <typename Range, std::enable_if_t<leads_to_bytes<decltype(std::declval<const Range &>().data())>, int> = 0,
              typename = decltype(std::declval<const Range &>().size())>
    constexpr Bytes(const Range &range) noexcept : Bytes(range.data(), static_cast<std::size_t>(range.size()))
    {
    }

    constexpr const void *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr operator roost_bytes() const noexcept { return {data_, size_}; }

  private:
    const void *data_ = nullptr;
    std::size_t size_ = 0;
};

/* Bytes that the library has made: a frame, a message. A contiguous range, of which std::span and std::vector can be
   made. */
class Buffer
{
  public:
    Buffer() noexcept = default;
    Buffer(Buffer &&other) noexcept : buffer_(std::exchange(other.buffer_, roost_buffer{})) {}
    Buffer &operator=(Buffer &&other) noexcept
    {
        Buffer old(std::move(*this));
        buffer_ = std::exchange(&other == this ? old.buffer_ : other.buffer_, roost_buffer{});
        return *this;
    }
    ~Buffer() { roost_buffer_release(&buffer_); }

    const std::uint8_t *data() const noexcept { return buffer_.data; }
    std::size_t size() const noexcept { return buffer_.size; }
    const std::uint8_t *begin() const noexcept { return buffer_.data; }
    const std::uint8_t *end() const noexcept { return buffer_.size ? buffer_.data + buffer_.size : buffer_.data; }
    [[nodiscard]] bool empty() const noexcept { return buffer_.size == 0; }
    std::string_view view() const noexcept { return {reinterpret_cast<const char *>(buffer_.data), buffer_.size}; }
    operator std::string_view() const noexcept { return view(); }

    /* Empties the buffer, for a call of the C library that fills it. */
    roost_buffer *out() noexcept
    {
        roost_buffer_release(&buffer_);
        return &buffer_;
    }

  private:
    roost_buffer buffer_{};
};

/* Times of windows and counters: microseconds since 1970 where they come from the system's clock. */
using Time = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;
inline Time now() noexcept
{
    return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

/* What a call with many keys did: how many it has done, and how many of them changed something, or were seen (Window).
   */
struct Batch {
    std::size_t done = 0;
    std::size_t changed = 0;
};

/* ---- for this header alone ------------------------------------------------------------------------------------- */

namespace detail
{

/* Times before 1970 become numbers that the library refuses (ROOST_CLOCK). */
inline std::uint64_t microseconds_of(Time time) noexcept
{
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
}

/* What a call fills in, and its status; without the call where an object is empty. */
template <typename Value, typename Call> Result<Value> ask(bool is_there, Value value, Call call)
{
    Status status = is_there ? Status(call(value)) : Status(ROOST_INVALID, Status::empty);
    return {status, std::move(value)};
}
template <typename Value, typename Call> Result<Value> ask(bool is_there, Call call)
{
    return ask(is_there, Value{}, std::move(call));
}

/* Owns an object of the C library. */
template <typename Object, void (*Free)(Object *)> class Handle
{
  public:
    Handle() noexcept = default;
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    Handle(Handle &&other) noexcept : object_(other.release()) {}
    Handle &operator=(Handle &&other) noexcept
    {
        Object *object = other.release(); // first: it may be this one
        Free(object_);
        object_ = object;
        return *this;
    }
    ~Handle() { Free(object_); }
    Object *get() const noexcept { return object_; }
    Object **out() noexcept { return &object_; }
    Object *release() noexcept { return std::exchange(object_, nullptr); }

  private:
    Object *object_ = nullptr;
};

/*
 * Keys go to the library in chunks on the stack, if references to them stay valid while the iterator moves on;
 * otherwise, as with a view that makes strings, one by one. `use(chunk, count)` returns whether to continue.
 */
template <typename Iterator, typename = void> struct Chunk : std::integral_constant<std::size_t, 1> {
};
template <typename Iterator>
struct Chunk<Iterator, std::enable_if_t<std::is_base_of_v<std::forward_iterator_tag,
                                                          typename std::iterator_traits<Iterator>::iterator_category> &&
                                        std::is_lvalue_reference_v<typename std::iterator_traits<Iterator>::reference>>>
    : std::integral_constant<std::size_t, 256> {
};

/* Where a range-based for loop begins and ends: with a member or an array, otherwise with a begin() beside the class. */
template <typename Keys> auto begin_of(Keys &keys, int) -> decltype(std::begin(keys))
{
    return std::begin(keys);
}
template <typename Keys> auto begin_of(Keys &keys, long) -> decltype(begin(keys))
{
    return begin(keys);
}
template <typename Keys> auto end_of(Keys &keys, int) -> decltype(std::end(keys))
{
    return std::end(keys);
}
template <typename Keys> auto end_of(Keys &keys, long) -> decltype(end(keys))
{
    return end(keys);
}
template <typename Keys> constexpr std::size_t chunk_of = Chunk<decltype(begin_of(std::declval<Keys &>(), 0))>::value;

/*
 * Some iterators say that references stay, and have all keys at one place, one after the other: in themselves, as those
 * of boost::tokenizer, or in a buffer, as with a std::views::transform whose function returns a reference to it. So the
 * first key goes alone, and each one that is where the key before it was.
 */
template <typename Keys, typename Use> void in_chunks(Keys &keys, Use use)
{
    roost_bytes chunk[chunk_of<Keys>];
    std::size_t count = 0;
    const volatile void *before = nullptr;
    auto iterator = begin_of(keys, 0); // first: it may be what fills the range
    auto end = end_of(keys, 0);
    for (; iterator != end; ++iterator) {
        auto &&key = *iterator;
        static_assert(std::is_constructible_v<Bytes, decltype(key)>, "an element of this range is no key: see Bytes");
        const volatile void *place = std::addressof(key);
        const bool goes_alone = !before || place == before;
        before = place;
        chunk[count++] = Bytes(key);
        if (count == chunk_of<Keys> || goes_alone) {
            if (!use(chunk, count))
                return;
            count = 0;
        }
    }
    if (count > 0)
        use(chunk, count);
}

/* `change(changed, done, chunk, count)` changes something by the keys of a chunk. */
template <typename Keys, typename Change> roost_status change_many(Keys &keys, Batch &batch, Change change)
{
    roost_status status = ROOST_OK;
    in_chunks(keys, [&](const roost_bytes *chunk, std::size_t count) {
        bool changed[chunk_of<Keys>] = {};
        std::size_t done = 0;
        status = change(changed, &done, chunk, count);
        batch.done += done;
        for (std::size_t i = 0; i < count; i++)
            batch.changed += changed[i];
        return status == ROOST_OK;
    });
    return status;
}

} // namespace detail

} // namespace roost

#endif
