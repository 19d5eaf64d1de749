/* Connects to an endpoint, or to the next one, until the list of timeouts is used up. */
#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* As Go sets them on every connection: small writes leave at once, dead peers are noticed. */
void socket_options(int fd) {
  int on = 1, seconds = 15;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
}

bool is_own_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOSPC || error == ENOMEM || error == ENOBUFS;
}

static void turn_away(struct connection *connection, enum cell why, bool with_reset) {
  connection_cells(connection)[why] += 1;
  record_turned_away(connection, why);
  connection_close(connection, with_reset);
}

void dial_refused(struct connection *connection, enum cell why) {
  tell_trouble(connection->listener, connection->worker->now_ns, "limited", 0);
  turn_away(connection, why, true);
}

static void report_choice(struct connection *connection, const struct choice *choice) {
  if (!atomic_load(&is_followed)) return;
  char client[ADDRESS_TEXT], endpoint[ADDRESS_TEXT];
  tell_report("chosen %u %s %s %s", connection->listener->slot, address_text(&connection->client_address, client),
              address_text(&choice->endpoint->address, endpoint), choice->is_sticky ? "affinity" : "turn");
}

/* An errno, 0 when the kernel is at it. */
static int begin(struct connection *connection) {
  const struct endpoint *endpoint = connection->endpoint;
  int fd = socket(endpoint->address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  connection->backend = (struct side){.source = SOURCE_SIDE, .fd = fd, .connection = connection};
  socket_options(fd);
  pose_begin(connection);
  if (connect(fd, &endpoint->address.any, address_size(&endpoint->address)) < 0 && errno != EINPROGRESS) return errno;
  struct epoll_event event = {side_events, {.ptr = &connection->backend}};
  return epoll_ctl(connection->worker->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? errno : 0;
}

static enum failure failure_of(int error) {
  switch (error) {
    case ECONNREFUSED: return REFUSED;
    case ETIMEDOUT: return TIMED_OUT;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN: return UNREACHED;
    default: return OTHER_FAILURE;
  }
}

static void count_failure(const struct connection *connection, enum failure failure) {
  const struct worker *worker = connection->worker;
  connection_cells(connection)[DIAL_FAILURES] += 1;
  connection_endpoint_cells(connection)[ENDPOINT_FAILURES + failure] += 1;
  shared_engine_cells(worker->index)[DIAL_FAILED + failure] += 1;
  count_duration(worker->index, TIMED_FAILED_DIAL, worker->now_ns - connection->dialled_ns);
}

static void failed(struct connection *connection, int error) {
  struct endpoint *endpoint = connection->endpoint;
  count_failure(connection, failure_of(error));
  record_dialled(connection, error);
  const struct worker *worker = connection->worker;
  if (pool_failed(connection->pool, endpoint, &connection->client_address, worker->now_ns))
    shared_engine_cells(worker->index)[AVOIDED] += 1;
  if (atomic_load(&is_followed)) {
    char text[ADDRESS_TEXT];
    tell_report("dial-failed %u %s %d", connection->listener->slot, address_text(&endpoint->address, text), error);
  }
  list_remove(&connection->queued);
  if (connection->backend.fd >= 0) close(connection->backend.fd);
  pose_end(connection);
  connection->backend.fd = -1;
  connection->endpoint = NULL;
  pool_leave(connection->pool, endpoint);
  pool_release(connection->pool);
  connection->pool = NULL;
}

/* Each attempt asks anew, so a list that changes meanwhile is respected. */
void dial_next(struct connection *connection) {
  struct worker *worker = connection->worker;
  struct listener *listener = connection->listener;
  while (connection->attempt < settings.dial_attempts) {
    if (connection->pool == NULL) connection->pool = listener_pool(listener);
    struct choice choice =
        pool_choose(connection->pool, &connection->client_address, connection->wait_until_ns != 0, worker->now_ns);
    if (choice.full != HAS_ROOM) {
      if (!wait_begin(connection, choice.full)) dial_refused(connection, choice.full);
      return;
    }
    wait_end(connection);
    if (choice.endpoint == NULL) return turn_away(connection, NO_ENDPOINT, !choice.closes_when_empty);
    connection->endpoint = choice.endpoint;
    connection->proxy_protocol = choice.proxy_protocol;
    report_choice(connection, &choice);
    connection->dialled_ns = worker->now_ns;
    connection->is_sticky = choice.is_sticky;
    connection->endpoints = choice.endpoints;
    shared_engine_cells(worker->index)[DIALS] += 1;
    int error = begin(connection);
    if (error == 0) return connection_queue(connection, (enum timer)(DIAL_TIMER + connection->attempt++));
    if (is_own_shortage(error)) {
      tell_trouble(listener, worker->now_ns, "shortage", error);
      return turn_away(connection, OVERLOAD, true);
    }
    connection->attempt++;
    failed(connection, error);
  }
  tell_trouble(listener, worker->now_ns, "unreachable", 0);
  turn_away(connection, UNREACHABLE, true);
}

void dial_timed_out(struct connection *connection) {
  failed(connection, ETIMEDOUT);
  dial_next(connection);
}

static void report_joined(struct connection *connection) {
  if (!atomic_load(&is_followed)) return;
  union address here, there;
  socklen_t here_size = sizeof here, there_size = sizeof there;
  if (getsockname(connection->client.fd, &here.any, &here_size) < 0) return;
  if (getsockname(connection->backend.fd, &there.any, &there_size) < 0) return;
  char client[ADDRESS_TEXT], in[ADDRESS_TEXT], out[ADDRESS_TEXT], endpoint[ADDRESS_TEXT];
  tell_report("joined %u %s %s %s %s", connection->listener->slot, address_text(&connection->client_address, client),
              address_text(&here, in), address_text(&there, out), address_text(&connection->endpoint->address, endpoint));
}

static void note_start(struct connection *connection) {
  const struct worker *worker = connection->worker;
  double *cells = connection_endpoint_cells(connection);
  connection->started_ns = worker->now_ns;
  connection_cells(connection)[ACTIVE] += 1;
  cells[CONNECTIONS] += 1;
  cells[ACTIVE] += 1;
  cells[ENDPOINT_LAST_USED] = (double)((worker->now_ns + worker->wall_offset_ns) / 1000000);
  count_duration(worker->index, TIMED_DIAL, worker->now_ns - connection->dialled_ns);
}

static void join(struct connection *connection) {
  list_remove(&connection->queued);
  pool_succeeded(connection->pool, connection->endpoint);
  record_dialled(connection, 0);
  connection->is_joined = true;
  note_start(connection);
  record_joined(connection);
  connection->backend.is_writable = true;
  report_joined(connection);
  if (connection->proxy_protocol != PROXY_NONE && !copy_write_header(connection))
    return connection_close(connection, true);
  connection->moved_ns = connection->worker->now_ns;
  age_follow(connection);
  connection_drain(connection); /* The endpoint may have left while it was dialled. */
  copy_pump(connection);
}

void dial_event(struct connection *connection, uint32_t events) {
  if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0) return;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(connection->backend.fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    failed(connection, error);
    return dial_next(connection);
  }
  if ((events & EPOLLOUT) != 0) join(connection);
}
