/*
 * Moves bytes between the two sockets of a connection. What fits into the thread's buffer is read and written, which is
 * the fastest for requests and answers; a side that fills the buffer gets a pipe, and its bytes no longer pass through
 * this process (splice).
 *
 * Events are edge-triggered: `is_readable` and `is_writable` hold until the kernel says EAGAIN.
 */
#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIPE_SIZE (1 << 20)
/* After this much the other connections of the thread are next. */
#define FAIR_SHARE (4 << 20)

enum outcome { WAITS, HAS_MORE, IS_DONE, IS_BROKEN };

/* The errno of what IS_BROKEN. */
static _Thread_local int broken_by;

static enum outcome is_broken(int error) {
  broken_by = error;
  return IS_BROKEN;
}

/* Of a call that failed: an edge is waited for only when the kernel promised one. */
static enum outcome try_later(bool *is_ready) {
  if (errno == EINTR) return HAS_MORE;
  if (errno != EAGAIN) return is_broken(errno);
  *is_ready = false;
  return WAITS;
}

static void note_waiting(struct connection *connection, double bytes) {
  connection_cells(connection)[WAITING_BYTES] += bytes;
}

static void note_moved(struct connection *connection, struct flow *flow, size_t bytes) {
  flow->moved += bytes;
  connection_cells(connection)[flow->cell] += (double)bytes;
  connection_endpoint_cells(connection)[flow->cell] += (double)bytes;
  connection->moved_ns = connection->worker->now_ns;
  connection->is_answered = flow == &connection->down;
}

/* ---- pipes -------------------------------------------------------------------------------------------------- */

static bool pipe_take(struct worker *worker, struct flow *flow) {
  if (flow->pipe[0] >= 0) return true;
  if (worker->idle_pipe_count > 0) {
    memcpy(flow->pipe, worker->idle_pipes[--worker->idle_pipe_count], sizeof flow->pipe);
    return true;
  }
  if (!descriptors_try(2)) return false;
  if (pipe2(flow->pipe, O_NONBLOCK | O_CLOEXEC) < 0) {
    descriptors_give_back(2);
    flow->pipe[0] = flow->pipe[1] = -1;
    return false;
  }
  (void)fcntl(flow->pipe[1], F_SETPIPE_SZ, PIPE_SIZE); /* A smaller one works, too. */
  return true;
}

/* Descriptors of idle pipes are no use to anybody: those beyond a few are closed. */
static void pipe_leave(struct worker *worker, struct flow *flow) {
  if (flow->pipe[0] < 0) return;
  bool is_empty = flow->in_pipe == 0;
  if (is_empty && worker->idle_pipe_count < sizeof worker->idle_pipes / sizeof *worker->idle_pipes) {
    memcpy(worker->idle_pipes[worker->idle_pipe_count++], flow->pipe, sizeof flow->pipe);
  } else {
    close(flow->pipe[0]);
    close(flow->pipe[1]);
    descriptors_give_back(2);
  }
  flow->pipe[0] = flow->pipe[1] = -1;
}

/* ---- one direction ------------------------------------------------------------------------------------------ */

static bool keep_rest(struct connection *connection, struct flow *flow, const unsigned char *bytes, size_t size) {
  flow->rest = malloc(size);
  if (flow->rest == NULL) return false;
  memcpy(flow->rest, bytes, size);
  flow->rest_start = 0;
  flow->rest_end = size;
  note_waiting(connection, (double)size);
  return true;
}

static enum outcome write_rest(struct connection *connection, struct flow *flow) {
  while (flow->rest_start < flow->rest_end) {
    ssize_t sent = send(flow->to->fd, flow->rest + flow->rest_start, flow->rest_end - flow->rest_start, MSG_NOSIGNAL);
    if (sent < 0) return try_later(&flow->to->is_writable);
    flow->rest_start += (size_t)sent;
    note_waiting(connection, -(double)sent);
  }
  free(flow->rest);
  flow->rest = NULL;
  return HAS_MORE;
}

static enum outcome write_pipe(struct connection *connection, struct flow *flow) {
  while (flow->in_pipe > 0) {
    ssize_t sent =
        splice(flow->pipe[0], NULL, flow->to->fd, NULL, flow->in_pipe, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (sent < 0) return try_later(&flow->to->is_writable);
    if (sent == 0) return is_broken(EPIPE);
    flow->in_pipe -= (size_t)sent;
    note_waiting(connection, -(double)sent);
  }
  return HAS_MORE;
}

/* The pipe is empty here, so EAGAIN can only mean the socket. */
static enum outcome read_by_pipe(struct connection *connection, struct flow *flow) {
  ssize_t size = splice(flow->from->fd, NULL, flow->pipe[1], NULL, PIPE_SIZE, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (size < 0) return try_later(&flow->from->is_readable);
  if (size == 0) { /* The end, or an urgent byte, which splice does not pass: a plain read finds out. */
    flow->is_bulk = false;
    return HAS_MORE;
  }
  flow->in_pipe = (size_t)size;
  connection->worker->has_bulk = true;
  note_waiting(connection, (double)size);
  note_moved(connection, flow, (size_t)size);
  if (size < COPY_BUFFER / 16) flow->is_bulk = false;
  return write_pipe(connection, flow);
}

static enum outcome read_by_buffer(struct connection *connection, struct flow *flow) {
  unsigned char *buffer = connection->worker->buffer;
  ssize_t size = recv(flow->from->fd, buffer, COPY_BUFFER, 0);
  if (size < 0) return try_later(&flow->from->is_readable);
  if (size == 0) {
    flow->has_ended = true;
    return HAS_MORE;
  }
  if (connection->is_leaving) return is_broken(ECONNABORTED);
  /* Less than there was room for: all is read, and more of it will be an event, unless the end is there already. */
  if (size < COPY_BUFFER && !flow->from->has_hung_up && !flow->from->has_urgent) flow->from->is_readable = false;
  flow->is_bulk = size == COPY_BUFFER;
  note_moved(connection, flow, (size_t)size);
  ssize_t sent = send(flow->to->fd, buffer, (size_t)size, MSG_NOSIGNAL);
  if (sent == size) return HAS_MORE;
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return is_broken(errno);
  /* What is left is written next: that finds out whether the socket is full. */
  size_t done = sent < 0 ? 0 : (size_t)sent;
  return keep_rest(connection, flow, buffer + done, (size_t)size - done) ? HAS_MORE : is_broken(ENOMEM);
}

static enum outcome end_flow(struct connection *connection, struct flow *flow) {
  if (!flow->is_shut) shutdown(flow->to->fd, SHUT_WR);
  flow->is_shut = true;
  record_flow_ended(connection, flow);
  return IS_DONE;
}

static enum outcome step(struct connection *connection, struct flow *flow) {
  if (flow->is_shut) return IS_DONE;
  if (flow->rest == NULL && flow->in_pipe == 0 && flow->has_ended) return end_flow(connection, flow);
  if (!flow->to->is_writable) return WAITS;
  if (flow->rest != NULL) return write_rest(connection, flow);
  if (flow->in_pipe > 0) return write_pipe(connection, flow);
  if (!flow->from->is_readable) return WAITS;
  if (flow->is_bulk && !flow->from->has_urgent && pipe_take(connection->worker, flow)) return read_by_pipe(connection, flow);
  return read_by_buffer(connection, flow);
}

static enum outcome pump(struct connection *connection, struct flow *flow) {
  uint64_t fair_end = flow->moved + FAIR_SHARE;
  enum outcome outcome;
  do outcome = step(connection, flow);
  while (outcome == HAS_MORE && flow->moved < fair_end);
  if (outcome != HAS_MORE && flow->in_pipe == 0) pipe_leave(connection->worker, flow);
  return outcome;
}

/* ---- both --------------------------------------------------------------------------------------------------- */

void copy_pump(struct connection *connection) {
  bool had_ended = connection->up.is_shut || connection->down.is_shut;
  enum outcome up = pump(connection, &connection->up);
  enum outcome down = up == IS_BROKEN ? IS_BROKEN : pump(connection, &connection->down);
  if (up == IS_BROKEN || down == IS_BROKEN) {
    record_broken(connection, "broken", broken_by);
    return connection_close(connection, true);
  }
  if (up == IS_DONE && down == IS_DONE) return connection_close(connection, false);
  if (!had_ended && (up == IS_DONE || down == IS_DONE) && !connection->is_draining) {
    connection->moved_ns = connection->worker->now_ns;
    connection_queue(connection, HALF_CLOSE_TIMER);
  }
  if ((up == HAS_MORE || down == HAS_MORE) && list_is_empty(&connection->ready))
    list_append(&connection->worker->ready, &connection->ready);
}

static void flow_free(struct connection *connection, struct flow *flow) {
  double waiting = (double)flow->in_pipe;
  if (flow->rest != NULL) waiting += (double)(flow->rest_end - flow->rest_start);
  if (waiting > 0) note_waiting(connection, -waiting);
  free(flow->rest);
  flow->rest = NULL;
  pipe_leave(connection->worker, flow);
  flow->in_pipe = 0;
}

void copy_free(struct connection *connection) {
  flow_free(connection, &connection->up);
  flow_free(connection, &connection->down);
}

/* ---- the PROXY protocol: the first bytes that the endpoint reads say who the client is ------------------------- */

static size_t header_v1(const union address *client, const union address *here, unsigned char *out, size_t room) {
  char from[ADDRESS_TEXT], to[ADDRESS_TEXT];
  const char *family = client->any.sa_family == AF_INET ? "TCP4" : "TCP6";
  return (size_t)snprintf((char *)out, room, "PROXY %s %s %s %u %u\r\n", family, address_ip_text(client, from),
                          address_ip_text(here, to), address_port(client), address_port(here));
}

static size_t header_v2(const union address *client, const union address *here, unsigned char *out) {
  static const unsigned char signature[] = "\r\n\r\n\0\r\nQUIT\n";
  size_t size;
  const unsigned char *from = address_bytes(client, &size);
  const unsigned char *to = address_bytes(here, &size);
  memcpy(out, signature, 12);
  out[12] = 0x21; /* version 2, on behalf of somebody */
  out[13] = size == 4 ? 0x11 : 0x21;
  out[14] = 0;
  out[15] = (unsigned char)(2 * size + 4);
  memcpy(out + 16, from, size);
  memcpy(out + 16 + size, to, size);
  unsigned ports[] = {address_port(client), address_port(here)};
  for (int index = 0; index < 2; index++) {
    out[16 + 2 * size + 2 * index] = (unsigned char)(ports[index] >> 8);
    out[17 + 2 * size + 2 * index] = (unsigned char)ports[index];
  }
  return 16 + 2 * size + 4;
}

bool copy_write_header(struct connection *connection) {
  union address here;
  socklen_t here_size = sizeof here;
  if (getsockname(connection->client.fd, &here.any, &here_size) < 0) return false;
  unsigned char header[256];
  size_t size = connection->proxy_protocol == PROXY_V1
                    ? header_v1(&connection->client_address, &here, header, sizeof header)
                    : header_v2(&connection->client_address, &here, header);
  return keep_rest(connection, &connection->up, header, size);
}
