/*
 * redlock.hpp: redlock.h for C++17 and later. Header only: link with the same library. It adds ownership,
 * std::chrono, exceptions, callables and coroutines; what a lock promises is said in redlock.h.
 *
 * Conventions
 * - Every call comes twice: one throws redlock::error, the other with a report as the last argument never
 *   does (but for std::bad_alloc) and leaves the result there. try_acquire and its timed forms do not throw
 *   when somebody else has the lock.
 * - A lock is released once: by release(), or by its destructor, which says nothing when that fails.
 *   Destructors wait for a quorum to confirm, but inside a callback and once client::fd() was asked for they
 *   only send the release.
 * - A client may be destroyed before its locks: it releases what they hold. When its destructor has returned,
 *   no callback runs.
 * - Callables given to _async calls run exactly once, or never when the call throws. They run on a thread of
 *   the library, or inside client::process() once client::fd() was asked for. A callable that throws ends the
 *   program (std::terminate).
 * - Coroutines are resumed where such a callable would run. A suspended one that is destroyed cancels its
 *   request.
 * - All of it may be used from any thread, one object by one thread at a time. client and mutex: by any
 *   number at once.
 */
#ifndef REDLOCK_HPP
#define REDLOCK_HPP

#if __cplusplus < 201703L
#error "redlock.hpp needs C++17 or later; redlock.h works with every C++"
#endif

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#if __cplusplus >= 202002L
#include <version>
#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif
#if __has_include(<coroutine>)
#include <coroutine>
#endif
#endif

#include "redlock.h"

namespace redlock
{

/* ---- words --------------------------------------------------------------------------------------------- */

/* What a call came to; redlock_result says what each means. */
enum class result : int {
    ok = REDLOCK_OK,
    busy = REDLOCK_BUSY,
    timeout = REDLOCK_TIMEOUT,
    not_held = REDLOCK_NOT_HELD,
    lost = REDLOCK_LOST,
    canceled = REDLOCK_CANCELED,
    no_quorum = REDLOCK_NO_QUORUM,
    too_slow = REDLOCK_TOO_SLOW,
    quarantine = REDLOCK_QUARANTINE,
    forbidden = REDLOCK_FORBIDDEN,
    foreign_type = REDLOCK_FOREIGN_TYPE,
    invalid = REDLOCK_INVALID,
    misuse = REDLOCK_MISUSE,
    no_memory = REDLOCK_NOMEM,
    system = REDLOCK_SYSTEM
};

/* What else may be held at the same time, and which waiter comes next: redlock_kind says what each means. A
 * kind of redlock.h that has no name here: static_cast<kind>(REDLOCK_...). */
enum class kind : int {
    exclusive = REDLOCK_EXCLUSIVE,
    fair = REDLOCK_FAIR,
    shared = REDLOCK_SHARED,
    semaphore = REDLOCK_SEMAPHORE
};

enum class mode : int { guarded = REDLOCK_GUARDED, plain = REDLOCK_PLAIN };
enum class format : int { common = REDLOCK_FORMAT_COMMON, redisson = REDLOCK_FORMAT_REDISSON };

enum class log_level : int {
    error = REDLOCK_LOG_ERROR,
    warning = REDLOCK_LOG_WARNING,
    info = REDLOCK_LOG_INFO,
    debug = REDLOCK_LOG_DEBUG
};

/* These have their constants in redlock.h. */
using verdict = redlock_verdict;
using cause = redlock_cause;
using stats = redlock_stats;
using node_stats = redlock_node_stats;
using node_facts = redlock_node_facts;
using listed = redlock_listed;
using event = redlock_event;

inline std::string_view name_of(result value) noexcept
{
    return redlock_result_name(static_cast<redlock_result>(value));
}
inline std::string_view name_of(verdict value) noexcept
{
    return redlock_verdict_name(value);
}
inline std::string_view name_of(cause value) noexcept
{
    return redlock_cause_name(value);
}

/* ---- reports ------------------------------------------------------------------------------------------- */

/* Who holds a lock or waits for it, as far as its owner value says. */
struct holder {
    std::string id, host, user, why, tag;
    std::uint32_t pid = 0;
    std::chrono::milliseconds ttl{}; /* it was taken with */
    std::chrono::system_clock::time_point since{};
    bool broken = false; /* by an operator, and it may not know that yet */
    /* Of a semaphore, where a slot of it is reported: which one, from 0, and how many there are. */
    std::optional<std::uint32_t> slot{};
    std::uint32_t permits = 0;
};

/* One node in a report. The texts live in the report. */
struct node_report {
    redlock::verdict verdict = REDLOCK_VERDICT_SILENT;
    redlock::cause cause = REDLOCK_CAUSE_NONE;
    bool eligible = false, notifies = false;
    std::optional<std::chrono::milliseconds> eligible_in{}; /* quarantine left; empty: cannot be said */
    std::optional<std::chrono::microseconds> latency{};     /* empty: no answer */
    std::optional<std::chrono::milliseconds> ttl_left{};    /* empty: never expires, or not known */
    std::uint64_t fence = 0;
    std::string_view url{}, detail{};
    std::optional<std::string_view> owner{}; /* inspect: the owner value seen there */
};

/* A waiter in the report of an inspection. */
struct waiter {
    holder who{};
    std::uint32_t count = 0, place = 0;
};

/* A slot of a semaphore that is held. */
struct slot {
    std::uint32_t number = 0;             /* from 0 */
    std::uint32_t votes = 0;              /* nodes that have this holder's key */
    std::chrono::milliseconds ttl_left{}; /* how long a quorum will have it unless it is renewed */
    redlock::holder holder{};
};

/* The slots of a semaphore, from the first to the last that is held. */
struct slots {
    std::uint32_t permits = 0; /* how many there are; 0: it is no semaphore, or nobody has a slot */
    std::vector<slot> held{};
};

namespace detail
{

template <class Duration> std::optional<Duration> unless_negative(std::int64_t count)
{
    return count < 0 ? std::nullopt : std::optional<Duration>(Duration(count));
}

inline holder to_holder(const redlock_holder &raw)
{
    holder made;

    made.id = raw.id;
    made.host = raw.host;
    made.user = raw.user;
    made.why = raw.why;
    made.tag.assign(reinterpret_cast<const char *>(raw.tag), raw.tag_length);
    made.pid = raw.pid;
    made.ttl = std::chrono::milliseconds(raw.ttl_ms);
    made.since = std::chrono::system_clock::time_point(std::chrono::milliseconds(raw.since_ms));
    made.broken = raw.broken != 0;
    made.permits = raw.permits;
    if (raw.permits != 0)
        made.slot = raw.slot;
    return made;
}

inline slot to_slot(const redlock_slot &raw)
{
    return {raw.slot, raw.votes, std::chrono::milliseconds(raw.ttl_left_ms), to_holder(raw.holder)};
}

inline const redlock_report &empty_report() noexcept
{
    static const redlock_report empty = REDLOCK_REPORT_INIT;

    return empty;
}

} // namespace detail

/* A report that somebody else keeps, such as a callback's, which is gone when the callback returns. To keep
 * it, make it a redlock::report. */
class report_view
{
  public:
    explicit report_view(const redlock_report *raw) noexcept : raw_(raw)
    {
    }

    redlock::result result() const noexcept
    {
        return static_cast<redlock::result>(raw().result);
    }
    bool ok() const noexcept
    {
        return raw().result == REDLOCK_OK;
    }
    /* The result in one readable line. */
    std::string_view line() const noexcept
    {
        return raw().line;
    }
    std::chrono::milliseconds waited() const noexcept
    {
        return std::chrono::milliseconds(raw().waited_ms);
    }
    std::chrono::milliseconds validity() const noexcept
    {
        return std::chrono::milliseconds(raw().validity_ms);
    }
    std::uint64_t fence() const noexcept
    {
        return raw().fence;
    }
    /* Who holds it, as far as was seen. */
    std::optional<redlock::holder> holder() const
    {
        if (raw().holder.id[0] == '\0')
            return std::nullopt;
        return detail::to_holder(raw().holder);
    }
    std::optional<std::chrono::milliseconds> holder_ttl_left() const noexcept
    {
        return detail::unless_negative<std::chrono::milliseconds>(raw().holder_ttl_left_ms);
    }
    std::vector<node_report> nodes() const
    {
        std::vector<node_report> made;
        redlock_node_report node = REDLOCK_NODE_REPORT_INIT;

        for (std::uint32_t i = 0; i < raw().node_count && redlock_report_node(&raw(), i, &node) != 0; i++)
            made.push_back(to_node(node));
        return made;
    }
    std::vector<waiter> waiters() const
    {
        std::vector<waiter> made;
        redlock_waiter one = REDLOCK_WAITER_INIT;

        for (std::uint32_t i = 0; i < raw().waiter_count && redlock_report_waiter(&raw(), i, &one) != 0; i++)
            made.push_back({detail::to_holder(one.who), one.count, one.place});
        return made;
    }
    /* Those who share a lock, of whom holder() is one: 16 of them at most, from inspect(). */
    std::vector<redlock::holder> sharers() const
    {
        std::vector<redlock::holder> made;
        redlock_holder one = {};

        for (std::uint32_t i = 0; i < raw().sharers && redlock_report_sharer(&raw(), i, &one) != 0; i++)
            made.push_back(detail::to_holder(one));
        return made;
    }
    /* How many share it; 0: it is not shared. */
    std::uint32_t sharer_count() const noexcept
    {
        return raw().sharers;
    }
    /* Of a lock with several names: which one was in the way, or was lost. 0 is the spec's name, 1 the first
     * of also, as in lock::name_at(); empty: none of them more than the others. */
    std::optional<std::uint32_t> name_number() const noexcept
    {
        return raw().name_number == 0 ? std::nullopt : std::optional<std::uint32_t>(raw().name_number - 1);
    }
    /* Whether an operator has broken the caller's lock, or the holder's. */
    bool broken() const noexcept
    {
        return raw().broken != 0;
    }
    /* The counts: node_count, quorum, rounds, granted, held, free, not_held, eligible, waiting. */
    const redlock_report &raw() const noexcept
    {
        return raw_ != nullptr ? *raw_ : detail::empty_report();
    }

  protected:
    const redlock_report *raw_;

  private:
    static node_report to_node(const redlock_node_report &raw)
    {
        node_report made;

        made.verdict = raw.verdict;
        made.cause = raw.cause;
        made.eligible = raw.eligible != 0;
        made.notifies = raw.notifies != 0;
        made.eligible_in = detail::unless_negative<std::chrono::milliseconds>(raw.eligible_in_ms);
        made.latency = detail::unless_negative<std::chrono::microseconds>(raw.latency_us);
        made.ttl_left = detail::unless_negative<std::chrono::milliseconds>(raw.ttl_left_ms);
        made.fence = raw.fence;
        made.url = raw.url != nullptr ? raw.url : "";
        made.detail = raw.detail != nullptr ? raw.detail : "";
        if (raw.owner != nullptr)
            made.owner = std::string_view(raw.owner, raw.owner_length);
        return made;
    }
};

/* A report with room for what each node said, some 30 kB from its first use on: make it once, use it for any
 * number of calls. */
class report : public report_view
{
  public:
    report() noexcept : report_view(nullptr)
    {
    }
    explicit report(const report_view &other) : report_view(nullptr)
    {
        (void)redlock_report_copy(prepare(), &other.raw()); /* at worst without the nodes */
    }
    report(const report &other) : report(static_cast<const report_view &>(other))
    {
    }
    report(report &&other) noexcept : report_view(nullptr), kept_(std::move(other.kept_))
    {
        raw_ = std::exchange(other.raw_, nullptr);
    }
    report &operator=(report other) noexcept
    {
        std::swap(kept_, other.kept_);
        std::swap(raw_, other.raw_);
        return *this;
    }

    /* For calls of redlock.h; it belongs to this object. */
    redlock_report *prepare()
    {
        if (kept_ == nullptr) {
            kept_ = std::make_unique<kept>();
            raw_ = &kept_->raw;
        }
        return &kept_->raw;
    }

    /* Says what was refused before the library was asked. */
    redlock::result refuse(redlock::result result, const char *words)
    {
        redlock_report *raw = prepare();
        redlock_details *details = raw->details;

        *raw = REDLOCK_REPORT_INIT;
        raw->details = details;
        raw->result = static_cast<redlock_result>(result);
        std::snprintf(raw->line, sizeof raw->line, "%s: %s", redlock_result_name(raw->result), words);
        return result;
    }

  private:
    struct kept {
        redlock_report raw = REDLOCK_REPORT_INIT;

        kept() noexcept
        {
            raw.details = redlock_details_new(nullptr);
        }
        kept(const kept &) = delete;
        kept &operator=(const kept &) = delete;
        ~kept()
        {
            redlock_details_free(raw.details);
        }
    };
    std::unique_ptr<kept> kept_;
};

/* ---- errors -------------------------------------------------------------------------------------------- */

/* What calls without a report throw; no memory is std::bad_alloc. what() is the report's line. */
class error : public std::runtime_error
{
  public:
    explicit error(const report_view &why)
        : std::runtime_error(std::string(why.line())), report_(std::make_shared<const redlock::report>(why))
    {
    }
    result code() const noexcept
    {
        return report_->result();
    }
    const redlock::report &report() const noexcept
    {
        return *report_;
    }

  private:
    std::shared_ptr<const redlock::report> report_;
};

/* The same, for catch: catch (const redlock::busy &). */
template <result Code> class error_of : public error
{
  public:
    using error::error;
};
using busy = error_of<result::busy>;
using timeout = error_of<result::timeout>;
using not_held = error_of<result::not_held>;
using lost = error_of<result::lost>;
using canceled = error_of<result::canceled>;
using no_quorum = error_of<result::no_quorum>;
using too_slow = error_of<result::too_slow>;
using quarantine = error_of<result::quarantine>;
using forbidden = error_of<result::forbidden>;
using foreign_type = error_of<result::foreign_type>;
using invalid = error_of<result::invalid>;
using misuse = error_of<result::misuse>;
using system_refused = error_of<result::system>;

/* Throws what a report that is not ok says. */
[[noreturn]] inline void throw_error(const report_view &why)
{
    switch (why.result()) {
    case result::busy:
        throw busy(why);
    case result::timeout:
        throw timeout(why);
    case result::not_held:
        throw not_held(why);
    case result::lost:
        throw lost(why);
    case result::canceled:
        throw canceled(why);
    case result::no_quorum:
        throw no_quorum(why);
    case result::too_slow:
        throw too_slow(why);
    case result::quarantine:
        throw quarantine(why);
    case result::forbidden:
        throw forbidden(why);
    case result::foreign_type:
        throw foreign_type(why);
    case result::invalid:
        throw invalid(why);
    case result::misuse:
        throw misuse(why);
    case result::system:
        throw system_refused(why);
    case result::no_memory:
        throw std::bad_alloc();
    default:
        throw error(why);
    }
}

/* ---- what a caller gives ------------------------------------------------------------------------------- */

/* How to reach the nodes. Zero and empty mean the defaults named in redlock_options. */
struct options {
    std::string nodes{}; /* default: the environment's REDLOCK_NODES */
    std::string key_prefix{};
    redlock::mode mode = redlock::mode::guarded;
    redlock::format format = redlock::format::common; /* redisson: in plain mode only */
    std::chrono::milliseconds max_ttl{};
    std::string client_name{};
    std::string user{}, password{};
    std::string tls_ca_file{}, tls_cert_file{}, tls_key_file{};
    std::string host{}, login{};
    std::uint32_t pid = 0;
    bool anonymous = false;
    std::chrono::milliseconds connect_timeout{}, node_timeout{};
    std::uint32_t drift_ppm = 0;
    std::chrono::milliseconds retry_min{}, retry_max{};
    const redlock_allocator *allocator = nullptr;
    /* Both run in the middle of things, on any thread: they must not call the library. */
    std::function<void(log_level, std::string_view)> log{};
    std::function<void(std::string_view)> trace{};
};

/* The lock a caller wants. A call that takes one takes a plain name too. */
struct spec {
    std::string name{};
    redlock::kind kind = redlock::kind::exclusive;
    std::chrono::milliseconds ttl{};         /* how soon a dead holder is noticed; default 15 s */
    bool renew = true;                       /* until it is released; false: it lasts its ttl */
    std::chrono::milliseconds renew_every{}; /* default ttl / 3 */
    std::uint32_t max_extensions = 0;        /* renewals and extends together; default no limit */
    std::chrono::milliseconds max_hold{};    /* lost at this age whatever happens; default no limit */
    bool bound_to_thread = false;            /* renewals end with the thread that acquired it */
    std::string why{};                       /* shown to waiters */
    std::string tag{};                       /* any bytes of the caller's own, at most REDLOCK_TAG_MAX */
    /* Both run on a thread of the library; on_lost at the latest when validity ends. lock::lost() is set
     * before. */
    std::function<void(const report_view &)> on_lost{};
    std::function<void(const report_view &)> on_renewed{};
    std::uint32_t permits = 0; /* of a semaphore: how many slots the name has; all callers have to agree */
    /* An owner that is inside already enters again, without asking the nodes, and is out when as many locks
     * are released as it has acquired. Each of these locks is told of a loss. What else such a spec says does
     * not matter then. */
    bool reentrant = false;
    std::uint64_t identity = 0;      /* reentrant: equal numbers are one owner; default: the calling thread */
    std::vector<std::string> also{}; /* names that are locked together with `name`: all or none */
    /* What nodes have of it when validity ends without a release is left to end there: others who know the
     * owner value may have lengthened it. */
    bool keep_on_nodes = false;
    /* release() of a lock that is still valid returns as soon as the requests are sent, one round trip
     * earlier; whether nodes had lost the lock before is not found out. */
    bool quick_release = false;
};

/* Which locks to list or to watch. */
struct list_spec {
    std::string glob{};                /* names, as in the KEYS command; default all */
    std::string name{};                /* watch: this name alone; default none */
    bool foreign = false;              /* also those of other programs */
    bool partial = false;              /* also what fewer nodes than a quorum have */
    std::chrono::milliseconds every{}; /* watch: between two looks where nodes do not notify */
};

class client;
class lock;

namespace detail
{

/* Rounds up, so that nothing ends before the caller said. Below zero is zero. */
template <class Rep, class Period>
std::int64_t to_ms(const std::chrono::duration<Rep, Period> &given, std::int64_t most = INT64_MAX / 1000)
{
    long double count = std::chrono::duration<long double, std::milli>(given).count();

    if (!(count > 0))
        return 0;
    return count >= static_cast<long double>(most) ? most : static_cast<std::int64_t>(std::ceil(count));
}

inline std::uint32_t to_ms32(std::chrono::milliseconds given)
{
    return static_cast<std::uint32_t>(to_ms(given, UINT32_MAX));
}

inline const char *text_or_null(const std::string &text)
{
    return text.empty() ? nullptr : text.c_str();
}

inline redlock_list_spec to_raw(const list_spec &given)
{
    redlock_list_spec raw = REDLOCK_LIST_SPEC_INIT;

    raw.glob = text_or_null(given.glob);
    raw.glob_length = given.glob.size();
    raw.name = text_or_null(given.name);
    raw.name_length = given.name.size();
    raw.foreign = given.foreign ? 1 : 0;
    raw.partial = given.partial ? 1 : 0;
    raw.every_ms = to_ms32(given.every);
    return raw;
}

inline redlock_break_spec to_break(std::string_view name, std::string_view id,
                                   std::chrono::milliseconds grace, std::uint32_t slot_number = 0)
{
    redlock_break_spec raw = REDLOCK_BREAK_SPEC_INIT;

    raw.slot_number = slot_number;

    raw.name = name.data();
    raw.name_length = name.size();
    raw.id = id.data();
    raw.id_length = id.size();
    raw.grace_ms = grace < std::chrono::milliseconds(0) ? REDLOCK_BREAK_NOW : to_ms(grace);
    return raw;
}

/* Gives one to a callable: true or nothing goes on, false stops. */
template <class Each, class Item> bool go_on(Each &each, const Item &item)
{
    if constexpr (std::is_void_v<decltype(each(item))>) {
        each(item);
        return true;
    } else {
        return static_cast<bool>(each(item));
    }
}

struct holding;
template <class Done> struct pending;

/* All that says which lock a spec means, for a release by its owner value. */
struct unreleased {
    spec which;
    std::string owner;
};

/* A client as its locks and requests know it, which may outlive it. */
struct core {
    redlock_client *client = nullptr;
    options settings; /* as it was opened */
    std::function<void(log_level, std::string_view)> log;
    std::function<void(std::string_view)> trace;
    const pid_t process = ::getpid();
    std::atomic<bool> in_loop{false}; /* somebody asked for the descriptor */
    std::mutex mutex;                 /* for what follows */
    std::condition_variable called;   /* an entry's callable has returned */
    std::uint64_t losses = 0;         /* and renewals, of reentrant locks */
    bool closed = false;
    holding *held = nullptr;    /* what lock objects hold, and what is to become an entry */
    holding *orphans = nullptr; /* let go inside their own callback, which must not free them */
    std::vector<detail::unreleased> unreleased; /* the client was closing */

    /* In a forked child everything is inert, and mutexes may be locked by threads that are not there. */
    bool is_inherited() const noexcept
    {
        return ::getpid() != process;
    }
};

/* A lock at the nodes; its address is the context of its callbacks. Of a reentrant lock: one entry, of
 * several that have the same handle; their callbacks have the core as their context. */
struct holding {
    std::shared_ptr<detail::core> core;
    redlock_lock *handle = nullptr;
    std::atomic<bool> lost{false};
    bool release_sent = false; /* by the client's end */
    std::function<void(const report_view &)> on_lost, on_renewed;
    holding *next = nullptr, *previous = nullptr; /* in core->held, or next in core->orphans */
    redlock::kind kind = redlock::kind::exclusive;
    std::uint32_t permits = 0;
    bool reentrant = false;
    std::string name{};                        /* reentrant: while its handle is not known */
    bool calling = false;                      /* reentrant: a callable of it runs */
    std::uint64_t told = 0;                    /* reentrant: the latest of core->losses that it was told of */
    const redlock_lock *lost_handle = nullptr; /* reentrant: lost before it was known to be this one's */
    std::unique_ptr<report> lost_report{};

    holding() = default;
    holding(const holding &) = delete;
    holding &operator=(const holding &) = delete;
    ~holding();
};

/* The callbacks that run on this thread, innermost first. */
struct frame {
    const detail::core *core;
    const detail::holding *holding;
    const frame *outer;

    static const frame *&innermost() noexcept
    {
        static thread_local const frame *top = nullptr;

        return top;
    }
    explicit frame(const detail::core *of, const detail::holding *whose = nullptr) noexcept
        : core(of), holding(whose), outer(innermost())
    {
        innermost() = this;
    }
    frame(const frame &) = delete;
    frame &operator=(const frame &) = delete;
    ~frame()
    {
        innermost() = outer;
    }
    static bool any() noexcept
    {
        return innermost() != nullptr;
    }
    static bool of(const detail::core *core) noexcept
    {
        for (const frame *at = innermost(); at != nullptr; at = at->outer)
            if (at->core == core)
                return true;
        return false;
    }
    static bool of(const detail::holding *holding) noexcept
    {
        for (const frame *at = innermost(); at != nullptr; at = at->outer)
            if (at->holding == holding || is_entry_of_the_same(at->holding, holding))
                return true;
        return false;
    }

  private:
    static bool is_entry_of_the_same(const detail::holding *one, const detail::holding *other) noexcept
    {
        return one != nullptr && one->reentrant && other->handle != nullptr && one->handle == other->handle;
    }
};

/* ---- the life of a holding ---- */

inline void on_lost(void *context, redlock_lock *, const redlock_report *raw) noexcept
{
    auto *held = static_cast<holding *>(context);
    frame here(held->core.get(), held);

    held->lost.store(true);
    if (held->on_lost)
        held->on_lost(report_view(raw));
}

inline void on_renewed(void *context, redlock_lock *, const redlock_report *raw) noexcept
{
    auto *held = static_cast<holding *>(context);
    frame here(held->core.get(), held);

    held->on_renewed(report_view(raw));
}

/* Calls for each entry of a reentrant lock, one after the other; entries may leave meanwhile. */
template <class Call> void tell_entries(core &core, const redlock_lock *handle, Call call) noexcept
{
    std::unique_lock<std::mutex> guard(core.mutex);
    std::uint64_t number = ++core.losses;
    holding *held = core.held;

    while (held != nullptr) {
        if (!held->reentrant || held->handle != handle || held->told >= number) {
            held = held->next;
            continue;
        }
        held->told = number;
        held->calling = true;
        guard.unlock();
        call(*held);
        guard.lock();
        held->calling = false;
        core.called.notify_all();
        held = core.held; /* from the start: the list may be another one by now */
    }
}

/* Before a handle is freed that others have, too: the library does not wait for callbacks then. */
inline void await_callable(holding &held) noexcept
{
    if (!held.reentrant || held.core->is_inherited())
        return;
    std::unique_lock<std::mutex> guard(held.core->mutex);

    held.core->called.wait(guard, [&] { return !held.calling; });
}

/* An entry whose call has not returned yet may be one of those who lost it. */
inline void note_loss(core &core, const redlock_lock *handle, const redlock_report *raw) noexcept
{
    std::size_t length = 0;
    const char *name = redlock_lock_name(handle, &length);
    std::lock_guard<std::mutex> guard(core.mutex);

    for (holding *held = core.held; held != nullptr; held = held->next)
        if (held->reentrant && held->handle == nullptr && held->name == std::string_view(name, length)) {
            held->lost_handle = handle;
            (void)redlock_report_copy(held->lost_report->prepare(), raw);
        }
}

inline void tell_loss(holding &held, const report_view &why) noexcept
{
    frame here(held.core.get(), &held);

    if (!held.lost.exchange(true) && held.on_lost)
        held.on_lost(why);
}

inline void on_entries_lost(void *context, redlock_lock *handle, const redlock_report *raw) noexcept
{
    auto &core = *static_cast<detail::core *>(context);

    note_loss(core, handle, raw);
    tell_entries(core, handle, [&](holding &held) { tell_loss(held, report_view(raw)); });
}

inline void on_entries_renewed(void *context, redlock_lock *handle, const redlock_report *raw) noexcept
{
    tell_entries(*static_cast<detail::core *>(context), handle, [&](holding &held) {
        frame here(held.core.get(), &held);

        if (held.on_renewed)
            held.on_renewed(report_view(raw));
    });
}

inline bool send_release(redlock_lock *handle) noexcept
{
    auto ignore = [](void *, redlock_result, const redlock_report *) {};

    return redlock_release_async(handle, ignore, nullptr, nullptr) == REDLOCK_OK;
}

inline void free_orphans(core &core) noexcept
{
    holding *first;

    {
        std::lock_guard<std::mutex> guard(core.mutex);
        first = std::exchange(core.orphans, nullptr);
    }
    while (first != nullptr) {
        std::unique_ptr<holding> orphan(first);

        first = orphan->next;
        orphan->next = nullptr;
        await_callable(*orphan);
        redlock_lock_free(orphan->handle); /* waits for its callback */
    }
}

/* A spec of redlock.h, whose texts stay those of `wanted`. Callbacks come to *held, if there is one. */
class raw_spec
{
  public:
    raw_spec(const spec &wanted, holding *held)
    {
        raw_.kind = static_cast<redlock_kind>(wanted.kind);
        raw_.name = wanted.name.c_str();
        raw_.name_length = wanted.name.size();
        raw_.permits = wanted.permits;
        raw_.also_count = static_cast<std::uint32_t>(wanted.also.size());
        also_.reserve(wanted.also.size());
        for (const std::string &name : wanted.also)
            also_.push_back({name.c_str(), name.size()});
        raw_.also = also_.data();
        if (held != nullptr)
            add_rest(wanted, *held);
    }
    raw_spec(const raw_spec &) = delete;
    raw_spec &operator=(const raw_spec &) = delete;

    const redlock_spec *get() const noexcept
    {
        return &raw_;
    }

  private:
    void add_rest(const spec &wanted, holding &held)
    {
        raw_.ttl_ms = to_ms32(wanted.ttl);
        raw_.auto_extend = wanted.renew ? 1 : 0;
        raw_.renew_ms = to_ms32(wanted.renew_every);
        raw_.max_extensions = wanted.max_extensions;
        raw_.max_hold_ms = to_ms(wanted.max_hold);
        raw_.unbound = wanted.bound_to_thread ? 0 : 1;
        raw_.why = text_or_null(wanted.why);
        raw_.tag = text_or_null(wanted.tag);
        raw_.tag_length = wanted.tag.size();
        raw_.reentrant = wanted.reentrant ? 1 : 0;
        raw_.identity = wanted.identity;
        raw_.keep_on_nodes = wanted.keep_on_nodes ? 1 : 0;
        raw_.quick_release = wanted.quick_release ? 1 : 0;
        if (wanted.reentrant) { /* later entries may want to be told */
            raw_.context = held.core.get();
            raw_.on_lost = on_entries_lost;
            raw_.on_renewed = on_entries_renewed;
            return;
        }
        raw_.context = &held;
        /* A lease that ends by itself needs no thread to say so, unless there is a callback for it. */
        raw_.on_lost = wanted.renew || wanted.on_lost ? detail::on_lost : nullptr;
        raw_.on_renewed = wanted.on_renewed ? detail::on_renewed : nullptr;
    }

    redlock_spec raw_ = REDLOCK_SPEC_INIT;
    std::vector<redlock_name> also_{};
};

inline void enlist(holding *held) noexcept
{
    std::lock_guard<std::mutex> guard(held->core->mutex);

    held->next = held->core->held;
    if (held->next != nullptr)
        held->next->previous = held;
    held->core->held = held;
}

inline void delist(holding *held) noexcept
{
    if (held->core->is_inherited())
        return;
    std::lock_guard<std::mutex> guard(held->core->mutex);

    if (held->previous != nullptr)
        held->previous->next = held->next;
    else if (held->core->held == held)
        held->core->held = held->next;
    if (held->next != nullptr)
        held->next->previous = held->previous;
    held->next = held->previous = nullptr;
}

inline std::unique_ptr<holding> prepare(const std::shared_ptr<core> &core, const spec &wanted)
{
    auto made = std::make_unique<holding>();

    if (!frame::any() && !core->is_inherited())
        free_orphans(*core);
    made->on_lost = wanted.on_lost;
    made->on_renewed = wanted.on_renewed;
    made->kind = wanted.kind;
    made->permits = wanted.permits;
    if (wanted.reentrant) {
        made->name = wanted.name;
        made->lost_report = std::make_unique<report>();
        made->lost_report->prepare();
    }
    made->core = core;
    made->reentrant = wanted.reentrant;
    if (wanted.reentrant && !core->is_inherited())
        enlist(made.get());
    return made;
}

/* An attempt that came to nothing. */
inline holding::~holding()
{
    if (reentrant && handle == nullptr && core != nullptr)
        delist(this);
}

/* It has got its lock. */
inline void take_handle(holding &held, redlock_lock *handle) noexcept
{
    if (!held.reentrant) {
        held.handle = handle;
        enlist(&held);
        return;
    }
    std::unique_ptr<report> told;
    {
        std::lock_guard<std::mutex> guard(held.core->mutex);

        held.handle = handle;
        told = std::move(held.lost_report);
    }
    /* Another lock may have had this address before; that it was lost does not matter. */
    if (held.lost_handle == handle && redlock_lock_validity_ms(handle) == 0)
        tell_loss(held, *told);
}

/* Frees a handle that is no longer enlisted; after this no callback of it runs, unless this is one. */
inline void free_holding(std::unique_ptr<holding> held) noexcept
{
    if (held->core->is_inherited() || !frame::of(held.get())) {
        await_callable(*held);
        redlock_lock_free(held->handle);
        return;
    }
    std::lock_guard<std::mutex> guard(held->core->mutex);
    holding *orphan = held.release();

    orphan->next = orphan->core->orphans;
    orphan->core->orphans = orphan;
}

/* A callback may be given its lock, and let it go, while another thread has begun to close the client, which
 * takes no calls then: the one that closes makes up for it. */
inline void note_unreleased(holding &held) noexcept
{
    std::size_t length = 0;
    const char *owner = redlock_lock_owner(held.handle, &length);
    std::lock_guard<std::mutex> guard(held.core->mutex);

    if (held.release_sent || owner == nullptr)
        return;
    try {
        unreleased made{spec(), std::string(owner, length)};

        made.which.kind = held.kind;
        made.which.permits = held.permits;
        for (std::uint32_t i = 0; i < redlock_lock_name_count(held.handle); i++) {
            const char *name = redlock_lock_name_at(held.handle, i, &length);

            if (i == 0)
                made.which.name.assign(name, length);
            else
                made.which.also.emplace_back(name, length);
        }
        held.core->unreleased.push_back(std::move(made));
    } catch (const std::bad_alloc &) {
        /* It expires by itself. */
    }
}

/* Releases without a word, and without waiting where that would hold up an event loop or other callbacks. */
inline void let_go(std::unique_ptr<holding> held) noexcept
{
    bool may_wait = !frame::any() && !held->core->in_loop.load();

    delist(held.get());
    if ((may_wait || !send_release(held->handle)) &&
        redlock_release(held->handle, nullptr) == REDLOCK_MISUSE && !held->core->is_inherited())
        note_unreleased(*held);
    free_holding(std::move(held));
}

/* ---- the life of a client ---- */

inline void log_line(void *context, redlock_log_level level, const char *line) noexcept
{
    static_cast<core *>(context)->log(static_cast<log_level>(level), line);
}

inline void trace_line(void *context, const char *line) noexcept
{
    static_cast<core *>(context)->trace(line);
}

inline redlock_result open(const options &given, core &core, redlock_report *report)
{
    redlock_options raw = REDLOCK_OPTIONS_INIT;

    core.settings = given;
    core.log = given.log;
    core.trace = given.trace;
    raw.nodes = given.nodes.empty() ? std::getenv("REDLOCK_NODES") : given.nodes.c_str();
    raw.key_prefix = text_or_null(given.key_prefix);
    raw.mode = static_cast<redlock_mode>(given.mode);
    raw.format = static_cast<redlock_format>(given.format);
    raw.max_ttl_ms = to_ms32(given.max_ttl);
    raw.client_name = text_or_null(given.client_name);
    raw.user = text_or_null(given.user);
    raw.password = text_or_null(given.password);
    raw.tls_ca_file = text_or_null(given.tls_ca_file);
    raw.tls_cert_file = text_or_null(given.tls_cert_file);
    raw.tls_key_file = text_or_null(given.tls_key_file);
    raw.host = text_or_null(given.host);
    raw.login = text_or_null(given.login);
    raw.pid = given.pid;
    raw.anonymous = given.anonymous ? 1 : 0;
    raw.connect_timeout_ms = to_ms32(given.connect_timeout);
    raw.node_timeout_ms = to_ms32(given.node_timeout);
    raw.drift_ppm = given.drift_ppm;
    raw.retry_min_ms = to_ms32(given.retry_min);
    raw.retry_max_ms = to_ms32(given.retry_max);
    raw.allocator = given.allocator;
    raw.log = core.log ? log_line : nullptr;
    raw.log_context = &core;
    raw.trace = core.trace ? trace_line : nullptr;
    raw.trace_context = &core;
    return redlock_client_open(&raw, &core.client, report);
}

/* By a client of its own, since this one is gone. */
inline void release_leftovers(core &gone) noexcept
{
    std::vector<unreleased> left;

    {
        std::lock_guard<std::mutex> guard(gone.mutex);
        left.swap(gone.unreleased);
    }
    if (left.empty())
        return;
    try {
        core again;

        if (open(gone.settings, again, nullptr) != REDLOCK_OK)
            return;
        for (const unreleased &one : left)
            (void)redlock_release_spec(again.client, raw_spec(one.which, nullptr).get(), one.owner.data(),
                                       one.owner.size(), nullptr);
        redlock_client_close(again.client);
    } catch (const std::exception &) {
        /* They expire by themselves. */
    }
}

inline void finish_closing(core &core) noexcept
{
    redlock_client_close(core.client);
    free_orphans(core);
    release_leftovers(core);
}

/* What locks still hold is released, what is under way is cancelled. A client must not be closed by its own
 * callback: then another thread does it, as soon as that has returned. */
inline void close(std::shared_ptr<core> core) noexcept
{
    if (core->is_inherited()) {
        redlock_client_close(core->client);
        return;
    }
    {
        std::lock_guard<std::mutex> guard(core->mutex);

        core->closed = true;
        for (holding *held = core->held; held != nullptr; held = held->next)
            held->release_sent = held->handle != nullptr && send_release(held->handle);
    }
    if (frame::of(core.get()))
        std::thread([core] { finish_closing(*core); }).detach();
    else
        finish_closing(*core);
}

/* This thread's report, for calls that throw. Destructors do not use it: it may have ended before them. */
inline report &own_report()
{
    static thread_local report own;

    return own;
}

/* Calls with a report, and throws what it says unless that is ok. */
template <class Call> auto or_throw(Call call)
{
    report &why = own_report();
    auto made = call(why);

    if (!why.ok())
        throw_error(why);
    return made;
}

/* The same for locks that somebody else may have: an empty one then. */
template <class Call> auto unless_busy(Call call)
{
    report &why = own_report();
    auto made = call(why);

    if (!why.ok() && why.result() != result::busy && why.result() != result::timeout)
        throw_error(why);
    return made;
}

/* A name or a whole spec. */
class wanted
{
  public:
    wanted(const spec &whole) noexcept : spec_(&whole)
    {
    }
    wanted(std::string_view name) : spec_(&own_)
    {
        own_.name = name;
    }
    wanted(const std::string &name) : wanted(std::string_view(name))
    {
    }
    wanted(const char *name) : wanted(std::string_view(name))
    {
    }
    wanted(const wanted &) = delete;
    wanted &operator=(const wanted &) = delete;

    const spec &get() const noexcept
    {
        return *spec_;
    }

  private:
    spec own_{};
    const spec *spec_;
};

} // namespace detail

/* ---- requests ------------------------------------------------------------------------------------------ */

/* An asynchronous call under way, to be cancelled by any thread at any time. It may outlive the client. */
class request
{
  public:
    request() noexcept = default;
    request(const std::shared_ptr<detail::core> &core, redlock_request id) noexcept : core_(core), id_(id)
    {
    }

    /* Its callable runs with result::canceled, and what it had been granted is released. result::not_held: it
     * has ended already. result::misuse: it is a release, which cannot be cancelled, or the client is
     * gone. */
    result cancel() const noexcept
    {
        std::shared_ptr<detail::core> core = core_.lock();

        if (core == nullptr || core->is_inherited())
            return result::misuse;
        std::lock_guard<std::mutex> guard(core->mutex);

        return core->closed ? result::misuse : static_cast<result>(redlock_cancel(core->client, id_));
    }
    /* Whether there is one: not when the call that returned it failed. */
    explicit operator bool() const noexcept
    {
        return id_ != 0;
    }
    redlock_request id() const noexcept
    {
        return id_;
    }

  private:
    std::weak_ptr<detail::core> core_{};
    redlock_request id_ = 0;
};

/* ---- locks --------------------------------------------------------------------------------------------- */

/* A lock that was acquired, or none. Move-only; the object that has it at its end releases it. */
class [[nodiscard]] lock
{
  public:
    lock() noexcept = default;
    lock(lock &&) noexcept = default;
    lock &operator=(lock &&other) noexcept
    {
        lock taken(std::move(other));

        swap(taken);
        return *this;
    }
    ~lock()
    {
        if (held_ != nullptr)
            detail::let_go(std::move(held_));
    }
    void swap(lock &other) noexcept
    {
        held_.swap(other.held_);
    }
    friend void swap(lock &one, lock &other) noexcept
    {
        one.swap(other);
    }

    /* Whether it was acquired and not released yet. It may have been lost all the same: held() and lost() say
     * so. */
    explicit operator bool() const noexcept
    {
        return held_ != nullptr;
    }
    bool held() const noexcept
    {
        return validity() > std::chrono::milliseconds(0);
    }
    /* Time the holder may still rely on. Reads a clock, no network. */
    std::chrono::milliseconds validity() const noexcept
    {
        return std::chrono::milliseconds(redlock_lock_validity_ms(native_handle()));
    }
    /* Whether it was acquired, not released by this object, and must not be relied on any more. */
    bool lost() const noexcept
    {
        return held_ != nullptr && (held_->lost.load() || !held());
    }
    /* A number higher than that of every lock of this name that was handed out before. */
    std::uint64_t fence() const noexcept
    {
        return redlock_lock_fence(native_handle());
    }
    /* The texts live as long as the lock. A process that knows the owner value can release it. */
    std::string_view name() const noexcept
    {
        return text(redlock_lock_name);
    }
    /* Its names: the first, and those of spec::also as they were given. All have the same fence. */
    std::uint32_t name_count() const noexcept
    {
        return redlock_lock_name_count(native_handle());
    }
    std::string_view name_at(std::uint32_t number) const noexcept
    {
        std::size_t length = 0;
        const char *start = redlock_lock_name_at(native_handle(), number, &length);

        return start != nullptr ? std::string_view(start, length) : std::string_view();
    }
    std::vector<std::string> names() const
    {
        std::vector<std::string> made;

        for (std::uint32_t i = 0; i < name_count(); i++)
            made.emplace_back(name_at(i));
        return made;
    }
    /* Which slot of a semaphore it is, from 0; no two holders have the same one at a time. Empty: it is no
     * semaphore. */
    std::optional<std::uint32_t> slot() const noexcept
    {
        std::int32_t number = redlock_lock_slot(native_handle());

        return number < 0 ? std::nullopt : std::optional<std::uint32_t>(static_cast<std::uint32_t>(number));
    }
    /* How often its owner is inside: more than 1 when it was entered again, 0 when it is not held. */
    std::uint32_t entries() const noexcept
    {
        return redlock_lock_entries(native_handle());
    }
    std::string_view owner() const noexcept
    {
        return text(redlock_lock_owner);
    }
    redlock_lock *native_handle() const noexcept
    {
        return held_ != nullptr ? held_->handle : nullptr;
    }

    /* Lengthens the lease to ttl from now (0: the ttl of its spec). */
    void extend(std::chrono::milliseconds ttl = {})
    {
        detail::or_throw([&](redlock::report &why) { return extend(ttl, why); });
    }
    redlock::result extend(std::chrono::milliseconds ttl, redlock::report &why)
    {
        if (held_ == nullptr)
            return why.refuse(redlock::result::not_held, "this object holds no lock");
        return static_cast<redlock::result>(
            redlock_extend(held_->handle, detail::to_ms32(ttl), why.prepare()));
    }

    /* Releases it and waits for a quorum to confirm; whatever comes of it, the object is empty then. Throws
     * redlock::lost when validity had ended before: the work may have run unprotected. */
    void release()
    {
        detail::or_throw([&](redlock::report &why) { return release(why); });
    }
    redlock::result release(redlock::report &why)
    {
        if (held_ == nullptr)
            return why.refuse(redlock::result::not_held, "this object holds no lock");
        redlock_report *raw = why.prepare();

        detail::delist(held_.get());
        redlock_result result = redlock_release(held_->handle, raw);

        detail::free_holding(std::move(held_));
        return static_cast<redlock::result>(result);
    }

    /* Leaves it at the nodes, where it expires by itself, and returns its owner value for client::adopt() and
     * client::release_owner(), which need the same kind, permits and names. */
    std::string leave()
    {
        std::string value(owner());

        if (held_ != nullptr) {
            detail::delist(held_.get());
            detail::free_holding(std::move(held_));
        }
        return value;
    }

    /* done(const report_view &). Those with a result leave there whether the call began. */
    template <class Done> request extend_async(std::chrono::milliseconds ttl, Done done);
    template <class Done>
    request extend_async(std::chrono::milliseconds ttl, Done done, redlock::result &began);
    /* The object is empty from here on. */
    template <class Done> void release_async(Done done);
    template <class Done> void release_async(Done done, redlock::result &began);

#if defined(__cpp_lib_coroutine)
    /* co_await them: see client::co_acquire. The lock has to live until then. */
    auto co_extend(std::chrono::milliseconds ttl = {});
    auto co_release();
#endif

  private:
    friend class client;
    template <class Done> friend struct detail::pending;

    lock(std::unique_ptr<detail::holding> held, redlock_lock *handle) noexcept : held_(std::move(held))
    {
        detail::take_handle(*held_, handle);
    }
    std::unique_ptr<detail::holding> detach() noexcept
    {
        detail::delist(held_.get());
        return std::move(held_);
    }
    std::string_view text(const char *(*get)(const redlock_lock *, std::size_t *)) const noexcept
    {
        std::size_t length = 0;
        const char *start = get(native_handle(), &length);

        return start != nullptr ? std::string_view(start, length) : std::string_view();
    }

    std::unique_ptr<detail::holding> held_{};
};

/* ---- callables and coroutines -------------------------------------------------------------------------- */

namespace detail
{

/* What an asynchronous call keeps until its callback has run; `kept` is the lock that must live as long. */
template <class Done> struct pending {
    std::shared_ptr<detail::core> core;
    std::unique_ptr<holding> kept;
    Done done;

    static void acquired(void *context, redlock_result result, redlock_lock *handle,
                         const redlock_report *raw) noexcept
    {
        std::unique_ptr<pending> own(static_cast<pending *>(context));
        frame here(own->core.get());

        if (result == REDLOCK_OK && handle != nullptr)
            std::move(own->done)(lock(std::move(own->kept), handle), report_view(raw));
        else
            std::move(own->done)(lock(), report_view(raw));
    }
    static void finished(void *context, redlock_result, const redlock_report *raw) noexcept
    {
        std::unique_ptr<pending> own(static_cast<pending *>(context));
        frame here(own->core.get());

        if (own->kept != nullptr)
            free_holding(std::move(own->kept));
        std::move(own->done)(report_view(raw));
    }
};

/* The same for a list or a watch, whose callable runs for each before the other one runs once. */
template <class Item, class Each, class Done> struct pending_list {
    std::shared_ptr<detail::core> core;
    Each each;
    Done done;

    static int one(void *context, const Item *item) noexcept
    {
        auto *own = static_cast<pending_list *>(context);
        frame here(own->core.get());

        return go_on(own->each, *item) ? 0 : 1;
    }
    static void finished(void *context, redlock_result, const redlock_report *raw) noexcept
    {
        std::unique_ptr<pending_list> own(static_cast<pending_list *>(context));
        frame here(own->core.get());

        std::move(own->done)(report_view(raw));
    }
};

/* A callable in the middle of a blocking call: what it throws must not pass through C, and is thrown when
 * that has returned. */
template <class Item, class Each> struct visit {
    Each &each;
    std::exception_ptr thrown{};

    static int one(void *context, const Item *item) noexcept
    {
        auto *own = static_cast<visit *>(context);

        try {
            return go_on(own->each, *item) ? 0 : 1;
        } catch (...) {
            own->thrown = std::current_exception();
            return 1;
        }
    }
    void rethrow() const
    {
        if (thrown != nullptr)
            std::rethrow_exception(thrown);
    }
};

/* One call of redlock_update(): what the callable makes stays until that has returned. */
template <class Change> struct updating {
    Change &change;
    std::optional<std::string> made{};
    std::exception_ptr thrown{};

    static int run(void *context, const void *value, std::size_t length, const void **next,
                   std::size_t *next_length) noexcept
    {
        auto *own = static_cast<updating *>(context);

        try {
            own->made =
                own->change(value == nullptr ? std::optional<std::string_view>()
                                             : std::string_view(static_cast<const char *>(value), length));
        } catch (...) {
            own->thrown = std::current_exception();
            return 1;
        }
        *next = own->made ? own->made->data() : nullptr;
        *next_length = own->made ? own->made->size() : 0;
        return 0;
    }
};

/* One call of redlock_barrier(). */
template <class Waiting> struct meeting {
    Waiting &waiting;
    std::exception_ptr thrown{};

    static int look(void *context, std::uint32_t arrived) noexcept
    {
        auto *own = static_cast<meeting *>(context);

        try {
            return go_on(own->waiting, arrived) ? 0 : 1;
        } catch (...) {
            own->thrown = std::current_exception();
            return 1;
        }
    }
};

/* begin(context, id) makes the C call. The id is there before the callback can run. */
template <class Done, class Begin>
redlock_result launch(const std::shared_ptr<core> &core, std::unique_ptr<holding> *kept, Done done,
                      redlock_request *id, Begin begin)
{
    auto own = std::unique_ptr<pending<Done>>(new pending<Done>{core, nullptr, std::move(done)});

    if (kept != nullptr)
        own->kept = std::move(*kept);
    redlock_result result = begin(own.get(), id);

    if (result == REDLOCK_OK)
        (void)own.release(); /* the callback's, which may have run already */
    else if (kept != nullptr)
        *kept = std::move(own->kept);
    return result;
}

[[noreturn]] inline void throw_not_begun(result result)
{
    own_report().refuse(result, "the call could not begin");
    throw_error(own_report());
}

template <class Begin> request begin_or_throw(Begin begin)
{
    result began = result::ok;
    request made = begin(began);

    if (began != result::ok)
        throw_not_begun(began);
    return made;
}

#if defined(__cpp_lib_coroutine)

/* What a suspended coroutine and its callback share. */
template <class Value> struct outcome {
    std::coroutine_handle<> waiter{};
    std::atomic<bool> settled{false}; /* the first to set it, callback or destructor, decides */
    redlock_request id = 0;
    Value value{};
    report why{};
};

struct nothing {
};

/* co_await it once. Begin(shared outcome) starts the call; its callable calls settle(). */
template <class Value, class Begin> class [[nodiscard]] awaitable
{
  public:
    awaitable(std::shared_ptr<core> core, Begin begin) : core_(std::move(core)), begin_(std::move(begin))
    {
    }
    awaitable(const awaitable &) = delete;
    awaitable &operator=(const awaitable &) = delete;
    ~awaitable()
    {
        if (outcome_ != nullptr && !outcome_->settled.exchange(true))
            (void)request(core_, outcome_->id).cancel();
    }

    bool await_ready() const noexcept
    {
        return false;
    }
    bool await_suspend(std::coroutine_handle<> waiter)
    {
        auto shared = std::make_shared<outcome<Value>>();

        shared->waiter = waiter;
        outcome_ = shared;
        redlock_result result = begin_(shared);

        if (result == REDLOCK_OK)
            return true; /* it may have been resumed, and this be gone */
        shared->settled.store(true);
        shared->why.refuse(static_cast<redlock::result>(result), "the call could not begin");
        return false;
    }
    Value await_resume()
    {
        if (!outcome_->why.ok())
            throw_error(outcome_->why);
        if constexpr (std::is_same_v<Value, report>)
            return std::move(outcome_->why);
        else
            return std::move(outcome_->value);
    }

  private:
    std::shared_ptr<core> core_;
    Begin begin_;
    std::shared_ptr<outcome<Value>> outcome_{};
};

template <class Value> void settle(const std::shared_ptr<outcome<Value>> &shared, const report_view &why)
{
    if (!why.ok() || std::is_same_v<Value, report>)
        shared->why = report(why);
    if (!shared->settled.exchange(true))
        shared->waiter.resume();
}

#endif

} // namespace detail

template <class Done>
request lock::extend_async(std::chrono::milliseconds ttl, Done done, redlock::result &began)
{
    redlock_request id = 0;

    began = result::not_held;
    if (held_ == nullptr)
        return request();
    auto core = held_->core;
    redlock_lock *handle = held_->handle;

    began = static_cast<result>(detail::launch(
        core, nullptr, std::move(done), &id, [&](detail::pending<Done> *own, redlock_request *number) {
            return redlock_extend_async(handle, detail::to_ms32(ttl), own->finished, own, number);
        }));
    return request(core, id);
}

template <class Done> request lock::extend_async(std::chrono::milliseconds ttl, Done done)
{
    return detail::begin_or_throw(
        [&](redlock::result &began) { return extend_async(ttl, std::move(done), began); });
}

template <class Done> void lock::release_async(Done done, redlock::result &began)
{
    began = result::not_held;
    if (held_ == nullptr)
        return;
    auto held = detach();
    auto core = held->core;
    redlock_lock *handle = held->handle;

    began = static_cast<result>(detail::launch(
        core, &held, std::move(done), nullptr, [&](detail::pending<Done> *own, redlock_request *number) {
            return redlock_release_async(handle, own->finished, own, number);
        }));
    if (began != result::ok)
        detail::free_holding(std::move(held));
}

template <class Done> void lock::release_async(Done done)
{
    redlock::result began = result::ok;

    release_async(std::move(done), began);
    if (began != result::ok)
        detail::throw_not_begun(began);
}

#if defined(__cpp_lib_coroutine)

inline auto lock::co_extend(std::chrono::milliseconds ttl)
{
    auto core = held_ != nullptr ? held_->core : nullptr;
    auto begin = [this, ttl](const std::shared_ptr<detail::outcome<detail::nothing>> &shared) {
        if (held_ == nullptr)
            return REDLOCK_NOT_HELD;
        auto done = [shared](const report_view &why) { detail::settle(shared, why); };
        redlock_lock *handle = held_->handle;

        return detail::launch(held_->core, nullptr, std::move(done), &shared->id,
                              [&](detail::pending<decltype(done)> *own, redlock_request *number) {
                                  return redlock_extend_async(handle, detail::to_ms32(ttl), own->finished,
                                                              own, number);
                              });
    };

    return detail::awaitable<detail::nothing, decltype(begin)>(core, begin);
}

inline auto lock::co_release()
{
    auto core = held_ != nullptr ? held_->core : nullptr;
    auto begin = [this](const std::shared_ptr<detail::outcome<detail::nothing>> &shared) {
        redlock::result began = result::ok;

        release_async([shared](const report_view &why) { detail::settle(shared, why); }, began);
        return static_cast<redlock_result>(began);
    };

    return detail::awaitable<detail::nothing, decltype(begin)>(core, begin);
}

#endif

/* ---- clients ------------------------------------------------------------------------------------------- */

/* A connection to all nodes. Move-only; any number of threads may use one. */
class client
{
  public:
    using wanted = detail::wanted;

    /* Checks the options and starts to connect; does not wait for any node. */
    client() : client(options())
    {
    }
    explicit client(const options &given) : core_(std::make_shared<detail::core>())
    {
        redlock::report why;

        if (detail::open(given, *core_, why.prepare()) != REDLOCK_OK)
            throw_error(why);
    }
    explicit client(std::string_view nodes) : client(for_nodes(nodes))
    {
    }
    /* Without exceptions: an empty client when the report is not ok. */
    static client open(const options &given, redlock::report &why)
    {
        client made(std::make_shared<detail::core>());

        if (detail::open(given, *made.core_, why.prepare()) != REDLOCK_OK)
            made.core_ = nullptr;
        return made;
    }
    client(client &&) noexcept = default;
    client &operator=(client &&other) noexcept
    {
        client taken(std::move(other));

        core_.swap(taken.core_);
        return *this;
    }
    ~client()
    {
        close();
    }
    /* Releases what its locks hold and cancels what is under way; callables still due run now, on this
     * thread. */
    void close() noexcept
    {
        if (core_ != nullptr)
            detail::close(std::move(core_));
        core_ = nullptr;
    }
    explicit operator bool() const noexcept
    {
        return core_ != nullptr;
    }

    std::uint32_t node_count() const noexcept
    {
        return redlock_client_node_count(native_handle());
    }
    std::string_view node_url(std::uint32_t node) const noexcept
    {
        const char *url = redlock_client_node_url(native_handle(), node);

        return url != nullptr ? url : "";
    }
    redlock_client *native_handle() const noexcept
    {
        return core_ != nullptr ? core_->client : nullptr;
    }

    /* ---- taking a lock ---- */

    /* Waits until it is free. */
    lock acquire(const wanted &what)
    {
        return detail::or_throw([&](redlock::report &why) { return acquire(what, why); });
    }
    lock acquire(const wanted &what, redlock::report &why)
    {
        return take(what.get(), REDLOCK_WAIT_FOREVER, why);
    }
    /* Asks all nodes once. Without a report: an empty lock when somebody else has it, and a throw when
     * something is wrong. */
    lock try_acquire(const wanted &what)
    {
        return detail::unless_busy([&](redlock::report &why) { return try_acquire(what, why); });
    }
    lock try_acquire(const wanted &what, redlock::report &why)
    {
        return take(what.get(), 0, why);
    }
    /* Waits that long at most. */
    template <class Rep, class Period>
    lock try_acquire_for(const wanted &what, const std::chrono::duration<Rep, Period> &wait)
    {
        return detail::unless_busy([&](redlock::report &why) { return try_acquire_for(what, wait, why); });
    }
    template <class Rep, class Period>
    lock try_acquire_for(const wanted &what, const std::chrono::duration<Rep, Period> &wait,
                         redlock::report &why)
    {
        return take(what.get(), detail::to_ms(wait), why);
    }
    template <class Clock, class Duration>
    lock try_acquire_until(const wanted &what, const std::chrono::time_point<Clock, Duration> &until)
    {
        return try_acquire_for(what, until - Clock::now());
    }
    template <class Clock, class Duration>
    lock try_acquire_until(const wanted &what, const std::chrono::time_point<Clock, Duration> &until,
                           redlock::report &why)
    {
        return try_acquire_for(what, until - Clock::now(), why);
    }

#if defined(__cpp_lib_jthread)
    /* The same, until somebody asks to stop: then redlock::canceled. Not inside a callback, nor in a program
     * where the callbacks of this client run in its event loop: result::misuse. */
    lock acquire(const wanted &what, std::stop_token stop)
    {
        return detail::or_throw([&](redlock::report &why) { return acquire(what, std::move(stop), why); });
    }
    lock acquire(const wanted &what, std::stop_token stop, redlock::report &why)
    {
        return take(what.get(), REDLOCK_WAIT_FOREVER, std::move(stop), why);
    }
    template <class Rep, class Period>
    lock try_acquire_for(const wanted &what, const std::chrono::duration<Rep, Period> &wait,
                         std::stop_token stop)
    {
        return detail::unless_busy(
            [&](redlock::report &why) { return try_acquire_for(what, wait, std::move(stop), why); });
    }
    template <class Rep, class Period>
    lock try_acquire_for(const wanted &what, const std::chrono::duration<Rep, Period> &wait,
                         std::stop_token stop, redlock::report &why)
    {
        return take(what.get(), detail::to_ms(wait), std::move(stop), why);
    }
#endif

    /* Goes on with a lock that another process acquired and left: extends it to the spec's ttl. Its kind,
     * permits and names are those that it was acquired with. */
    lock adopt(const wanted &what, std::string_view owner)
    {
        return detail::or_throw([&](redlock::report &why) { return adopt(what, owner, why); });
    }
    lock adopt(const wanted &what, std::string_view owner, redlock::report &why)
    {
        return begin(what.get(), why, [&](const redlock_spec *spec, redlock_lock **handle) {
            return redlock_adopt(core_->client, spec, owner.data(), owner.size(), handle, why.prepare());
        });
    }

    /* ---- without taking one ---- */

    /* Releases a lock of which only the owner value is known, and its name, or of other locks than exclusive
     * ones with one name: its kind, permits and names, in a spec of which nothing else matters. */
    void release_owner(const wanted &what, std::string_view owner)
    {
        detail::or_throw([&](redlock::report &why) { return release_owner(what, owner, why); });
    }
    result release_owner(const wanted &what, std::string_view owner, redlock::report &why)
    {
        detail::raw_spec raw(what.get(), nullptr);

        return static_cast<result>(
            redlock_release_spec(native_handle(), raw.get(), owner.data(), owner.size(), why.prepare()));
    }
    /* The holder of a name, its waiters, and what each node says. An empty name: only how the nodes are. */
    redlock::report inspect(std::string_view name = {})
    {
        redlock::report why;

        if (inspect(name, why) != result::ok)
            throw_error(why);
        return why;
    }
    result inspect(std::string_view name, redlock::report &why)
    {
        return static_cast<result>(redlock_inspect(native_handle(), name.empty() ? nullptr : name.data(),
                                                   name.size(), why.prepare()));
    }
    /* Who has the slots of a semaphore. */
    slots inspect_slots(std::string_view name)
    {
        return detail::or_throw([&](redlock::report &why) { return inspect_slots(name, why); });
    }
    slots inspect_slots(std::string_view name, redlock::report &why)
    {
        slots made;
        auto add = [&](const redlock_slot &raw) { made.held.push_back(detail::to_slot(raw)); };
        detail::visit<redlock_slot, decltype(add)> visit{add};

        (void)redlock_inspect_slots(native_handle(), name.data(), name.size(), visit.one, &visit,
                                    &made.permits, why.prepare());
        visit.rethrow();
        return made;
    }
    /* Tells each(const redlock::listed &) of every lock that a quorum has; when it returns false, the result
     * is canceled. */
    template <class Each> void list(const list_spec &which, Each each)
    {
        detail::or_throw([&](redlock::report &why) { return list(which, std::move(each), why); });
    }
    template <class Each> result list(const list_spec &which, Each each, redlock::report &why)
    {
        detail::visit<listed, Each> visit{each};
        redlock_list_spec raw = detail::to_raw(which);
        redlock_result made = redlock_list(native_handle(), &raw, visit.one, &visit, why.prepare());

        visit.rethrow();
        return static_cast<result>(made);
    }
    /* Tells each(const redlock::event &) what happens, until it returns false (then canceled) or something is
     * wrong. */
    template <class Each> result watch(const list_spec &which, Each each, redlock::report &why)
    {
        detail::visit<event, Each> visit{each};
        redlock_list_spec raw = detail::to_raw(which);
        redlock_result made = redlock_watch(native_handle(), &raw, visit.one, &visit, why.prepare());

        visit.rethrow();
        return static_cast<result>(made);
    }
    /* Waits until nobody holds a name, and takes nothing. */
    void wait(std::string_view name)
    {
        detail::or_throw([&](redlock::report &why) { return wait(name, forever(), why); });
    }
    result wait(std::string_view name, std::chrono::milliseconds wait, redlock::report &why)
    {
        return static_cast<result>(
            redlock_wait(native_handle(), name.data(), name.size(), to_wait(wait), why.prepare()));
    }
    /* Takes a lock away from the holder of that id: see redlock_break(). A grace below zero: at once. */
    void break_lock(std::string_view name, std::string_view id, std::chrono::milliseconds grace = {})
    {
        detail::or_throw([&](redlock::report &why) { return break_lock(name, id, grace, why); });
    }
    result break_lock(std::string_view name, std::string_view id, std::chrono::milliseconds grace,
                      redlock::report &why)
    {
        redlock_break_spec raw = detail::to_break(name, id, grace);

        return static_cast<result>(redlock_break(native_handle(), &raw, why.prepare()));
    }
    /* The same of a holder of a semaphore, only if it has that slot. */
    void break_slot(std::string_view name, std::uint32_t slot, std::string_view id,
                    std::chrono::milliseconds grace = {})
    {
        detail::or_throw([&](redlock::report &why) { return break_slot(name, slot, id, grace, why); });
    }
    result break_slot(std::string_view name, std::uint32_t slot, std::string_view id,
                      std::chrono::milliseconds grace, redlock::report &why)
    {
        redlock_break_spec raw = detail::to_break(name, id, grace, slot + 1);

        return static_cast<result>(redlock_break(native_handle(), &raw, why.prepare()));
    }
    /* Changes one key of one node without a lock, by WATCH, MULTI and EXEC.
     * change(std::optional<std::string_view>) gets the value, none when there is no such key, and returns a
     * std::optional<std::string>: the new one, or none to delete the key. It runs anew when somebody else was
     * quicker; what it throws leaves the key alone, and is thrown here. */
    template <class Change>
    void update(std::string_view key, Change change, std::uint32_t node = 0, std::uint32_t tries = 0)
    {
        detail::or_throw(
            [&](redlock::report &why) { return update(key, std::move(change), node, tries, why); });
    }
    template <class Change>
    result update(std::string_view key, Change change, std::uint32_t node, std::uint32_t tries,
                  redlock::report &why)
    {
        detail::updating<Change> doing{change};
        redlock_result made = redlock_update(native_handle(), node, key.data(), key.size(), doing.run, &doing,
                                             tries, why.prepare());

        if (doing.thrown != nullptr)
            std::rethrow_exception(doing.thrown);
        return static_cast<result>(made);
    }
    /* Notes at all nodes that something of this name was done, for as long as that is kept: see
     * redlock_mark(). Meant for holders of a lock. */
    void mark(std::string_view name, std::chrono::milliseconds age, std::chrono::milliseconds keep)
    {
        detail::or_throw([&](redlock::report &why) { return mark(name, age, keep, why); });
    }
    result mark(std::string_view name, std::chrono::milliseconds age, std::chrono::milliseconds keep,
                redlock::report &why)
    {
        return static_cast<result>(redlock_mark(native_handle(), name.data(), name.size(), age.count(),
                                                keep.count(), why.prepare()));
    }
    /* How long ago that was, by the nodes' clocks; none when it is not known to have been done. */
    std::optional<std::chrono::milliseconds> marked(std::string_view name)
    {
        redlock::report why;
        std::int64_t age_ms = 0;
        auto made = static_cast<result>(
            redlock_marked(native_handle(), name.data(), name.size(), &age_ms, why.prepare()));

        if (made == result::ok)
            return std::chrono::milliseconds(age_ms);
        if (made != result::not_held)
            throw_error(why);
        return std::nullopt;
    }
    /* Waits until so many parties have come, and goes on with them: see redlock_barrier().
     * waiting(std::uint32_t) hears some times a second how many wait, and ends the wait by returning
     * false. */
    void barrier(std::string_view name, std::uint32_t parties)
    {
        detail::or_throw([&](redlock::report &why) {
            return barrier(
                name, parties, forever(), [](std::uint32_t) {}, why);
        });
    }
    template <class Waiting>
    result barrier(std::string_view name, std::uint32_t parties, std::chrono::milliseconds wait,
                   Waiting waiting, redlock::report &why, std::chrono::milliseconds lease = {})
    {
        detail::meeting<Waiting> meeting{waiting};
        redlock_barrier_spec raw = REDLOCK_BARRIER_SPEC_INIT;

        raw.name = name.data();
        raw.name_length = name.size();
        raw.parties = parties;
        raw.lease_ms = detail::to_ms32(lease);
        raw.waiting = meeting.look;
        raw.context = &meeting;
        redlock_result made = redlock_barrier(native_handle(), &raw, to_wait(wait), why.prepare());
        if (meeting.thrown != nullptr)
            std::rethrow_exception(meeting.thrown);
        return static_cast<result>(made);
    }
    /* The operator's word that no lock can be held anywhere: see redlock_init_nodes(). */
    void init_nodes(bool force = false)
    {
        detail::or_throw([&](redlock::report &why) { return init_nodes(force, why); });
    }
    result init_nodes(bool force, redlock::report &why)
    {
        return static_cast<result>(redlock_init_nodes(native_handle(), force ? 1 : 0, why.prepare()));
    }
    redlock::stats stats() const
    {
        redlock::stats made = REDLOCK_STATS_INIT;

        (void)redlock_client_stats(native_handle(), &made);
        return made;
    }
    /* All zero when there is no such node. */
    redlock::node_stats node_stats(std::uint32_t node) const
    {
        redlock::node_stats made = REDLOCK_NODE_STATS_INIT;

        (void)redlock_client_node_stats(native_handle(), node, &made);
        return made;
    }

    /* Both kinds of statistics in Prometheus' text format; empty when a label is wrong. */
    std::string prometheus(const std::vector<redlock_label> &labels = {}) const
    {
        auto count = static_cast<std::uint32_t>(labels.size());
        redlock_result result = REDLOCK_INVALID;
        std::size_t length = 0;
        std::string text;

        /* Numbers grow between two calls; a wrong label stays wrong. */
        for (int tries = 0; tries < 8 && result == REDLOCK_INVALID; tries++) {
            text.resize(length + 256);
            result = redlock_stats_prometheus(native_handle(), labels.data(), count, text.data(), text.size(),
                                              &length);
        }
        text.resize(result == REDLOCK_OK ? length : 0);
        return text;
    }
    /* Asks every node about itself; what it says is in node_facts() then. */
    void examine()
    {
        detail::or_throw([&](redlock::report &why) { return examine(why); });
    }
    result examine(redlock::report &why)
    {
        return static_cast<result>(redlock_examine(native_handle(), why.prepare()));
    }
    /* All zero when there is no such node. */
    redlock::node_facts node_facts(std::uint32_t node) const
    {
        redlock::node_facts made = REDLOCK_NODE_FACTS_INIT;

        (void)redlock_client_node_facts(native_handle(), node, &made);
        return made;
    }

    /* ---- asynchronously; done(lock, const report_view &), or done(const report_view &) ---- */

    /* Without `began` they throw when the call cannot begin; with it, the request is empty then. */
    template <class Done> request acquire_async(const wanted &what, Done done)
    {
        return acquire_async(what, forever(), std::move(done));
    }
    template <class Done> request acquire_async(const wanted &what, std::chrono::milliseconds wait, Done done)
    {
        return detail::begin_or_throw(
            [&](result &began) { return acquire_async(what, wait, std::move(done), began); });
    }
    template <class Done>
    request acquire_async(const wanted &what, std::chrono::milliseconds wait, Done done, result &began)
    {
        auto core = core_; /* the callable may end this object before the call returns */
        redlock_request id = 0;

        began = static_cast<result>(launch_acquire(core, what.get(), wait, std::move(done), &id));
        return request(core, id);
    }
    template <class Done> request adopt_async(const wanted &what, std::string_view owner, Done done)
    {
        return detail::begin_or_throw(
            [&](result &began) { return adopt_async(what, owner, std::move(done), began); });
    }
    template <class Done>
    request adopt_async(const wanted &what, std::string_view owner, Done done, result &began)
    {
        began = result::misuse;
        if (core_ == nullptr)
            return request();
        auto core = core_;
        auto held = detail::prepare(core, what.get());
        detail::raw_spec raw(what.get(), held.get());
        redlock_request id = 0;

        began = static_cast<result>(detail::launch(
            core, &held, std::move(done), &id, [&](detail::pending<Done> *own, redlock_request *number) {
                return redlock_adopt_async(core->client, raw.get(), owner.data(), owner.size(), own->acquired,
                                           own, number);
            }));
        return request(core, id);
    }
    template <class Done> request inspect_async(std::string_view name, Done done)
    {
        return detail::begin_or_throw(
            [&](result &began) { return inspect_async(name, std::move(done), began); });
    }
    template <class Done> request inspect_async(std::string_view name, Done done, result &began)
    {
        return survey(std::move(done), began, [&](detail::pending<Done> *own, redlock_request *number) {
            return redlock_inspect_async(native_handle(), name.empty() ? nullptr : name.data(), name.size(),
                                         own->finished, own, number);
        });
    }
    /* Tells each(const redlock::slot &) of every slot of a semaphore that is held, in any order; when it
     * returns false, the result is canceled. */
    template <class Each, class Done>
    request inspect_slots_async(std::string_view name, Each each, Done done, result &began)
    {
        auto one = [each = std::move(each)](const redlock_slot &raw) mutable {
            return each(detail::to_slot(raw));
        };

        return begin_list<redlock_slot>(
            std::move(one), std::move(done), began,
            [&](redlock_slot_fn tell, redlock_done_fn finished, void *own, redlock_request *id) {
                return redlock_inspect_slots_async(native_handle(), name.data(), name.size(), tell, finished,
                                                   own, id);
            });
    }
    template <class Each, class Done> request inspect_slots_async(std::string_view name, Each each, Done done)
    {
        return detail::begin_or_throw([&](result &began) {
            return inspect_slots_async(name, std::move(each), std::move(done), began);
        });
    }
    template <class Done> request release_owner_async(const wanted &what, std::string_view owner, Done done)
    {
        return detail::begin_or_throw(
            [&](result &began) { return release_owner_async(what, owner, std::move(done), began); });
    }
    template <class Done>
    request release_owner_async(const wanted &what, std::string_view owner, Done done, result &began)
    {
        detail::raw_spec raw(what.get(), nullptr);

        return survey(std::move(done), began, [&](detail::pending<Done> *own, redlock_request *number) {
            return redlock_release_spec_async(native_handle(), raw.get(), owner.data(), owner.size(),
                                              own->finished, own, number);
        });
    }
    template <class Done> request init_nodes_async(bool force, Done done)
    {
        return detail::begin_or_throw(
            [&](result &began) { return init_nodes_async(force, std::move(done), began); });
    }
    template <class Done> request init_nodes_async(bool force, Done done, result &began)
    {
        return survey(std::move(done), began, [&](detail::pending<Done> *own, redlock_request *number) {
            return redlock_init_nodes_async(native_handle(), force ? 1 : 0, own->finished, own, number);
        });
    }
    template <class Each, class Done>
    request list_async(const list_spec &which, Each each, Done done, result &began)
    {
        return walk<listed>(which, std::move(each), std::move(done), began, redlock_list_async);
    }
    template <class Each, class Done> request list_async(const list_spec &which, Each each, Done done)
    {
        return detail::begin_or_throw(
            [&](result &began) { return list_async(which, std::move(each), std::move(done), began); });
    }
    template <class Each, class Done>
    request watch_async(const list_spec &which, Each each, Done done, result &began)
    {
        return walk<event>(which, std::move(each), std::move(done), began, redlock_watch_async);
    }
    template <class Each, class Done> request watch_async(const list_spec &which, Each each, Done done)
    {
        return detail::begin_or_throw(
            [&](result &began) { return watch_async(which, std::move(each), std::move(done), began); });
    }
    template <class Done>
    request wait_async(std::string_view name, std::chrono::milliseconds wait, Done done, result &began)
    {
        return survey(std::move(done), began, [&](detail::pending<Done> *own, redlock_request *number) {
            return redlock_wait_async(native_handle(), name.data(), name.size(), to_wait(wait), own->finished,
                                      own, number);
        });
    }
    template <class Done> request wait_async(std::string_view name, std::chrono::milliseconds wait, Done done)
    {
        return detail::begin_or_throw(
            [&](result &began) { return wait_async(name, wait, std::move(done), began); });
    }
    template <class Done>
    request break_lock_async(std::string_view name, std::string_view id, std::chrono::milliseconds grace,
                             Done done, result &began)
    {
        redlock_break_spec raw = detail::to_break(name, id, grace);

        return survey(std::move(done), began, [&](detail::pending<Done> *own, redlock_request *number) {
            return redlock_break_async(native_handle(), &raw, own->finished, own, number);
        });
    }
    template <class Done>
    request break_lock_async(std::string_view name, std::string_view id, std::chrono::milliseconds grace,
                             Done done)
    {
        return detail::begin_or_throw(
            [&](result &began) { return break_lock_async(name, id, grace, std::move(done), began); });
    }
    template <class Done>
    request break_slot_async(std::string_view name, std::uint32_t slot, std::string_view id,
                             std::chrono::milliseconds grace, Done done, result &began)
    {
        redlock_break_spec raw = detail::to_break(name, id, grace, slot + 1);

        return survey(std::move(done), began, [&](detail::pending<Done> *own, redlock_request *number) {
            return redlock_break_async(native_handle(), &raw, own->finished, own, number);
        });
    }
    template <class Done>
    request break_slot_async(std::string_view name, std::uint32_t slot, std::string_view id,
                             std::chrono::milliseconds grace, Done done)
    {
        return detail::begin_or_throw(
            [&](result &began) { return break_slot_async(name, slot, id, grace, std::move(done), began); });
    }
    /* For waits without end. */
    static constexpr std::chrono::milliseconds forever() noexcept
    {
        return std::chrono::milliseconds::max();
    }

    /* A descriptor that is readable when process() should be called; -1 when the system refuses one. From
     * then on callables and coroutines run inside process(). */
    int fd()
    {
        int fd = redlock_client_fd(native_handle());

        if (fd >= 0)
            core_->in_loop.store(true);
        return fd;
    }
    void process()
    {
        (void)redlock_client_process(native_handle());
    }

#if defined(__cpp_lib_coroutine)
    /* auto lock = co_await client.co_acquire("nightly"): throws as acquire() does. The spec is copied. */
    auto co_acquire(const wanted &what, std::chrono::milliseconds wait = forever())
    {
        auto begin = [core = core_, copy = what.get(),
                      wait](const std::shared_ptr<detail::outcome<lock>> &shared) {
            auto done = [shared](lock got, const report_view &why) {
                shared->value = std::move(got);
                detail::settle(shared, why);
            };

            return launch_acquire(core, copy, wait, std::move(done), &shared->id);
        };

        return detail::awaitable<lock, decltype(begin)>(core_, std::move(begin));
    }
    /* redlock::report report = co_await client.co_inspect("nightly") */
    auto co_inspect(std::string name)
    {
        auto begin = [core = core_, name](const std::shared_ptr<detail::outcome<redlock::report>> &shared) {
            if (core == nullptr)
                return REDLOCK_MISUSE;
            auto done = [shared](const report_view &why) { detail::settle(shared, why); };

            return detail::launch(core, nullptr, std::move(done), &shared->id,
                                  [&](detail::pending<decltype(done)> *own, redlock_request *number) {
                                      return redlock_inspect_async(core->client,
                                                                   name.empty() ? nullptr : name.data(),
                                                                   name.size(), own->finished, own, number);
                                  });
        };

        return detail::awaitable<redlock::report, decltype(begin)>(core_, std::move(begin));
    }
#endif

  private:
    explicit client(std::shared_ptr<detail::core> core) noexcept : core_(std::move(core))
    {
    }

    static options for_nodes(std::string_view nodes)
    {
        options made;

        made.nodes = nodes;
        return made;
    }
    static std::int64_t to_wait(std::chrono::milliseconds wait)
    {
        return wait == forever() ? REDLOCK_WAIT_FOREVER : detail::to_ms(wait);
    }

    template <class Call> lock begin(const spec &what, redlock::report &why, Call call)
    {
        redlock_lock *handle = nullptr;

        if (core_ == nullptr) {
            why.refuse(result::misuse, "the client is closed");
            return lock();
        }
        auto held = detail::prepare(core_, what);
        detail::raw_spec raw(what, held.get());

        if (call(raw.get(), &handle) != REDLOCK_OK)
            return lock();
        return lock(std::move(held), handle);
    }
    lock take(const spec &what, std::int64_t wait_ms, redlock::report &why)
    {
        return begin(what, why, [&](const redlock_spec *spec, redlock_lock **handle) {
            return redlock_acquire(core_->client, spec, wait_ms, handle, why.prepare());
        });
    }

    template <class Done>
    static redlock_result launch_acquire(const std::shared_ptr<detail::core> &core, const spec &what,
                                         std::chrono::milliseconds wait, Done done, redlock_request *id)
    {
        if (core == nullptr)
            return REDLOCK_MISUSE;
        auto held = detail::prepare(core, what);
        detail::raw_spec raw(what, held.get());

        return detail::launch(core, &held, std::move(done), id,
                              [&](detail::pending<Done> *own, redlock_request *number) {
                                  return redlock_acquire_async(core->client, raw.get(), to_wait(wait),
                                                               own->acquired, own, number);
                              });
    }
    template <class Done>
    redlock_result launch_acquire(const spec &what, std::chrono::milliseconds wait, Done done,
                                  redlock_request *id)
    {
        return launch_acquire(core_, what, wait, std::move(done), id);
    }
    template <class Item, class Each, class Done, class Begin>
    request walk(const list_spec &which, Each each, Done done, result &began, Begin start)
    {
        redlock_list_spec raw = detail::to_raw(which);

        return begin_list<Item>(std::move(each), std::move(done), began,
                                [&](auto *one, redlock_done_fn finished, void *own, redlock_request *id) {
                                    return start(native_handle(), &raw, one, finished, own, id);
                                });
    }
    template <class Item, class Each, class Done, class Begin>
    request begin_list(Each each, Done done, result &began, Begin start)
    {
        using pending = detail::pending_list<Item, Each, Done>;
        auto core = core_;
        auto own = std::unique_ptr<pending>(new pending{core, std::move(each), std::move(done)});
        redlock_request id = 0;

        began = static_cast<result>(start(own->one, own->finished, own.get(), &id));
        if (began == result::ok)
            (void)own.release(); /* the callback's, which may have run already */
        return request(core, id);
    }
    template <class Done, class Begin> request survey(Done done, result &began, Begin start)
    {
        auto core = core_;
        redlock_request id = 0;

        began = static_cast<result>(detail::launch(core, nullptr, std::move(done), &id, start));
        return request(core, id);
    }

#if defined(__cpp_lib_jthread)
    lock take(const spec &what, std::int64_t wait_ms, std::stop_token stop, redlock::report &why)
    {
        if (core_ == nullptr || core_->in_loop.load() || detail::frame::any()) {
            why.refuse(result::misuse, "a wait that can be stopped needs a client without an event loop, "
                                       "outside its callbacks");
            return lock();
        }
        std::mutex mutex;
        std::condition_variable ended;
        bool over = false;
        lock got;
        redlock_request id = 0;
        redlock_report *copy = why.prepare(); /* callables must not throw */
        auto wait = wait_ms == REDLOCK_WAIT_FOREVER ? forever() : std::chrono::milliseconds(wait_ms);
        auto done = [&](lock acquired, const report_view &seen) {
            std::lock_guard<std::mutex> guard(mutex);

            got = std::move(acquired);
            (void)redlock_report_copy(copy, &seen.raw());
            over = true;
            ended.notify_all();
        };
        redlock_result began = launch_acquire(what, wait, std::move(done), &id);

        if (began != REDLOCK_OK) {
            why.refuse(static_cast<result>(began), "the call could not begin");
            return lock();
        }
        std::stop_callback stopping(stop, [&] { (void)request(core_, id).cancel(); });
        std::unique_lock<std::mutex> guard(mutex);

        ended.wait(guard, [&] { return over; });
        return got;
    }
#endif

    std::shared_ptr<detail::core> core_;
};

/* ---- for std::unique_lock, std::scoped_lock and std::lock_guard ---------------------------------------- */

/* A name as a mutex: it meets the requirements of TimedLockable. Threads and processes that lock it exclude
 * each other. With spec::reentrant, a thread may lock it again, and unlocks it as often. */
class mutex
{
  public:
    /* The client has to live as long. */
    mutex(client &of, const detail::wanted &what) : client_(of), spec_(what.get())
    {
    }
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;

    void lock()
    {
        keep(client_.acquire(spec_));
    }
    bool try_lock()
    {
        return keep(client_.try_acquire(spec_));
    }
    template <class Rep, class Period> bool try_lock_for(const std::chrono::duration<Rep, Period> &wait)
    {
        return keep(client_.try_acquire_for(spec_, wait));
    }
    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &until)
    {
        return keep(client_.try_acquire_until(spec_, until));
    }
    /* Says nothing when it was lost meanwhile, as guards call it in their destructors: ask lost() before. */
    void unlock() noexcept
    {
        redlock::lock released;
        std::lock_guard<std::mutex> guard(own_);

        if (thread_ != std::this_thread::get_id()) /* it was lost, and another thread has it now */
            return;
        released.swap(locks_.back()); /* and released when the guard is gone */
        locks_.pop_back();
        if (locks_.empty())
            thread_ = std::thread::id();
    }
    /* What the thread that locked it may ask. */
    bool lost() const noexcept
    {
        std::lock_guard<std::mutex> guard(own_);

        return thread_ != std::this_thread::get_id() || locks_.back().lost();
    }
    std::uint64_t fence() const noexcept
    {
        std::lock_guard<std::mutex> guard(own_);

        return thread_ == std::this_thread::get_id() ? locks_.back().fence() : 0;
    }

  private:
    bool keep(redlock::lock taken)
    {
        if (!taken)
            return false;
        std::vector<redlock::lock> freed; /* what a thread had lost, when the guard is gone */
        std::lock_guard<std::mutex> guard(own_);

        if (!spec_.reentrant || thread_ != std::this_thread::get_id()) {
            freed.swap(locks_);
            thread_ = std::thread::id();
        }
        locks_.push_back(std::move(taken));
        thread_ = std::this_thread::get_id();
        return true;
    }

    client &client_;
    spec spec_;
    mutable std::mutex own_{};
    std::vector<redlock::lock> locks_{}; /* of the thread; one, or more when it has locked it again */
    std::thread::id thread_{};
};

/* A name as a shared mutex, for std::shared_lock: it meets the requirements of SharedTimedLockable, too.
 * Several threads and processes may share it while nobody has locked it alone. */
class shared_mutex : public mutex
{
  public:
    /* Of the spec, `kind` is that of those who lock it alone. */
    shared_mutex(client &of, const detail::wanted &what) : mutex(of, what), sharing_(of), shared_(what.get())
    {
        shared_.kind = kind::shared;
    }

    void lock_shared()
    {
        keep(sharing_.acquire(shared_));
    }
    bool try_lock_shared()
    {
        return keep(sharing_.try_acquire(shared_));
    }
    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &wait)
    {
        return keep(sharing_.try_acquire_for(shared_, wait));
    }
    template <class Clock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &until)
    {
        return keep(sharing_.try_acquire_until(shared_, until));
    }
    void unlock_shared() noexcept
    {
        redlock::lock released;
        std::lock_guard<std::mutex> guard(own_);
        auto found = locks_.find(std::this_thread::get_id());

        if (found == locks_.end())
            return;
        released.swap(found->second);
        locks_.erase(found);
    }
    /* What a thread that shares it may ask. */
    bool lost_shared() const noexcept
    {
        std::lock_guard<std::mutex> guard(own_);
        auto found = locks_.find(std::this_thread::get_id());

        return found == locks_.end() || found->second.lost();
    }
    std::uint64_t fence_shared() const noexcept
    {
        std::lock_guard<std::mutex> guard(own_);
        auto found = locks_.find(std::this_thread::get_id());

        return found != locks_.end() ? found->second.fence() : 0;
    }

  private:
    bool keep(redlock::lock taken)
    {
        if (!taken)
            return false;
        std::lock_guard<std::mutex> guard(own_);

        locks_[std::this_thread::get_id()].swap(taken);
        return true;
    }

    client &sharing_;
    spec shared_;
    mutable std::mutex own_{};
    std::map<std::thread::id, redlock::lock> locks_{};
};

} // namespace redlock

#endif
