/*
 * redlock.h: distributed locks on N independent Redis or Valkey nodes. This is the whole public API. It hides
 * every socket and thread. It cannot make a program safe that ignores on_lost or the fence.
 *
 * Conventions
 * - Structs that may grow start with `size`, set to sizeof of the struct (the _INIT macros do it). A zero
 *   field means the default named beside it.
 * - New fields are only ever appended. The library reads and writes no more than `size` says, so a program
 *   built against an older header keeps working. One built against a newer header works as long as it leaves
 *   the fields that this library does not know at zero, and gets REDLOCK_INVALID otherwise.
 * - Every call may be made from any thread. Calls that talk to the nodes say so.
 * - After fork() the child's handles are inert: calls on them return REDLOCK_MISUSE and only close/free work.
 * - Reports are owned by the caller and may be NULL. They are filled in whatever the result, unless their own
 *   `size` is wrong or there is no place for the lock.
 * - A NULL client is REDLOCK_MISUSE, a NULL lock REDLOCK_INVALID.
 * - Accessors take NULL: they return NULL, 0 or -1.
 * - Names and owner values are any bytes, with a length; a length of 0 means strlen().
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

#define REDLOCK_VERSION "0.2.0"
#define REDLOCK_VERSION_NUMBER 200  /* 10000 * major + 100 * minor + patch */
#define REDLOCK_NODES_MAX 31        /* nodes of one client */
#define REDLOCK_NAME_MAX 1024       /* bytes of key prefix and lock name together */
#define REDLOCK_OWNER_MAX 511       /* bytes of an owner value */
#define REDLOCK_TAG_MAX 128         /* bytes of redlock_spec.tag */
#define REDLOCK_TTL_MIN_MS 50       /* shorter leases leave no time to use them */
#define REDLOCK_TTL_MAX_MS 86400000 /* one day */
#define REDLOCK_VALUE_MAX 4194304   /* bytes of a value that redlock_update() changes */
#define REDLOCK_PARTIES_MAX 500     /* parties of a barrier */
#define REDLOCK_NAMES_MAX 16        /* names of one lock: redlock_spec.name and those of also */
#define REDLOCK_PERMITS_MAX 1000    /* redlock_spec.permits */
#define REDLOCK_WAIT_FOREVER (-1)

/* A connection to all nodes; shared by any number of threads. */
typedef struct redlock_client redlock_client;

/* A lock that was acquired, and stays a valid handle until redlock_lock_free(), held or not. */
typedef struct redlock_lock redlock_lock;

/* Names an asynchronous request. A number, so that a late cancel is harmless. Never 0. */
typedef uint64_t redlock_request;

/* How a call ended, grouped by what a person does next. */
typedef enum redlock_result {
    REDLOCK_OK = 0,

    /* The lock: somebody else has it. */
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
    /* valid arguments at the wrong time: after fork, after close, beyond max_extensions */
    REDLOCK_MISUSE = 33,
    REDLOCK_NOMEM = 34, /* the allocator returned NULL; nothing was left behind */
    REDLOCK_SYSTEM = 35 /* the operating system refused a descriptor, a thread or the like */
} redlock_result;

/* One node's answer in the last round. */
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

    /* It refuses this client. */
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
    REDLOCK_CAUSE_TOO_OLD = 18,      /* it is too old for guarded mode */
    REDLOCK_CAUSE_FOREIGN_TYPE = 19, /* WRONGTYPE: the key holds something that is not a lock of this kind */
    REDLOCK_CAUSE_LATE = 20,         /* the question reached it too late to be carried out */
    REDLOCK_CAUSE_ERROR = 21,        /* any other error reply */

    /* Its vote would not be safe. */
    REDLOCK_CAUSE_DUPLICATE = 22,  /* the same server under two URLs */
    REDLOCK_CAUSE_EVICTION = 23,   /* its maxmemory-policy may drop a lock */
    REDLOCK_CAUSE_QUARANTINE = 24, /* restarted or wiped: it may have lost locks that are still held */
    REDLOCK_CAUSE_FENCES = 25,     /* it may have lost fences, and too few nodes know how high they were */
    REDLOCK_CAUSE_EPOCH = 26,      /* it is not the node it was: flushed, restarted or promoted since */
    REDLOCK_CAUSE_CLOCK_STEP = 27, /* its clock was set */
    REDLOCK_CAUSE_CLOCK_RATE = 28, /* its clock runs faster or slower than drift_ppm allows */

    /* It answers, but the lock is not the caller's any more. */
    REDLOCK_CAUSE_BROKEN = 29 /* an operator has broken the lock: redlock_break() */
} redlock_cause;

/* Who holds a lock, as far as its owner value says. What the owner value does not say is empty or 0. */
typedef struct redlock_holder {
    char id[9];    /* first 8 characters of the owner value: enough to name it, too little to forge it */
    char host[65]; /* where it was taken */
    char user[33]; /* by whom */
    char why[129]; /* the words given in redlock_spec.why */
    uint32_t pid;  /* process id on that host */
    uint32_t tag_length;
    int64_t since_ms;                   /* wall clock, milliseconds since 1970 */
    unsigned char tag[REDLOCK_TAG_MAX]; /* redlock_spec.tag, tag_length bytes */
    int64_t ttl_ms;                     /* the TTL it was taken with; renewals keep to it */
    uint64_t broken; /* 1: an operator has broken it, and it may not know that yet: see redlock_break() */
    /* When a slot of a semaphore is reported: how many slots there are, and which one this is, from 0;
     * permits is 0 for other kinds of lock. Not part of the owner value. */
    uint32_t permits;
    uint32_t slot;
    uint64_t reserved[5]; /* 0 */
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
    uint64_t fence;         /* the highest fencing token it named; 0 none */
    const char *url;        /* the node, without password */
    const char *detail;     /* the cause in words; empty when there is nothing to say */
    const char *owner;      /* inspect: the owner value seen there, and a NUL behind it; NULL none was */
    size_t owner_length;    /* any bytes, at most REDLOCK_OWNER_MAX of them are kept */
} redlock_node_report;

#define REDLOCK_NODE_REPORT_INIT REDLOCK_INIT_(redlock_node_report)

/* A waiter for a lock, in the report of an inspection. */
typedef struct redlock_waiter {
    size_t size;        /* sizeof(redlock_waiter) */
    uint32_t count;     /* callers of that client that wait for it together */
    uint32_t place;     /* in line, 1 is the next; 0 stands in none, as older versions do */
    redlock_holder who; /* since_ms: since when they wait; the id is empty */
} redlock_waiter;

#define REDLOCK_WAITER_INIT REDLOCK_INIT_(redlock_waiter)

/* What a report says of each node and waiter, some 30 kB. Made once, and used for any number of reports, one
 * at a time. */
typedef struct redlock_details redlock_details;

typedef struct redlock_report {
    size_t size; /* sizeof(redlock_report) */
    /* Where each node's part goes, from redlock_details_new(); default NULL: it is not wanted. Kept from call
     * to call. The report that a callback gets always has details. */
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
    uint32_t waiter_count;      /* how many of them redlock_report_waiter() has: the first in line */
    int64_t waited_ms;          /* from call to result */
    int64_t validity_ms;        /* left at the time of the report; 0 when nothing is held */
    uint64_t fence;             /* of the lock that was acquired; inspect: of its latest holder; 0 none */
    int64_t holder_ttl_left_ms; /* -1 never expires, -2 not known */
    /* Who holds it, as far as was seen: named by a quorum of nodes or, when the call did not wait for all of
     * them, by every node that named a holder. The id is empty when there is none, or when nodes named
     * several and none is known to have a quorum; redlock_inspect() asks all nodes. */
    redlock_holder holder;
    char line[320]; /* the result in one readable line, without a newline */
    /* 1: an operator has broken the caller's lock (on_lost, extend, release, adopt), or the holder's
     * (holder.broken says so, too). */
    uint32_t broken;
    /* For a lock with several names: which one was in the way, or was lost. 1 is redlock_spec.name, 2 the
     * first of also, and so on; 0: no single one. */
    uint32_t name_number;
    /* How many share the lock (REDLOCK_SHARED), by the node that knows most of them; holder is one of them,
     * and holder_ttl_left_ms is when the last of their leases ends. 0: it is not shared, or it is in
     * Redisson's format. redlock_report_sharer() names them. */
    uint32_t sharers;
} redlock_report;

#define REDLOCK_REPORT_INIT REDLOCK_INIT_(redlock_report)

/* Memory for everything the library keeps, except a few bytes per thread that outlive clients. Called from
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

/* What a lock looks like at the nodes. */
typedef enum redlock_format {
    REDLOCK_FORMAT_COMMON = 0, /* a text with the owner value, which most lock libraries share */
    /* The hash of Redisson (Java). Its locks and those of this library then exclude each other and wake each
     * other's waiters, on one node or on several as its RedLock. Only with REDLOCK_PLAIN: no fence, and no
     * guard against nodes that lost locks. */
    REDLOCK_FORMAT_REDISSON = 1
} redlock_format;

typedef struct redlock_options {
    size_t size;            /* sizeof(redlock_options) */
    const char *nodes;      /* node URLs separated by commas or white space; 1 to 31 of them */
    const char *key_prefix; /* put before every name; default none */
    redlock_mode mode;      /* default REDLOCK_GUARDED; all clients of a fleet should agree */
    /* Longest TTL of this client, and how long a node that was restarted or wiped is quarantined. Clients may
     * differ: each announces its own, and a node that was wiped learns the longest one in use from a quorum
     * of the others. Default 60000. */
    uint32_t max_ttl_ms;
    const char *client_name; /* shown by CLIENT LIST on the nodes; default "redlock" */
    const char *user;        /* with password, for URLs that carry no credentials; default none */
    const char *password;
    const char *tls_ca_file;   /* default: the system's certificates */
    const char *tls_cert_file; /* with tls_key_file: client certificate; default none */
    const char *tls_key_file;
    const char *host;            /* put into owner values; default: gethostname() */
    const char *login;           /* put into owner values; default: the user's name */
    uint32_t anonymous;          /* 1: owner values are random bytes alone, and do not name the holder */
    uint32_t connect_timeout_ms; /* connect, TLS and handshake together; default 1000 */
    uint32_t node_timeout_ms;    /* a node that has not answered by then is silent; default 500 */
    uint32_t drift_ppm;          /* by how much clock rates may differ; default 10000 (1 %) */
    uint32_t retry_min_ms; /* shortest rest before nodes that do not notify are asked again; default 10 */
    uint32_t retry_max_ms; /* longest; default 500 */
    const redlock_allocator *allocator;                                    /* default: malloc and free */
    void (*log)(void *context, redlock_log_level level, const char *line); /* default none */
    void *log_context;
    void (*trace)(void *context, const char *line); /* every step of every lock, as text; default none */
    void *trace_context;
    /* log and trace run amid other work, on any thread: they must not call the library or fork. */
    uint32_t pid; /* put into owner values; default: this process, which may end before its lock does */
    redlock_format format; /* default REDLOCK_FORMAT_COMMON; all programs that share a lock have to agree */
} redlock_options;

#define REDLOCK_OPTIONS_INIT REDLOCK_INIT_(redlock_options)

/* Runs once when a lock is lost: at the latest when its validity ends, even if the network hangs. What nodes
 * still have of the lock is released after it has returned. It runs on a thread of the library, or on the one
 * that closes the client, and may call anything but redlock_lock_free() of this lock and
 * redlock_client_close(). The report is gone when it returns. */
typedef void (*redlock_lost_fn)(void *context, redlock_lock *lock, const redlock_report *report);

/* Runs after every renewal round. The report's result is REDLOCK_OK when the lock was renewed; otherwise the
 * renewal did not reach a quorum and is tried again while validity lasts. The rules of redlock_lost_fn. */
typedef void (*redlock_renewed_fn)(void *context, redlock_lock *lock, const redlock_report *report);

/* What else may be held at the same time, and which waiter comes next. More kinds may be added; a library
 * that does not know one returns REDLOCK_INVALID. */
typedef enum redlock_kind {
    /* Guarded mode: first come, first served. Plain mode: callers of one client in their order; between
     * clients the quickest wins. */
    REDLOCK_EXCLUSIVE = 0,
    /* the same in guarded mode; plain clients refuse it, since they cannot keep the order */
    REDLOCK_FAIR = 1,
    /* Several may hold it at once, as long as nobody holds it alone: the readers of a read/write lock whose
     * writers are REDLOCK_EXCLUSIVE. In guarded mode all of them stand in one line: a reader that comes while
     * a writer waits goes behind it, and readers in front of the next writer come in together. Each has its
     * own lease. Their fence is above that of every writer before them and below that of every writer after
     * them; readers that hold it at the same time may have the same fence. Plain clients need
     * REDLOCK_FORMAT_REDISSON, which has no fence and no order. */
    REDLOCK_SHARED = 2,
    /* One of redlock_spec.permits slots of the name, whichever is free: at most so many callers hold it at
     * once. Guarded mode only. */
    REDLOCK_SEMAPHORE = 3
} redlock_kind;

/* One more name of a lock. */
typedef struct redlock_name {
    const char *name; /* any bytes */
    size_t length;    /* default strlen(name) */
} redlock_name;

/* The lock a caller wants. */
typedef struct redlock_spec {
    size_t size;             /* sizeof(redlock_spec) */
    redlock_kind kind;       /* default REDLOCK_EXCLUSIVE */
    const char *name;        /* any bytes */
    size_t name_length;      /* default strlen(name) */
    uint32_t ttl_ms;         /* how soon a dead holder is noticed; default 15000, or max_ttl_ms if less */
    uint32_t auto_extend;    /* 1: renew it until it is released; needs on_lost */
    uint32_t renew_ms;       /* time between renewals; default ttl_ms / 3 */
    uint32_t max_extensions; /* renewals and extends together; default no limit */
    int64_t max_hold_ms;     /* lost at this age whatever happens; default no limit */
    uint32_t unbound;        /* 1: keep renewing when the acquiring thread exits; async locks always are */
    const char *why;         /* shown to waiters; default nothing */
    redlock_lost_fn on_lost;
    redlock_renewed_fn on_renewed; /* default none */
    void *context;                 /* given to both */
    /* A few bytes of the caller's own, carried in the owner value for others to read: see redlock_holder.tag.
     * Not secret, not interpreted; at most REDLOCK_TAG_MAX bytes; default none. */
    const void *tag;
    size_t tag_length;
    /* REDLOCK_SEMAPHORE: how many slots the name has, 1 to REDLOCK_PERMITS_MAX; all callers have to agree. */
    uint32_t permits;
    /* 1: an owner that holds the lock already enters it again, without asking the nodes. Acquiring returns
     * the handle that it has, which takes as many releases and frees as there were acquisitions. Owners are
     * told apart by `identity`, within one client. The rest of the spec does not matter then: the lock is as
     * the first acquisition wanted it. A lock that was lost is lost for all its entries, and cannot be
     * entered (REDLOCK_LOST) until all have left it. */
    uint32_t reentrant;
    /* reentrant: equal numbers are one owner; default 0: the calling thread is the owner. Asynchronous calls
     * need a number. */
    uint64_t identity;
    /* Names that are locked together with `name`: all of them or none, and lost together. At most
     * REDLOCK_NAMES_MAX - 1, none of them twice, in any order. Only in guarded mode, for REDLOCK_EXCLUSIVE
     * and REDLOCK_FAIR, and not reentrant. Default none. */
    const redlock_name *also;
    uint32_t also_count;
    /* 1: when validity ends here without a release, nodes keep what they have of the lock until it expires
     * there: other processes that know the owner value may have extended it (redlock_adopt). Default 0: it is
     * released then, so that the next holder need not wait that bit longer. */
    uint32_t keep_on_nodes;
    /* 1: redlock_release() returns as soon as the requests are sent, one round trip earlier, if the lock is
     * still valid then. What cannot be delivered is repeated as after any release; whether nodes had lost the
     * lock before is not found out. Default 0: it waits for a quorum to confirm. */
    uint32_t quick_release;
} redlock_spec;

#define REDLOCK_SPEC_INIT REDLOCK_INIT_(redlock_spec)

/* ---- client -------------------------------------------------------------------------------------------- */

/* Checks the options and starts to connect; does not wait for any node. */
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_client_open(const redlock_options *options,
                                                                  redlock_client **client,
                                                                  redlock_report *report);

/* Cancels what is under way (callbacks run with REDLOCK_CANCELED), sends the releases that are still due, and
 * frees the client. It waits node_timeout_ms for a node that does not answer, and ten times as long for one
 * that is still working through what was sent to it. Locks that were neither released nor freed stop being
 * renewed and expire at the nodes by themselves; their handles stay valid for redlock_lock_free(). Callbacks
 * that are still due run on the closing thread. Not to be called from a callback. */
REDLOCK_API void redlock_client_close(redlock_client *client);

/* How many nodes there are, and the URL of one of them (from 0) without its password; NULL: there is no such
 * node. */
REDLOCK_API uint32_t redlock_client_node_count(const redlock_client *client);
REDLOCK_API const char *redlock_client_node_url(const redlock_client *client, uint32_t node);

/* ---- reports ------------------------------------------------------------------------------------------- */

/* Room for what a report says of single nodes and waiters; NULL: no memory. allocator NULL: malloc and free.
 * Put it in redlock_report.details, of one report at a time, and free it when no report uses it any more. */
REDLOCK_API redlock_details *redlock_details_new(const redlock_allocator *allocator);
REDLOCK_API void redlock_details_free(redlock_details *details);

/* Copies a report, such as a callback's, which is gone when the callback returns. Each node's part is copied
 * only if *copy has details of its own. REDLOCK_INVALID: a `size` is wrong, or the nodes do not fit. */
REDLOCK_API redlock_result redlock_report_copy(redlock_report *copy, const redlock_report *report);

/* Fills in *node with what the report says of a node (from 0), and *waiter likewise. 1: done. 0: there is no
 * such node or waiter, the report has no details, or `size` is wrong; *node is not changed. */
REDLOCK_API int redlock_report_node(const redlock_report *report, uint32_t number, redlock_node_report *node);
REDLOCK_API int redlock_report_waiter(const redlock_report *report, uint32_t number, redlock_waiter *waiter);

/* The same for the holders that share a lock, from redlock_inspect(): 16 of them at most, by the node that
 * knows most of them. */
REDLOCK_API int redlock_report_sharer(const redlock_report *report, uint32_t number, redlock_holder *sharer);

/* ---- locks --------------------------------------------------------------------------------------------- */

/* Asks all nodes once. REDLOCK_OK fills in *lock; otherwise it is NULL and nothing stays behind at the
 * nodes. */
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_try_acquire(redlock_client *client,
                                                                  const redlock_spec *spec,
                                                                  redlock_lock **lock,
                                                                  redlock_report *report);

/* The same, waiting up to wait_ms (REDLOCK_WAIT_FOREVER: without end; 0: as redlock_try_acquire). It waits
 * for other holders, whose release the nodes notify it of, and for nodes to come back; the result says what
 * was missing in the end. wait_ms bounds all of it, the first connections too. Only a wait below
 * node_timeout_ms may take that long, for one question. */
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_acquire(redlock_client *client,
                                                              const redlock_spec *spec, int64_t wait_ms,
                                                              redlock_lock **lock, redlock_report *report);

/* Takes over a lock that another process (or an earlier one) acquired: extends it to spec->ttl_ms under the
 * given owner value. REDLOCK_NOT_HELD when it is no longer on a quorum of nodes. */
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_adopt(redlock_client *client, const redlock_spec *spec,
                                                            const char *owner, size_t owner_length,
                                                            redlock_lock **lock, redlock_report *report);

/* Extends the lease to ttl_ms from now (0: the TTL of its spec); never shortens it. REDLOCK_LOST: validity
 * has ended. REDLOCK_NOT_HELD: a quorum no longer has it, so it is lost, and on_lost runs. An expired lock is
 * never taken back. */
REDLOCK_API redlock_result redlock_extend(redlock_lock *lock, uint32_t ttl_ms, redlock_report *report);

/* Releases it on all nodes and waits for a quorum to confirm. Whatever the result, it is no longer held: on
 * nodes that could not be reached it expires by itself. REDLOCK_LOST: validity had ended before.
 * REDLOCK_NOT_HELD: it was released already, or a quorum did not have it any more. With quick_release
 * it does not wait while the lock is valid. */
REDLOCK_API redlock_result redlock_release(redlock_lock *lock, redlock_report *report);

/* Releases a lock of which only name and owner value are known. */
REDLOCK_API redlock_result redlock_release_owner(redlock_client *client, const char *name, size_t name_length,
                                                 const char *owner, size_t owner_length,
                                                 redlock_report *report);

/* The same for a lock that its name alone does not identify: give kind, permits and also as in the spec it
 * was acquired with. Nothing else of the spec matters. A lock of the owner's that is of another kind is left
 * alone: REDLOCK_NOT_HELD or REDLOCK_FOREIGN_TYPE. Each of several names is a lock by itself, too. */
REDLOCK_API redlock_result redlock_release_spec(redlock_client *client, const redlock_spec *spec,
                                                const char *owner, size_t owner_length,
                                                redlock_report *report);

/* Frees the handle; cannot fail and does not talk to the nodes. A lock that is still held stops being renewed
 * and stays at the nodes until its TTL ends (which is how a lock is handed to redlock_adopt). NULL is
 * fine. */
REDLOCK_API void redlock_lock_free(redlock_lock *lock);

/* How long the holder may still rely on it; 0 when it is not held. Reads a clock, no network. */
REDLOCK_API int64_t redlock_lock_validity_ms(const redlock_lock *lock);

/* The fencing token: higher than that of every lock of this name that was handed out before this one was
 * asked for, except among holders that share it; 0 when the lock has none (plain mode, adopted). */
REDLOCK_API uint64_t redlock_lock_fence(const redlock_lock *lock);

/* Its name and its owner value, each with a NUL behind it, valid until redlock_lock_free(). length may be
 * NULL. A program that knows the owner value can release the lock. */
REDLOCK_API const char *redlock_lock_name(const redlock_lock *lock, size_t *length);
REDLOCK_API const char *redlock_lock_owner(const redlock_lock *lock, size_t *length);

/* How many names it has: 1, and those of redlock_spec.also. Each name, from 0 in the order given, and its
 * fence, which is the same for all; NULL, 0: there is no such name. */
REDLOCK_API uint32_t redlock_lock_name_count(const redlock_lock *lock);
REDLOCK_API const char *redlock_lock_name_at(const redlock_lock *lock, uint32_t number, size_t *length);
REDLOCK_API uint64_t redlock_lock_fence_at(const redlock_lock *lock, uint32_t number);

/* How often its owner has entered it: 1 while it is held, more when it was entered again
 * (redlock_spec.reentrant), 0 when it is not held. */
REDLOCK_API uint32_t redlock_lock_entries(const redlock_lock *lock);

/* Which slot of a semaphore it is, from 0; -1: it is no semaphore. No two holders have the same slot at a
 * time. */
REDLOCK_API int32_t redlock_lock_slot(const redlock_lock *lock);

/* The operator asserts that no lock is held anywhere (a new fleet): all nodes may vote at once instead of
 * after a quarantine. If that is wrong, two clients can hold one lock. REDLOCK_OK: a quorum is eligible.
 * REDLOCK_BUSY: a lock was seen to be held, and nothing was changed; force 1 goes on nevertheless. */
REDLOCK_API redlock_result redlock_init_nodes(redlock_client *client, int force, redlock_report *report);

/* Asks all nodes who holds a name (NULL: only how the nodes are). Takes nothing; report must not be NULL.
 * REDLOCK_OK: a quorum answered. report->holder is the owner that a quorum of all nodes names, and
 * holder_ttl_left_ms how long they will unless it renews; an empty id: nobody is known to hold it.
 * report->held counts nodes that have a key of any owner. With details, each node's owner and ttl_left_ms say
 * what it has. Nodes differ for a moment while a lock is taken or released. */
REDLOCK_API redlock_result redlock_inspect(redlock_client *client, const char *name, size_t name_length,
                                           redlock_report *report);

/* ---- operating ----------------------------------------------------------------------------------------- */

/* One slot of a semaphore that is held. */
typedef struct redlock_slot {
    size_t size;         /* sizeof(redlock_slot) */
    uint32_t slot;       /* from 0 */
    uint32_t votes;      /* nodes that have this holder's key */
    int64_t ttl_left_ms; /* how long a quorum will have it unless it is renewed */
    redlock_holder holder;
} redlock_slot;

/* Returns 0 to go on; anything else: no more slots are wanted. It must not call the library. What it is given
 * is gone when it returns. */
typedef int (*redlock_slot_fn)(void *context, const redlock_slot *slot);

/* Asks all nodes for the holders of a semaphore, on connections of its own, and calls `tell` for each slot
 * that an owner has at a quorum of them, from the first to the last. *permits is how many slots there are; 0:
 * the name is no semaphore, or nobody has a slot, since nodes do not remember it then. REDLOCK_OK: a quorum
 * answered. It takes and changes nothing. */
REDLOCK_API redlock_result redlock_inspect_slots(redlock_client *client, const char *name, size_t name_length,
                                                 redlock_slot_fn tell, void *context, uint32_t *permits,
                                                 redlock_report *report);

/* A lock as redlock_list() and redlock_watch() report it. Gone when the callback returns. */
typedef struct redlock_listed {
    size_t size;      /* sizeof(redlock_listed) */
    const char *name; /* any bytes, without key_prefix; a NUL behind it */
    size_t name_length;
    redlock_kind kind;
    uint32_t foreign; /* 1: its owner value is not one of ours: another program's lock, or no lock at all */
    uint32_t votes;   /* nodes that have this holder's key */
    uint32_t node_count;
    uint32_t quorum;
    uint32_t waiting; /* callers known to wait for it, as redlock_inspect() reports */
    /* how long a quorum will have it unless it is renewed; -1 never expires, -2 not known */
    int64_t ttl_left_ms;
    uint64_t fence; /* the highest that was seen for the name; 0 none */
    /* Each held slot of a REDLOCK_SEMAPHORE is reported by itself: holder.slot is which, also when nobody has
     * it any more, and holder.permits how many there are. */
    redlock_holder holder;
} redlock_listed;

/* Which locks. */
typedef struct redlock_list_spec {
    size_t size;        /* sizeof(redlock_list_spec) */
    const char *glob;   /* names to list, as in the KEYS command: * ? [a-z] \; default all */
    size_t glob_length; /* default strlen(glob) */
    /* watch: this name alone, as it is, at once and without walking through keys; default none */
    const char *name;
    size_t name_length; /* default strlen(name) */
    uint32_t foreign;   /* 1: also texts with an expiry that other programs made, marked as such; default 0 */
    /* 1: also what fewer nodes than a quorum have: leftovers, locks being taken; default 0 */
    uint32_t partial;
    /* watch: time between two looks where nodes do not notify; default 250 for one name, else 1000 */
    uint32_t every_ms;
} redlock_list_spec;

#define REDLOCK_LIST_SPEC_INIT REDLOCK_INIT_(redlock_list_spec)

/* Runs for each lock. Returns 0 to go on; anything else stops the call, whose result is then
 * REDLOCK_CANCELED. It runs on the calling thread, or where other callbacks of asynchronous calls run, and
 * may call anything but redlock_client_close(). */
typedef int (*redlock_listed_fn)(void *context, const redlock_listed *lock);

/* Reports every lock that a quorum of nodes has. It walks through the keys of as many nodes as share one with
 * every quorum, a few hundred keys at a time, so that no command occupies a node for longer than a
 * millisecond or so, and asks all nodes about each lock that it finds. A lock that is held all the while is
 * reported exactly once; one that is taken or released meanwhile may be reported or not. Memory: 16 bytes a
 * lock. spec NULL: all. REDLOCK_NO_QUORUM, REDLOCK_FORBIDDEN: too few nodes could be walked through, and the
 * list is not complete. */
REDLOCK_API redlock_result redlock_list(redlock_client *client, const redlock_list_spec *spec,
                                        redlock_listed_fn listed, void *context, redlock_report *report);

/* What was seen to happen to a lock. More may be added. */
typedef enum redlock_change {
    REDLOCK_CHANGE_HELD = 0,      /* when watching began it was held */
    REDLOCK_CHANGE_FREE = 1,      /* when watching began it was free; of a name that is watched alone */
    REDLOCK_CHANGE_ACQUIRED = 2,  /* it was free, and somebody has it */
    REDLOCK_CHANGE_EXTENDED = 3,  /* its holder has extended its lease */
    REDLOCK_CHANGE_HANDED_ON = 4, /* somebody else has it than before; `before` had it */
    REDLOCK_CHANGE_RELEASED = 5,  /* it is free before its lease ended; `before` had it */
    REDLOCK_CHANGE_EXPIRED = 6,   /* its lease ended; `before` had it */
    REDLOCK_CHANGE_LOST = 7,      /* some nodes still have its holder's key, but no quorum any more */
    REDLOCK_CHANGE_BROKEN = 8,    /* an operator has broken it */
    REDLOCK_CHANGE_UNKNOWN = 9,   /* too few nodes answer: what happens now is not seen */
    /* of all locks, after UNKNOWN: enough nodes answer again; what changed meanwhile was reported before */
    REDLOCK_CHANGE_SEEN = 10
} redlock_change;

typedef struct redlock_event {
    size_t size; /* sizeof(redlock_event) */
    redlock_change change;
    int64_t at_ms;         /* when it was seen: wall clock, milliseconds since 1970 */
    redlock_listed lock;   /* as it is now; the holder is empty when nobody has it */
    redlock_holder before; /* the holder before, if it was another one */
} redlock_event;

/* Runs for each event, in order; as redlock_listed_fn. */
typedef int (*redlock_event_fn)(void *context, const redlock_event *event);

/* Reports what happens to locks, until its callback wants no more (REDLOCK_CANCELED) or the client is closed.
 * It compares what it sees with what it saw before. One name: nodes notify it of changes where they can
 * (RESP3), and it looks every every_ms where they do not. Several: it walks through the keys like
 * redlock_list(), every every_ms or a quarter of the time, whichever is less often. So what begins and ends
 * between two looks is not reported, several changes may be reported as one, and a release just before the
 * end of a lease looks like an expiry. Memory: about 1 kB a lock. spec NULL: all. */
REDLOCK_API redlock_result redlock_watch(redlock_client *client, const redlock_list_spec *spec,
                                         redlock_event_fn event, void *context, redlock_report *report);

/* Waits until a name is free on a quorum of nodes, and takes nothing: when it returns, somebody else may have
 * it again. wait_ms: REDLOCK_WAIT_FOREVER without end, 0: not at all. REDLOCK_OK: it was free. REDLOCK_BUSY,
 * REDLOCK_TIMEOUT: it is held. It also waits for nodes that cannot be reached; if too few could be in the
 * end, the result says so. */
REDLOCK_API redlock_result redlock_wait(redlock_client *client, const char *name, size_t name_length,
                                        int64_t wait_ms, redlock_report *report);

#define REDLOCK_BREAK_NOW (-1)

/* Which hold to end. */
typedef struct redlock_break_spec {
    size_t size;        /* sizeof(redlock_break_spec) */
    const char *name;   /* of the lock */
    size_t name_length; /* default strlen(name) */
    const char *id;     /* of the holder: redlock_holder.id, or its whole owner value */
    size_t id_length;   /* default strlen(id) */
    int64_t grace_ms;   /* default 10000, or half the holder's TTL if that is more; REDLOCK_BREAK_NOW: none */
    /* Of a semaphore: only if the holder has this slot, counted from 1 (elsewhere slots count from 0);
     * default 0: whichever slot the holder has. Holders of other kinds of lock have no slot:
     * REDLOCK_NOT_HELD. */
    uint32_t slot_number;
} redlock_break_spec;

#define REDLOCK_BREAK_SPEC_INIT REDLOCK_INIT_(redlock_break_spec)

/* Ends another owner's hold on every node. It ends the hold of this holder only: a successor is never hit,
 * nor other holders of a shared lock or a semaphore. For grace_ms, but no longer than the lease would have
 * lasted, nobody else gets the lock. A live holder finds out when it renews (every third of its TTL by
 * default) or asks for anything else: its on_lost runs with report->broken, and then the lock is free at
 * once. A holder that does not ask in that time is not told before somebody else can have the lock, and may
 * go on working: that is what fencing tokens are for. The next holder's is higher, with or without a grace.
 * For a lock that is never renewed, give a grace as long as its TTL, or be sure that its holder is gone.
 * REDLOCK_OK: a quorum of nodes does not have the hold any more; report->holder_ttl_left_ms is how long
 * others are kept out at most. Nodes that are away are updated when they come back, as long as the client
 * lives. REDLOCK_NOT_HELD: no such holder was seen; report->holder is the present holder. REDLOCK_NO_QUORUM
 * and the like: too few nodes answered, and the holder may go on. */
REDLOCK_API redlock_result redlock_break(redlock_client *client, const redlock_break_spec *spec,
                                         redlock_report *report);

/* ---- without a lock ------------------------------------------------------------------------------------ */

/* Makes a new value out of the one that a key has; value NULL: there is no such key. Sets *next and
 * *next_length, whose bytes have to stay until the call returns; *next NULL: the key is to be deleted.
 * Returns 0 to have that stored, anything else to leave the key alone. It runs on the calling thread, once
 * for each try, so it must be able to run again. It may call anything but redlock_client_close(). */
typedef int (*redlock_update_fn)(void *context, const void *value, size_t length, const void **next,
                                 size_t *next_length);

/* Changes one key of one node (from 0) without a lock, by WATCH, GET, MULTI and EXEC on a connection of its
 * own: if another writer changes the key meanwhile, nothing is stored, and it tries again after a short
 * random rest, up to `tries` times (0: 100). The key is used as it is, without key_prefix, and keeps its
 * expiry. REDLOCK_OK: stored; report->rounds is how many tries it took. REDLOCK_TIMEOUT: all tries met
 * another writer. REDLOCK_CANCELED: `change` left the key alone. REDLOCK_FOREIGN_TYPE: the key is no string,
 * or longer than REDLOCK_VALUE_MAX. REDLOCK_NO_QUORUM: the node cannot be reached or refused; if report->line
 * says that it is not known, the value may or may not have been stored. */
REDLOCK_API redlock_result redlock_update(redlock_client *client, uint32_t node, const char *key,
                                          size_t key_length, redlock_update_fn change, void *context,
                                          uint32_t tries, redlock_report *report);

/* Notes at all nodes, by their own clocks, that something of this name was done age_ms ago, and keeps the
 * note for keep_ms. A later note is never replaced by an earlier one. Meant for the holder of a lock: without
 * one, two callers may note at once. Clocks of hosts do not matter. REDLOCK_OK: a quorum has it. */
REDLOCK_API redlock_result redlock_mark(redlock_client *client, const char *name, size_t name_length,
                                        int64_t age_ms, int64_t keep_ms, redlock_report *report);

/* How long ago that was: the latest note that any node has, of all that answer. REDLOCK_OK: *age_ms is it;
 * report->granted nodes answered, and report->held have a note. REDLOCK_NOT_HELD: a quorum answered, and none
 * has one. Others: too few answered to know. */
REDLOCK_API redlock_result redlock_marked(redlock_client *client, const char *name, size_t name_length,
                                          int64_t *age_ms, redlock_report *report);

/* A meeting of several parties. */
typedef struct redlock_barrier_spec {
    size_t size;        /* sizeof(redlock_barrier_spec) */
    const char *name;   /* the same for all parties */
    size_t name_length; /* default strlen(name) */
    uint32_t parties;   /* how many have to come, at most REDLOCK_PARTIES_MAX; the same for all */
    uint32_t lease_ms;  /* how long a party that died still counts; default 15000, at least 1000 */
    /* Runs at every look, several times a second, with how many are waiting. Anything but 0: give up,
     * REDLOCK_CANCELED. It runs on the calling thread, and may call anything but redlock_client_close().
     * Default none. */
    int (*waiting)(void *context, uint32_t arrived);
    void *context;
} redlock_barrier_spec;

#define REDLOCK_BARRIER_SPEC_INIT REDLOCK_INIT_(redlock_barrier_spec)

/* Waits until all parties have come, and goes on with them; then the next ones can meet under that name.
 * Never early: no party goes on before that many have come, and each arrival counts for one meeting only,
 * whatever data nodes lose. It takes the lock "barrier:" + name for a moment. REDLOCK_OK: go on.
 * REDLOCK_TIMEOUT, REDLOCK_CANCELED: this party does not count any more. REDLOCK_INVALID: others wait for
 * another number of parties. REDLOCK_LOST: the nodes that could tell have lost this party, and the others may
 * have counted it. REDLOCK_NO_QUORUM and the like: too few nodes answered; if the line says that it is not
 * known, the others may count on this party. A party that dies counts until its lease ends. */
REDLOCK_API redlock_result redlock_barrier(redlock_client *client, const redlock_barrier_spec *spec,
                                           int64_t wait_ms, redlock_report *report);

/* ---- locks of the oldest kind -------------------------------------------------------------------------- */

/* A lock as programs took it before SET NX PX: SETNX with the time of its end as the value, and GETSET to
 * take over one that has ended; on one node. It is for sharing locks with such programs, and for nothing
 * else: it needs equal clocks everywhere, has no owner and no fence, a caller that comes too late moves the
 * end of the lock, and a program that deletes the key ends it for everybody. */
typedef struct redlock_legacy_spec {
    size_t size;        /* sizeof(redlock_legacy_spec) */
    const char *name;   /* of the lock; with key_prefix it is the key */
    size_t name_length; /* default strlen(name) */
    uint32_t ttl_ms;    /* until its end; default 15000 */
    /* 1: ends are written in seconds since 1970; default 0: milliseconds. All programs must agree */
    uint32_t seconds;
} redlock_legacy_spec;

#define REDLOCK_LEGACY_SPEC_INIT REDLOCK_INIT_(redlock_legacy_spec)

/* Takes it, waiting as redlock_acquire() does, but by asking again and again. The client has one node.
 * REDLOCK_OK: *end_ms is its end, in the node's time, and the only thing that identifies the hold;
 * report->validity_ms is how long it may be relied on, if clocks are equal. REDLOCK_BUSY, REDLOCK_TIMEOUT:
 * held. REDLOCK_FOREIGN_TYPE: the key holds no time. */
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_legacy_acquire(redlock_client *client,
                                                                     const redlock_legacy_spec *spec,
                                                                     int64_t wait_ms, int64_t *end_ms,
                                                                     redlock_report *report);

/* Moves the end to ttl_ms from now, if that is later, or (release) deletes the key. Both only while the key
 * still holds that end and it has not come; otherwise REDLOCK_LOST, and nothing is touched. REDLOCK_NOT_HELD:
 * the key is gone. */
REDLOCK_API redlock_result redlock_legacy_extend(redlock_client *client, const redlock_legacy_spec *spec,
                                                 int64_t *end_ms, redlock_report *report);
REDLOCK_API redlock_result redlock_legacy_release(redlock_client *client, const redlock_legacy_spec *spec,
                                                  int64_t end_ms, redlock_report *report);

/* ---- asynchronous calls -------------------------------------------------------------------------------- */

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
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_release_spec_async(
    redlock_client *client, const redlock_spec *spec, const char *owner, size_t owner_length,
    redlock_done_fn done, void *context, redlock_request *request);
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_inspect_async(redlock_client *client, const char *name,
                                                                    size_t name_length, redlock_done_fn done,
                                                                    void *context, redlock_request *request);
/* As redlock_inspect_slots(), but on the client's own connections, and slots come in any order;
 * holder.permits of each says how many there are. `tell` may call anything but redlock_client_close();
 * anything but 0 ends the call with REDLOCK_CANCELED. */
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_inspect_slots_async(
    redlock_client *client, const char *name, size_t name_length, redlock_slot_fn tell, redlock_done_fn done,
    void *context, redlock_request *request);
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_init_nodes_async(redlock_client *client, int force,
                                                                       redlock_done_fn done, void *context,
                                                                       redlock_request *request);

/* `listed` and `event` run any number of times before `done`, which runs once, at the end. A list, a watch
 * and a wait can be cancelled; a break cannot (REDLOCK_MISUSE). */
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_list_async(redlock_client *client,
                                                                 const redlock_list_spec *spec,
                                                                 redlock_listed_fn listed,
                                                                 redlock_done_fn done, void *context,
                                                                 redlock_request *request);
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_watch_async(redlock_client *client,
                                                                  const redlock_list_spec *spec,
                                                                  redlock_event_fn event,
                                                                  redlock_done_fn done, void *context,
                                                                  redlock_request *request);
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_wait_async(redlock_client *client, const char *name,
                                                                 size_t name_length, int64_t wait_ms,
                                                                 redlock_done_fn done, void *context,
                                                                 redlock_request *request);
REDLOCK_API REDLOCK_MUST_CHECK redlock_result redlock_break_async(redlock_client *client,
                                                                  const redlock_break_spec *spec,
                                                                  redlock_done_fn done, void *context,
                                                                  redlock_request *request);

/* Ends a request early: its callback runs with REDLOCK_CANCELED, and what it had been granted is released.
 * The round of an extension or an adoption goes on, since a longer lease harms nobody. REDLOCK_NOT_HELD: it
 * has already ended. A release cannot be cancelled (REDLOCK_MISUSE). */
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
    /* How acquisitions ended; failed: in any way that has no count of its own. */
    uint64_t acquired, busy, timeouts, canceled, no_quorum, too_slow, quarantined, forbidden, failed;
    uint64_t rounds;                  /* of all acquisitions */
    uint64_t fence_rounds;            /* acquisitions that needed a second round to agree on the fence */
    uint64_t extended, extend_failed; /* calls of redlock_extend() */
    uint64_t renewed, renew_failed; /* rounds of renewal; a failed one is tried again while validity lasts */
    uint64_t released, release_failed, lost;
    uint64_t held, waiting;       /* now: locks; acquisitions that wait for another holder or for nodes */
    uint64_t connected, eligible; /* now: nodes */
    int64_t lowest_validity_ms; /* the least that was left when a lock was renewed or extended; -1 none was */
    redlock_histogram acquire_ok, acquire_failed, extend, release, renew;
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
    redlock_histogram latency;    /* of its answers */
} redlock_node_stats;

#define REDLOCK_NODE_STATS_INIT REDLOCK_INIT_(redlock_node_stats)

REDLOCK_API redlock_result redlock_client_stats(redlock_client *client, redlock_stats *stats);

/* Of one node, from 0. REDLOCK_INVALID: there is no such node. */
REDLOCK_API redlock_result redlock_client_node_stats(redlock_client *client, uint32_t node,
                                                     redlock_node_stats *stats);

/* A label for every series of redlock_stats_prometheus(): which client, which job. */
typedef struct redlock_label {
    const char *name;  /* letters, digits and underscores; not one that a series has itself */
    const char *value; /* any text */
} redlock_label;

/* Writes both kinds of statistics in Prometheus' text format, with a NUL behind it. Which series there are
 * depends on the nodes alone, never on the names of locks. *length is the length of the whole text, without
 * the NUL. REDLOCK_INVALID: a label is wrong, or `size` is too small, as it is with text NULL and size 0:
 * make room for a bit more than *length, since numbers grow, and call again. REDLOCK_NOMEM: no memory for a
 * copy of the statistics. */
REDLOCK_API redlock_result redlock_stats_prometheus(redlock_client *client, const redlock_label *labels,
                                                    uint32_t label_count, char *text, size_t size,
                                                    size_t *length);

/* ---- nodes themselves ---------------------------------------------------------------------------------- */

typedef enum redlock_role {
    REDLOCK_ROLE_UNKNOWN = 0,
    REDLOCK_ROLE_MASTER = 1,
    REDLOCK_ROLE_REPLICA = 2,
    REDLOCK_ROLE_SENTINEL = 3
} redlock_role;

/* What is known of a node itself: the first half from its greeting, the second once redlock_examine() has
 * asked for it. */
typedef struct redlock_node_facts {
    size_t size;      /* sizeof(redlock_node_facts) */
    char server[16];  /* "redis" or "valkey"; empty when it was never connected, or does not say */
    char version[16]; /* "7.0.15" */
    redlock_role role;
    uint32_t cluster;           /* 1: it is a node of a cluster */
    uint32_t resp3;             /* 1: it can push */
    int64_t uptime_s;           /* when it was greeted */
    int64_t clock_offset_us;    /* its clock less this machine's, at the last look; INT64_MIN not known */
    int64_t certificate_ends_s; /* of its TLS certificate, in seconds since 1970; 0 no TLS */
    int64_t longest_ttl_ms;     /* the longest max_ttl_ms that clients announced to it; 0 not known */
    uint32_t durable;           /* 1: its URL says that it keeps its memory over a restart */
    uint32_t examined;          /* 1: what follows was asked for, and answered */
    int32_t append_only;        /* 1 it keeps an append-only file, 0 it does not, -1 not known */
    int32_t snapshots;          /* likewise: it saves snapshots by itself */
    char append_fsync[12];      /* "always", "everysec", "no"; empty not known */
    char memory_policy[24];     /* its maxmemory-policy; empty not known */
    int64_t memory_used;        /* bytes; -1 not known */
    int64_t memory_max;         /* its maxmemory: 0 no limit, -1 not known */
    uint64_t fence_floor;       /* no fence it gives out is lower; 0 none */
    char user[64];              /* the user it takes the client for; empty: not known, or the default user */
    /* What this client needs and its user may not, in the words of ACL SETUSER: "+get ~lock:*". */
    char missing_rights[640];
    char advisable_rights[80]; /* likewise, but locks work without it: notifications, and init's search */
    char foreign_keys[80];     /* keys of the guard that hold something else, with blanks between them */
    char mark_rights[320]; /* as missing_rights, but only redlock_mark() and redlock_barrier() need them */
} redlock_node_facts;

#define REDLOCK_NODE_FACTS_INIT REDLOCK_INIT_(redlock_node_facts)

/* Asks every node about itself: memory, persistence, time, and which rights the client's user lacks. Rights
 * are tried on a key that no lock has, by commands that store nothing. REDLOCK_OK: a quorum answered. */
REDLOCK_API redlock_result redlock_examine(redlock_client *client, redlock_report *report);

/* What is known of one node, from 0; asks nobody. REDLOCK_INVALID: there is no such node. */
REDLOCK_API redlock_result redlock_client_node_facts(redlock_client *client, uint32_t node,
                                                     redlock_node_facts *facts);

/* ---- words --------------------------------------------------------------------------------------------- */

/* Of the library that is linked; the macros are those of the header that was compiled with. */
REDLOCK_API const char *redlock_version(void);
REDLOCK_API uint32_t redlock_version_number(void);

REDLOCK_API const char *redlock_result_name(redlock_result result);    /* "busy", "no quorum", … */
REDLOCK_API const char *redlock_verdict_name(redlock_verdict verdict); /* "granted", "held", … */
REDLOCK_API const char *redlock_cause_name(redlock_cause cause);       /* "refused", "quarantine", … */
REDLOCK_API const char *redlock_change_name(redlock_change change);    /* "acquired", "handed on", … */

/* Reads who, since when and why out of an owner value; always fills in *holder. */
REDLOCK_API void redlock_holder_parse(const char *owner, size_t owner_length, redlock_holder *holder);

#ifdef __cplusplus
}
#endif
#endif
