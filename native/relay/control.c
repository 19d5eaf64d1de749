/*
 * What the TypeScript side says, a line at a time on standard input, and what it is answered.
 *
 *   <call> pool <pool> <generation> <affinity seconds> <refuse|close> <balancing> <none|v1|v2> <most age in ms>
 *          <-|name,connections,connections of an endpoint,dials in a second,dials of an endpoint>
 *          {<ip> <port> <here|elsewhere> <weight> <endpoint slot>}
 *          An age or a limit of 0 is any; pools whose limits have one name share them. Balancing is round-robin, random, least-connections, source-hash or maglev.
 *   <call> drop <pool>
 *   <call> listen <slot> <ip> <port> <pool> <whose address is kept> <pods> {<range>}
 *                                                            done <call> <port>, or failed <call> <errno>
 *          The socket, which listens already, comes over descriptor 4 before the command.
 *   <call> assign <slot> <pool> <whose address is kept> <pods> {<range>}
 *   <call> close <slot>                                      done <call> when the address is free
 *   <call> follow <0|1>
 *   <call> ping                                              done <call> when all workers have seen it
 *   <call> end <grace in ms>                                 exits
 *
 * The address is kept of nobody, pods or everybody. Pods are told by a range, by the "=name" of a device, by a "+prefix" of
 * such names, or, with "-", not at all.
 *
 * Everything else is answered by "done <call>" when it is so. Slots and pools are small numbers that the other side
 * gives; a slot is free again after "gone <slot>", that of an endpoint after "left <endpoint slot> <generation>" with the
 * generation of the list with which it came last. An engine whose system calls cannot be restricted says "unfiltered
 * <errno>" at the start.
 */
#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct settings settings;
atomic_bool is_followed;
static pthread_barrier_t all_run;

static _Noreturn void fail(const char *why) {
  fprintf(stderr, "the native relay stops: %s\n", why);
  exit(2);
}

/* ---- tables of what the numbers stand for ------------------------------------------------------------------- */

struct table {
  void **entries;
  size_t size;
};

static struct table pools, listeners;

static void *table_get(const struct table *table, size_t number) {
  return number < table->size ? table->entries[number] : NULL;
}

static void table_set(struct table *table, size_t number, void *entry) {
  if (number >= table->size) {
    size_t size = (number + 1) * 2;
    table->entries = must_have(realloc(table->entries, size * sizeof *table->entries));
    memset(table->entries + table->size, 0, (size - table->size) * sizeof *table->entries);
    table->size = size;
  }
  table->entries[number] = entry;
}

/* ---- words of a line ---------------------------------------------------------------------------------------- */

struct words {
  char *rest;
};

static char *maybe_word(struct words *words) {
  char *word = strsep(&words->rest, " ");
  return word == NULL || *word == '\0' ? NULL : word;
}

static char *word(struct words *words) {
  char *found = maybe_word(words);
  if (found == NULL) fail("a command is too short");
  return found;
}

static long number(struct words *words) { return atol(word(words)); }

static int one_of(const char *word, const char *const names[]) {
  for (int index = 0; names[index] != NULL; index++)
    if (strcmp(word, names[index]) == 0) return index;
  fail("a command has a word that is not known");
}

static unsigned count_words(const char *text) {
  if (text == NULL || *text == '\0') return 0;
  unsigned count = 1;
  for (; *text != '\0'; text++) count += *text == ' ';
  return count;
}

/* ---- commands ----------------------------------------------------------------------------------------------- */

static const char *const empties[] = {"refuse", "close", NULL};
static const char *const balancings[] = {"round-robin", "random", "least-connections", "source-hash", "maglev", NULL};
static const char *const headers[] = {"none", "v1", "v2", NULL};
static const char *const places[] = {"elsewhere", "here", NULL};
static const char *const keepings[] = {"nobody", "pods", "everybody", NULL};
static const char *const privileges[] = {"plain", "transparent", NULL};

static void tell_workers(enum message message) {
  for (unsigned index = 0; index < settings.workers; index++) worker_post(&workers[index], message, NULL, -1);
}

static unsigned limit(struct words *limits) {
  const char *text = strsep(&limits->rest, ",");
  if (text == NULL) fail("a pool has too few limits");
  return (unsigned)atol(text);
}

static struct gate *read_gate(char *text) {
  if (strcmp(text, "-") == 0) return NULL;
  struct words rest = {text};
  const char *name = strsep(&rest.rest, ",");
  struct limits limits = {0};
  limits.connections = limit(&rest);
  limits.endpoint_connections = limit(&rest);
  limits.dials = limit(&rest);
  limits.endpoint_dials = limit(&rest);
  return gate_get(name, &limits);
}

static void change_pool(unsigned call, struct words *words) {
  size_t name = (size_t)number(words);
  struct pool_spec spec = {0};
  spec.generation = (unsigned)number(words);
  spec.affinity_ns = number(words) * 1000000000;
  spec.closes_when_empty = one_of(word(words), empties) == 1;
  spec.balancing = (enum balancing)one_of(word(words), balancings);
  spec.proxy_protocol = (enum proxy_protocol)one_of(word(words), headers);
  spec.most_age_ns = number(words) * 1000000;
  spec.gate = read_gate(word(words));
  spec.count = count_words(words->rest) / 5;
  spec.targets = must_have(calloc(spec.count + 1, sizeof *spec.targets));
  for (unsigned index = 0; index < spec.count; index++) {
    struct target *target = &spec.targets[index];
    const char *ip = word(words), *port = word(words);
    if (!address_parse(&target->address, ip, port)) fail("an endpoint has no IP address");
    const char *format = target->address.any.sa_family == AF_INET ? "%.46s:%.5s" : "[%.46s]:%.5s";
    snprintf(target->name, sizeof target->name, format, ip, port);
    target->is_here = one_of(word(words), places) == 1;
    target->weight = (unsigned)number(words);
    target->slot = (unsigned)number(words);
  }
  struct pool *pool = table_get(&pools, name);
  if (pool == NULL) table_set(&pools, name, pool = pool_create());
  bool has_other_age = atomic_load(&pool->most_age_ns) != spec.most_age_ns;
  bool has_left = pool_update(pool, &spec);
  free(spec.targets);
  if (has_left && settings.drain_ns >= 0) tell_workers(MESSAGE_DRAIN);
  if (has_other_age) tell_workers(MESSAGE_AGE);
  tell_answer("done %u", call);
}

static void drop_pool(unsigned call, struct words *words) {
  size_t name = (size_t)number(words);
  struct pool *pool = table_get(&pools, name);
  if (pool != NULL) pool_release(pool);
  table_set(&pools, name, NULL);
  tell_answer("done %u", call);
}

static struct keeping read_keeping(struct words *words) {
  struct keeping keeping = {.of = one_of(word(words), keepings)};
  char *pods = word(words);
  if (pods[0] == '=' || pods[0] == '+') {
    keeping.telling = pods[0] == '=' ? TOLD_BY_DEVICE : TOLD_BY_DEVICE_PREFIX;
    if (strlen(pods + 1) >= sizeof keeping.device) fail("a device has a name that is too long");
    memcpy(keeping.device, pods + 1, strlen(pods + 1));
  } else if (pods[0] != '-') {
    keeping.telling = TOLD_BY_RANGE;
    if (!range_parse(&keeping.range, pods)) fail("a range of pods is not one");
  }
  return keeping;
}

/* Returns whether connections may become older or not so old than before. */
static bool assign(struct listener *listener, struct words *words) {
  struct pool *pool = table_get(&pools, (size_t)number(words));
  if (pool == NULL) fail("a listener has no pool");
  struct keeping keeping = read_keeping(words);
  atomic_fetch_add(&pool->references, 1);
  unsigned count = count_words(words->rest);
  struct range *ranges = must_have(calloc(count + 1, sizeof *ranges));
  for (unsigned index = 0; index < count; index++)
    if (!range_parse(&ranges[index], word(words))) fail("a range of sources is not one");
  pthread_mutex_lock(&listener->lock);
  struct pool *old_pool = listener->pool;
  struct range *old_ranges = listener->ranges;
  listener->pool = pool;
  listener->ranges = ranges;
  listener->range_count = count;
  listener->keeping = keeping;
  pthread_mutex_unlock(&listener->lock);
  free(old_ranges);
  if (old_pool == NULL) return false;
  bool has_other_age = atomic_load(&old_pool->most_age_ns) != atomic_load(&pool->most_age_ns);
  pool_release(old_pool);
  return has_other_age;
}

static void assign_listener(unsigned call, struct words *words) {
  struct listener *listener = table_get(&listeners, (size_t)number(words));
  if (listener == NULL) fail("a listener that is not there is assigned a pool");
  bool has_other_age = assign(listener, words);
  if (settings.drain_ns >= 0) tell_workers(MESSAGE_DRAIN);
  if (has_other_age) tell_workers(MESSAGE_AGE);
  tell_answer("done %u", call);
}

/* The next socket that Fairlead has sent: a descriptor, or a negated errno. */
static int receive_socket(union address *address) {
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  char byte;
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t size;
  do size = recvmsg(SOCKETS_FD, &message, MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  if (size < 0) return -errno;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  /* This process has no room for another one. */
  if (size == 0 || header == NULL || header->cmsg_type != SCM_RIGHTS) return -EMFILE;
  int fd;
  memcpy(&fd, CMSG_DATA(header), sizeof fd);
  socket_options(fd); /* Accepted sockets inherit them. */
  socklen_t room = sizeof *address;
  if (getsockname(fd, &address->any, &room) == 0) return fd;
  int error = errno;
  close(fd);
  return -error;
}

/* Whoever may be in accept with it finishes first; connections go on. */
static void retire_listener(struct listener *listener, unsigned call) {
  listener->closing_call = call;
  atomic_store(&listener->is_closed, true);
  for (unsigned index = 0; index < settings.workers; index++)
    epoll_ctl(workers[index].epoll_fd, EPOLL_CTL_DEL, listener->fd, NULL);
  for (unsigned index = 0; index < settings.workers; index++) {
    if (settings.drain_ns >= 0) worker_post(&workers[index], MESSAGE_DRAIN, NULL, -1);
    worker_post(&workers[index], MESSAGE_RETIRE, listener, -1);
  }
}

/* An errno; the kernel has a limit of what may be watched, for each user. */
static int watch(struct listener *listener) {
  struct epoll_event event = {EPOLLIN | EPOLLEXCLUSIVE, {.ptr = listener}};
  for (unsigned index = 0; index < settings.workers; index++)
    if (epoll_ctl(workers[index].epoll_fd, EPOLL_CTL_ADD, listener->fd, &event) < 0) return errno;
  return 0;
}

static void open_listener(unsigned call, struct words *words) {
  unsigned slot = (unsigned)number(words);
  union address address;
  word(words); /* for people who follow the conversation */
  word(words);
  int fd = receive_socket(&address);
  if (fd < 0) return tell_answer("failed %u %d", call, -fd);
  struct listener *listener = must_have(calloc(1, sizeof *listener));
  listener->source = SOURCE_LISTENER;
  listener->fd = fd;
  listener->slot = slot;
  pthread_mutex_init(&listener->lock, NULL);
  atomic_init(&listener->references, (int)settings.workers);
  atomic_init(&listener->watchers, (int)settings.workers);
  assign(listener, words);
  descriptors_take(1);
  listener->refusal = watch(listener);
  if (listener->refusal != 0) return retire_listener(listener, call);
  table_set(&listeners, slot, listener);
  tell_answer("done %u %u", call, address_port(&address));
}

static void close_listener(unsigned call, struct words *words) {
  size_t slot = (size_t)number(words);
  struct listener *listener = table_get(&listeners, slot);
  if (listener == NULL) return tell_answer("done %u", call);
  table_set(&listeners, slot, NULL);
  retire_listener(listener, call);
}

static bool has_connections(void) {
  for (unsigned index = 0; index < settings.workers; index++)
    if (atomic_load(&workers[index].load) > 0) return true;
  return false;
}

/* Listeners are closed before; connections may end within the grace. */
static void end(unsigned call, struct words *words) {
  struct timespec tick = {0, 5000000};
  for (long left_ms = number(words); left_ms > 0 && has_connections(); left_ms -= 5) nanosleep(&tick, NULL);
  tell_workers(MESSAGE_CUT);
  while (has_connections()) nanosleep(&tick, NULL);
  tell_answer("done %u", call);
}

static void ping_workers(unsigned call) {
  struct ping *ping = must_have(calloc(1, sizeof *ping));
  ping->call = call;
  atomic_init(&ping->unseen, settings.workers);
  for (unsigned index = 0; index < settings.workers; index++) worker_ping(&workers[index], ping);
}

static void obey(char *line) {
  struct words words = {line};
  unsigned call = (unsigned)number(&words);
  const char *verb = word(&words);
  if (strcmp(verb, "pool") == 0) return change_pool(call, &words);
  if (strcmp(verb, "drop") == 0) return drop_pool(call, &words);
  if (strcmp(verb, "listen") == 0) return open_listener(call, &words);
  if (strcmp(verb, "assign") == 0) return assign_listener(call, &words);
  if (strcmp(verb, "close") == 0) return close_listener(call, &words);
  if (strcmp(verb, "end") == 0) return end(call, &words);
  if (strcmp(verb, "ping") == 0) return ping_workers(call);
  if (strcmp(verb, "follow") == 0) {
    atomic_store(&is_followed, number(&words) != 0);
    return tell_answer("done %u", call);
  }
  fail("a command is not known");
}

/* ---- start -------------------------------------------------------------------------------------------------- */

/*
 * fairlead-relay WORKERS SLOTS ENDPOINT_SLOTS BUDGET HALF_CLOSE_MS DRAIN_MS plain|transparent REPORT_ONE_IN
 *                REPORT_EVERY_MS FAILURE_REPORTS DIAL_MS…
 */
#define FIXED_ARGUMENTS 10

static void read_arguments(char **arguments, unsigned dials) {
  settings.workers = (unsigned)atoi(arguments[0]);
  settings.descriptor_budget = atoi(arguments[3]);
  settings.half_close_ns = atoll(arguments[4]) * 1000000;
  settings.drain_ns = atoll(arguments[5]) * 1000000;
  settings.report_one_in = (unsigned)atoi(arguments[7]);
  settings.report_every_ns = atoll(arguments[8]) * 1000000;
  settings.failure_reports = (unsigned)atoi(arguments[9]);
  settings.dial_attempts = dials;
  for (unsigned index = 0; index < dials; index++)
    settings.dial_timeouts_ns[index] = atoll(arguments[FIXED_ARGUMENTS + index]) * 1000000;
}

#define PIECES 8
#define PIECE_SIZE 100000 /* Less than what the C library gets from the kernel for itself. */

/*
 * When a thread first gives much memory back, glibc reads /proc/sys/vm/overcommit_memory to know how, and remembers the
 * answer. Later it could not open a file any more, so it happens at the start.
 */
static void give_memory_back(void) {
  char *volatile pieces[PIECES];
  for (int index = 0; index < PIECES; index++) *(pieces[index] = must_have(malloc(PIECE_SIZE))) = 1;
  for (int index = PIECES; index-- > 0;) free(pieces[index]);
}

void thread_runs(void) {
  give_memory_back();
  pthread_barrier_wait(&all_run);
}

/* The C library is done with what a thread needs at its start when each of them says so. */
static void start_threads(void) {
  pthread_t teller;
  pthread_barrier_init(&all_run, NULL, settings.workers + 2);
  if (pthread_create(&teller, NULL, tell_run, NULL) != 0) fail("no thread can be started");
  workers = must_have(calloc(settings.workers, sizeof *workers));
  for (unsigned index = 0; index < settings.workers; index++)
    if (!worker_start(&workers[index], index)) fail("a worker cannot be started");
  thread_runs();
}

static void restrict_calls(void) {
  static char input[1 << 16];
  setvbuf(stdin, input, _IOFBF, sizeof input); /* Its default would ask what kind of file it is. */
  int error = calls_restrict();
  if (error != 0) tell_answer("unfiltered %d", error);
}

/* Descriptor 3 is the shared memory, and sockets come over descriptor 4. */
int main(int count, char **arguments) {
  int dials = count - 1 - FIXED_ARGUMENTS;
  if (dials < 1 || dials > MOST_DIALS) fail("it is started by Fairlead, and has no use alone");
  /* A terminal and systemd signal both processes; Fairlead then ends this one in its own time. */
  const int ignored[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP};
  for (size_t index = 0; index < sizeof ignored / sizeof *ignored; index++) signal(ignored[index], SIG_IGN);
  if (!privileges_give_up(one_of(arguments[7], privileges) == 1)) fail("its privileges cannot be given up");
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* Other privileges make the kernel forget it. */
  if (!buckets_choose_key()) fail("the kernel has no random numbers");
  read_arguments(arguments + 1, (unsigned)dials);
  if (!shared_map(3, (unsigned)atoi(arguments[2]), (unsigned)atoi(arguments[3]))) fail("the shared memory cannot be mapped");
  start_threads();
  restrict_calls();
  char *line = NULL;
  size_t room = 0;
  for (ssize_t size; (size = getline(&line, &room, stdin)) > 0;) {
    if (line[size - 1] == '\n') line[size - 1] = '\0';
    obey(line);
  }
  free(line);
  return 0; /* Fairlead is gone. */
}
