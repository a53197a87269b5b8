/*
 * Random and hostile calls of roost.hpp, beside an exact model: hostile [--seconds N] [--seed S]
 *
 * Objects of all kinds are made, changed, merged, synced, encoded, saved, moved and freed: with allocations and entropy
 * that fail, objects that are empty, frames and messages that were cut, changed or belong to others, configurations
 * that make no sense, files that are damaged or locked. Checked: a call that fails changes nothing, no key is lost,
 * nothing is counted twice, what was merged is included, and no memory leaks. A crash or a sanitizer ends the program;
 * the seed repeats the run.
 *
 * The model of a filter is a lower bound of what it holds, by the rules of observed-remove sets: each addition has a
 * number, and a replica knows which numbers it holds (`sure`), which it may hold (`possible`: after a delta or a message,
 * which bring an unknown part of another replica) and which may have been removed or replaced somewhere (`gone`). A
 * removal at a replica removes the additions that are sure there, and also those that are possible.
 */
#include <roost.hpp>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;

/* ---- chance, and a system that fails --------------------------------------------------------------------------------
   */

static std::mt19937_64 generator;
static const char *action_name = "";
static std::uint64_t calls, refusals, failed_allocations, checked_keys;

static std::size_t random_below(std::size_t limit)
{
    return generator() % limit;
}
static bool one_in(std::size_t n)
{
    return random_below(n) == 0;
}
template <typename List> static auto &pick(List &list)
{
    return list[random_below(list.size())];
}

[[noreturn]] static void give_up(const char *what, int line)
{
    std::printf("not ok after %llu calls, in %s, line %d: %s\n", static_cast<unsigned long long>(calls), action_name,
                line, what);
    std::fflush(stdout);
    std::abort();
}
#define INSIST(...) ((__VA_ARGS__) ? void() : give_up(#__VA_ARGS__, __LINE__))

/* Allocations until one fails; less than 1: none does. Threads allocate at the same time. */
static std::atomic<long> until_failure{0}, blocks{0};
static bool fails_on; // all that follow, too

static void *allocate(void *, std::size_t size)
{
    const long left = until_failure.load();
    if (left > 0 && until_failure.fetch_sub(left == 1 && fails_on ? 0 : 1) == 1) {
        failed_allocations++;
        return nullptr;
    }
    void *memory = std::calloc(1, size);
    blocks += memory != nullptr;
    return memory;
}
static void release(void *, void *memory)
{
    blocks--;
    std::free(memory);
}
static bool draw(void *, void *bytes, std::size_t size)
{
    for (std::size_t i = 0; i < size; i++)
        static_cast<unsigned char *>(bytes)[i] = static_cast<unsigned char>(generator());
    return until_failure <= 0 || !one_in(4);
}

static const roost_environment *environment()
{
    static roost_environment made;
    made.allocator = {nullptr, allocate, release};
    made.entropy = {nullptr, draw};
    made.memory_limit = 8 << 20;
    return &made;
}

struct Faults { // while it lives
    Faults()
    {
        fails_on = one_in(2);
        until_failure = one_in(3) ? 1 + static_cast<long>(random_below(one_in(2) ? 4 : 60)) : 0;
    }
    ~Faults()
    {
        until_failure = 0;
    }
};

/* ---- the model ------------------------------------------------------------------------------------------------------
   */

/* Models are copied often, and keys are long: a model has views of one copy of each key. */
using Key = std::string_view;

static Key interned(const std::string &key)
{
    static std::set<std::string> kept;
    static const std::string longest(70000, 'z');
    const bool is_long = key.size() > 8; // see random_key
    return is_long ? Key(longest).substr(0, key.size()) : Key(*kept.insert(key).first);
}

struct Model {
    std::map<std::uint64_t, Key> sure;             // number of an addition, and its key
    std::map<std::uint64_t, Key> possible;         // neither sure nor excluded
    std::set<std::uint64_t> gone;                  // removed or replaced, as far as this replica may know
    std::set<Key> removed;                         // keys, where removals are recorded
    std::map<std::uint64_t, std::int64_t> counted; // operations of a counter
    bool is_exact = true;                          // `counted` is all that was
};

static std::uint64_t last_number;

/* Of a filter that merged `other`: all of its state, or an unknown part. */
static void take(Model &model, const Model &other, bool all)
{
    for (std::uint64_t number : other.gone)
        model.sure.erase(number);
    for (auto at = model.sure.begin(); at != model.sure.end();)
        at = other.removed.count(at->second) ? model.sure.erase(at) : std::next(at);
    for (const auto &[number, key] : other.sure)
        if (all && !model.gone.count(number) && !model.removed.count(key))
            model.sure.emplace(number, key);
    model.possible.insert(other.possible.begin(), other.possible.end());
    if (!all)
        model.possible.insert(other.sure.begin(), other.sure.end());
    model.gone.insert(other.gone.begin(), other.gone.end());
    model.removed.insert(other.removed.begin(), other.removed.end());
    for (const auto &operation : other.counted)
        if (all)
            model.counted.insert(operation);
        else if (!model.counted.count(operation.first))
            model.is_exact = false;
    model.is_exact &= other.is_exact;
}

/* ---- what is made ---------------------------------------------------------------------------------------------------
   */

struct Form {
    roost_config config;
    bool removes, confuses; // removal takes keys of equal fingerprints along
};

static roost_config configured(roost_kind kind, const std::function<void(roost_config &)> &change)
{
    roost_config config = roost_config_default();
    if (kind == ROOST_WINDOW || kind == ROOST_COUNTER)
        config = roost_window_config_default(kind, 3600 * ROOST_SECOND);
    config.kind = kind;
    config.capacity = 300;
    config.fpr = 1e-6;
    change(config);
    return config;
}

static const std::vector<Form> &forms()
{
    static const std::vector<Form> made = {
        {configured(ROOST_BLOOM, [](roost_config &) {}), false, false},
        {configured(ROOST_BLOOM, [](roost_config &c) { c.layout = ROOST_CLASSIC; }), false, false},
        {configured(ROOST_BLOOM, [](roost_config &c) { c.scalable = true, c.capacity = 20; }), false, false},
        {configured(ROOST_CUCKOO, [](roost_config &c) { c.capacity = 60; }), false, false},
        {configured(ROOST_CUCKOO, [](roost_config &c) { c.scalable = true, c.capacity = 0; }), false, false},
        {configured(ROOST_ORCUCKOO, [](roost_config &c) { c.capacity = 100; }), true, false},
        {configured(ROOST_ORCUCKOO, [](roost_config &c) { c.scalable = true, c.capacity = 0; }), true, false},
        {configured(ROOST_ORCUCKOO, [](roost_config &c) { c.scalable = true, c.semantics = ROOST_REMOVE_WINS; }), true,
         false},
        {configured(ROOST_ORCUCKOO, [](roost_config &c) { c.scalable = true, c.semantics = ROOST_LAST_WRITER_WINS; }),
         true, false},
        {configured(ROOST_ORCUCKOO, [](roost_config &c) { c.multiset = true; }), true, false},
        {configured(ROOST_ORCUCKOO, [](roost_config &c) { c.multiset = c.scalable = true; }), true, false},
        {configured(ROOST_ORCUCKOO,
                    [](roost_config &c) { c.multiset = true, c.fpr = 0, c.fingerprint_bits = 8, c.entry_bits = 32; }),
         true, true},
        {configured(ROOST_WINDOW, [](roost_config &) {}), false, false},
        {configured(ROOST_WINDOW, [](roost_config &c) { c.scalable = false, c.layout = ROOST_BLOCKED; }), false, false},
        {configured(ROOST_COUNTER, [](roost_config &) {}), false, false},
    };
    return made;
}

/* One of the three, as the form says; sessions use it and go first. */
struct Subject {
    const Form *form = nullptr;
    roost::Filter filter{};
    roost::Window window{};
    roost::Counter counter{};
    Model model{};
    roost_cursor cursor = {};
    std::vector<roost::Sync> syncs{};

    bool is_filter() const
    {
        return roost::BasicFilter::has(form->config.kind);
    }
    bool is_multiset() const
    {
        return form->config.multiset;
    }
    bool records() const
    {
        return form->config.semantics != ROOST_ADD_WINS;
    }
    roost::Mergeable &any()
    {
        if (is_filter())
            return filter;
        return form->config.kind == ROOST_WINDOW ? static_cast<roost::Mergeable &>(window) : counter;
    }
};

struct Bytes {
    std::string text;
    const Form *form = nullptr; // nullptr: damaged, or not of a filter
    std::shared_ptr<const Model> model{};
    bool is_state = false; // else a delta or a message
};

static std::vector<std::unique_ptr<Subject>> subjects;
static std::vector<Bytes> frames, messages;
static std::int64_t minutes = 30'000'000; // since 1970

static roost::Time time_now()
{
    return roost::Time(std::chrono::minutes(minutes));
}
static Subject &one()
{
    return *pick(subjects);
}
static std::string random_key()
{
    switch (random_below(12)) {
    case 0:
        return {};
    case 1:
        return std::string(random_below(70000), 'z');
    case 2:
        return std::string(1, static_cast<char>(random_below(256)));
    default:
        return "k" + std::to_string(random_below(150));
    }
}
static std::vector<std::string> random_keys()
{
    std::vector<std::string> keys(random_below(one_in(6) ? 300 : 12));
    for (std::string &key : keys)
        key = random_key();
    return keys;
}
static std::string damaged(std::string text)
{
    const std::string before = text;
    while (text == before && !text.empty()) {
        if (one_in(3))
            text.resize(random_below(text.size()));
        for (std::size_t i = random_below(4); i > 0 && !text.empty(); i--)
            pick(text) = static_cast<char>(static_cast<unsigned char>(pick(text)) ^ (1u << random_below(8)));
        if (one_in(8))
            text += text.substr(0, random_below(40)) + "x";
    }
    return text.empty() ? "x" : text;
}
static void remember(std::vector<Bytes> &list, Bytes bytes)
{
    if (list.size() > 24)
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(random_below(list.size())));
    list.push_back(std::move(bytes));
}
/* Of a message, which changes nothing in a filter of another form. */
static void take_part(Subject &subject, const Bytes &message)
{
    if (message.form == subject.form)
        take(subject.model, *message.model, false);
}
static void remember_message(Subject &from, const roost::Buffer &message)
{
    if (!message.empty())
        remember(messages, {std::string(message.view()), from.form, std::make_shared<Model>(from.model), false});
}

template <typename Value> static bool fine(const roost::Result<Value> &result)
{
    refusals += !result;
    INSIST(result.status().text()[0] != '\0');
    return static_cast<bool>(result);
}
static bool fine(roost::Status status)
{
    refusals += !status;
    return static_cast<bool>(status);
}

/* Around a call: what fails changes nothing. */
struct Unchanged {
    Subject &subject;
    std::string before;
    explicit Unchanged(Subject &of) : subject(of), before(one_in(2) ? of.any().digest() : std::string())
    {
    }
    void insist()
    {
        INSIST(before.empty() || before == subject.any().digest());
    }
};

/* ---- checks
   ---------------------------------------------------------------------------------------------------------- */

static bool has(Subject &subject, Key key)
{
    return subject.is_filter() ? subject.filter.contains(key) : subject.window.contains(key, time_now());
}

static void check_keys(Subject &subject)
{
    std::map<Key, std::uint64_t> copies;
    for (const auto &[number, key] : subject.model.sure) {
        INSIST(has(subject, key));
        copies[key]++;
    }
    if (subject.is_multiset())
        for (const auto &[key, count] : copies)
            INSIST(subject.filter.count(key) >= count);
    checked_keys += copies.size();
}

static void check_value(Subject &subject)
{
    __int128 sum = 0;
    for (const auto &operation : subject.model.counted)
        sum += operation.second;
    if (!subject.model.is_exact)
        return;
    auto value = subject.counter.value();
    const bool fits = sum >= INT64_MIN && sum <= INT64_MAX;
    INSIST(fits ? value && *value == sum
                : value.status() == ROOST_OVERFLOW && *value == (sum > 0 ? INT64_MAX : INT64_MIN));
}

static void check(Subject &subject)
{
    INSIST(subject.any().check());
    if (subject.form->config.kind == ROOST_COUNTER)
        check_value(subject);
    else
        check_keys(subject);
}

/* ---- actions: elements
   ------------------------------------------------------------------------------------------------ */

template <typename Kind> static bool made(Kind &object, roost::Result<Kind> result)
{
    if (!fine(result)) {
        INSIST(!*result);
        return false;
    }
    object = std::move(*result);
    return true;
}

static void hold(std::unique_ptr<Subject> subject)
{
    if (subjects.size() > 12)
        subjects.erase(subjects.begin() + static_cast<std::ptrdiff_t>(random_below(subjects.size())));
    subjects.push_back(std::move(subject));
}

static void make()
{
    auto subject = std::make_unique<Subject>();
    subject->form = &pick(forms());
    const roost_config &config = subject->form->config;
    if (subject->is_filter()          ? made(subject->filter, roost::Filter::create(config, environment()))
        : config.kind == ROOST_WINDOW ? made(subject->window, roost::Window::create(config, environment()))
                                      : made(subject->counter, roost::Counter::create(config, environment())))
        hold(std::move(subject));
}

static void make_nonsense()
{
    static const std::uint64_t numbers[] = {0,   1,     2,          7,          8,          33,        64,
                                            100, 65537, 1ull << 32, 1ull << 53, 1ull << 63, UINT64_MAX};
    static const double rates[] = {
        0, -1, 1, 2, 0.5, 1e-300, 1e-9, 0.01, 1e300, static_cast<double>(NAN), static_cast<double>(INFINITY)};
    auto number = [] { return numbers[random_below(std::size(numbers))]; };
    auto small = [&] { return static_cast<std::uint32_t>(number()); };
    roost_config config = pick(forms()).config;
    auto change = [&](auto &field, auto value) {
        if (one_in(4))
            field = static_cast<std::decay_t<decltype(field)>>(value);
    };
    change(config.kind, random_below(8)), change(config.layout, random_below(4)),
        change(config.semantics, random_below(4));
    change(config.schedule, random_below(4)), change(config.capacity, number()), change(config.window, number()),
        change(config.slot_bits, number());
    change(config.fpr, rates[random_below(std::size(rates))]), change(config.fingerprint_bits, small()),
        change(config.bucket_size, small());
    change(config.entry_bits, small()), change(config.writers, small()), change(config.growth, small()),
        change(config.past, small());
    change(config.slot_probes, small()), change(config.multiset, random_below(2)),
        change(config.scalable, random_below(2));
    if (auto filter = roost::Filter::create(config, environment()); fine(filter))
        INSIST((!filter->add("x") || filter->contains("x")) && filter->check() &&
               filter->info().bytes_memory < (64 << 20));
    if (auto window = roost::Window::create(config, environment()); fine(window))
        INSIST(!window->add("x", time_now()) || window->contains("x", time_now()));
    if (auto counter = roost::Counter::create(config, environment()); fine(counter))
        INSIST(!counter->increment("x", 5, time_now()) || *counter->value() == 5);
    if (auto shared = roost::Shared::create(config, environment()); fine(shared))
        INSIST(!shared->add("x") || shared->contains("x"));
    fine(roost::Window::create(std::chrono::microseconds(static_cast<std::int64_t>(number())), number()));
}

/* The additions that a removal at this replica may have seen. */
template <typename Matches> static void model_erase(Model &model, Matches matches)
{
    for (auto *additions : {&model.sure, &model.possible})
        for (auto at = additions->begin(); at != additions->end();) {
            const bool goes = matches(at->second);
            if (goes)
                model.gone.insert(at->first);
            at = goes ? additions->erase(at) : std::next(at);
        }
}

/* In a set a new addition replaces those that this replica has seen. */
static void model_add(Subject &subject, const std::string &key)
{
    Model &model = subject.model;
    auto is_same = [&](Key other) { return other == key; };
    if (subject.form->removes && !subject.is_multiset())
        model_erase(model, is_same);
    else if (!subject.is_multiset())
        for (const auto &[number, other] : model.sure)
            if (is_same(other))
                return;
    model.sure.emplace(++last_number, interned(key));
}

static void model_remove(Subject &subject, const std::string &key)
{
    if (subject.records())
        subject.model.removed.insert(interned(key));
    model_erase(subject.model, [&](Key other) { return other == key || subject.form->confuses; });
}

static void add()
{
    Subject &subject = one();
    const std::string key = random_key();
    Unchanged unchanged(subject);
    if (subject.form->config.kind == ROOST_COUNTER) {
        const std::int64_t amount = one_in(20) ? INT64_MAX - static_cast<std::int64_t>(random_below(3))
                                               : static_cast<std::int64_t>(random_below(2001)) - 1000;
        auto applied = subject.counter.increment(key, amount, time_now());
        if (!fine(applied))
            unchanged.insist();
        else if (*applied)
            subject.model.counted.emplace(++last_number, amount);
        return;
    }
    auto added = subject.is_filter() ? subject.filter.add(key) : subject.window.seen(key, time_now());
    if (!fine(added))
        return unchanged.insist();
    model_add(subject, key);
    INSIST(has(subject, key));
}

static void add_many()
{
    Subject &subject = one();
    if (subject.form->config.kind == ROOST_COUNTER)
        return;
    const std::vector<std::string> keys = random_keys();
    Unchanged unchanged(subject);
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    auto batch = !subject.is_filter() ? subject.window.add_many(keys, time_now())
                 : one_in(2)          ? subject.filter.add_many(keys)
                                      : subject.filter.add_many(views);
    INSIST(batch->done <= keys.size() && batch->changed <= batch->done && (!fine(batch) || batch->done == keys.size()));
    if (!batch && batch->done == 0)
        unchanged.insist();
    for (std::size_t i = 0; i < batch->done; i++)
        model_add(subject, keys[i]);
    for (std::size_t i = 0; i < batch->done; i++)
        INSIST(has(subject, keys[i]));
}

static void remove()
{
    Subject &subject = one();
    std::vector<std::string> keys;
    for (const auto &[number, key] : subject.model.sure) // only what was added
        if (one_in(8))
            keys.emplace_back(key);
    if (!subject.is_filter() || keys.empty())
        return;
    Unchanged unchanged(subject);
    const std::uint64_t copies = subject.filter.count(keys[0]);
    if (!subject.form->removes) {
        INSIST(subject.filter.remove(keys[0]).status() == ROOST_UNSUPPORTED &&
               subject.filter.remove_many(keys).status() == ROOST_UNSUPPORTED);
        return unchanged.insist();
    }
    if (one_in(3)) {
        auto batch = subject.filter.remove_many(keys);
        fine(batch);
        INSIST(batch->changed <= keys.size());
        for (const std::string &key : keys)
            model_remove(subject, key);
        return;
    }
    auto removed =
        subject.is_multiset() && one_in(2) ? subject.filter.remove_one(keys[0]) : subject.filter.remove(keys[0]);
    if (!fine(removed))
        return unchanged.insist();
    INSIST(*removed && subject.filter.count(keys[0]) < copies);
    model_remove(subject, keys[0]);
}

/* Times that cannot be right, on a copy: an addition far ahead makes a window forget. */
static void strange_time()
{
    Subject &subject = one();
    const roost::Time strange(std::chrono::microseconds(static_cast<std::int64_t>(generator() >> random_below(64))));
    if (subject.is_filter()) {
        auto copy = subject.filter.clone();
        if (!fine(copy))
            return;
        copy->set_time(one_in(2) ? strange : roost::Time(-1h));
        const std::string before = copy->digest();
        INSIST(fine(copy->add("x")) ? copy->contains("x") : before == copy->digest());
        INSIST(copy->check());
    } else if (subject.form->config.kind == ROOST_WINDOW) {
        auto copy = subject.window.clone();
        if (!fine(copy))
            return;
        copy->set_latest(one_in(2) ? strange : roost::Time());
        INSIST(!fine(copy->add("x", strange)) || copy->contains("x", strange));
        INSIST(copy->check());
    }
}

/* ---- actions: replication
   ------------------------------------------------------------------------------------------------ */

static void merge()
{
    Subject &here = one(), &there = one();
    Unchanged unchanged(here);
    auto merged = here.any().merge(there.any());
    if (!fine(merged)) {
        INSIST(here.form != there.form || merged.status() != ROOST_MISMATCH);
        return unchanged.insist();
    }
    if (&here != &there)
        take(here.model, there.model, true);
    auto order = there.any().compare(here.any());
    INSIST(order && (*order == ROOST_EQUAL || *order == ROOST_BEFORE) &&
           (*order == ROOST_EQUAL) == (here.any() == there.any()));
}

static void encode()
{
    Subject &subject = one();
    Unchanged unchanged(subject);
    const roost_cursor before = subject.cursor;
    const bool is_state = one_in(2);
    auto frame = is_state ? subject.any().encode() : subject.any().encode_delta(subject.cursor);
    if (!fine(frame)) {
        INSIST(frame->empty() && before.incarnation == subject.cursor.incarnation &&
               before.sequence == subject.cursor.sequence);
        return unchanged.insist();
    }
    remember(frames, {std::string(frame->view()), subject.form, std::make_shared<Model>(subject.model), is_state});
}

static void merge_frame()
{
    if (frames.empty())
        return;
    Subject &subject = one();
    const Bytes &frame = pick(frames);
    Unchanged unchanged(subject);
    if (one_in(2)) {
        const std::string bytes = damaged(frame.text);
        INSIST(!fine(subject.any().merge_frame(bytes)));
        return unchanged.insist();
    }
    if (fine(subject.any().merge_frame(frame.text))) {
        INSIST(frame.form == subject.form);
        take(subject.model, *frame.model, frame.is_state);
    } else {
        unchanged.insist();
    }
}

static void decode()
{
    if (frames.empty())
        return;
    const Bytes &frame = pick(frames);
    const std::string bytes = one_in(3) ? damaged(frame.text) : frame.text;
    auto subject = std::make_unique<Subject>();
    subject->form = frame.form;
    const bool whole = bytes == frame.text;
    INSIST(fine(roost::Filter::decode(bytes, environment())) <= (whole && subject->is_filter()));
    INSIST(fine(roost::Counter::decode(bytes, environment())) <= (whole && frame.form->config.kind == ROOST_COUNTER));
    if (!frame.is_state || !whole)
        return;
    if (subject->is_filter() ? made(subject->filter, roost::Filter::decode(bytes, environment()))
        : frame.form->config.kind == ROOST_WINDOW
            ? made(subject->window, roost::Window::decode(bytes, environment()))
            : made(subject->counter, roost::Counter::decode(bytes, environment()))) {
        subject->model = *frame.model;
        auto again = subject->any().encode();
        INSIST(!fine(again) || again->view() == bytes);
        hold(std::move(subject));
    }
}

static void clone()
{
    Subject &subject = one();
    auto copy = std::make_unique<Subject>();
    copy->form = subject.form;
    copy->model = subject.model;
    if (subject.is_filter()                         ? made(copy->filter, subject.filter.clone())
        : subject.form->config.kind == ROOST_WINDOW ? made(copy->window, subject.window.clone())
                                                    : made(copy->counter, subject.counter.clone())) {
        INSIST(copy->any() == subject.any() && copy->any().actor() == 0);
        hold(std::move(copy));
    }
}

static void replica()
{
    Subject &subject = one();
    auto saved = subject.any().save_replica();
    auto frame = subject.any().encode();
    if (!fine(saved) || !fine(frame) || !subject.is_filter())
        return;
    auto restored =
        roost::Filter::decode(*frame, environment()); // and is dropped: two objects with one actor lose elements
    if (!fine(restored))
        return;
    const bool whole = one_in(2);
    const roost::Status status =
        whole ? restored->restore_replica(*saved) : restored->restore_replica(damaged(std::string(saved->view())));
    INSIST(fine(status) && whole ? restored->actor() == subject.filter.actor() : status || restored->actor() == 0);
    INSIST(*restored == subject.filter && restored->check());
}

/* A failure on the way leaves each side with a part of the other. */
static void sync_both()
{
    Subject &here = one(), &there = one();
    if (&here == &there)
        return;
    auto sync = roost::Sync::create(here.any(),
                                    messages.empty() || one_in(2) ? roost::Bytes() : roost::Bytes(pick(messages).text));
    bool is_over = false, is_fine = fine(sync);
    std::string reply;
    while (is_fine && !is_over) {
        auto request = sync->next(reply);
        is_fine = fine(request), is_over = is_fine && request->empty();
        if (!is_fine || is_over)
            break;
        remember_message(here, *request);
        auto answer = there.any().reply(*request);
        is_fine = fine(answer), reply = answer->view();
        remember_message(there, *answer);
    }
    const Model before = here.model;
    INSIST(!is_over || here.form == there.form);
    INSIST(!is_over || here.any() == there.any());
    if (here.form != there.form)
        return;
    take(here.model, there.model, is_over);
    take(there.model, before, is_over);
}

/* Messages of other sessions are merged where they make sense. */
static void strange_message()
{
    if (messages.empty())
        return;
    const Bytes message = pick(messages);
    Subject &subject = one();
    if (one_in(3)) { // on a copy: what a peer may forge, nobody can tell
        auto copy = subject.filter.clone();
        if (fine(copy)) {
            fine(copy->reply(damaged(message.text)));
            auto sync = roost::Sync::create(*copy, damaged(message.text));
            if (fine(sync) && fine(sync->next()))
                for (int i = 0; i < 3; i++)
                    fine(sync->next(damaged(pick(messages).text)));
            INSIST(copy->check());
        }
        return;
    }
    bool changed = true;
    auto reply = subject.any().reply(message.text, &changed);
    fine(reply);
    take_part(subject, message);
    remember_message(subject, *reply);
}

static void strange_session()
{
    Subject &subject = one();
    if (subject.syncs.size() < 3)
        if (auto sync = roost::Sync::create(subject.any()); fine(sync))
            subject.syncs.push_back(std::move(*sync));
    if (subject.syncs.empty())
        return;
    roost::Sync &sync = pick(subject.syncs);
    const bool begins = sync.result().rounds == 0 || messages.empty();
    const Bytes message = begins ? Bytes{} : pick(messages);
    auto request = sync.next(message.text);
    fine(request), fine(sync.save_memory());
    take_part(subject, message);
    remember_message(subject, *request);
    if (one_in(4))
        subject.syncs.clear();
}

/* What a stream of the caller may throw. */
struct Gone {
};

static void stream()
{
    Subject &subject = one();
    std::string text = messages.empty() ? "" : pick(messages).text;
    auto copy = subject.filter.clone();
    if (!fine(copy))
        return;
    text = std::string("\xd5") + static_cast<char>(text.size() & 0x7f) + text;
    text = one_in(2) ? damaged(text) : text;
    std::size_t at = 0;
    roost::Stream hostile(
        [&](void *to, std::size_t size) {
            size = text.copy(static_cast<char *>(to), std::min(size, 1 + random_below(50)), at);
            at += size;
            return one_in(40) ? throw Gone() : static_cast<long>(one_in(40) ? random_below(100) : size);
        },
        [&](const void *, std::size_t size) {
            return one_in(30) ? (errno = EPIPE, -1) : one_in(30) ? 0 : 1 + static_cast<long>(random_below(size + 1));
        });
    try {
        const std::string memory = random_key(); // bytes that make no sense
        fine(one_in(2) ? roost::serve(*copy, hostile) : roost::sync(*copy, hostile, memory, nullptr).status());
    } catch (const Gone &) {
        refusals++;
    }
    INSIST(copy->check());
}

/* ---- actions: sessions, threads, objects
   ----------------------------------------------------------------------------------- */

static void reconcile()
{
    const auto here_keys = random_keys(), there_keys = random_keys();
    roost_reconcile_config config = {};
    config.multiset = one_in(4);
    config.method = static_cast<roost_reconcile_method>(random_below(5));
    auto here = roost::Reconcile::initiator(config, environment());
    if (!fine(here))
        return;
    const bool lies = one_in(3);
    bool is_fine = true;
    for (const std::string &key : here_keys)
        is_fine &= fine(here->add(key, 1 + random_below(3)));
    auto first = here->next();
    std::string message(first->view());
    auto there = roost::Reconcile::responder(lies ? damaged(message) : message, environment());
    is_fine &= fine(first) && fine(there);
    for (const std::string &key : there_keys)
        is_fine &= fine(there->add(key));
    for (int i = 0; is_fine && !message.empty() && i < 60; i++) {
        if (lies && one_in(5))
            message = damaged(message);
        auto next = (i % 2 ? *here : *there).next(message);
        is_fine = fine(next), message = next->view();
    }
    const auto found = here->differences();
    for (const roost_difference &difference : found)
        INSIST(difference.index < here_keys.size());
    if (!is_fine || lies || !here->is_done() || !here->result().exact || config.multiset)
        return;
    std::set<std::string> expected(here_keys.begin(), here_keys.end()), indexed;
    for (const std::string &key : there_keys)
        expected.erase(key);
    for (const roost_difference &difference : found)
        indexed.insert(here_keys[difference.index]);
    INSIST(expected == indexed);
}

static void threads()
{
    roost_config config = configured(one_in(2) ? ROOST_BLOOM : ROOST_CUCKOO,
                                     [](roost_config &c) { c.scalable = c.kind == ROOST_CUCKOO; });
    auto shared = roost::Shared::create(config, environment());
    if (!fine(shared))
        return;
    const auto keys = random_keys();
    std::vector<char> added(keys.size() * 2);
    auto work = [&](std::size_t t) {
        for (std::size_t i = 0; i < keys.size(); i++) {
            const std::string key = keys[i] + static_cast<char>('0' + t);
            added[i * 2 + t] = static_cast<bool>(shared->add(key));
            if (added[i * 2 + t] && !shared->contains(key))
                std::abort();
        }
    };
    std::thread first(work, 0), second(work, 1);
    fine(shared->snapshot());
    fine(shared->merge(one().any()));
    first.join(), second.join();
    auto copy = shared->snapshot();
    for (std::size_t i = 0; i < added.size(); i++)
        INSIST(!added[i] || (shared->contains(keys[i / 2] + static_cast<char>('0' + i % 2)) &&
                             (!copy || copy->contains(keys[i / 2] + static_cast<char>('0' + i % 2)))));
    Subject &subject = one();                                     // const calls at the same time
    const bool is_found = subject.filter.contains("never added"); // a false positive, now and then
    std::thread reader([&] {
        for (int i = 0; i < 20; i++)
            INSIST(subject.any().info().bytes_memory > 0 && subject.filter.contains("never added") == is_found);
    });
    for (const auto &[number, key] : subject.model.sure)
        INSIST(has(subject, key));
    reader.join();
}

static void move()
{
    Subject &subject = one();
    subject.syncs.clear();
    const std::string before = subject.any().digest();
    roost::Filter filter = std::move(subject.filter);
    roost::Window window = std::move(subject.window);
    roost::Counter counter = std::move(subject.counter);
    INSIST(!subject.any() && !subject.filter.add("x") && !subject.window.add("x", time_now()) &&
           !subject.counter.increment("x", 1, time_now()));
    INSIST(!subject.any().merge(one().any()) && !subject.any().encode() && subject.any().digest().empty() &&
           !roost::Sync::create(subject.any()));
    INSIST(!one().any().merge(subject.any()) && !subject.any().reply("x") && !subject.any().check() &&
           !subject.filter.clone());
    std::swap(subject.filter, filter), std::swap(subject.window, window);
    subject.counter = std::move(counter);
    roost::Filter &same = subject.filter;
    subject.filter = std::move(same);
    INSIST(subject.any().digest() == before);
}

static void look()
{
    check(one());
    Subject &subject = one();
    const auto keys = random_keys();
    if (subject.is_filter()) {
        const std::vector<bool> found = subject.filter.contains_many(keys);
        for (std::size_t i = 0; i < keys.size(); i++)
            INSIST(found[i] == subject.filter.contains(keys[i]));
        INSIST(subject.filter.info().entries == subject.filter.info().entries &&
               subject.filter.config().kind == subject.form->config.kind);
    }
    fine(subject.any().transfer_shares());
    fine(subject.any().cursor());
}

/* ---- actions: files
   --------------------------------------------------------------------------------------------------------- */

/* What was saved last, and an object for it. Only one that was loaded or set under its lock may add: it is the replica.
   */
struct Place {
    std::string path;
    Model model{};
    std::string digest{}; // empty: nothing was saved
};
struct Opened {
    Place *place = nullptr;
    roost::File file{};
    Model model{};
    bool is_locked = false, is_exclusive = false, is_replica = false;
};
static std::vector<Place> places;
static std::vector<Opened> opened;

static roost::Mergeable &content(Opened &at)
{
    if (at.file.filter())
        return at.file.filter();
    return at.file.window() ? static_cast<roost::Mergeable &>(at.file.window()) : at.file.counter();
}

static void damage(Opened &at)
{
    std::FILE *file = std::fopen(at.place->path.c_str(), "r+b");
    if (!file)
        return;
    if (one_in(3))
        INSIST(ftruncate(fileno(file), static_cast<off_t>(random_below(400))) == 0);
    else if (std::fseek(file, static_cast<long>(random_below(400)), SEEK_SET) == 0)
        std::fputc(static_cast<int>(random_below(256)), file);
    std::fclose(file);
}

static void open(Opened &at)
{
    at = Opened{&pick(places)};
    made(at.file, roost::File::at(at.place->path, environment()));
}

/* A file that does not exist cannot be locked: several objects may want to create it. */
static void lock(Opened &at)
{
    const bool exclusive = one_in(2);
    const roost::Status status = at.file.try_lock(exclusive ? ROOST_LOCK_EXCLUSIVE : ROOST_LOCK_SHARED);
    if (!fine(status))
        return;
    INSIST(!at.is_locked);
    at.is_locked = true, at.is_exclusive = exclusive;
    for (Opened &other : opened)
        if (&other != &at && other.place == at.place && other.is_locked && other.file.exists() && at.file.exists())
            INSIST(!other.is_exclusive && !exclusive);
}

static void unlock(Opened &at)
{
    at.file.unlock();
    at.is_locked = at.is_replica = false;
}

static void load(Opened &at)
{
    auto read = at.file.load();
    if (!fine(read)) {
        INSIST(!content(at) && at.file.error()[0] != '\0');
        at.is_replica = false;
    } else if (*read) {
        at.is_replica = at.is_locked && at.is_exclusive;
        at.model = at.place->model;
        INSIST(content(at) && content(at).check() && content(at).digest() == at.place->digest); // damage is detected
    }
}

static void save(Opened &at)
{
    const std::string before = content(at).digest();
    if (fine(at.file.save())) {
        INSIST(at.is_locked && at.is_exclusive && content(at));
        at.place->model = at.model, at.place->digest = before;
    }
    INSIST(content(at).digest() == before);
}

static void set(Opened &at)
{
    Subject &subject = one();
    auto filter = subject.filter.clone();
    auto window = subject.window.clone();
    fine(filter), fine(window);
    if (*filter ? fine(at.file.set(std::move(*filter))) : fine(at.file.set(std::move(*window)))) {
        at.model = subject.model;
        at.is_replica = at.is_locked && at.is_exclusive;
        INSIST(content(at) == subject.any());
    }
}

static void change(Opened &at)
{
    const std::string before = content(at).digest(), key = random_key();
    Subject &subject = one();
    if (!at.is_replica)
        return;
    if (one_in(2)) {
        if (fine(at.file.filter().add(key)))
            at.model.sure.emplace(++last_number, interned(key));
        else
            INSIST(content(at).digest() == before);
    } else if (fine(content(at).merge(subject.any()))) {
        take(at.model, subject.model, true);
    } else {
        INSIST(content(at).digest() == before);
    }
}

static void look_into(Opened &at)
{
    for (const auto &[number, key] : at.model.sure)
        INSIST(!at.file.filter() || at.file.filter().contains(key));
    auto copy = at.file.read();
    if (fine(copy)) {
        INSIST(copy->digest() == at.place->digest);
        for (const auto &[number, key] : at.place->model.sure)
            INSIST(copy->contains(key));
    }
    fine(at.file.read<roost::Window>());
    fine(at.file.set_peer_cursor(one_in(9) ? nullptr : "peer", random_key()));
    if (at.file.peer_cursor("peer").size() > 0)
        fine(roost::Sync::create(content(at), at.file.peer_cursor("peer")));
}

static void forget(Opened &at)
{
    const bool is_new = one_in(2);
    if (is_new && fine(at.file.reset_replica()))
        INSIST(content(at).actor() == 0);
    if (!is_new)
        at.file.discard(), at.is_replica = false;
}

static void files()
{
    static void (*const steps[])(Opened &) = {damage, open, lock,   lock,   unlock, load,      load,      load,  save,
                                              save,   set,  change, change, change, look_into, look_into, forget};
    steps[random_below(std::size(steps))](pick(opened));
    if (one_in(4))
        std::swap(opened[0].file, opened[0].file);
}

/* ---- the run
   ----------------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)();
} actions[] = {
    {"make", make},
    {"make", make},
    {"make_nonsense", make_nonsense},
    {"add", add},
    {"add", add},
    {"add", add},
    {"add_many", add_many},
    {"add_many", add_many},
    {"remove", remove},
    {"remove", remove},
    {"strange_time", strange_time},
    {"merge", merge},
    {"merge", merge},
    {"encode", encode},
    {"merge_frame", merge_frame},
    {"merge_frame", merge_frame},
    {"decode", decode},
    {"clone", clone},
    {"replica", replica},
    {"sync", sync_both},
    {"sync", sync_both},
    {"strange_message", strange_message},
    {"strange_session", strange_session},
    {"stream", stream},
    {"reconcile", reconcile},
    {"threads", threads},
    {"move", move},
    {"look", look},
    {"look", look},
    {"files", files},
    {"files", files},
    {"files", files},
};

static void step()
{
    if (calls % 8192 == 8191) { // a new world: what models remember grows
        for (auto &subject : subjects)
            check(*subject);
        subjects.clear(), frames.clear(), messages.clear();
    }
    const auto &action = actions[subjects.size() < 3 ? 0 : random_below(std::size(actions))];
    action_name = action.name;
    minutes += one_in(400);
    calls++;
    Faults faults;
    action.run();
}

static void run(double seconds, const std::string &folder)
{
    for (const char *name : {"/a.roost", "/b.roost", "/c.roost"})
        places.push_back({folder + name});
    for (int i = 0; i < 5; i++)
        opened.push_back({&places[0]});
    while (static_cast<double>(std::clock()) / CLOCKS_PER_SEC < seconds)
        step();
    action_name = "the end";
    for (auto &subject : subjects)
        check(*subject);
    subjects.clear(), opened.clear();
    INSIST(blocks == 0);
    for (const Place &place : places)
        std::remove(place.path.c_str());
}

int main(int count, char **words)
{
    double seconds = 60;
    std::uint64_t seed = static_cast<std::uint64_t>(std::time(nullptr));
    for (int i = 1; i + 1 < count; i += 2) {
        if (std::string_view(words[i]) == "--seconds")
            seconds = std::atof(words[i + 1]);
        if (std::string_view(words[i]) == "--seed")
            seed = std::strtoull(words[i + 1], nullptr, 10);
    }
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    generator.seed(seed);
    char folder[] = "/tmp/roost-hostile-XXXXXX";
    INSIST(mkdtemp(folder) != nullptr);
    run(seconds, folder);
    rmdir(folder);
    INSIST(calls > 100 && refusals > calls / 20 && failed_allocations > 10 && checked_keys > 100);
    std::printf("ok %llu calls, %llu refused, %llu allocations failed, %llu keys looked up, %.0f s of processor\n",
                static_cast<unsigned long long>(calls), static_cast<unsigned long long>(refusals),
                static_cast<unsigned long long>(failed_allocations), static_cast<unsigned long long>(checked_keys),
                static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
}
