/*
 * The native engine of the userspace mode: carries TCP connections from listeners to endpoints. The TypeScript side
 * says where to listen and who may serve (control.c), reads counters from shared memory, and starts the engine again
 * if it dies. Nothing here knows about Kubernetes.
 *
 *   control thread   reads commands, opens and closes listeners, changes pools        control.c
 *   worker threads   accept, dial and copy; a connection stays in the thread it       worker.c, dial.c, pose.c, copy.c,
 *                    came to, so it needs no locks                                    record.c, age.c, wait.c
 *   pools            who serves, and whose turn it is; shared, each behind a lock     pool.c, spread.c, maglev.c,
 *                                                                                    affinity.c, gate.c, buckets.c
 *
 * Before it serves anybody it gives up the privileges that it does not need            privileges.c, calls.c
 */
#ifndef FAIRLEAD_RELAY_H
#define FAIRLEAD_RELAY_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

/* ---- addresses ---------------------------------------------------------------------------------------------- */

union address {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
};

struct range {
  sa_family_t family;
  unsigned bits;
  unsigned char bytes[16];
};

/* "127.0.0.1:80", "[::1]:80" */
#define ADDRESS_TEXT 64

bool address_parse(union address *out, const char *ip, const char *port);
socklen_t address_size(const union address *address);
int address_compare(const union address *a, const union address *b);
/* The IP alone: 4 or 16 bytes. */
const unsigned char *address_bytes(const union address *address, size_t *size);
unsigned address_port(const union address *address);
const char *address_ip_text(const union address *address, char text[ADDRESS_TEXT]);
const char *address_text(const union address *address, char text[ADDRESS_TEXT]);
bool range_parse(struct range *out, char *text);
bool range_contains(const struct range *range, const union address *address);

/* ---- memory ------------------------------------------------------------------------------------------------- */

/* For what nothing goes on without: the process ends, and is started again. */
static inline void *must_have(void *memory) {
  if (memory == NULL) abort();
  return memory;
}

/* ---- privileges --------------------------------------------------------------------------------------------- */

/* Capabilities, descriptors, and the way to more of them; what posing takes is kept if asked for. */
bool privileges_give_up(bool may_pose);
/* Forbids all system calls but those of an engine that runs; an errno where the kernel has no filters. */
int calls_restrict(void);

/* ---- hashes ------------------------------------------------------------------------------------------------- */

uint64_t siphash(const uint64_t key[2], const unsigned char *bytes, size_t size);

/* A member of the structure that is to be found. */
struct bucketed {
  struct bucketed *next;
  uint64_t hash;
};

/* All zero: empty. */
struct buckets {
  struct bucketed **first;
  size_t size, count;
};

/* Once, before there are any; false where the kernel has no random numbers. */
bool buckets_choose_key(void);
uint64_t bucket_hash(const void *bytes, size_t size);
/* The first with that hash, and the next: others may have the same. NULL when there is none. */
struct bucketed *buckets_find(const struct buckets *buckets, uint64_t hash);
struct bucketed *buckets_find_next(const struct bucketed *one);
void buckets_add(struct buckets *buckets, struct bucketed *one, uint64_t hash);
void buckets_remove(struct buckets *buckets, struct bucketed *one);
/* What is in them stays. */
void buckets_free(struct buckets *buckets);

/* ---- lists -------------------------------------------------------------------------------------------------- */

/* Circular: a head, or a member of the structure that is listed. One that points at itself is in no list. */
struct link {
  struct link *next, *previous;
};

#define CONTAINER(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static inline void list_init(struct link *link) { link->next = link->previous = link; }
static inline bool list_is_empty(const struct link *head) { return head->next == head; }
static inline void list_remove(struct link *link) {
  link->previous->next = link->next;
  link->next->previous = link->previous;
  list_init(link);
}
static inline void list_append(struct link *head, struct link *link) {
  link->previous = head->previous;
  link->next = head;
  head->previous->next = link;
  head->previous = link;
}

/* ---- memory shared with the TypeScript side ------------------------------------------------------------------ */

/* The order is that of `cellNames` in src/dataplane/relay/listener-counters.ts. */
enum cell {
  CONNECTIONS,
  ACTIVE,
  BYTES_IN,
  BYTES_OUT,
  WAITING_BYTES,
  DIAL_FAILURES,
  SECONDS,
  NO_ENDPOINT,
  UNREACHABLE,
  SOURCE_NOT_ALLOWED,
  OVERLOAD,
  AGED,
  AGED_RESET,
  WAITED,
  MAX_CONNECTIONS,
  MAX_DIALS,
  CELLS = 16, /* two whole cache lines */
  HAS_ROOM = CELLS, /* none of them */
};

/* Of an endpoint; the first four are those of a listener. The order is that of src/dataplane/relay/endpoint-counters.ts. */
enum endpoint_cell { ENDPOINT_SECONDS = BYTES_OUT + 1, ENDPOINT_LAST_USED, ENDPOINT_FAILURES };

/* Why an endpoint could not be reached. */
enum failure { REFUSED, TIMED_OUT, UNREACHED, OTHER_FAILURE };

/* Of all listeners together. The order is that of src/dataplane/relay/engine-counters.ts. */
enum engine_cell { DIALS, DIAL_FAILED, AVOIDED = DIAL_FAILED + 4, BUCKETS_START = 8, ENGINE_CELLS = 64 };

/* What is timed. The bounds of its buckets are in the shared memory. */
enum timed { TIMED_CONNECTION, TIMED_DIAL, TIMED_FAILED_DIAL };
#define BUCKET_CELLS 18

#define SHARED_HEADER 4096
#define MOST_DIALS 8

struct settings {
  unsigned workers;
  unsigned dial_attempts;
  int64_t dial_timeouts_ns[MOST_DIALS];
  int64_t half_close_ns;
  int64_t drain_ns; /* negative: connections outlive their endpoint until they end */
  int descriptor_budget;
  unsigned report_one_in; /* connections; 0: none */
  int64_t report_every_ns;
  unsigned failure_reports; /* at most, per second */
};

extern struct settings settings;
/* Connection by connection log lines are wanted. */
extern atomic_bool is_followed;

bool shared_map(int fd, unsigned slots, unsigned endpoint_slots);
/* Only the worker writes its cells, so that counting needs no locks; the reader adds up the workers. */
double *shared_cells(unsigned slot, unsigned worker);
double *shared_endpoint_cells(unsigned slot, unsigned worker);
double *shared_engine_cells(unsigned worker);
void count_duration(unsigned worker, enum timed timed, int64_t duration_ns);
void descriptors_take(int count);
void descriptors_give_back(int count);
/* False when there is no room: the caller turns its client away. */
bool descriptors_try(int count);
/* Connections whose endpoint sees the client's own address. */
void transparent_count(int change);

/* ---- pools -------------------------------------------------------------------------------------------------- */

enum balancing { ROUND_ROBIN, RANDOM, LEAST_CONNECTIONS, SOURCE_HASH, MAGLEV };
enum proxy_protocol { PROXY_NONE, PROXY_V1, PROXY_V2 };

/* Of all connections of a Service port, or of those to one endpoint; 0: any number. */
struct limits {
  unsigned connections, endpoint_connections, dials, endpoint_dials;
};

#define RATE_SLOTS 21

struct metered {
  int open;
  int64_t slot; /* the newest of the dials */
  unsigned dials[RATE_SLOTS];
};

/* One address, in all pools of a gate. */
struct meter {
  struct bucketed by_address;
  struct gate *gate;
  union address address;
  int references;
  struct metered count;
};

struct gate {
  struct bucketed by_name;
  char *name;
  int references; /* with the lock of all gates */
  pthread_mutex_t lock; /* after that of a pool */
  struct limits limits;
  struct metered count;
  struct buckets meters; /* by address */
};

struct endpoint {
  union address address;
  /* On this node: its answers come past here, whoever the client is. */
  atomic_bool is_here;
  atomic_int references;
  char name[ADDRESS_TEXT]; /* as the TypeScript side writes it */
  unsigned slot;           /* where it is counted */
  /* The rest belongs to the pool's lock. */
  atomic_bool is_gone; /* read without it, too */
  unsigned weight;
  int open;       /* connections, and those on the way */
  int64_t credit; /* how far it is behind its share: as much as all weigh together is one connection */
  unsigned failures;
  int64_t avoid_until_ns;
  unsigned generation; /* of the list with which it came, or came back */
  struct link departed;
  struct meter *meter; /* NULL where nothing is limited */
};

struct affinity;

struct pool {
  pthread_mutex_t lock;
  atomic_int references;
  enum balancing balancing;
  enum proxy_protocol proxy_protocol;
  bool closes_when_empty;
  atomic_llong most_age_ns;    /* of a connection; 0: any */
  struct endpoint **endpoints; /* in the order of their turns */
  struct endpoint **sorted;    /* the same, by address */
  unsigned count, turn;
  uint64_t total_weight;
  bool is_even;              /* all have the same weight */
  struct endpoint **by_name; /* NULL until a client needs it */
  uint16_t *maglev;          /* for each slot an index in them; NULL as well */
  struct link departed; /* endpoints that left while connections to them go on */
  struct affinity *affinity;
  struct gate *gate; /* NULL where nothing is limited */
  atomic_int waiting; /* connections, for room */
  enum cell full;     /* what whoever asked last did not find room under */
  uint64_t random;
};

struct target {
  union address address;
  char name[ADDRESS_TEXT];
  bool is_here;
  unsigned slot, weight;
};

struct pool_spec {
  unsigned generation;
  int64_t affinity_ns, most_age_ns;
  enum balancing balancing;
  enum proxy_protocol proxy_protocol;
  bool closes_when_empty;
  struct gate *gate; /* a reference, or NULL */
  unsigned count;
  struct target *targets;
};

struct choice {
  struct endpoint *endpoint; /* a reference, or NULL: there is none */
  unsigned endpoints;        /* that there were to choose from */
  bool is_sticky;
  enum proxy_protocol proxy_protocol;
  bool closes_when_empty;
  enum cell full; /* why there is none, or HAS_ROOM */
};

struct pool *pool_create(void);
void pool_release(struct pool *pool);
/* Returns whether an endpoint has left. Brings the targets of the spec into order. */
bool pool_update(struct pool *pool, struct pool_spec *spec);
/* Where others wait for room, whoever comes now is behind them. */
struct choice pool_choose(struct pool *pool, const union address *client, bool has_waited, int64_t now_ns);
/* The endpoint did not answer: the client is free to go elsewhere, and others try it last for a while. Whether that is new. */
bool pool_failed(struct pool *pool, struct endpoint *endpoint, const union address *client, int64_t now_ns);
void pool_succeeded(struct pool *pool, struct endpoint *endpoint);
/* Whether a connection to the endpoint may stay: the pool still has it. */
bool pool_has(struct pool *pool, const struct endpoint *endpoint);
/* Whether a connection to the endpoint has nowhere else to go. */
bool pool_has_only(struct pool *pool, const struct endpoint *endpoint);
/* Gives back the reference of a choice. An endpoint that is gone is forgotten with the last one. */
void pool_leave(struct pool *pool, struct endpoint *endpoint);
/* With the pool's lock. */
void endpoint_release(struct endpoint *endpoint);

/* With the pool's lock. */
uint64_t pool_random(struct pool *pool);
/* Other endpoints, weights or balancing. */
void spread_changed(struct pool *pool);
struct endpoint *spread_next(struct pool *pool, const union address *client, int64_t now_ns);

/* The one of that name, with these limits from now on; a reference. */
struct gate *gate_get(const char *name, const struct limits *limits);
void gate_release(struct gate *gate);
/* With the lock of the pool. What the endpoint has open counts. */
void gate_add(struct gate *gate, struct endpoint *endpoint);
void gate_remove(struct endpoint *endpoint);
void gate_leave(struct endpoint *endpoint);
/* With the lock of the gate. */
enum cell gate_why_full(struct gate *gate, int64_t now_ns);
enum cell gate_why_endpoint_full(struct gate *gate, struct endpoint *endpoint, int64_t now_ns);
void gate_enter(struct gate *gate, struct endpoint *endpoint, int64_t now_ns);

#define MAGLEV_SLOTS 16381
uint32_t hash32(const char *text, uint32_t seed);
/* For each slot the index of its endpoint; they are in the order of their names, and some have a weight. */
uint16_t *maglev_create(struct endpoint *const *endpoints, unsigned count);

struct affinity *affinity_create(int64_t timeout_ns);
void affinity_destroy(struct affinity *affinity);
void affinity_set_timeout(struct affinity *affinity, int64_t timeout_ns);
struct endpoint *affinity_find(struct affinity *affinity, const union address *client, int64_t now_ns);
void affinity_remember(struct affinity *, const union address *client, struct endpoint *endpoint, int64_t now_ns);
void affinity_forget(struct affinity *affinity, const union address *client, const struct endpoint *endpoint);
void affinity_forget_gone(struct affinity *affinity);

/* ---- listeners ---------------------------------------------------------------------------------------------- */

/* What an epoll event is about. */
enum source { SOURCE_MESSAGES, SOURCE_LISTENER, SOURCE_SIDE };

/* How pods of this node are told apart. */
enum telling { NOT_TOLD, TOLD_BY_RANGE, TOLD_BY_DEVICE, TOLD_BY_DEVICE_PREFIX };

/* Whose own address endpoints see: that of pods of this node, or that of everybody at endpoints of this node. */
struct keeping {
  enum { KEEPS_NOBODY, KEEPS_PODS, KEEPS_EVERYBODY } of;
  enum telling telling;
  struct range range;
  char device[16]; /* or how its name begins */
};

struct listener {
  enum source source;
  int fd;
  unsigned slot;
  atomic_int references; /* of connections, and of whoever may still see it in an epoll event */
  atomic_int watchers;   /* workers that may be in accept: the descriptor is closed after the last */
  atomic_bool is_closed;
  unsigned closing_call;
  int refusal; /* an errno: it could not be watched, so it has never been open */
  atomic_llong quiet_until_ns; /* for reports that a flood would repeat */
  pthread_mutex_t lock;
  struct pool *pool;
  struct range *ranges;
  unsigned range_count;
  struct keeping keeping;
};

void listener_release(struct listener *listener);
struct pool *listener_pool(struct listener *listener); /* a reference */
bool listener_allows(struct listener *listener, const union address *client);
struct keeping listener_keeping(struct listener *listener);

/* ---- workers ------------------------------------------------------------------------------------------------ */

#define COPY_BUFFER (128 * 1024)

struct connection;

/* One socket of a connection. */
struct side {
  enum source source;
  int fd;
  struct connection *connection;
  bool is_readable, is_writable;
  bool has_hung_up; /* an end is waiting behind what can be read */
  bool has_urgent;  /* one read stops at an urgent byte, with more behind it */
};

/* What goes from one side to the other, and what of it is on its way. */
struct flow {
  struct side *from, *to;
  enum cell cell;
  unsigned char *rest; /* read, and not taken by the other side */
  size_t rest_start, rest_end;
  int pipe[2]; /* for splice; -1 without */
  size_t in_pipe;
  bool is_bulk; /* worth a pipe */
  bool has_ended, is_shut;
  uint64_t moved;
};

enum timer { DIAL_TIMER, HALF_CLOSE_TIMER = MOST_DIALS, DRAIN_TIMER, LEAVE_TIMER, TIMERS };

/* How old a connection may be. */
struct age {
  int64_t most_ns; /* 0: any age */
  int64_t due_ns;  /* when it has that, more or less */
  int64_t look_ns; /* when it is looked at next */
  unsigned place;  /* among those of its worker; 0: none */
};

struct connection {
  struct worker *worker;
  struct listener *listener;
  struct pool *pool; /* of its endpoint */
  struct endpoint *endpoint;
  enum proxy_protocol proxy_protocol;
  struct side client, backend;
  struct flow up, down;
  union address client_address;
  bool is_joined, is_dead, is_draining;
  bool is_leaving;  /* it is too old, and closed towards the client */
  bool is_answered; /* the endpoint was the last to send */
  struct age age;
  bool is_posing; /* its endpoint sees the client's address */
  unsigned attempt;
  bool is_sticky; /* its endpoint is the one that the client used before */
  unsigned endpoints;
  int64_t accepted_ns, dialled_ns, started_ns, moved_ns;
  struct record *record; /* of the few that are reported */
  struct link all, ready, queued, waiting;
  int64_t due_ns, wait_until_ns;
  enum cell full; /* why it waits */
};

/* Whoever is the last to see it answers: all workers are there. */
struct ping {
  unsigned call;
  atomic_uint unseen;
};

enum message { MESSAGE_RETIRE, MESSAGE_TAKE, MESSAGE_DRAIN, MESSAGE_AGE, MESSAGE_CUT, MESSAGE_PING };

struct worker {
  unsigned index;
  pthread_t thread;
  int epoll_fd, wake_fd, spare_fd;
  enum source wake_source;
  int64_t now_ns;
  int64_t wall_offset_ns, wall_checked_ns; /* from now_ns to the wall clock, which people may set */
  atomic_int load; /* connections, for spreading new ones */
  struct link connections, ready, dead, waiting;
  struct link records;   /* of open connections, the next to be told first */
  unsigned until_report; /* so many connections are not reported before the next */
  unsigned long long reported;
  /* Everything in one queue waits equally long, so the first is the next. */
  struct link queues[TIMERS];
  struct connection **ages; /* that have one, the next to be looked at first */
  unsigned age_count, age_room;
  uint64_t random;
  int idle_pipes[32][2];
  unsigned idle_pipe_count;
  unsigned char *buffer;
  bool has_bulk; /* something went through a pipe in this round */
  pthread_mutex_t inbox_lock;
  struct parcel *inbox, *inbox_end;
};

/* Fairlead sends the sockets to accept from over this one. */
#define SOCKETS_FD 4

extern struct worker *workers;
/* Edge-triggered: each event is told once. */
extern const uint32_t side_events;

/* Each thread calls it first, and goes on when all are there. */
void thread_runs(void);
bool worker_start(struct worker *worker, unsigned index);
void worker_post(struct worker *worker, enum message message, struct listener *listener, int fd);
void worker_ping(struct worker *worker, struct ping *ping);
int64_t timer_ns(enum timer timer);

void connection_accepted(struct worker *worker, struct listener *listener, int fd, const union address *client);
void connection_close(struct connection *connection, bool with_reset);
/* If its endpoint or its listener is gone, it has the drain time, where there is one. */
void connection_drain(struct connection *connection);
void connection_queue(struct connection *connection, enum timer timer);
double *connection_cells(const struct connection *connection);
double *connection_endpoint_cells(const struct connection *connection);
void socket_reset(int fd);
void socket_options(int fd);
/* An errno that says nothing about the other side: it is this machine that has no room. */
bool is_own_shortage(int error);

void dial_next(struct connection *connection);
void dial_event(struct connection *connection, uint32_t events);
void dial_timed_out(struct connection *connection);
void dial_refused(struct connection *connection, enum cell why);

/* False when too many wait already. */
bool wait_begin(struct connection *connection, enum cell why);
bool is_waiting(const struct connection *connection);
void wait_end(struct connection *connection);
int64_t wait_run(struct worker *worker);

/* The pool of its listener has an age, or another one. */
void age_follow(struct connection *connection);
void age_forget(struct connection *connection);
int64_t age_run(struct worker *worker);

/* Makes it dial from the client's own address, if its listener keeps that and the answers come past here. */
void pose_begin(struct connection *connection);
void pose_end(struct connection *connection);

/* Moves what can be moved; closes the connection when both directions have ended. */
void copy_pump(struct connection *connection);
void copy_free(struct connection *connection);
bool copy_write_header(struct connection *connection);

/* ---- single connections that are reported ---------------------------------------------------------------------- */

void record_prepare(struct worker *worker);
void record_accepted(struct connection *connection);
void record_dialled(struct connection *connection, int error);
void record_joined(struct connection *connection);
void record_turned_away(struct connection *connection, enum cell why);
void record_flow_ended(struct connection *connection, const struct flow *flow);
void record_broken(struct connection *connection, const char *why, int error);
void record_closed(struct connection *connection);
void record_refused(struct worker *worker, struct listener *listener, int fd, const union address *client,
                    enum cell why);
int64_t record_tell_open(struct worker *worker);

/* ---- what the TypeScript side is told ------------------------------------------------------------------------ */

/* A line. Answers always arrive; reports are dropped, and counted, when the reader cannot keep up. */
void tell_answer(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tell_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* As a report, at most once in a while for one listener. */
void tell_trouble(struct listener *listener, int64_t now_ns, const char *what, int error);
/* Blocks until there is something to write, writes it. */
void *tell_run(void *unused);

#endif
