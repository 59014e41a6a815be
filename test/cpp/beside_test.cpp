/*
 * What is no lock in redlock.hpp, on five real nodes: keys changed without one, notes, meetings, and
 * callables that throw.
 */
#include <future>
#include <stdexcept>

#include "tap.hpp"

using namespace std::chrono_literals;

static tap::nodes *fleet;

static redlock::client open_client()
{
    return redlock::client(fleet->options());
}

using value = std::optional<std::string_view>;

static std::optional<std::string> add_one(value old)
{
    return std::to_string(std::stoi(std::string(old.value_or("0"))) + 1);
}

TEST(updates_of_several_threads_lose_nothing)
{
    redlock::client client = open_client();
    std::vector<std::future<void>> threads;
    std::string stored;

    for (int i = 0; i < 4; i++)
        threads.push_back(std::async(std::launch::async, [&] {
            for (int k = 0; k < 10; k++)
                client.update("counter", add_one, 0, 1000);
        }));
    for (auto &thread : threads)
        thread.get();
    client.update("counter", [&](value old) {
        stored = *old;
        return std::optional<std::string>();
    });
    CHECK(stored == "40");
    client.update("counter", [&](value old) {
        CHECK(!old);
        return std::optional<std::string>(std::string("\0any\xff", 5));
    });
    client.update("counter", [&](value old) {
        stored = *old;
        return std::optional<std::string>();
    });
    CHECK(stored == std::string("\0any\xff", 5));
}

TEST(what_a_callable_throws_leaves_the_key_alone)
{
    redlock::client client = open_client();
    redlock::report report;
    int caught = 0;

    try {
        client.update("thrown", [](value) -> std::optional<std::string> { throw std::runtime_error("no"); });
    } catch (const std::runtime_error &) {
        caught++;
    }
    try {
        (void)client.barrier(
            "thrown", 2, 60s, [](std::uint32_t) { throw std::runtime_error("no"); }, report);
    } catch (const std::runtime_error &) {
        caught++;
    }
    CHECK(caught == 2);
    client.update("thrown", [](value old) {
        CHECK(!old);
        return std::optional<std::string>();
    });
    CHECK(client.update("thrown", add_one, 5, 0, report) == redlock::result::invalid);
}

TEST(a_note_says_how_long_ago_something_was_done)
{
    redlock::client client = open_client();

    CHECK(!client.marked("report"));
    client.mark("report", 100s, 1000s);
    CHECK(client.marked("report").value() >= 100s && *client.marked("report") < 900s);
}

TEST(parties_go_on_together_and_may_give_up)
{
    redlock::client client = open_client();
    redlock::report report;
    std::promise<void> waits;
    bool told = false;
    auto first = std::async(std::launch::async, [&] {
        redlock::report why;

        return client.barrier(
            "start", 2, 60s,
            [&](std::uint32_t arrived) {
                if (arrived == 1 && !told)
                    waits.set_value();
                told = told || arrived == 1;
            },
            why);
    });

    waits.get_future().wait();
    CHECK(client.barrier(
              "start", 3, 60s, [](std::uint32_t) {}, report) == redlock::result::invalid);
    client.barrier("start", 2);
    CHECK(first.get() == redlock::result::ok);
    CHECK(client.barrier(
              "start", 2, 10ms, [](std::uint32_t) {}, report) == redlock::result::timeout);
    CHECK(client.barrier(
              "start", 2, 60s, [](std::uint32_t) { return false; }, report) == redlock::result::canceled);
}

int main()
{
    tap::nodes nodes(5);

    fleet = &nodes;
    open_client().init_nodes();
    return tap::run_all();
}
