/* One thread: waits for events, accepts, and keeps the connections that came to it. */
#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define EVENTS 256
/* How long a client has to close what was closed towards it. */
#define LEAVE_NS 5000000000
/* The client's socket and the endpoint's. */
#define DESCRIPTORS_PER_CONNECTION 2
/* A thread hands a new connection on when it has so many more than the idlest: a few cost less than a wake-up. */
#define TOLERATED_LEAD 8
/* More are waiting: the event comes again, perhaps in a thread that has less to do. */
#define ACCEPTS_PER_EVENT 4

struct worker *workers;
const uint32_t side_events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET;

/* How long the wall clock may be wrong after somebody has set it. */
#define WALL_CHECK_NS 1000000000

static int64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void read_clock(struct worker *worker) {
  worker->now_ns = clock_ns(CLOCK_MONOTONIC);
  if (worker->wall_offset_ns != 0 && worker->now_ns < worker->wall_checked_ns + WALL_CHECK_NS) return;
  worker->wall_offset_ns = clock_ns(CLOCK_REALTIME) - worker->now_ns;
  worker->wall_checked_ns = worker->now_ns;
}

/* ---- messages from other threads ----------------------------------------------------------------------------- */

struct parcel {
  struct parcel *next;
  enum message message;
  struct listener *listener;
  int fd;
  struct ping *ping;
};

static void send_parcel(struct worker *worker, struct parcel contents) {
  struct parcel *parcel = must_have(calloc(1, sizeof *parcel));
  *parcel = contents;
  pthread_mutex_lock(&worker->inbox_lock);
  if (worker->inbox == NULL)
    worker->inbox = parcel;
  else
    worker->inbox_end->next = parcel;
  worker->inbox_end = parcel;
  pthread_mutex_unlock(&worker->inbox_lock);
  eventfd_write(worker->wake_fd, 1);
}

void worker_post(struct worker *worker, enum message message, struct listener *listener, int fd) {
  send_parcel(worker, (struct parcel){.message = message, .listener = listener, .fd = fd});
}

void worker_ping(struct worker *worker, struct ping *ping) {
  send_parcel(worker, (struct parcel){.message = MESSAGE_PING, .ping = ping});
}

/* ---- connections -------------------------------------------------------------------------------------------- */

double *connection_cells(const struct connection *connection) {
  return shared_cells(connection->listener->slot, connection->worker->index);
}

double *connection_endpoint_cells(const struct connection *connection) {
  return shared_endpoint_cells(connection->endpoint->slot, connection->worker->index);
}

void socket_reset(int fd) {
  struct linger at_once = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(fd);
}

int64_t timer_ns(enum timer timer) {
  if (timer == HALF_CLOSE_TIMER) return settings.half_close_ns;
  if (timer == DRAIN_TIMER) return settings.drain_ns;
  if (timer == LEAVE_TIMER) return LEAVE_NS;
  return settings.dial_timeouts_ns[timer];
}

void connection_queue(struct connection *connection, enum timer timer) {
  list_remove(&connection->queued);
  connection->due_ns = connection->worker->now_ns + timer_ns(timer);
  list_append(&connection->worker->queues[timer], &connection->queued);
}

/* Asked by address: the listener may have another pool than when the connection began. */
static bool is_orphan(struct connection *connection) {
  if (atomic_load(&connection->listener->is_closed)) return true;
  struct pool *pool = listener_pool(connection->listener);
  bool has = pool_has(pool, connection->endpoint);
  pool_release(pool);
  return !has;
}

void connection_drain(struct connection *connection) {
  if (settings.drain_ns < 0 || connection->is_draining || connection->is_leaving || !is_orphan(connection)) return;
  connection->is_draining = true;
  connection_queue(connection, DRAIN_TIMER);
}

static void flow_init(struct flow *flow, struct side *from, struct side *to, enum cell cell) {
  *flow = (struct flow){.from = from, .to = to, .cell = cell, .pipe = {-1, -1}};
}

static struct connection *connection_create(struct worker *worker, struct listener *listener, int fd,
                                            const union address *client) {
  struct connection *connection = calloc(1, sizeof *connection);
  if (connection == NULL) return NULL;
  connection->worker = worker;
  connection->listener = listener;
  connection->client_address = *client;
  connection->accepted_ns = worker->now_ns;
  connection->client = (struct side){.source = SOURCE_SIDE, .fd = fd, .connection = connection, .is_writable = true};
  connection->backend = (struct side){.source = SOURCE_SIDE, .fd = -1, .connection = connection};
  flow_init(&connection->up, &connection->client, &connection->backend, BYTES_IN);
  flow_init(&connection->down, &connection->backend, &connection->client, BYTES_OUT);
  list_init(&connection->ready);
  list_init(&connection->queued);
  list_init(&connection->waiting);
  list_append(&worker->connections, &connection->all);
  return connection;
}

static void report_accepted(struct listener *listener, int fd, const union address *client) {
  union address here;
  socklen_t size = sizeof here;
  if (!atomic_load(&is_followed) || getsockname(fd, &here.any, &size) < 0) return;
  char remote[ADDRESS_TEXT], local[ADDRESS_TEXT];
  tell_report("accepted %u %s %s", listener->slot, address_text(client, remote), address_text(&here, local));
}

static void refuse(struct worker *worker, struct listener *listener, int fd, const union address *client,
                   enum cell why) {
  record_refused(worker, listener, fd, client, why);
  if (why == OVERLOAD) tell_trouble(listener, worker->now_ns, "shortage", 0);
  shared_cells(listener->slot, worker->index)[why] += 1;
  socket_reset(fd);
  listener_release(listener);
}

/* Takes over a reference to the listener. */
void connection_accepted(struct worker *worker, struct listener *listener, int fd, const union address *client) {
  double *cells = shared_cells(listener->slot, worker->index);
  cells[CONNECTIONS] += 1;
  report_accepted(listener, fd, client);
  if (!listener_allows(listener, client)) return refuse(worker, listener, fd, client, SOURCE_NOT_ALLOWED);
  if (!descriptors_try(DESCRIPTORS_PER_CONNECTION)) return refuse(worker, listener, fd, client, OVERLOAD);
  struct connection *connection = connection_create(worker, listener, fd, client);
  if (connection == NULL) {
    descriptors_give_back(DESCRIPTORS_PER_CONNECTION);
    return refuse(worker, listener, fd, client, OVERLOAD);
  }
  record_accepted(connection);
  atomic_fetch_add(&worker->load, 1);
  struct epoll_event event = {side_events, {.ptr = &connection->client}};
  if (epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0) return dial_next(connection);
  tell_trouble(listener, worker->now_ns, "shortage", errno);
  cells[OVERLOAD] += 1;
  record_turned_away(connection, OVERLOAD);
  connection_close(connection, true);
}

static void report_copied(const struct connection *connection) {
  if (!atomic_load(&is_followed)) return;
  char client[ADDRESS_TEXT], endpoint[ADDRESS_TEXT];
  tell_report("copied %u %s %s %llu %llu %lld", connection->listener->slot,
              address_text(&connection->client_address, client),
              address_text(&connection->endpoint->address, endpoint), (unsigned long long)connection->up.moved,
              (unsigned long long)connection->down.moved,
              (long long)(connection->worker->now_ns - connection->started_ns) / 1000000);
}

static void note_end(struct connection *connection) {
  int64_t lasted_ns = connection->worker->now_ns - connection->started_ns;
  double *cells = connection_cells(connection), *endpoint_cells = connection_endpoint_cells(connection);
  cells[ACTIVE] -= 1;
  endpoint_cells[ACTIVE] -= 1;
  cells[SECONDS] += (double)lasted_ns / 1e9;
  endpoint_cells[ENDPOINT_SECONDS] += (double)lasted_ns / 1e9;
  count_duration(connection->worker->index, TIMED_CONNECTION, lasted_ns);
  report_copied(connection);
}

static void socket_close(int fd, bool with_reset) {
  if (fd < 0) return;
  if (with_reset)
    socket_reset(fd);
  else
    close(fd);
}

/* Events of this round may still speak of it, so its memory goes when the round is over. */
void connection_close(struct connection *connection, bool with_reset) {
  if (connection->is_dead) return;
  connection->is_dead = true;
  record_closed(connection);
  socket_close(connection->client.fd, with_reset);
  socket_close(connection->backend.fd, with_reset);
  copy_free(connection);
  pose_end(connection);
  /* Whoever sees fewer connections sees these, too. */
  descriptors_give_back(DESCRIPTORS_PER_CONNECTION);
  if (connection->is_leaving) connection_cells(connection)[with_reset ? AGED_RESET : AGED] += 1;
  if (connection->is_joined) note_end(connection);
  age_forget(connection);
  if (connection->endpoint != NULL) pool_leave(connection->pool, connection->endpoint);
  wait_end(connection);
  if (connection->pool != NULL) pool_release(connection->pool);
  atomic_fetch_sub(&connection->worker->load, 1);
  list_remove(&connection->ready);
  list_remove(&connection->queued);
  list_remove(&connection->all);
  list_append(&connection->worker->dead, &connection->all);
}

static void cut(struct connection *connection, const char *why) {
  record_broken(connection, why, 0);
  connection_close(connection, true);
}

static void bury(struct worker *worker) {
  while (!list_is_empty(&worker->dead)) {
    struct connection *connection = CONTAINER(worker->dead.next, struct connection, all);
    list_remove(&connection->all);
    listener_release(connection->listener);
    free(connection);
  }
}

/* ---- events ------------------------------------------------------------------------------------------------- */

/* An errno. */
static int broken_by(const struct side *side, uint32_t events) {
  if ((events & EPOLLERR) == 0) return 0;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(side->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? errno : error;
}

static void side_event(struct side *side, uint32_t events) {
  struct connection *connection = side->connection;
  if (connection->is_dead) return;
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP)) != 0) side->is_readable = true;
  if ((events & (EPOLLRDHUP | EPOLLHUP)) != 0) side->has_hung_up = true;
  if ((events & EPOLLPRI) != 0) side->has_urgent = true;
  if ((events & EPOLLOUT) != 0) side->is_writable = true;
  if (!connection->is_joined && side == &connection->backend) return dial_event(connection, events);
  int error = broken_by(side, events);
  if (error != 0) {
    record_broken(connection, "broken", error);
    return connection_close(connection, true);
  }
  if (connection->is_joined) copy_pump(connection);
}

static struct worker *idlest(struct worker *self) {
  struct worker *best = self;
  for (unsigned index = 0; index < settings.workers; index++)
    if (atomic_load_explicit(&workers[index].load, memory_order_relaxed) <
        atomic_load_explicit(&best->load, memory_order_relaxed))
      best = &workers[index];
  int lead = atomic_load(&self->load) - atomic_load(&best->load);
  return lead > TOLERATED_LEAD ? best : self;
}

/* Any will do. A copy of one that is there needs no file to be opened, which the engine may not. */
static void keep_spare(struct worker *worker) {
  if (worker->spare_fd < 0) worker->spare_fd = fcntl(worker->wake_fd, F_DUPFD_CLOEXEC, 0);
}

/*
 * No descriptor is left, not even to turn a client away: one is kept for that. Another thread may be quicker to take
 * it, and keep it; then the client waits in the kernel's queue, and we must not ask for it without a pause.
 */
static void accept_with_spare(struct worker *worker, struct listener *listener) {
  if (worker->spare_fd >= 0) close(worker->spare_fd);
  worker->spare_fd = -1;
  int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  bool is_short = fd < 0 && errno != EAGAIN;
  if (fd >= 0) {
    double *cells = shared_cells(listener->slot, worker->index);
    cells[CONNECTIONS] += 1;
    cells[OVERLOAD] += 1;
    socket_reset(fd);
  }
  keep_spare(worker);
  tell_trouble(listener, worker->now_ns, "shortage", EMFILE);
  if (is_short) nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void accept_some(struct worker *worker, struct listener *listener) {
  for (int count = 0; count < ACCEPTS_PER_EVENT; count++) {
    if (atomic_load(&listener->is_closed)) return;
    union address client;
    socklen_t size = sizeof client;
    int fd = accept4(listener->fd, &client.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE)
        accept_with_spare(worker, listener);
      else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        tell_trouble(listener, worker->now_ns, "accept-failed", errno);
      return;
    }
    atomic_fetch_add(&listener->references, 1);
    struct worker *other = idlest(worker);
    if (other == worker)
      connection_accepted(worker, listener, fd, &client);
    else
      worker_post(other, MESSAGE_TAKE, listener, fd);
  }
}

static void take(struct worker *worker, struct listener *listener, int fd) {
  union address client;
  socklen_t size = sizeof client;
  if (getpeername(fd, &client.any, &size) == 0) return connection_accepted(worker, listener, fd, &client);
  shared_cells(listener->slot, worker->index)[CONNECTIONS] += 1; /* It left before we looked. */
  close(fd);
  listener_release(listener);
}

static void drain_orphans(struct worker *worker) {
  for (struct link *link = worker->connections.next; link != &worker->connections; link = link->next) {
    struct connection *connection = CONTAINER(link, struct connection, all);
    if (connection->is_joined) connection_drain(connection);
  }
}

static void follow_ages(struct worker *worker) {
  for (struct link *link = worker->connections.next; link != &worker->connections; link = link->next) {
    struct connection *connection = CONTAINER(link, struct connection, all);
    if (connection->is_joined) age_follow(connection);
  }
}

static void cut_all(struct worker *worker) {
  while (!list_is_empty(&worker->connections))
    cut(CONTAINER(worker->connections.next, struct connection, all), "stopped");
}

/* After the last worker the address is free. */
static void retire(struct listener *listener) {
  if (atomic_fetch_sub(&listener->watchers, 1) == 1) {
    close(listener->fd);
    descriptors_give_back(1);
    if (listener->refusal == 0) tell_answer("done %u", listener->closing_call);
  }
  listener_release(listener);
}

static void see(struct ping *ping) {
  if (atomic_fetch_sub(&ping->unseen, 1) != 1) return;
  tell_answer("done %u", ping->call);
  free(ping);
}

static void read_inbox(struct worker *worker) {
  pthread_mutex_lock(&worker->inbox_lock);
  struct parcel *parcel = worker->inbox;
  worker->inbox = worker->inbox_end = NULL;
  pthread_mutex_unlock(&worker->inbox_lock);
  bool has_orphans = false, has_other_age = false;
  for (struct parcel *next; parcel != NULL; parcel = next) {
    next = parcel->next;
    switch (parcel->message) {
      case MESSAGE_RETIRE: retire(parcel->listener); break;
      case MESSAGE_TAKE: take(worker, parcel->listener, parcel->fd); break;
      case MESSAGE_DRAIN: has_orphans = true; break;
      case MESSAGE_AGE: has_other_age = true; break;
      case MESSAGE_CUT: cut_all(worker); break;
      case MESSAGE_PING: see(parcel->ping); break;
    }
    free(parcel);
  }
  if (has_orphans) drain_orphans(worker);
  if (has_other_age) follow_ages(worker);
}

/* ---- time --------------------------------------------------------------------------------------------------- */

static void expire(struct connection *connection, enum timer timer) {
  list_remove(&connection->queued);
  switch (timer) {
    case HALF_CLOSE_TIMER:
      connection->due_ns = connection->moved_ns + settings.half_close_ns;
      if (connection->due_ns <= connection->worker->now_ns) return cut(connection, "half-closed");
      /* Something moved meanwhile. The queue is in order to within one timeout, which is as exact as this must be. */
      return list_append(&connection->worker->queues[timer], &connection->queued);
    case DRAIN_TIMER:
      connection->is_draining = false;
      if (is_orphan(connection)) return cut(connection, "drained");
      if (connection->up.is_shut || connection->down.is_shut) connection_queue(connection, HALF_CLOSE_TIMER);
      return;
    case LEAVE_TIMER: return cut(connection, "aged");
    default: return dial_timed_out(connection);
  }
}

/* Returns how long there is nothing due, in milliseconds; -1 when nothing ever is. */
static int run_timers(struct worker *worker) {
  int64_t next_ns = record_tell_open(worker), next_age_ns = age_run(worker);
  if (next_age_ns < next_ns) next_ns = next_age_ns;
  if (!list_is_empty(&worker->waiting)) {
    int64_t next_wait_ns = wait_run(worker);
    if (next_wait_ns < next_ns) next_ns = next_wait_ns;
  }
  for (int timer = 0; timer < TIMERS; timer++) {
    struct link *queue = &worker->queues[timer];
    while (!list_is_empty(queue)) {
      struct connection *connection = CONTAINER(queue->next, struct connection, queued);
      if (connection->due_ns > worker->now_ns) {
        if (connection->due_ns < next_ns) next_ns = connection->due_ns;
        break;
      }
      expire(connection, (enum timer)timer);
    }
  }
  if (next_ns == INT64_MAX) return -1;
  int64_t wait_ms = (next_ns - worker->now_ns + 999999) / 1000000;
  return wait_ms < 60000 ? (int)wait_ms : 60000;
}

static void run_ready(struct worker *worker) {
  struct link now;
  list_init(&now);
  while (!list_is_empty(&worker->ready)) {
    struct link *link = worker->ready.next;
    list_remove(link);
    list_append(&now, link);
  }
  while (!list_is_empty(&now)) {
    struct connection *connection = CONTAINER(now.next, struct connection, ready);
    list_remove(&connection->ready);
    copy_pump(connection);
  }
}

static void *run(void *argument) {
  struct worker *worker = argument;
  struct epoll_event events[EVENTS];
  thread_runs();
  for (;;) {
    keep_spare(worker);
    int wait_ms = run_timers(worker);
    if (!list_is_empty(&worker->ready)) wait_ms = 0;
    /* Who fills or empties our sockets may wait for this core: with a turn of theirs there is more to move at once. */
    if (worker->has_bulk) sched_yield();
    worker->has_bulk = false;
    int count = epoll_wait(worker->epoll_fd, events, EVENTS, wait_ms);
    read_clock(worker);
    bool has_messages = false;
    for (int index = 0; index < count; index++) {
      enum source *source = events[index].data.ptr;
      switch (*source) {
        case SOURCE_MESSAGES: has_messages = true; break;
        case SOURCE_LISTENER: accept_some(worker, events[index].data.ptr); break;
        case SOURCE_SIDE: side_event(events[index].data.ptr, events[index].events); break;
      }
    }
    run_ready(worker);
    if (has_messages) { /* After the events: they may speak of a listener that a message retires. */
      eventfd_t ignored;
      eventfd_read(worker->wake_fd, &ignored);
      read_inbox(worker);
    }
    bury(worker);
  }
  return NULL;
}

bool worker_start(struct worker *worker, unsigned index) {
  worker->index = index;
  worker->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  worker->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  worker->spare_fd = -1;
  keep_spare(worker);
  worker->buffer = malloc(COPY_BUFFER);
  worker->wake_source = SOURCE_MESSAGES;
  pthread_mutex_init(&worker->inbox_lock, NULL);
  list_init(&worker->connections);
  list_init(&worker->ready);
  list_init(&worker->dead);
  list_init(&worker->waiting);
  for (int timer = 0; timer < TIMERS; timer++) list_init(&worker->queues[timer]);
  read_clock(worker);
  record_prepare(worker);
  worker->random = (uint64_t)worker->now_ns | 1;
  struct epoll_event event = {EPOLLIN, {.ptr = &worker->wake_source}};
  if (worker->epoll_fd < 0 || worker->wake_fd < 0 || worker->spare_fd < 0 || worker->buffer == NULL) return false;
  if (epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, worker->wake_fd, &event) < 0) return false;
  return pthread_create(&worker->thread, NULL, run, worker) == 0;
}
