/*
 * redlock.h: distributed locks on N independent Redis or Valkey nodes. This is the whole public API.
 * It hides every socket and thread; it does not make a program safe that ignores on_lost or the fence.
 *
 * Conventions
 * - Structs that a caller fills in start with `size`, set to sizeof of the struct (the _INIT macros do it).
 *   A zero field means the default named beside it.
 * - Every call may be made from any thread. Calls that talk to the nodes say so.
 * - After fork() the child's handles are inert: calls on them return REDLOCK_MISUSE and only close/free work.
 * - Reports are owned by the caller and may be NULL. They are filled in whatever the result, unless their own `size`
 *   or the place for the lock is wrong. A NULL client is REDLOCK_MISUSE, a NULL lock REDLOCK_INVALID.
 * - The first call on a new client waits, up to connect_timeout_ms, for its nodes to be connected.
 */
#ifndef REDLOCK_H
#define REDLOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define REDLOCK_API __attribute__((visibility("default")))
#define REDLOCK_MUST_CHECK __attribute__((warn_unused_result))
#else
#define REDLOCK_API
#define REDLOCK_MUST_CHECK
#endif

/* All zero but for `size`. */
#ifdef __cplusplus
#define REDLOCK_INIT_(type)       \
    [] {                          \
        type zero = {};           \
        zero.size = sizeof(type); \
        return zero;              \
    }()
#else
#define REDLOCK_INIT_(type)  \
    {                        \
        .size = sizeof(type) \
    }
#endif

#define REDLOCK_VERSION "0.1.0"
#define REDLOCK_NODES_MAX 31        /* nodes of one client */
#define REDLOCK_NAME_MAX 1024       /* bytes of key prefix and lock name together */
#define REDLOCK_OWNER_MAX 511       /* bytes of an owner value */
#define REDLOCK_TTL_MIN_MS 50       /* shorter leases leave no time to use them */
#define REDLOCK_TTL_MAX_MS 86400000 /* one day */
#define REDLOCK_WAIT_FOREVER (-1)

/* A connection to all nodes; shared by any number of threads. */
typedef struct redlock_client redlock_client;

/* A lock that was acquired, and stays a valid handle until redlock_lock_free(), held or not. */
typedef struct redlock_lock redlock_lock;

/* Names an asynchronous request. A number, so that a late cancel is harmless. Never 0. */
typedef uint64_t redlock_request;

/* What a call came to, grouped by what a person does next. */
typedef enum redlock_result {
    REDLOCK_OK = 0,

    /* The lock: somebody else is at it. */
    REDLOCK_BUSY = 1,     /* held by another owner, and the caller did not want to wait */
    REDLOCK_TIMEOUT = 2,  /* still held by another owner when the wait ran out */
    REDLOCK_NOT_HELD = 3, /* the handle's lock was released, or is not on a quorum of nodes */
    REDLOCK_LOST = 4,     /* it was held, and its validity ended before it was released */
    REDLOCK_CANCELED = 5, /* redlock_cancel() or redlock_client_close() ended the request */

    /* The nodes: something is wrong with the fleet. */
    REDLOCK_NO_QUORUM = 16,    /* too few nodes could be reached */
    REDLOCK_TOO_SLOW = 17,     /* a quorum granted, but too late for any validity to be left */
    REDLOCK_QUARANTINE = 18,   /* too few nodes are fit to vote; the report says why and for how long */
    REDLOCK_DENIED = 19,       /* the nodes refused the credentials or the rights */
    REDLOCK_FOREIGN_TYPE = 20, /* the key holds something that is not a lock of this kind */

    /* The caller. */
    REDLOCK_INVALID = 32, /* an argument or an option is wrong; the report names it */
    REDLOCK_MISUSE =
        33, /* right arguments at the wrong time: after fork, after close, beyond max_extensions */
    REDLOCK_NOMEM = 34, /* the allocator returned NULL; nothing was left behind */
    REDLOCK_SYSTEM = 35 /* the operating system refused a descriptor, a thread or the like */
} redlock_result;

/* What one node answered in the last round. */
typedef enum redlock_verdict {
    REDLOCK_VERDICT_SILENT = 0,  /* no answer within node_timeout_ms */
    REDLOCK_VERDICT_GRANTED = 1, /* yes (for redlock_inspect: the name is free there) */
    REDLOCK_VERDICT_DENIED = 2,  /* held by another owner (for extend and release: not held by this one) */
    REDLOCK_VERDICT_UNFIT = 3,   /* reachable, but must not vote: detail says why */
    REDLOCK_VERDICT_BROKEN = 4,  /* unreachable, or it answered with an error: detail has it */
    REDLOCK_VERDICT_PENDING = 5  /* the round was decided before it answered */
} redlock_verdict;

/* Who holds a lock, as far as its owner value tells. Fields that it does not carry are empty or 0. */
typedef struct redlock_holder {
    char id[9];       /* first 8 characters of the owner value: enough to name it, too little to forge it */
    char host[65];    /* where it was taken */
    char user[33];    /* by whom */
    char why[129];    /* the words given in redlock_spec.why */
    uint32_t pid;     /* process id on that host */
    int64_t since_ms; /* wall clock, milliseconds since 1970 */
} redlock_holder;

typedef struct redlock_node_report {
    redlock_verdict verdict;
    uint32_t fit;       /* 1 when the node may vote as far as is known now */
    int64_t latency_us; /* from question to answer; -1 when there was none */
    uint32_t
        tells; /* 1 when it tells waiters of a release, as far as is known; 0: they ask it now and then */
    int64_t ttl_left_ms;               /* of the key that is there; -1 it has no end, -2 not known */
    uint64_t fence;                    /* the highest fence the node told, 0 none */
    char url[160];                     /* the node, without password */
    char detail[160];                  /* why, in words; empty when there is nothing to say */
    char owner[REDLOCK_OWNER_MAX + 1]; /* owner value seen there, cut at a NUL; only from redlock_inspect */
} redlock_node_report;

/* Somebody who waits for a lock. */
typedef struct redlock_waiter {
    redlock_holder who; /* since_ms: since when they wait; the id is empty */
    uint32_t count;     /* callers of that client who wait for it together */
    uint32_t place;     /* in the line of a fair lock, 1 is the next; 0 waits for an ordinary one */
} redlock_waiter;

#define REDLOCK_WAITERS_MAX 16

typedef struct redlock_report {
    size_t size; /* sizeof(redlock_report) */
    redlock_result result;
    uint32_t node_count;
    uint32_t quorum;
    uint32_t granted; /* verdicts of the last round, counted */
    uint32_t denied;
    uint32_t rounds;     /* how many rounds it took */
    int64_t waited_ms;   /* from call to result */
    int64_t validity_ms; /* left at the time of the report; 0 when nothing is held */
    uint64_t fence;      /* of the lock that was acquired, 0 when it has none */
    /* Who holds it, as far as was seen: named by a quorum of nodes or, when the call did not wait for all of them, by each that
     * named anybody. Empty id when nobody, or when they named several and none is known to have a quorum; redlock_inspect()
     * asks all nodes. */
    redlock_holder holder;
    int64_t holder_ttl_left_ms; /* -1 no end, -2 not known */
    char line[320];             /* the result in one readable line, without a newline */
    uint32_t
        waiting; /* callers known to wait, only from redlock_inspect; waits below a second are not told */
    uint32_t waiter_count; /* how many entries follow: those who come first */
    redlock_waiter waiters[REDLOCK_WAITERS_MAX];
    redlock_node_report nodes[REDLOCK_NODES_MAX];
} redlock_report;

#define REDLOCK_REPORT_INIT REDLOCK_INIT_(redlock_report)

/* Memory for everything the library keeps, but for a few bytes per thread that outlive clients. Called from any thread. */
typedef struct redlock_allocator {
    void *(*allocate)(void *context, size_t size);
    void (*release)(void *context, void *memory, size_t size);
    void *context;
} redlock_allocator;

typedef enum redlock_log_level {
    REDLOCK_LOG_ERROR = 0,
    REDLOCK_LOG_WARNING = 1,
    REDLOCK_LOG_INFO = 2,
    REDLOCK_LOG_DEBUG = 3
} redlock_log_level;

/* What the nodes are asked to do. */
typedef enum redlock_mode {
    REDLOCK_GUARDED =
        0, /* a node that may have forgotten locks does not vote, and every lock carries a fence */
    REDLOCK_PLAIN =
        1 /* SET NX PX and compare-and-delete only: no fence, no guard against nodes that forget */
} redlock_mode;

typedef struct redlock_options {
    size_t size;            /* sizeof(redlock_options) */
    const char *nodes;      /* node URLs separated by commas or white space; 1 to 31 of them */
    const char *key_prefix; /* put before every name; default none */
    redlock_mode mode;      /* default REDLOCK_GUARDED; all clients of a fleet should agree */
    /* Longest TTL of this client, and how long a node that forgot sits out. The same for all clients of a fleet: a lower one
     * may end another's quarantine early. Default 60000. */
    uint32_t max_ttl_ms;
    const char *client_name; /* shown by CLIENT LIST on the nodes; default "redlock" */
    const char *user;        /* with password, for URLs that carry no credentials; default none */
    const char *password;
    const char *tls_ca_file;   /* default: the system's certificates */
    const char *tls_cert_file; /* with tls_key_file: client certificate; default none */
    const char *tls_key_file;
    const char *host;            /* said in owner values; default: gethostname() */
    const char *login;           /* said in owner values; default: the user's name */
    uint32_t anonymous;          /* 1: owner values are random bytes only and say nothing of the holder */
    uint32_t connect_timeout_ms; /* connect, TLS and handshake together; default 1000 */
    uint32_t node_timeout_ms;    /* a node that has not answered by then is silent; default 500 */
    uint32_t drift_ppm;          /* how wrong clock rates may be; default 10000 (1 %) */
    uint32_t retry_min_ms;       /* shortest rest before nodes that do not tell are asked again; default 10 */
    uint32_t retry_max_ms;       /* longest; default 500 */
    const redlock_allocator *allocator;                                    /* default: malloc and free */
    void (*log)(void *context, redlock_log_level level, const char *line); /* default none */
    void *log_context;
    void (*trace)(void *context, const char *line); /* every step of every lock, as text; default none */
    void *trace_context;
    /* log and trace run in the middle of things, on any thread: they must not call the library nor fork. */
} redlock_options;

#define REDLOCK_OPTIONS_INIT REDLOCK_INIT_(redlock_options)

/* Runs once when a lock is lost: at the latest when its validity ends, even if the network hangs. What nodes still have
 * of it is released when it has returned. Runs on a thread of the library, or on the one that closes the client. It may call anything but redlock_lock_free() of this lock and
 * redlock_client_close(). */
typedef void (*redlock_lost_fn)(void *context, redlock_lock *lock, const redlock_report *report);

/* Runs after every renewal round; result REDLOCK_OK renewed, anything else: it did not reach a quorum and will
 * be tried again while validity lasts. Same rules as redlock_lost_fn. */
typedef void (*redlock_renewed_fn)(void *context, redlock_lock *lock, const redlock_report *report);

/* Who comes next when several want a lock. */
typedef enum redlock_kind {
    REDLOCK_EXCLUSIVE = 0, /* callers of one client in their order; between clients whoever is quickest */
    REDLOCK_FAIR = 1 /* everybody in the order of asking, whichever client they are of; guarded mode only */
} redlock_kind;

/* The lock a caller wants. */
typedef struct redlock_spec {
    size_t size;          /* sizeof(redlock_spec) */
    redlock_kind kind;    /* default REDLOCK_EXCLUSIVE; a fair lock and an exclusive one exclude each other */
    const char *name;     /* any bytes */
    size_t name_length;   /* default strlen(name) */
    uint32_t ttl_ms;      /* how soon a dead holder is noticed; default 15000 */
    uint32_t auto_extend; /* 1: renew it until it is released; needs on_lost */
    uint32_t renew_ms;    /* time between renewals; default ttl_ms / 3 */
    uint32_t max_extensions; /* renewals and extends together; default no limit */
    int64_t max_hold_ms;     /* lost at this age whatever happens; default no limit */
    uint32_t unbound;        /* 1: keep renewing when the acquiring thread exits; async locks always are */
    const char *why;         /* told to everybody who waits; default nothing */
    redlock_lost_fn on_lost;
    redlock_renewed_fn on_renewed; /* default none */
    void *context;                 /* given to both */
} redlock_spec;

#define REDLOCK_SPEC_INIT REDLOCK_INIT_(redlock_spec)

/* ---- client -------------------------------------------------------------------------------------------- */

/* Checks the options and starts to connect; does not wait for any node. */
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_client_open(const redlock_options *options,
                                                                  redlock_client **client,
                                                                  redlock_report *report);

/* Cancels what is under way (callbacks run with REDLOCK_CANCELED), sends what still has to be released, waiting
 * at most node_timeout_ms for it, and frees the client. Locks that were neither released nor freed stop being
 * renewed and expire at the nodes by themselves; their handles stay valid for redlock_lock_free(). Callbacks that are
 * still due run on the closing thread. Not to be called from a callback. */
REDLOCK_API void redlock_client_close(redlock_client *client);

/* How many nodes there are, and the URL of one of them (from 0) without its password. */
REDLOCK_API uint32_t redlock_client_node_count(const redlock_client *client);
REDLOCK_API const char *redlock_client_node_url(const redlock_client *client, uint32_t node);

/* ---- locks --------------------------------------------------------------------------------------------- */

/* Asks all nodes once. REDLOCK_OK fills in *lock; otherwise it is NULL and nothing stays behind at the nodes. */
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_try_acquire(redlock_client *client,
                                                                  const redlock_spec *spec,
                                                                  redlock_lock **lock,
                                                                  redlock_report *report);

/* The same, waiting up to wait_ms (REDLOCK_WAIT_FOREVER: without end; 0: as redlock_try_acquire). Waits both for other
 * holders, whose end the nodes tell, and for nodes to come back; what was missing in the end is the result. */
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_acquire(redlock_client *client,
                                                              const redlock_spec *spec, int64_t wait_ms,
                                                              redlock_lock **lock, redlock_report *report);

/* Goes on with a lock that another process (or an earlier one) acquired: extends it to spec->ttl_ms under the
 * owner value given. REDLOCK_NOT_HELD when a quorum of nodes no longer has it. */
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_adopt(redlock_client *client, const redlock_spec *spec,
                                                            const char *owner, redlock_lock **lock,
                                                            redlock_report *report);

/* Lengthens the lease to ttl_ms from now (0: the TTL of its spec); never shortens it. REDLOCK_LOST when validity
 * has ended, REDLOCK_NOT_HELD when a quorum no longer has it (then it is lost: on_lost runs); an expired lock is never
 * taken back. */
REDLOCK_API redlock_result redlock_extend(redlock_lock *lock, uint32_t ttl_ms, redlock_report *report);

/* Releases it on all nodes and waits for a quorum to confirm. Whatever the result, it is no longer held: what
 * could not be reached expires by itself. REDLOCK_LOST when validity had ended before, REDLOCK_NOT_HELD when it was
 * released already or a quorum did not have it any more. */
REDLOCK_API redlock_result redlock_release(redlock_lock *lock, redlock_report *report);

/* Releases a lock of which only name and owner value are known. */
REDLOCK_API redlock_result redlock_release_owner(redlock_client *client, const char *name, size_t name_length,
                                                 const char *owner, redlock_report *report);

/* Frees the handle; cannot fail and does not talk to the nodes. A lock that is still held stops being renewed and
 * stays at the nodes until its TTL ends (which is how a lock is handed to redlock_adopt). NULL is fine. */
REDLOCK_API void redlock_lock_free(redlock_lock *lock);

/* Time the holder may still rely on; 0 when it is not held. Reads a clock, no network. */
REDLOCK_API int64_t redlock_lock_validity_ms(const redlock_lock *lock);

/* A number higher than that of every lock of this name that was handed out before this one was asked for; 0 when the
 * lock has none (plain mode, adopted). */
REDLOCK_API uint64_t redlock_lock_fence(const redlock_lock *lock);

/* Its name and its owner value, valid until redlock_lock_free(). Whoever knows the owner value can release it. */
REDLOCK_API const char *redlock_lock_name(const redlock_lock *lock, size_t *length);
REDLOCK_API const char *redlock_lock_owner(const redlock_lock *lock);

/* The operator's word that no lock can be held anywhere (a new fleet): admits all nodes to vote at once instead of after
 * a quarantine. Said wrongly, it can put one lock into two hands. REDLOCK_OK: a quorum is fit. */
REDLOCK_API redlock_result redlock_init_nodes(redlock_client *client, redlock_report *report);

/* Asks all nodes who holds a name (NULL: only how the nodes are). Takes nothing; report must not be NULL. REDLOCK_OK: a quorum answered,
 * and each node's owner and ttl_left_ms tell what it has. report->holder is the owner that a quorum of all nodes has, and
 * holder_ttl_left_ms how long it will have it unless it is renewed; an empty id: nobody is known to hold it. report->denied
 * counts nodes that have a key of any owner. For a moment, nodes differ while a lock is taken or given back. */
REDLOCK_API redlock_result redlock_inspect(redlock_client *client, const char *name, size_t name_length,
                                           redlock_report *report);

/* ---- asynchronous twins -------------------------------------------------------------------------------- */

/* REDLOCK_OK from an _async call means: the callback will run exactly once. Anything else: it never will.
 * Callbacks run on a thread of the library, or inside redlock_client_process() once redlock_client_fd() was
 * asked for. The report is gone when they return; the lock that comes with REDLOCK_OK is theirs to keep and to free. */
typedef void (*redlock_acquired_fn)(void *context, redlock_result result, redlock_lock *lock,
                                    const redlock_report *report);
typedef void (*redlock_done_fn)(void *context, redlock_result result, const redlock_report *report);

REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_acquire_async(redlock_client *client,
                                                                    const redlock_spec *spec, int64_t wait_ms,
                                                                    redlock_acquired_fn done, void *context,
                                                                    redlock_request *request);
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_extend_async(redlock_lock *lock, uint32_t ttl_ms,
                                                                   redlock_done_fn done, void *context,
                                                                   redlock_request *request);
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_release_async(redlock_lock *lock, redlock_done_fn done,
                                                                    void *context, redlock_request *request);

/* Ends a request early: its callback runs with REDLOCK_CANCELED and what it had been granted is released.
 * An extension's round goes on: longer than wanted harms nobody. REDLOCK_NOT_HELD when it has already ended. A release
 * cannot be cancelled (REDLOCK_MISUSE). */
REDLOCK_API redlock_result redlock_cancel(redlock_client *client, redlock_request request);

/* For programs with an event loop: a descriptor that is readable when redlock_client_process() should be called;
 * -1 when the system refuses one. From then on callbacks of _async calls run only inside
 * redlock_client_process(). Renewals and on_lost do not depend on it being called. */
REDLOCK_API int redlock_client_fd(redlock_client *client);
REDLOCK_API redlock_result redlock_client_process(redlock_client *client);

/* ---- statistics ---------------------------------------------------------------------------------------- */

#define REDLOCK_HISTOGRAM_BUCKETS \
    40 /* bucket i counts what is below 2^(i/2) us and in no earlier one; the last: the rest */

typedef struct redlock_histogram {
    uint64_t count;
    uint64_t sum_us;
    uint64_t buckets[REDLOCK_HISTOGRAM_BUCKETS];
} redlock_histogram;

typedef struct redlock_node_stats {
    uint64_t granted, denied, unfit, broken, silent; /* verdicts */
    uint64_t connects, disconnects;
    redlock_histogram latency; /* of its answers */
} redlock_node_stats;

typedef struct redlock_stats {
    size_t size;                                                              /* sizeof(redlock_stats) */
    uint64_t acquired, busy, timeouts, canceled, no_quorum, too_slow, failed; /* how acquisitions ended */
    uint64_t raised; /* acquisitions that needed a second fence round */
    uint64_t rounds; /* it took in all */
    uint64_t extended, extend_failed, released, release_failed, lost;
    uint64_t held; /* now */
    redlock_histogram acquire_won, acquire_lost, extend, release;
    redlock_node_stats nodes[REDLOCK_NODES_MAX];
} redlock_stats;

#define REDLOCK_STATS_INIT REDLOCK_INIT_(redlock_stats)

REDLOCK_API redlock_result redlock_client_stats(redlock_client *client, redlock_stats *stats);

/* ---- words --------------------------------------------------------------------------------------------- */

REDLOCK_API const char *redlock_version(void);                         /* of the library that is linked */
REDLOCK_API const char *redlock_result_name(redlock_result result);    /* "busy", "no quorum", … */
REDLOCK_API const char *redlock_verdict_name(redlock_verdict verdict); /* "granted", "denied", … */

/* Reads who, since when and why out of an owner value; always fills in *holder. */
REDLOCK_API void redlock_holder_parse(const char *owner, size_t owner_length, redlock_holder *holder);

#ifdef __cplusplus
}
#endif
#endif
