// Filters, windows, counters, a sync and a reconciliation from C++: c++ -std=c++17 replicas.cpp $(pkg-config --cflags --libs roost)
#include <iostream>
#include <roost.hpp>
#include <string>
#include <vector>

using namespace std::chrono_literals;

// Here a mistake throws; the window and the counter below ask for the status instead.
static void merge_two_replicas()
{
    roost::Filter here = roost::Filter::create(1'000'000, ROOST_ORCUCKOO).or_throw();
    roost::Filter there = roost::Filter::create(1'000'000, ROOST_ORCUCKOO).or_throw();
    here.add_many(std::vector<std::string>{"swift", "heron"}).or_throw();
    there.add("martin").or_throw();

    // A frame is what travels: as a file, a message, a value in a database.
    here.merge_frame(there.encode().or_throw()).or_throw();
    here.remove("heron").or_throw();
    std::cout << "swift " << here.contains("swift") << ", martin " << here.contains("martin") << ", heron "
              << here.contains("heron") << '\n';

    // A sync costs what differs. Here both sides are in one process; usually a connection is between them.
    roost::Sync sync = roost::Sync::create(there).or_throw();
    roost::Buffer reply;
    for (roost::Buffer request; !(request = sync.next(reply).or_throw()).empty();)
        reply = here.reply(request).or_throw();
    std::cout << "equal after the sync: " << (here == there) << ' ' << (here.digest() == there.digest()) << '\n';
}

static bool remember_for_ten_minutes()
{
    auto window = roost::Window::create(10min, 100'000);
    if (!window) {
        std::cerr << window.status().text() << '\n';
        return false;
    }
    roost::Time time = roost::now();
    auto first = window->seen("request 17", time), again = window->seen("request 17", time + 1s);
    if (!first || !again)
        return false;
    std::cout << "seen " << *first << ", then " << *again << "; an hour later "
              << window->contains("request 17", time + 1h) << '\n';

    auto counter = roost::Counter::create(1h, 1000);
    if (!counter || !counter->increment("payment 1", 5) || !counter->increment("payment 1", 5))
        return false;
    auto value = counter->value();
    std::cout << "counted once: " << *value << '\n';
    return static_cast<bool>(value);
}

static void find_what_differs()
{
    const std::vector<std::string> ours{"swift", "martin", "heron"}, theirs{"swift", "heron", "stork"};
    roost::Reconcile initiator = roost::Reconcile::initiator().or_throw();
    for (const std::string &key : ours)
        initiator.add(key).or_throw();
    roost::Buffer message = initiator.next().or_throw();
    roost::Reconcile responder = roost::Reconcile::responder(message).or_throw();
    for (const std::string &key : theirs)
        responder.add(key).or_throw();
    while (!message.empty()) {
        roost::Buffer answer = responder.next(message).or_throw();
        if (answer.empty())
            break;
        message = initiator.next(answer).or_throw();
    }
    for (const roost_difference &difference : initiator.differences())
        std::cout << "only here: " << ours[difference.index] << '\n';
    for (const roost_difference &difference : responder.differences())
        std::cout << "only there: " << theirs[difference.index] << '\n';
}

int main()
{
    try {
        merge_two_replicas();
        find_what_differs();
        return remember_for_ten_minutes() ? 0 : 1;
    } catch (const roost::Error &error) {
        std::cerr << "roost: " << error.what() << '\n';
        return 1;
    }
}
