/*
 * roost.hpp: what a C++ program can rely on beyond the calls of the C library. Compiled by tests/cpp.sh with gcc and
 * clang, with and without exceptions, each time as two files of one program. The second, with -DELSEWHERE, has what
 * C++20 adds, if it is compiled as such.
 */
#include <roost.hpp>

#include <cstdio>
#include <cstdlib>

using namespace std::chrono_literals;
using namespace std::string_view_literals;

inline bool failed = false;

inline void report(bool is_fine, const char *what, int line)
{
    std::printf("%s %s (line %d)\n", is_fine ? "ok" : "not ok", what, line);
    failed |= !is_fine;
}
#define CHECK(...) report(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __LINE__)

template <typename Value> static Value taken(roost::Result<Value> result)
{
    if (!result) {
        std::printf("not ok %s\n", result.status().text());
        std::exit(1);
    }
    return std::move(*result);
}

static roost::Filter removable()
{
    return taken(roost::Filter::create(1000, ROOST_ORCUCKOO));
}

/* By the other file. */
roost::Filter made_elsewhere();
void test_spans_and_views();

#if defined(ELSEWHERE)
#if __cplusplus >= 202002L
#include <ranges>
#include <span>
#include <sstream>

static void test_utf8()
{
    roost::Filter filter = removable();
    CHECK(filter.add(u8"swift") && filter.contains("swift") && filter.contains(std::u8string_view(u8"swift")));
    CHECK(!std::is_convertible_v<std::nullptr_t, roost::Bytes>);
}

static void test_spans()
{
    roost::Filter filter = removable();
    const std::vector<std::byte> bytes = {std::byte{7}, std::byte{0}};
    const std::span<const std::byte> span = bytes;
    CHECK(filter.add(span) && filter.contains("\x07\0"sv) && filter.remove(span) && !filter.contains(span));
    roost::Buffer frame = taken(filter.encode());
    CHECK(roost::Filter::decode(std::span<const std::uint8_t>(frame)));
}

static void test_views()
{
    roost::Filter filter = removable();
    auto names = std::views::iota(0, 400) | std::views::transform([](int i) {
                     return "a name that is long enough for the heap " + std::to_string(i);
                 });
    CHECK(filter.add_many(names) && filter.contains("a name that is long enough for the heap 399"));
    const std::vector<std::string> birds = {"swift", "heron", "martin"};
    CHECK(filter.add_many(birds | std::views::filter([](const std::string &bird) { return bird != "heron"; })));
    CHECK(filter.contains("swift") && filter.contains("martin") && !filter.contains("heron"));
    std::string buffer; // each key takes the place of the one before
    auto rewritten = birds | std::views::transform([&](const std::string &bird) -> const std::string & {
                         return buffer = bird + " rewritten";
                     });
    CHECK(filter.add_many(rewritten) && filter.contains("swift rewritten") && filter.contains("heron rewritten"));
    std::istringstream words("swift stork");
    auto batch = filter.add_many(std::views::istream<std::string>(words));
    CHECK(batch && batch->done == 2 && batch->changed == 1);
}

void test_spans_and_views()
{
    test_utf8();
    test_spans();
    test_views();
}
#else
void test_spans_and_views()
{
}
#endif

roost::Filter made_elsewhere()
{
    roost::Filter made = removable();
    CHECK(made.add("swift"));
    return made;
}
#else

#include <array>
#include <deque>
#include <list>
#include <set>
#include <thread>
#include <sys/socket.h>
#include <unistd.h>

/* ---- keys and ranges of keys --------------------------------------------------------------------------------------
   */

/* Classes that have a data(), and are no bytes. */
struct Sizeless {
    const char *data() const;
};
struct Number {
    char data() const;
    int size() const;
};
/* Sizes of containers that are not those of the standard library, such as QByteArray, may be signed. */
template <typename Size> struct Signed {
    const char *data() const
    {
        return "swift and more";
    }
    Size size() const
    {
        return 5;
    }
};
struct SignedShelf {
    const Signed<int> *begin() const
    {
        return keys;
    }
    const Signed<int> *end() const
    {
        return keys + size();
    }
    int size() const
    {
        return 2;
    }
    Signed<int> keys[2];
};

static void test_signed_sizes()
{
    roost::Filter filter = removable();
    const SignedShelf shelf = {};
    CHECK(filter.add(Signed<int>()) && filter.contains("swift") && filter.contains(Signed<signed char>()) &&
          filter.contains(Signed<std::ptrdiff_t>()) && filter.contains(Signed<long long>()));
    CHECK(filter.add_many(shelf) && filter.contains_many(shelf) == std::vector<bool>{true, true} &&
          filter.remove_many(shelf) && !filter.contains("swift"));
}

static void test_bytes()
{
    roost::Filter filter = removable();
    const std::vector<std::uint8_t> octets = {1, 0, 255};
    const std::array<std::byte, 2> bytes = {std::byte{7}, std::byte{0}};
    const std::string text("a\0b", 3);
    CHECK(filter.add(octets) && filter.add(bytes) && filter.add(text) && filter.add("literal") && filter.add("view"sv));
    CHECK(filter.contains(std::string_view("\x01\0\xff", 3)) && filter.contains(std::string_view("\x07\0", 2)));
    CHECK(filter.contains("a\0b"sv) && !filter.contains("a") && filter.contains(std::string("literal")));
    CHECK(!filter.contains("") && filter.add({}) && filter.contains("") && filter.contains(std::string_view()));
    CHECK(filter.contains(static_cast<const char *>(nullptr)));
    static_assert(!std::is_convertible_v<std::vector<int>, roost::Bytes> &&
                  !std::is_convertible_v<std::array<bool, 2>, roost::Bytes>);
    static_assert(!std::is_convertible_v<std::vector<std::string>, roost::Bytes> &&
                  !std::is_convertible_v<int, roost::Bytes>);
    static_assert(!std::is_convertible_v<Sizeless, roost::Bytes> && !std::is_convertible_v<Number, roost::Bytes>);
    const unsigned char octet_array[] = {1, 0, 255};
    const std::byte byte_array[2] = {std::byte{7}, std::byte{0}};
    CHECK(filter.contains(octet_array) && filter.contains(byte_array));
}

/* A range whose begin() and end() are beside it, as a range-based for loop allows. */
namespace apart
{
struct Shelf {
    std::vector<std::string> keys;
};
static auto begin(const Shelf &shelf)
{
    return shelf.keys.begin();
}
static auto end(const Shelf &shelf)
{
    return shelf.keys.end();
}
} // namespace apart

/* A range that begin() fills, as that of a query to a database. */
struct Filled {
    std::vector<std::string> keys{};
    auto begin()
    {
        keys.assign(300, "row");
        keys.back() = "last row";
        return keys.begin();
    }
    auto end()
    {
        return keys.end();
    }
};

static void test_ranges_that_begin_fills()
{
    roost::Filter filter = removable();
    auto batch = filter.add_many(Filled());
    CHECK(batch && batch->done == 300 && batch->changed == 2 && filter.contains("last row"));
}

static void test_ranges()
{
    roost::Filter filter = removable();
    std::vector<std::string> many;
    for (int i = 0; i < 700; i++) // more than one chunk
        many.push_back("key " + std::to_string(i));
    auto batch = filter.add_many(many);
    CHECK(batch && batch->done == 700 && batch->changed == 700);
    batch = filter.add_many(many);
    CHECK(batch && batch->done == 700 && batch->changed == 0);
    std::vector<bool> found = filter.contains_many(many);
    CHECK(found.size() == 700 && std::count(found.begin(), found.end(), true) == 700);

    batch = filter.add_many({"swift", "heron", "swift"});
    CHECK(batch && batch->done == 3 && batch->changed == 2);
    CHECK(filter.contains_many({"swift", "eagle"}) == std::vector<bool>{true, false});
    bool answers[2] = {};
    const char *const words[] = {"heron", "eagle"};
    CHECK(filter.contains_many(words, answers) == answers + 2 && answers[0] && !answers[1]);
    CHECK(filter.contains_many({"eagle", "heron"}, answers) == answers + 2 && !answers[0] && answers[1]);
    const std::vector<std::uint8_t> octets = {7, 8};
    CHECK(filter.add_many({octets, "x"}) && filter.contains_many({octets, octets}) == std::vector<bool>{true, true});
    CHECK(filter.add_many(apart::Shelf{{"book"}}) && filter.contains("book"));
    CHECK(filter.add_many(std::list<std::string_view>{"a", "b"}) && filter.add_many(std::set<std::string>{"c"}));
    CHECK(filter.add_many(std::deque<std::vector<std::uint8_t>>{{'d'}, {'e'}}) && filter.contains("e"));
    CHECK(filter.add_many(std::vector<std::string>()) && filter.contains_many(std::vector<std::string>()).empty());

    batch = filter.remove_many(many);
    CHECK(batch && batch->done == 700 && batch->changed == 700 && !filter.contains("key 5") && filter.contains("a"));
    CHECK(filter.check());
}

/* Iterators whose keys live only until they move on. */
struct Numbers {
    struct Iterator {
        using iterator_category = std::input_iterator_tag;
        using value_type = std::string;
        using difference_type = std::ptrdiff_t;
        using pointer = const std::string *;
        using reference = std::string;
        int at = 0;
        std::string operator*() const
        {
            return "a number that is longer than a short string " + std::to_string(at);
        }
        Iterator &operator++()
        {
            return at++, *this;
        }
        Iterator operator++(int)
        {
            return {at++};
        }
        bool operator==(const Iterator &other) const
        {
            return at == other.at;
        }
        bool operator!=(const Iterator &other) const
        {
            return at != other.at;
        }
    };
    int count;
    Iterator begin() const
    {
        return {0};
    }
    Iterator end() const
    {
        return {count};
    }
};

/* Iterators that call themselves forward iterators, and have the key in themselves, as those of boost::tokenizer. */
struct Tokens {
    struct Iterator : Numbers::Iterator {
        using iterator_category = std::forward_iterator_tag;
        using reference = const std::string &;
        explicit Iterator(int begin) : Numbers::Iterator{begin}
        {
        }
        const std::string &operator*() const
        {
            return key;
        }
        Iterator &operator++()
        {
            at++;
            key = Numbers::Iterator::operator*();
            return *this;
        }
        std::string key = Numbers::Iterator::operator*();
    };
    int count;
    Iterator begin() const
    {
        return Iterator(0);
    }
    Iterator end() const
    {
        return Iterator(count);
    }
};

/* The same with the key elsewhere: in a buffer that all iterators share. */
struct Rewritten {
    struct Iterator : Numbers::Iterator {
        using iterator_category = std::forward_iterator_tag;
        using reference = const std::string &;
        Iterator(int begin, std::string &shared) : Numbers::Iterator{begin}, buffer(&shared)
        {
        }
        const std::string &operator*() const
        {
            return *buffer = Numbers::Iterator::operator*();
        }
        std::string *buffer;
    };
    int count;
    std::string buffer{};
    Iterator begin()
    {
        return {0, buffer};
    }
    Iterator end()
    {
        return {count, buffer};
    }
};

static void test_ranges_that_do_not_stay()
{
    roost::Filter filter = removable();
    auto batch = filter.add_many(Numbers{300});
    CHECK(batch && batch->done == 300 && batch->changed == 300);
    CHECK(filter.contains("a number that is longer than a short string 0") && filter.contains(*Numbers::Iterator{299}));
    roost::Filter tokens = removable();
    batch = tokens.add_many(Tokens{300});
    CHECK(batch && batch->done == 300 && batch->changed == 300);
    const std::vector<bool> found = tokens.contains_many(Tokens{301});
    CHECK(std::count(found.begin(), found.end(), true) == 300);
    roost::Filter rewritten = removable();
    batch = rewritten.add_many(Rewritten{600});
    CHECK(batch && batch->done == 600 && batch->changed == 600);
    batch = rewritten.remove_many(Rewritten{600});
    CHECK(batch && batch->changed == 600);
}

#if defined(__cpp_exceptions)
/* Keys of which the 301st cannot be had. */
struct Breaking : Numbers {
    struct Iterator : Numbers::Iterator {
        std::string operator*() const
        {
            return at < 300 ? Numbers::Iterator::operator*() : throw std::out_of_range("the end of the numbers");
        }
    };
    Iterator begin() const
    {
        return {};
    }
};

/* What a range or a stream of the caller throws comes out, and the filter holds what was added until then. */
static void test_exceptions_of_callers()
{
    roost::Filter filter = removable();
    int thrown = 0;
    auto throws = [&](auto call) {
        try {
            static_cast<void>(call());
        } catch (const std::out_of_range &) {
            thrown++;
        }
    };
    throws([&] { return filter.add_many(Breaking{{400}}); });
    CHECK(thrown == 1 && filter.check() && filter.contains(*Numbers::Iterator{299}));
    throws([&] { return filter.contains_many(Breaking{{400}}); });
    throws([&] { return filter.remove_many(Breaking{{400}}); });
    CHECK(thrown == 3 && filter.check() && !filter.contains(*Numbers::Iterator{299}));

    auto stream = roost::Stream([](void *, std::size_t) -> long { throw std::out_of_range("no connection"); },
                                [](const void *, std::size_t size) { return static_cast<long>(size); });
    const std::string before = filter.digest();
    throws([&] { return roost::sync(filter, stream); });
    throws([&] { return roost::serve(filter, stream); });
    CHECK(thrown == 5 && filter.digest() == before && filter.check());
}
#endif

static void test_full()
{
    roost::Filter filter = taken(roost::Filter::create(100, ROOST_CUCKOO));
    std::vector<std::string> many;
    for (int i = 0; i < 5000; i++)
        many.push_back(std::to_string(i));
    auto batch = filter.add_many(many);
    CHECK(batch.status() == ROOST_FULL && batch->done > 90 && batch->done < 5000 && batch->changed <= batch->done);
    bool lost = false;
    for (std::size_t i = 0; i < batch->done; i++)
        lost |= !filter.contains(many[i]);
    CHECK(!lost && filter.check());
}

/* ---- objects -------------------------------------------------------------------------------------------------------
   */

template <typename Kind> static void check_moves(Kind kind)
{
    Kind moved = std::move(kind);
    CHECK(moved && !kind); // NOLINT: a moved-from object is defined to be empty
    Kind &same = moved;
    moved = std::move(same);
    Kind other;
    std::swap(moved, other);
    CHECK(other && !moved);
    moved = std::move(other);
    CHECK(moved && !other);
    moved = Kind();
    CHECK(!moved);
    static_assert(!std::is_copy_constructible_v<Kind> && !std::is_copy_assignable_v<Kind>);
    static_assert(std::is_nothrow_move_constructible_v<Kind> && std::is_nothrow_move_assignable_v<Kind>);
    static_assert(std::is_nothrow_default_constructible_v<Kind> && std::is_nothrow_destructible_v<Kind>);
}

static void test_moves()
{
    roost_config config = roost_config_default();
    config.capacity = 100;
    roost::Filter filter = removable();
    check_moves(taken(roost::Sync::create(filter)));
    check_moves(taken(roost::Filter::create(config)));
    check_moves(taken(roost::Window::create(1h, 100)));
    check_moves(taken(roost::Counter::create(1h, 100)));
    check_moves(taken(roost::Shared::create(config)));
    check_moves(taken(roost::Reconcile::initiator()));
    check_moves(taken(roost::File::at("nowhere")));

    roost::Buffer frame = taken(filter.encode()), &same = frame;
    const std::string bytes(frame.view());
    frame = std::move(same);
    CHECK(frame.view() == bytes);
    roost::Buffer other = std::move(frame);
    CHECK(frame.empty() && frame.begin() == frame.end() && other.view() == bytes); // NOLINT
    other = taken(removable().encode());
    frame = std::move(other);
    CHECK(other.empty() && std::vector<std::uint8_t>(frame.begin(), frame.end()).size() == bytes.size()); // NOLINT
    CHECK(made_elsewhere().contains("swift"));
}

static bool is_refused(roost::Status status)
{
    return status == ROOST_INVALID && std::string_view(status.text()).find("empty") != std::string_view::npos;
}

static void test_empty_objects()
{
    roost::Filter empty, filter = removable();
    roost_cursor cursor = {};
    bool changed = true;
    CHECK(is_refused(empty.add("x").status()) && is_refused(empty.remove("x").status()) &&
          is_refused(empty.remove_one("x").status()));
    CHECK(is_refused(empty.add_many({"x"}).status()) && is_refused(empty.remove_many({"x"}).status()));
    CHECK(!empty.contains("x") && empty.count("x") == 0 &&
          empty.contains_many({"x", "y"}) == std::vector<bool>{false, false});
    CHECK(is_refused(empty.merge(filter).status()) && is_refused(filter.merge(empty).status()) &&
          is_refused(empty.merge(empty).status()));
    CHECK(is_refused(empty.compare(filter).status()) && is_refused(filter.compare(empty).status()));
    CHECK(*empty.compare(filter) == ROOST_CONCURRENT && *filter.compare(empty) == ROOST_CONCURRENT); // not equal
    CHECK(is_refused(empty.merge_frame("x").status()) && is_refused(empty.encode().status()) &&
          is_refused(empty.clone().status()));
    CHECK(is_refused(empty.encode_delta(cursor).status()) && is_refused(empty.cursor().status()) &&
          is_refused(empty.check()));
    CHECK(is_refused(empty.reply("x", &changed).status()) && !changed && is_refused(empty.save_replica().status()));
    CHECK(is_refused(empty.restore_replica("")) && is_refused(empty.transfer_shares().status()) && empty.actor() == 0);
    CHECK(empty.digest().empty() && empty.info().bytes_memory == 0 && empty.config().capacity == 0 &&
          empty.brief_info().entries == 0);
    CHECK(empty == roost::Filter() && empty != filter && filter != empty && !empty.get());
    empty.set_time();
    CHECK(is_refused(roost::Sync::create(empty).status()) && is_refused(roost::Sync().next().status()));
    CHECK(is_refused(roost::Sync().save_memory().status()) && roost::Sync().result().rounds == 0);

    roost::Window window;
    roost::Counter counter;
    CHECK(is_refused(window.add("x")) && is_refused(window.add_many({"x"}).status()) && !window.contains("x"));
    CHECK(is_refused(counter.increment("x").status()) && is_refused(counter.value().status()) &&
          counter.window_info().slots == 0);
    window.set_latest(roost::now());

    roost::Shared shared;
    CHECK(is_refused(shared.add("x").status()) && !shared.contains("x") && is_refused(shared.merge(filter).status()) &&
          is_refused(shared.snapshot().status()));
    roost::Reconcile session;
    CHECK(is_refused(session.add("x")) && is_refused(session.next().status()) && !session.is_done() &&
          session.differences().empty() && session.count("x") == 0);

    roost::File file;
    CHECK(is_refused(file.lock()) && is_refused(file.try_lock()) && is_refused(file.load().status()) &&
          is_refused(file.save()));
    CHECK(is_refused(file.set(removable())) && is_refused(file.read().status()) && is_refused(file.reset_replica()) &&
          !file.exists());
    CHECK(is_refused(file.filter().add("x").status()) && is_refused(file.set_peer_cursor("x", "y")) &&
          file.peer_cursor("x").size() == 0);
    CHECK(std::string_view(file.error()).find("empty") != std::string_view::npos);
    file.unlock();
    file.discard();
}

static void test_other_kinds()
{
    roost::Filter filter = removable();
    roost::Window window = taken(roost::Window::create(1h, 100));
    roost::Buffer of_filter = taken(filter.encode()), of_window = taken(window.encode());
    CHECK(roost::Filter::decode(of_window).status() == ROOST_MISMATCH &&
          roost::Window::decode(of_filter).status() == ROOST_MISMATCH);
    CHECK(roost::Counter::decode(of_window).status().text() == "another kind of filter"sv);
    CHECK(filter.merge(window).status() == ROOST_MISMATCH && filter.merge_frame(of_window).status() == ROOST_MISMATCH);
    CHECK(roost::Filter::create(window.config()).status() == ROOST_INVALID &&
          roost::Window::create(filter.config()).status() == ROOST_INVALID);
    CHECK(roost::Filter::adopt(nullptr).status() == ROOST_INVALID);
    CHECK(roost::Filter::adopt(taken(roost::Window::create(1h, 10)).release()).status() == ROOST_MISMATCH);
    roost::Filter again = taken(roost::Filter::adopt(removable().release()));
    CHECK(again.add("x") && roost::Filter::decode("Rost").status() == ROOST_TRUNCATED && !roost::Filter::decode({}));
    CHECK(roost::Window::create(-1h, 100).status() == ROOST_INVALID &&
          roost::Window::create(0s, 100).status() == ROOST_INVALID);
    CHECK(window.add("x", roost::Time(-1h)) == ROOST_CLOCK && !window.contains("x", roost::Time(-1h)));
    CHECK(filter.merge(filter) && filter == filter && *filter.compare(filter) == ROOST_EQUAL);
}

/* ---- replication ----------------------------------------------------------------------------------------------------
   */

static void test_replication()
{
    roost::Filter here = removable(), there = taken(here.clone());
    roost_cursor cursor = taken(here.cursor());
    CHECK(here.add("swift") && *here.compare(there) == ROOST_AFTER && *there.compare(here) == ROOST_BEFORE);
    roost::Buffer delta = taken(here.encode_delta(cursor));
    CHECK(there.merge_frame(delta) && here == there && here.digest() == there.digest() && here.digest().size() == 32);
    CHECK(taken(here.encode_delta(cursor)).size() < taken(here.encode()).size());

    roost::Buffer saved = taken(here.save_replica());
    roost::Filter restored = taken(roost::Filter::decode(taken(here.encode())));
    CHECK(restored.actor() == 0 && restored.restore_replica(saved) && restored.actor() == here.actor() &&
          here.actor() != 0);
    CHECK(restored.restore_replica("nonsense") == ROOST_INVALID && here.check() && here.info().elements > 0);

    roost_config config = roost_config_default();
    config.kind = ROOST_ORCUCKOO, config.multiset = true, config.capacity = 100;
    roost::Filter counts = taken(roost::Filter::create(config));
    CHECK(counts.add("swift") && counts.add("swift") && counts.count("swift") == 2);
    CHECK(counts.remove_one("swift") && counts.count("swift") == 1 && counts.brief_info().entries == 1);
}

static void test_streams()
{
    roost::Filter here = removable(), there = removable();
    CHECK(here.add("swift") && there.add("heron"));
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    auto stream_of = [](int end) {
        return roost::Stream(
            [end](void *to, std::size_t size) { return read(end, to, size < 7 ? size : 7); }, // in small parts
            [end](const void *from, std::size_t size) { return write(end, from, size < 5 ? size : 5); });
    };
    roost::Status served;
    std::thread responder([&] {
        auto stream = stream_of(ends[1]);
        served = roost::serve(there, stream);
    });
    auto stream = stream_of(ends[0]);
    roost::Buffer memory;
    auto synced = roost::sync(here, stream, &memory);
    CHECK(synced && synced->equal && !memory.empty());
    const std::uint64_t received_at_first = synced->received;
    CHECK(here.add("stork"));
    const std::string stored(memory.view()); // as from a file
    roost::Buffer next;
    synced = roost::sync(here, stream, stored, &next);
    CHECK(synced && synced->received < received_at_first && !next.empty() && memory.view() == stored);
    CHECK(here.add("egret") && roost::sync(here, stream, next, nullptr) && roost::sync(here, stream, &memory));
    close(ends[0]);
    responder.join();
    close(ends[1]);
    CHECK(served && here == there && here.contains("heron") && there.contains("stork") && there.contains("egret"));

    auto cut_off = [](std::string_view text) {
        return roost::Stream(
            [text](void *to, std::size_t size) mutable {
                size = text.copy(static_cast<char *>(to), size);
                text.remove_prefix(size);
                return static_cast<long>(size);
            },
            [](const void *, std::size_t size) { return static_cast<long>(size); });
    };
    auto nothing = cut_off(""),
         part = cut_off("\xd5\x05"
                        "abc"),
         other = cut_off("Rost"), huge = cut_off("\xd5\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
         zero = cut_off("\xd5\0"sv);
    CHECK(roost::serve(here, nothing) &&
          roost::sync(here, nothing).status().text() == "the connection ended within a message"sv);
    CHECK(roost::serve(here, part) == ROOST_PROTOCOL && roost::serve(here, other) == ROOST_PROTOCOL &&
          roost::serve(here, huge) == ROOST_PROTOCOL && roost::serve(here, zero) == ROOST_PROTOCOL);
    auto closed = roost::Stream([](void *, std::size_t) { return errno = EBADF, -1; },
                                [](const void *, std::size_t) { return errno = EPIPE, -1; });
    CHECK(roost::serve(here, closed).system_error() == EBADF &&
          roost::sync(here, closed).status().system_error() == EPIPE);
}

/* Over TCP a second write of a message would wait 40 ms, until the first is acknowledged. */
static void test_writes_of_messages()
{
    std::string written;
    int writes = 0;
    auto stream = roost::Stream(
        [&](void *to, std::size_t size) {
            size = written.copy(static_cast<char *>(to), size);
            return written.erase(0, size), static_cast<long>(size);
        },
        [&](const void *from, std::size_t size) {
            writes++, written.append(static_cast<const char *>(from), size);
            return static_cast<long>(size);
        });
    for (std::size_t size : {1u, 127u, 128u, 20000u, 1u << 20, 3u << 20}) {
        const std::string message(size, 'm');
        writes = 0;
        CHECK(stream.send(message) && writes == (size > 1u << 20 ? 2 : 1) && *stream.receive() == message);
    }
    CHECK(written.empty());
}

/* A stream whose read and write return `count`, and an error after a thousand calls that changed nothing. */
template <typename Count> static auto stuck(Count count, int &calls)
{
    auto transfer = [count, &calls](auto...) {
        return ++calls < 1000 ? count : (errno = EBADF, static_cast<Count>(-1));
    };
    return roost::Stream(transfer, transfer);
}

static void test_streams_that_lie()
{
    roost::Filter here = removable();
    int calls = 0;
    auto writes_nothing = stuck(0, calls);
    CHECK(writes_nothing.send("x").text() == "the connection ended within a message"sv && calls == 1);
    auto fails = stuck(-1, calls);
    errno = EINTR; // of an earlier call
    CHECK(!fails.send("x") && calls == 2);
    auto too_much = stuck(100L, calls);
    CHECK(too_much.send("x") == ROOST_INVALID && too_much.receive().status() == ROOST_INVALID &&
          roost::serve(here, too_much).text() == "read or write returned more than it was asked for"sv);
    auto unsigned_error = stuck(static_cast<std::size_t>(-1), calls);
    CHECK(unsigned_error.send("x") == ROOST_SYSTEM && roost::serve(here, unsigned_error) == ROOST_SYSTEM);
    CHECK(here.check());
}

static long until_failure; // allocations until one fails

static void *allocate(void *, std::size_t size)
{
    return --until_failure == 0 ? nullptr : std::calloc(1, size);
}

/* Whatever allocation of a sync fails, what is remembered of the peer stays as it was. */
static void test_memory_stays()
{
    roost_environment environment = {};
    environment.allocator = {nullptr, allocate, [](void *, void *memory) { std::free(memory); }};
    roost::Filter there = removable(), here = taken(roost::Filter::create(there.config(), &environment));
    std::string reply;
    auto stream = roost::Stream(
        [&](void *to, std::size_t size) {
            size = reply.copy(static_cast<char *>(to), size);
            return reply.erase(0, size), static_cast<long>(size);
        },
        [&, request = std::string()](const void *from, std::size_t size) mutable {
            request.append(static_cast<const char *>(from), size);
            if (request.size() > 2 && request.size() == 2 + static_cast<std::size_t>(request[1])) {
                reply = taken(there.reply(std::string_view(request).substr(2))).view();
                reply.insert(0, {'\xd5', static_cast<char>(reply.size())}), request.clear();
            }
            return static_cast<long>(size);
        });
    roost::Buffer memory;
    CHECK(roost::sync(here, stream, &memory) && !memory.empty());
    const std::string before(memory.view());
    int failures = 0;
    bool stays = true;
    for (long n = 1; until_failure <= 0; n++) {
        until_failure = n;
        const bool is_fine = static_cast<bool>(roost::sync(here, stream, &memory));
        failures += !is_fine;
        stays &= is_fine || memory.view() == before;
        reply.clear();
    }
    CHECK(stays && failures > 1 && !memory.empty());
}

static void test_reconcile()
{
    roost::Reconcile here = taken(roost::Reconcile::initiator());
    CHECK(here.add("swift") && here.add("heron") && here.count("swift") == 0);
    roost::Buffer message = taken(here.next());
    roost::Reconcile there = taken(roost::Reconcile::responder(message));
    CHECK(there.add("heron") && here.add("late") == ROOST_INVALID);
    for (bool at_there = true; !message.empty(); at_there = !at_there)
        message = taken((at_there ? there : here).next(message));
    CHECK(here.is_done() && here.differences().size() == 1 && here.differences()[0].index == 0 &&
          there.differences().empty());
    CHECK(here.count("swift") == 1 && here.result().exact &&
          roost::Reconcile::responder("x").status() == ROOST_PROTOCOL);
}

static void test_ways_to_create()
{
    roost::Filter precise = taken(roost::Filter::create(1000, 0.001, ROOST_CUCKOO));
    const roost_config *config = roost_filter_get_config(precise.get());
    CHECK(config->capacity == 1000 && config->fpr == 0.001 && config->kind == ROOST_CUCKOO && !config->scalable);
    for (roost_kind kind : {ROOST_BLOOM, ROOST_CUCKOO, ROOST_ORCUCKOO}) {
        roost::Filter growing = taken(roost::Filter::growing(kind, 0.05));
        config = roost_filter_get_config(growing.get());
        CHECK(config->kind == kind && config->scalable && config->fpr == 0.05);
    }
    CHECK(roost_filter_get_config(taken(roost::Filter::growing()).get())->kind == ROOST_CUCKOO);
    CHECK(!roost::Filter::create(0) && !roost::Filter::create(1000, 2.0));
}

static void test_windows()
{
    const roost::Time noon(12h);
    roost::Window window = taken(roost::Window::create(10min, 1000));
    auto batch = window.add_many({"a", "b", "a"}, noon);
    CHECK(batch && batch->done == 3 && batch->changed == 2 && window.contains("a", noon) &&
          window.window_info().slots > 0);
    window.set_latest(noon);
    CHECK(window.add("c", noon + 1h) == ROOST_CLOCK && !*window.seen("c", noon) && *window.seen("c", noon) &&
          taken(window.clone()).contains("c", noon));
    window.set_latest(roost::Time(-1h)); // nothing is that early
    CHECK(window.add("d", noon) == ROOST_CLOCK);
    roost::Counter counter = taken(roost::Counter::create(1h, 100));
    CHECK(*counter.increment("one", 5, noon) && !*counter.increment("one", 5, noon) && *counter.value() == 5);
    CHECK(counter.increment("", 1, noon).status() == ROOST_INVALID &&
          counter.increment("two", INT64_MAX, noon).status() == ROOST_OVERFLOW);
}

static void test_shared()
{
    roost_config config = roost_config_default();
    config.capacity = 10000;
    roost::Shared shared = taken(roost::Shared::create(config));
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 1000; i++)
                if (!shared.add(std::to_string(t * 1000 + i)))
                    std::abort();
        });
    for (std::thread &thread : threads)
        thread.join();
    roost::Filter copy = taken(shared.snapshot());
    int lost = 0;
    for (int i = 0; i < 3000; i++)
        lost += !shared.contains(std::to_string(i)) || !copy.contains(std::to_string(i));
    CHECK(lost == 0 && copy.add("merged") && *shared.merge(copy) && shared.contains("merged"));
    config.kind = ROOST_ORCUCKOO;
    CHECK(roost::Shared::create(config).status() == ROOST_UNSUPPORTED &&
          shared.merge(removable()).status() == ROOST_MISMATCH);
}

/* ---- files ----------------------------------------------------------------------------------------------------------
   */

/* As std::filesystem::path, whose header takes the compiler long. */
struct Path {
    std::string text;
    operator std::string() const
    {
        return text;
    }
};

static void test_files()
{
    char folder[] = "/tmp/roost-cpp-XXXXXX";
    CHECK(mkdtemp(folder) != nullptr);
    const std::string path = std::string(folder) + "/seen.roost";
    roost::File file = taken(roost::File::at(path.c_str())), other = taken(roost::File::at(path.c_str()));
    auto missing = file.load();
    CHECK(missing.status() == ROOST_SYSTEM && missing.status().system_error() == ENOENT &&
          missing.status().text() == std::string_view(std::strerror(ENOENT)));
    CHECK(file.save() == ROOST_INVALID && file.lock() && !file.exists() && file.set(roost::Filter()) == ROOST_INVALID);
    CHECK(file.set(removable()) && file.filter().add("swift") && !file.window() && !file.counter() && file.save() &&
          file.exists());
    CHECK(other.try_lock() == ROOST_BUSY && is_refused(file.window().add("x")));

    roost::BasicFilter &filter = file.filter();
    CHECK(filter.add("unsaved"));
    file.discard();
    CHECK(*file.load() && !filter.contains("unsaved") && filter.contains("swift") &&
          file.replica_status() == ROOST_REPLICA_RESTORED);
    roost::Filter peer = removable();
    {
        roost::Sync sync = taken(roost::Sync::create(filter, file.peer_cursor("peer")));
        roost::Buffer message = taken(sync.next());
        while (!message.empty())
            message = taken(sync.next(taken(peer.reply(message))));
        CHECK(file.set_peer_cursor("peer", taken(sync.save_memory())) && file.save());
    }
    file.unlock();
    CHECK(other.lock(ROOST_LOCK_SHARED) && *other.load() && other.peer_cursor("peer").size() > 0 &&
          peer.contains("swift"));
    CHECK(other.read()->contains("swift") && other.read<roost::Window>().status() == ROOST_MISMATCH);

    roost::File moved = std::move(other);
    CHECK(!other && !other.filter() && moved.filter().contains("swift") && !other.load()); // NOLINT
    moved = roost::File();
    CHECK(!moved.filter() && file.lock() && file.set(taken(roost::Window::create(1h, 10))) && file.window().add("x") &&
          !file.filter());
    CHECK(file.reset_replica() && file.save() && roost::File::at(nullptr).status() == ROOST_INVALID);
    const roost::File &read_only = file;
    CHECK(read_only.window().contains("x") && !read_only.filter() && !read_only.counter());
    CHECK(taken(roost::File::at(path)).load() && taken(roost::File::at(Path{path})).load() &&
          roost::File::at(path + '\0' + "more").status() == ROOST_INVALID);
    CHECK(taken(file.read<roost::Window>()).contains("x") && std::string_view(file.error()).empty());
    file.unlock();

    std::FILE *damaged = std::fopen(path.c_str(), "r+");
    CHECK(damaged && std::fseek(damaged, 20, SEEK_SET) == 0 && std::fputs("damage", damaged) >= 0 &&
          std::fclose(damaged) == 0);
    CHECK(file.lock() && !file.load() && !file.window() && !file.filter() && !std::string_view(file.error()).empty());
    std::remove(path.c_str());
    rmdir(folder);
}

/* ---- errors ---------------------------------------------------------------------------------------------------------
   */

static void test_errors()
{
    roost::Filter small = taken(roost::Filter::create(100));
    auto merged = small.merge(removable());
    CHECK(!merged && merged.status() == ROOST_MISMATCH && merged.status() != ROOST_OK && !*merged);
    CHECK(roost::Status(ROOST_SYSTEM, EACCES).text() == std::string_view(std::strerror(EACCES)) &&
          roost::Status().system_error() == 0);
#if defined(__cpp_exceptions)
    bool thrown = false;
    try {
        small.merge(removable()).or_throw();
    } catch (const roost::Error &error) {
        thrown = error.code() == ROOST_MISMATCH && error.what() == std::string_view(roost_status_text(ROOST_MISMATCH));
    }
    CHECK(thrown);
    thrown = false;
    try {
        roost::Filter().add("x").or_throw();
    } catch (const std::runtime_error &error) {
        thrown = std::string_view(error.what()).find("empty") != std::string_view::npos;
    }
    CHECK(thrown);
    auto made = roost::Filter::create(10);
    CHECK(made.or_throw().add("x") && made->contains("x"));
    const auto added = made->add("y");
    CHECK(added.or_throw());
#endif
    const roost_config &config = taken(roost::Filter::create(10)).config(); // the filter is gone
    CHECK(config.capacity == 10 && !std::is_reference_v<decltype(small.config())>);
    std::size_t bytes = 0;
    for (std::uint8_t byte : *small.encode()) // its buffer lives as long as the loop
        bytes += byte != 0;
    CHECK(bytes > 0 && !std::is_reference_v<decltype(*small.encode())>);
    static_assert(sizeof(roost::Result<bool>) <= 16, "it is returned in registers");
    static_assert(std::is_trivially_copyable_v<roost::Status> && sizeof(roost::Filter) == sizeof(void *));
}

int main()
{
    test_bytes();
    test_signed_sizes();
    test_ranges();
    test_ranges_that_begin_fills();
    test_ranges_that_do_not_stay();
    test_spans_and_views();
#if defined(__cpp_exceptions)
    test_exceptions_of_callers();
#endif
    test_full();
    test_moves();
    test_empty_objects();
    test_other_kinds();
    test_replication();
    test_streams();
    test_writes_of_messages();
    test_streams_that_lie();
    test_memory_stays();
    test_reconcile();
    test_ways_to_create();
    test_windows();
    test_shared();
    test_files();
    test_errors();
    return failed;
}
#endif
