/*
 * The header as it was before a field was appended to every struct that may grow: what a program has that was
 * built long ago. It is not part of the library and does not change with it.
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
#define REDLOCK_VERSION_NUMBER 100  /* 10000 * major + 100 * minor + patch */
#define REDLOCK_NODES_MAX 31        /* nodes of one client */
#define REDLOCK_NAME_MAX 1024       /* bytes of key prefix and lock name together */
#define REDLOCK_OWNER_MAX 511       /* bytes of an owner value */
#define REDLOCK_TAG_MAX 128         /* bytes of redlock_spec.tag */
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
    REDLOCK_QUARANTINE = 18,   /* too few nodes are eligible to vote; the report says why and for how long */
    REDLOCK_FORBIDDEN = 19,    /* the nodes refused the credentials or the rights */
    REDLOCK_FOREIGN_TYPE = 20, /* the key holds something that is not a lock of this kind */

    /* The caller. */
    REDLOCK_INVALID = 32, /* an argument or an option is wrong; the report names it */
    /* right arguments at the wrong time: after fork, after close, beyond max_extensions */
    REDLOCK_MISUSE = 33,
    REDLOCK_NOMEM = 34, /* the allocator returned NULL; nothing was left behind */
    REDLOCK_SYSTEM = 35 /* the operating system refused a descriptor, a thread or the like */
} redlock_result;

/* What one node answered in the last round. */
typedef enum redlock_verdict {
    REDLOCK_VERDICT_SILENT = 0,     /* no answer within node_timeout_ms */
    REDLOCK_VERDICT_GRANTED = 1,    /* it did what it was asked: granted, extended, released, admitted */
    REDLOCK_VERDICT_HELD = 2,       /* acquire and inspect: another owner's key is there */
    REDLOCK_VERDICT_INELIGIBLE = 3, /* reachable, but must not vote: cause and detail say why */
    REDLOCK_VERDICT_FAILED = 4,     /* unreachable, or it answered with an error: cause and detail have it */
    REDLOCK_VERDICT_PENDING = 5,    /* the round was decided before it answered */
    REDLOCK_VERDICT_FREE = 6,       /* inspect: nobody's key is there */
    REDLOCK_VERDICT_NOT_HELD = 7    /* extend, release and adopt: this owner's key is not there */
} redlock_verdict;

/* What is wrong with one node, for programs; redlock_node_report.detail has it in words. More may be added:
 * treat numbers that you do not know as REDLOCK_CAUSE_ERROR. */
typedef enum redlock_cause {
    REDLOCK_CAUSE_NONE = 0,

    /* It cannot be reached. */
    REDLOCK_CAUSE_CONNECTING = 1,  /* the first connection has not been made yet */
    REDLOCK_CAUSE_REFUSED = 2,     /* connection refused: nothing listens there */
    REDLOCK_CAUSE_UNREACHABLE = 3, /* no route, no descriptor, or the connection broke before the answer */
    REDLOCK_CAUSE_TIMED_OUT = 4,   /* no connection or no answer in time */
    REDLOCK_CAUSE_SILENT = 5,      /* it still owes older answers, and was not asked again */
    REDLOCK_CAUSE_RESOLVE = 6,     /* its name could not be looked up */
    REDLOCK_CAUSE_TLS = 7,         /* TLS failed: certificate, protocol, or no TLS there */
    REDLOCK_CAUSE_PROTOCOL = 8,    /* it does not speak the Redis protocol, or answered something else */

    /* It does not let us. */
    REDLOCK_CAUSE_CREDENTIALS = 9, /* NOAUTH, WRONGPASS: user or password is missing or wrong */
    REDLOCK_CAUSE_RIGHTS = 10,     /* NOPERM: the user lacks a right */

    /* It answers, but cannot do it now, or cannot do it at all. */
    REDLOCK_CAUSE_REPLICA = 11,      /* it is a replica (READONLY), and only masters vote */
    REDLOCK_CAUSE_LOADING = 12,      /* LOADING, MASTERDOWN: it has just started */
    REDLOCK_CAUSE_MEMORY = 13,       /* OOM, or this process has no memory to ask it */
    REDLOCK_CAUSE_SCRIPT = 14,       /* BUSY: a script blocks it */
    REDLOCK_CAUSE_DISK = 15,         /* MISCONF, NOREPLICAS: it refuses writes */
    REDLOCK_CAUSE_CLUSTER = 16,      /* MOVED and the like: it is part of a cluster */
    REDLOCK_CAUSE_SENTINEL = 17,     /* it is a sentinel, which stores nothing */
    REDLOCK_CAUSE_TOO_OLD = 18,      /* it is too old for what guarded mode needs */
    REDLOCK_CAUSE_FOREIGN_TYPE = 19, /* WRONGTYPE: the key holds something that is not a lock of this kind */
    REDLOCK_CAUSE_LATE = 20,         /* the question reached it too late to be carried out */
    REDLOCK_CAUSE_ERROR = 21,        /* any other error reply */

    /* Its vote would not be safe. */
    REDLOCK_CAUSE_DUPLICATE = 22,  /* the same server under two URLs */
    REDLOCK_CAUSE_EVICTION = 23,   /* its maxmemory-policy may drop a lock */
    REDLOCK_CAUSE_QUARANTINE = 24, /* restarted or wiped: it may have lost locks that are still held */
    REDLOCK_CAUSE_FENCES = 25,     /* it may have lost fences, and too few nodes can say how high they were */
    REDLOCK_CAUSE_EPOCH = 26,      /* it is not the node it was: flushed, restarted or promoted since */
    REDLOCK_CAUSE_CLOCK_STEP = 27, /* its clock was set */
    REDLOCK_CAUSE_CLOCK_RATE = 28  /* its clock runs faster or slower than drift_ppm allows */
} redlock_cause;

/* Who holds a lock, as far as its owner value says. Fields that it does not carry are empty or 0. */
typedef struct redlock_holder {
    char id[9];    /* first 8 characters of the owner value: enough to name it, too little to forge it */
    char host[65]; /* where it was taken */
    char user[33]; /* by whom */
    char why[129]; /* the words given in redlock_spec.why */
    uint32_t pid;  /* process id on that host */
    uint32_t tag_length;
    int64_t since_ms;                   /* wall clock, milliseconds since 1970 */
    unsigned char tag[REDLOCK_TAG_MAX]; /* redlock_spec.tag, tag_length bytes */
    uint64_t reserved[8];               /* 0 */
} redlock_holder;

/* One node in a report. The texts live in the report's details, until those are used again or freed. */
typedef struct redlock_node_report {
    size_t size; /* sizeof(redlock_node_report) */
    redlock_verdict verdict;
    redlock_cause cause;    /* what is wrong with it; REDLOCK_CAUSE_NONE when nothing is known to be */
    uint32_t eligible;      /* 1 when the node may vote, as far as is known now */
    uint32_t notifies;      /* 1 when it pushes notice of a release to waiters; 0: they have to ask again */
    int64_t eligible_in_ms; /* quarantine left; 0 when it is eligible, -1 when that cannot be said */
    int64_t latency_us;     /* from question to answer; -1 when there was none */
    int64_t ttl_left_ms;    /* of the key that is there; -1 never expires, -2 not known */
    uint64_t fence;         /* the highest fence the node told, 0 none */
    const char *url;        /* the node, without password */
    const char *detail;     /* the cause in words; empty when there is nothing to say */
    const char *owner;      /* inspect: the owner value seen there, and a NUL behind it; NULL none was */
} redlock_node_report;

#define REDLOCK_NODE_REPORT_INIT REDLOCK_INIT_(redlock_node_report)

/* A waiter for a lock, in the report of an inspection. */
typedef struct redlock_waiter {
    size_t size;        /* sizeof(redlock_waiter) */
    uint32_t count;     /* callers of that client who wait for it together */
    uint32_t place;     /* in the line of a fair lock, 1 is the next; 0 waits for an ordinary one */
    redlock_holder who; /* since_ms: since when they wait; the id is empty */
} redlock_waiter;

#define REDLOCK_WAITER_INIT REDLOCK_INIT_(redlock_waiter)

/* What a report says of each node and waiter, some 30 kB. Made once, used for any number of reports, one at a
 * time. */
typedef struct redlock_details redlock_details;

typedef struct redlock_report {
    size_t size; /* sizeof(redlock_report) */
    /* Where each node's part goes, from redlock_details_new(); default NULL: nobody wants it. Kept from call
     * to call. The report that a callback gets always has them. */
    redlock_details *details;
    redlock_result result;
    uint32_t node_count;
    uint32_t quorum;
    uint32_t rounds;  /* how many rounds it took */
    uint32_t granted; /* nodes of the last round by verdict */
    uint32_t held;
    uint32_t free;
    uint32_t not_held;
    uint32_t eligible;          /* nodes that may vote, as far as is known now */
    uint32_t waiting;           /* inspect: callers known to wait; a wait below a second is not visible */
    uint32_t waiter_count;      /* how many of them redlock_report_waiter() has: those who come first */
    int64_t waited_ms;          /* from call to result */
    int64_t validity_ms;        /* left at the time of the report; 0 when nothing is held */
    uint64_t fence;             /* of the lock that was acquired, 0 when it has none */
    int64_t holder_ttl_left_ms; /* -1 never expires, -2 not known */
    /* Who holds it, as far as was seen: named by a quorum of nodes or, when the call did not wait for all of
     * them, by each that named anybody. Empty id when nobody, or when they named several and none is known to
     * have a quorum; redlock_inspect() asks all nodes. */
    redlock_holder holder;
} redlock_report;

#define REDLOCK_REPORT_INIT REDLOCK_INIT_(redlock_report)

/* Memory for everything the library keeps, but for a few bytes per thread that outlive clients. Called from
 * any thread. */
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
    REDLOCK_GUARDED = 0, /* a node that may have lost locks does not vote, and every lock carries a fence */
    /* SET NX PX and compare-and-delete only: no fence, no guard against nodes that lost locks */
    REDLOCK_PLAIN = 1
} redlock_mode;

typedef struct redlock_options {
    size_t size;            /* sizeof(redlock_options) */
    const char *nodes;      /* node URLs separated by commas or white space; 1 to 31 of them */
    const char *key_prefix; /* put before every name; default none */
    redlock_mode mode;      /* default REDLOCK_GUARDED; all clients of a fleet should agree */
    /* Longest TTL of this client, and how long a node that was restarted or wiped is quarantined. The same
     * for all clients of a fleet: a lower one may end another's quarantine early. Default 60000. */
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
    uint32_t retry_min_ms; /* shortest rest before nodes that do not notify are asked again; default 10 */
    uint32_t retry_max_ms; /* longest; default 500 */
    const redlock_allocator *allocator;                                    /* default: malloc and free */
    void (*log)(void *context, redlock_log_level level, const char *line); /* default none */
    void *log_context;
    void (*trace)(void *context, const char *line); /* every step of every lock, as text; default none */
} redlock_options;

#define REDLOCK_OPTIONS_INIT REDLOCK_INIT_(redlock_options)

/* Runs once when a lock is lost: at the latest when its validity ends, even if the network hangs. What nodes
 * still have of it is released when it has returned. Runs on a thread of the library, or on the one that
 * closes the client. It may call anything but redlock_lock_free() of this lock and redlock_client_close().
 * The report is gone when it returns. */
typedef void (*redlock_lost_fn)(void *context, redlock_lock *lock, const redlock_report *report);

/* Runs after every renewal round; result REDLOCK_OK renewed, anything else: it did not reach a quorum and
 * will be tried again while validity lasts. Same rules as redlock_lost_fn. */
typedef void (*redlock_renewed_fn)(void *context, redlock_lock *lock, const redlock_report *report);

/* Who comes next when several want a lock. More kinds may come; a library that does not know one says
 * REDLOCK_INVALID. */
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
    const char *why;         /* shown to everybody who waits; default nothing */
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

/* Cancels what is under way (callbacks run with REDLOCK_CANCELED), sends what still has to be released,
 * waiting at most node_timeout_ms for it, and frees the client. Locks that were neither released nor freed
 * stop being renewed and expire at the nodes by themselves; their handles stay valid for redlock_lock_free().
 * Callbacks that are still due run on the closing thread. Not to be called from a callback. */
REDLOCK_API void redlock_client_close(redlock_client *client);

/* How many nodes there are, and the URL of one of them (from 0) without its password; NULL: there is no such
 * node. */
REDLOCK_API uint32_t redlock_client_node_count(const redlock_client *client);
REDLOCK_API const char *redlock_client_node_url(const redlock_client *client, uint32_t node);

/* ---- reports ------------------------------------------------------------------------------------------- */

/* Room for what a report says of single nodes and waiters; NULL: no memory. allocator NULL: malloc and free.
 * Put it in redlock_report.details, of one report at a time; free it when no report is used with it any
 * more. */
REDLOCK_API redlock_details *redlock_details_new(const redlock_allocator *allocator);
REDLOCK_API void redlock_details_free(redlock_details *details);

/* Copies a report, such as a callback's, which is gone when it returns; each node's part only if *copy has
 * details of its own. REDLOCK_INVALID: a `size` is wrong, or the nodes do not fit. */
REDLOCK_API redlock_result redlock_report_copy(redlock_report *copy, const redlock_report *report);

/* Fills in *node with what the report says of a node (from 0), and *waiter likewise. 1: done. 0: there is no
 * such node or waiter, the report has no details, or `size` is wrong; *node is not changed. */
REDLOCK_API int redlock_report_node(const redlock_report *report, uint32_t number, redlock_node_report *node);
REDLOCK_API int redlock_report_waiter(const redlock_report *report, uint32_t number, redlock_waiter *waiter);

/* ---- locks --------------------------------------------------------------------------------------------- */

/* Asks all nodes once. REDLOCK_OK fills in *lock; otherwise it is NULL and nothing stays behind at the
 * nodes. */
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_try_acquire(redlock_client *client,
                                                                  const redlock_spec *spec,
                                                                  redlock_lock **lock,
                                                                  redlock_report *report);

/* The same, waiting up to wait_ms (REDLOCK_WAIT_FOREVER: without end; 0: as redlock_try_acquire). Waits both
 * for other holders, whose release the nodes notify it of, and for nodes to come back; what was missing in
 * the end is the result. */
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_acquire(redlock_client *client,
                                                              const redlock_spec *spec, int64_t wait_ms,
                                                              redlock_lock **lock, redlock_report *report);

/* Goes on with a lock that another process (or an earlier one) acquired: extends it to spec->ttl_ms under the
 * owner value given. REDLOCK_NOT_HELD when a quorum of nodes no longer has it. */
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_adopt(redlock_client *client, const redlock_spec *spec,
                                                            const char *owner, size_t owner_length,
                                                            redlock_lock **lock, redlock_report *report);

/* Lengthens the lease to ttl_ms from now (0: the TTL of its spec); never shortens it. REDLOCK_LOST when
 * validity has ended, REDLOCK_NOT_HELD when a quorum no longer has it (then it is lost: on_lost runs); an
 * expired lock is never taken back. */
REDLOCK_API redlock_result redlock_extend(redlock_lock *lock, uint32_t ttl_ms, redlock_report *report);

/* Releases it on all nodes and waits for a quorum to confirm. Whatever the result, it is no longer held: what
 * could not be reached expires by itself. REDLOCK_LOST when validity had ended before, REDLOCK_NOT_HELD when
 * it was released already or a quorum did not have it any more. */
REDLOCK_API redlock_result redlock_release(redlock_lock *lock, redlock_report *report);

/* Releases a lock of which only name and owner value are known. */
REDLOCK_API redlock_result redlock_release_owner(redlock_client *client, const char *name, size_t name_length,
                                                 const char *owner, size_t owner_length,
                                                 redlock_report *report);

/* Frees the handle; cannot fail and does not talk to the nodes. A lock that is still held stops being renewed
 * and stays at the nodes until its TTL ends (which is how a lock is handed to redlock_adopt). NULL is
 * fine. */
REDLOCK_API void redlock_lock_free(redlock_lock *lock);

/* Time the holder may still rely on; 0 when it is not held. Reads a clock, no network. */
REDLOCK_API int64_t redlock_lock_validity_ms(const redlock_lock *lock);

/* A number higher than that of every lock of this name that was handed out before this one was asked for; 0
 * when the lock has none (plain mode, adopted). */
REDLOCK_API uint64_t redlock_lock_fence(const redlock_lock *lock);

/* Its name and its owner value, each with a NUL behind it, valid until redlock_lock_free(). length may be
 * NULL. Whoever knows the owner value can release the lock. */
REDLOCK_API const char *redlock_lock_name(const redlock_lock *lock, size_t *length);
REDLOCK_API const char *redlock_lock_owner(const redlock_lock *lock, size_t *length);

/* The operator's word that no lock can be held anywhere (a new fleet): admits all nodes to vote at once
 * instead of after a quarantine. If that is wrong, two clients can hold one lock. REDLOCK_OK: a quorum is
 * eligible. REDLOCK_BUSY: a lock was seen to be held, and nothing was changed; force 1 goes on all the
 * same. */
REDLOCK_API redlock_result redlock_init_nodes(redlock_client *client, int force, redlock_report *report);

/* Asks all nodes who holds a name (NULL: only how the nodes are). Takes nothing; report must not be NULL.
 * REDLOCK_OK: a quorum answered. report->holder is the owner that a quorum of all nodes has, and
 * holder_ttl_left_ms how long it will have it unless it is renewed; an empty id: nobody is known to hold it.
 * report->held counts nodes that have a key of any owner. With details, each node's owner and ttl_left_ms say
 * what it has. For a moment, nodes differ while a lock is taken or released. */
REDLOCK_API redlock_result redlock_inspect(redlock_client *client, const char *name, size_t name_length,
                                           redlock_report *report);

/* ---- asynchronous twins -------------------------------------------------------------------------------- */

/* REDLOCK_OK from an _async call means: the callback will run exactly once. Anything else: it never will.
 * Callbacks run on a thread of the library, or inside redlock_client_process() once redlock_client_fd() was
 * asked for. The report is gone when they return; the lock that comes with REDLOCK_OK is theirs to keep and
 * to free. */
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

REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_adopt_async(redlock_client *client,
                                                                  const redlock_spec *spec, const char *owner,
                                                                  size_t owner_length,
                                                                  redlock_acquired_fn done, void *context,
                                                                  redlock_request *request);
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_release_owner_async(
    redlock_client *client, const char *name, size_t name_length, const char *owner, size_t owner_length,
    redlock_done_fn done, void *context, redlock_request *request);
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_inspect_async(redlock_client *client, const char *name,
                                                                    size_t name_length, redlock_done_fn done,
                                                                    void *context, redlock_request *request);
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_init_nodes_async(redlock_client *client, int force,
                                                                       redlock_done_fn done, void *context,
                                                                       redlock_request *request);

/* Ends a request early: its callback runs with REDLOCK_CANCELED and what it had been granted is released. The
 * round of an extension or an adoption goes on: longer than wanted harms nobody. REDLOCK_NOT_HELD when it has
 * already ended. A release cannot be cancelled (REDLOCK_MISUSE). */
REDLOCK_API redlock_result redlock_cancel(redlock_client *client, redlock_request request);

/* For programs with an event loop: a descriptor that is readable when redlock_client_process() should be
 * called; -1 when the system refuses one. From then on callbacks of _async calls run only inside
 * redlock_client_process(). Renewals and on_lost do not depend on it being called. */
REDLOCK_API int redlock_client_fd(redlock_client *client);
REDLOCK_API redlock_result redlock_client_process(redlock_client *client);

/* ---- statistics ---------------------------------------------------------------------------------------- */

/* Bucket i counts durations below redlock_histogram_bound_us(i) that are in no earlier bucket: powers of the
 * square root of two, from a microsecond to more than an hour. The last one has the rest. */
#define REDLOCK_HISTOGRAM_BUCKETS 66

typedef struct redlock_histogram {
    uint64_t count;
    uint64_t sum_us;
    uint64_t buckets[REDLOCK_HISTOGRAM_BUCKETS];
} redlock_histogram;

/* The bound of a bucket, from 0; UINT64_MAX for the last one. */
REDLOCK_API uint64_t redlock_histogram_bound_us(uint32_t bucket);

typedef struct redlock_stats {
    size_t size; /* sizeof(redlock_stats) */
    /* How acquisitions ended; failed: by anything that has no count of its own. */
    uint64_t acquired, busy, timeouts, canceled, no_quorum, too_slow, quarantined, forbidden, failed;
    uint64_t rounds;                  /* it took in all */
    uint64_t fence_rounds;            /* acquisitions that needed a second round to agree on the fence */
    uint64_t extended, extend_failed; /* calls of redlock_extend() */
    uint64_t renewed, renew_failed; /* rounds of renewal; a failed one is tried again while validity lasts */
    uint64_t released, release_failed, lost;
    uint64_t held, waiting;       /* now: locks; acquisitions that wait for another holder or for nodes */
    uint64_t connected, eligible; /* now: nodes */
    int64_t lowest_validity_ms; /* the least that was left when a lock was renewed or extended; -1 none was */
    redlock_histogram acquire_ok, acquire_failed, extend, release;
} redlock_stats;

#define REDLOCK_STATS_INIT REDLOCK_INIT_(redlock_stats)

#define REDLOCK_CAUSES 64 /* more than there are causes */

typedef struct redlock_node_stats {
    size_t size;                                                        /* sizeof(redlock_node_stats) */
    uint64_t granted, held, free, not_held, ineligible, failed, silent; /* verdicts */
    uint64_t causes[REDLOCK_CAUSES]; /* of those that were ineligible, failed or silent, by redlock_cause */
    uint64_t connects, disconnects;
    uint32_t connected, eligible; /* 1 now */
    int64_t clock_offset_us;      /* its clock less this machine's, at the last look; INT64_MIN not known */
} redlock_node_stats;

#define REDLOCK_NODE_STATS_INIT REDLOCK_INIT_(redlock_node_stats)

REDLOCK_API redlock_result redlock_client_stats(redlock_client *client, redlock_stats *stats);

/* Of one node, from 0. REDLOCK_INVALID: there is no such node. */
REDLOCK_API redlock_result redlock_client_node_stats(redlock_client *client, uint32_t node,
                                                     redlock_node_stats *stats);

/* ---- words --------------------------------------------------------------------------------------------- */

/* Of the library that is linked; the macros are those of the header that was compiled with. */
REDLOCK_API const char *redlock_version(void);
REDLOCK_API uint32_t redlock_version_number(void);

REDLOCK_API const char *redlock_result_name(redlock_result result);    /* "busy", "no quorum", … */
REDLOCK_API const char *redlock_verdict_name(redlock_verdict verdict); /* "granted", "held", … */
REDLOCK_API const char *redlock_cause_name(redlock_cause cause);       /* "refused", "quarantine", … */

/* Reads who, since when and why out of an owner value; always fills in *holder. */
REDLOCK_API void redlock_holder_parse(const char *owner, size_t owner_length, redlock_holder *holder);

#ifdef __cplusplus
}
#endif
#endif
