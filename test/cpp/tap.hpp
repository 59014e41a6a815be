/*
 * What the tests of redlock.hpp share: cases that print TAP, real nodes, and a count of what these were
 * asked. cmocka is not used here, since its assertions jump over destructors. Not a test itself.
 */
#ifndef TEST_CPP_TAP_HPP
#define TEST_CPP_TAP_HPP

#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <hiredis/hiredis.h>
#include <redlock.hpp>
#include <unistd.h>

extern "C" {
#include "support/fleet.h"
}

namespace tap
{

struct failed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void check(bool fine, const char *words, int line)
{
    if (!fine)
        throw failed("line " + std::to_string(line) + ": " + words);
}

#define CHECK(condition) tap::check((condition), #condition, __LINE__)

/* Passes when the statement throws what is named. */
#define THROWS(kind, statement)                                 \
    do {                                                        \
        bool thrown_ = false;                                   \
        try {                                                   \
            statement;                                          \
        } catch (const kind &) {                                \
            thrown_ = true;                                     \
        }                                                       \
        tap::check(thrown_, #kind " by " #statement, __LINE__); \
    } while (0)

/* Waits for a state, up to a time that only a broken program needs. */
template <class Condition> void await(Condition condition, const char *words)
{
    for (int tries = 0; tries < 6000; tries++) {
        if (condition())
            return;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    throw failed(std::string("it never came to: ") + words);
}

#define AWAIT(condition) tap::await([&] { return (condition); }, #condition)

struct test_case {
    const char *name;
    void (*run)();
};

inline std::vector<test_case> &cases()
{
    static std::vector<test_case> all;

    return all;
}

struct enlisted {
    enlisted(const char *name, void (*run)())
    {
        cases().push_back({name, run});
    }
};

/* A test; its name is a sentence. */
#define TEST(name)                                           \
    static void name();                                      \
    static const tap::enlisted name##_enlisted(#name, name); \
    static void name()

inline int run_all()
{
    int number = 0, failures = 0;

    for (const test_case &one : cases()) {
        number++;
        try {
            one.run();
            std::printf("ok %d - %s\n", number, one.name);
        } catch (const std::exception &problem) {
            failures++;
            std::printf("not ok %d - %s\n# %s\n", number, one.name, problem.what());
        }
        std::fflush(stdout);
    }
    std::printf("1..%d\n", number);
    return failures != 0 ? 1 : 0;
}

/* Real nodes, ended with the object. */
class nodes
{
  public:
    explicit nodes(int count)
    {
        fleet_options options{};

        options.node_count = count;
        fleet_ = fleet_start(&options);
        if (fleet_ == nullptr)
            throw failed("the nodes do not start");
    }
    nodes(const nodes &) = delete;
    nodes &operator=(const nodes &) = delete;
    ~nodes()
    {
        fleet_stop(fleet_);
    }
    redlock::options options(redlock::mode mode = redlock::mode::guarded) const
    {
        redlock::options made;

        made.nodes = fleet_urls(fleet_);
        made.mode = mode;
        made.node_timeout = std::chrono::seconds(20); /* busy machines are slow */
        made.connect_timeout = std::chrono::seconds(20);
        return made;
    }
    /* On how many of them a key is there. */
    int copies(const std::string &name) const
    {
        int count = 0;

        for (int i = 0; i < size(); i++)
            count += fleet_command(fleet_, i, "EXISTS", name.c_str(), nullptr) == std::string("1") ? 1 : 0;
        return count;
    }
    void ask_all(const char *one, const char *two, const char *three = nullptr) const
    {
        for (int i = 0; i < size(); i++)
            (void)fleet_command(fleet_, i, one, two, three, nullptr);
    }
    int size() const
    {
        return fleet_size(fleet_);
    }
    struct fleet *fleet() const
    {
        return fleet_;
    }

  private:
    struct fleet *fleet_;
};

/* Sees every command that the nodes get. */
class monitor
{
  public:
    explicit monitor(const nodes &watched) : nodes_(watched)
    {
        for (int i = 0; i < watched.size(); i++) {
            std::string url = fleet_url(watched.fleet(), i);
            redisContext *link = redisConnectUnix(url.substr(url.find("://") + 3).c_str());

            if (link == nullptr || link->err != 0)
                throw failed("a node cannot be watched");
            freeReplyObject(redisCommand(link, "MONITOR"));
            links_.push_back(link);
            lines_.emplace_back();
        }
    }
    monitor(const monitor &) = delete;
    monitor &operator=(const monitor &) = delete;
    ~monitor()
    {
        for (redisContext *link : links_)
            redisFree(link);
    }
    /* Reads all that the nodes were sent before this call. Twice: then also what another connection was still
     * to be read for. */
    void catch_up()
    {
        for (int round = 0; round < 2; round++) {
            std::string mark = "mark-" + std::to_string(++marks_) + "-";

            nodes_.ask_all("ECHO", mark.c_str());
            for (std::size_t i = 0; i < links_.size(); i++)
                while (read_line(i).find(mark) == std::string::npos)
                    ;
        }
    }
    /* What a node was asked about the lock of that owner, one line each. */
    std::vector<std::string> about(std::size_t node, const std::string &owner) const
    {
        std::vector<std::string> found;

        for (const std::string &line : lines_[node])
            if (line.find(owner) != std::string::npos && line.find(" lua]") == std::string::npos)
                found.push_back(line);
        return found;
    }
    /* How often it was asked to release it: the command ends with owner values. In others a time follows. */
    int releases(std::size_t node, const std::string &owner) const
    {
        int count = 0;

        for (const std::string &line : about(node, owner)) {
            std::string last = line.substr(line.rfind(' ') + 2);

            count += last.size() > 16 ? 1 : 0;
        }
        return count;
    }

  private:
    const std::string &read_line(std::size_t node)
    {
        void *reply = nullptr;

        if (redisGetReply(links_[node], &reply) != REDIS_OK || reply == nullptr)
            throw failed("a node is not watched any more");
        lines_[node].emplace_back(static_cast<redisReply *>(reply)->str);
        freeReplyObject(reply);
        return lines_[node].back();
    }

    const nodes &nodes_;
    std::vector<redisContext *> links_{};
    std::vector<std::vector<std::string>> lines_{};
    int marks_ = 0;
};

} // namespace tap

#endif
