/* The filters of same_bytes.py in C++: speaker FOLDER NAME SECONDS make, or ... merge OTHER... */
#include "speaker.h"
#include "roost.hpp"

static std::string folder, speaker;
static roost::Time now;

static std::string_view view(roost_bytes bytes)
{
    return {static_cast<const char *>(bytes.data), bytes.size};
}

static void leave(roost::Mergeable &filter, const std::string &form, const char *stage)
{
    roost::Buffer frame = filter.encode().or_throw();
    const char *path = path_of(folder.c_str(), form.c_str(), speaker.c_str(), stage);
    write_stage(path, frame.data(), frame.size(), filter.digest().c_str());
}

/* ---- what the classes have apart --------------------------------------------------------------------------------- */

static void add(roost::Filter &filter, const std::vector<std::string_view> &keys)
{
    std::vector<std::string_view> rest(keys.begin() + ONE_BY_ONE, keys.end());
    for (int i = 0; i < ONE_BY_ONE; i++)
        filter.add(keys[i]).or_throw();
    filter.add_many(rest).or_throw();
}

static void add(roost::Window &window, const std::vector<std::string_view> &keys)
{
    for (auto key : keys)
        window.add(key, now).or_throw();
}

static void add_own(roost::Filter &filter)
{
    for (int i = 0; i < OWN_KEYS; i++)
        filter.add(own_key(speaker.c_str(), i)).or_throw();
    if (filter.config().kind == ROOST_ORCUCKOO)
        filter.remove(own_key(speaker.c_str(), 0)).or_throw();
}

static void add_own(roost::Window &window)
{
    for (int i = 0; i < OWN_KEYS; i++)
        window.add(own_key(speaker.c_str(), i), now).or_throw();
}

/* ---- make and merge ---------------------------------------------------------------------------------------------- */

template <typename Kind> static void make(const std::string &form, const roost_config &config)
{
    Kind filter = Kind::create(config).or_throw();
    leave(filter, form, "empty");
    if constexpr (std::is_same_v<Kind, roost::Counter>) {
        for (int i = 0; i < OWN_IDS; i++)
            filter.increment(own_key(speaker.c_str(), i), i + 1, now).or_throw();
    } else {
        static roost_bytes bytes[MOST_KEYS];
        std::vector<std::string_view> keys;
        std::size_t count = read_keys(folder.c_str(), bytes);
        for (std::size_t i = 0; i < count; i++)
            keys.push_back(view(bytes[i]));
        add(filter, keys);
        leave(filter, form, "same");
        add_own(filter);
    }
    leave(filter, form, "own");
}

template <typename Kind> static void merge(const std::string &form, char **others)
{
    auto frame_of = [&](const char *whose) {
        return view(read_whole(path_of(folder.c_str(), form.c_str(), whose, "own"))).substr(32);
    };
    Kind filter = Kind::decode(frame_of(speaker.c_str())).or_throw();
    for (; *others; others++)
        filter.merge_frame(frame_of(*others)).or_throw();
    leave(filter, form, "merged");
}

template <typename Kind> static void speak_of(const char *form, const roost_config &config, char **words)
{
    if (std::string_view(words[4]) == "make")
        make<Kind>(form, config);
    else
        merge<Kind>(form, words + 5);
}

static void speak(const char *form, const roost_config *config, char **words)
{
    if (config->kind == ROOST_WINDOW)
        speak_of<roost::Window>(form, *config, words);
    else if (config->kind == ROOST_COUNTER)
        speak_of<roost::Counter>(form, *config, words);
    else
        speak_of<roost::Filter>(form, *config, words);
}

int main(int count, char **words)
{
    insist(count >= 5, "usage: speaker FOLDER NAME SECONDS make|merge [OTHER...]");
    folder = words[1], speaker = words[2], now = roost::Time(std::chrono::seconds(std::stoll(words[3])));
    for_each_form(folder.c_str(), speak, words);
    return 0;
}
