/*
 * Single connections that the TypeScript side wants to hear of: one in so many, and those that failed, as far as they do
 * not come in masses. Only these have a record; the line about it is written when the connection ends, and now and then
 * while it is open.
 */
#define _GNU_SOURCE
#include "relay.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

struct attempt {
  union address endpoint;
  bool is_sticky;
  unsigned endpoints;
  int64_t start_ns, end_ns;
  int error;
};

struct record {
  struct link queued;
  int64_t due_ns;
  struct connection *connection;
  unsigned long long number;
  union address local;
  const char *result, *why;
  int error;
  int64_t in_end_ns, out_end_ns;
  unsigned count;
  struct attempt attempts[MOST_DIALS];
};

static const char *result_of(enum cell why) {
  switch (why) {
    case NO_ENDPOINT: return "no-endpoint";
    case UNREACHABLE: return "unreachable";
    case SOURCE_NOT_ALLOWED: return "source-not-allowed";
    case MAX_CONNECTIONS: return "max-connections";
    case MAX_DIALS: return "max-dials-per-second";
    default: return "overload";
  }
}

/* ---- which of them -------------------------------------------------------------------------------------------- */

/* Which one is the first is random, so that workers do not report the same kind of connection. */
void record_prepare(struct worker *worker) {
  unsigned random = worker->index;
  if (getrandom(&random, sizeof random, 0) < 0) random = worker->index;
  if (settings.report_one_in > 0) worker->until_report = random % settings.report_one_in;
  list_init(&worker->records);
}

static bool takes(struct worker *worker) {
  if (settings.report_one_in == 0) return false;
  if (worker->until_report > 0) {
    worker->until_report--;
    return false;
  }
  worker->until_report = settings.report_one_in - 1;
  return true;
}

/* All workers together. */
static bool takes_failure(const struct worker *worker) {
  static atomic_llong second;
  static atomic_uint count;
  if (settings.report_one_in == 0) return false;
  long long now = worker->now_ns / 1000000000, seen = atomic_load(&second);
  if (now != seen && atomic_compare_exchange_strong(&second, &seen, now)) atomic_store(&count, 0);
  return atomic_fetch_add(&count, 1) < settings.failure_reports;
}

/* ---- lines ---------------------------------------------------------------------------------------------------- */

/* Microseconds on the wall clock; 0 for what has not been. */
static long long told_time(const struct worker *worker, int64_t at_ns) {
  return at_ns == 0 ? 0 : (long long)((at_ns + worker->wall_offset_ns) / 1000);
}

struct text {
  char bytes[1800];
  size_t size;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  size_t room = sizeof text->bytes - text->size;
  int length = vsnprintf(text->bytes + text->size, room, format, arguments);
  if (length > 0) text->size += (size_t)length < room ? (size_t)length : room - 1;
  va_end(arguments);
}

static void add_attempt(struct text *text, const struct worker *worker, const struct attempt *attempt, unsigned index) {
  char endpoint[ADDRESS_TEXT];
  add(text, " %s %s %u %lld %lld %lld %d", address_text(&attempt->endpoint, endpoint),
      attempt->is_sticky ? "affinity" : "turn", attempt->endpoints,
      (long long)settings.dial_timeouts_ns[index] / 1000000, told_time(worker, attempt->start_ns),
      told_time(worker, attempt->end_ns), attempt->error);
}

static void tell(const struct record *record, bool has_ended) {
  const struct connection *connection = record->connection;
  const struct worker *worker = connection->worker;
  char client[ADDRESS_TEXT], local[ADDRESS_TEXT];
  struct text text = {.size = 0};
  add(&text, "connection %u %s %u-%llu %s %s", connection->listener->slot, has_ended ? "ended" : "open", worker->index,
      record->number, address_text(&connection->client_address, client), address_text(&record->local, local));
  add(&text, " %lld %lld %s", told_time(worker, connection->accepted_ns), told_time(worker, worker->now_ns),
      record->result != NULL ? record->result : connection->is_joined ? "connected" : "client-left");
  add(&text, " %lld %llu %llu %lld %lld %s %d", told_time(worker, connection->started_ns),
      (unsigned long long)connection->up.moved, (unsigned long long)connection->down.moved,
      told_time(worker, record->in_end_ns), told_time(worker, record->out_end_ns),
      record->why != NULL ? record->why : "none", record->error);
  for (unsigned index = 0; index < record->count; index++) add_attempt(&text, worker, &record->attempts[index], index);
  tell_report("%s", text.bytes);
}

/* ---- what happens to a connection ----------------------------------------------------------------------------- */

static void begin(struct connection *connection) {
  struct record *record = calloc(1, sizeof *record);
  if (record == NULL) return; /* Then it is not reported. */
  record->connection = connection;
  record->number = connection->worker->reported++;
  list_init(&record->queued);
  socklen_t size = sizeof record->local;
  if (getsockname(connection->client.fd, &record->local.any, &size) < 0) record->local.any.sa_family = AF_INET;
  connection->record = record;
}

void record_accepted(struct connection *connection) {
  if (takes(connection->worker)) begin(connection);
}

static void begin_late(struct connection *connection) {
  if (connection->record == NULL && takes_failure(connection->worker)) begin(connection);
}

/* Of the attempt that is under way. */
void record_dialled(struct connection *connection, int error) {
  if (error != 0) begin_late(connection);
  struct record *record = connection->record;
  if (record == NULL || record->count == MOST_DIALS || connection->endpoint == NULL) return;
  record->attempts[record->count++] = (struct attempt){.endpoint = connection->endpoint->address,
                                                       .is_sticky = connection->is_sticky,
                                                       .endpoints = connection->endpoints,
                                                       .start_ns = connection->dialled_ns,
                                                       .end_ns = connection->worker->now_ns,
                                                       .error = error};
}

static void wait_again(struct record *record) {
  struct worker *worker = record->connection->worker;
  record->due_ns = worker->now_ns + settings.report_every_ns;
  list_append(&worker->records, &record->queued);
}

void record_joined(struct connection *connection) {
  if (connection->record != NULL) wait_again(connection->record);
}

void record_turned_away(struct connection *connection, enum cell why) {
  begin_late(connection);
  if (connection->record != NULL) connection->record->result = result_of(why);
}

void record_flow_ended(struct connection *connection, const struct flow *flow) {
  struct record *record = connection->record;
  if (record == NULL) return;
  *(flow == &connection->up ? &record->in_end_ns : &record->out_end_ns) = connection->worker->now_ns;
}

/* The first reason counts. */
void record_broken(struct connection *connection, const char *why, int error) {
  struct record *record = connection->record;
  if (record == NULL || record->why != NULL) return;
  record->why = why;
  record->error = error;
}

void record_closed(struct connection *connection) {
  struct record *record = connection->record;
  if (record == NULL) return;
  bool is_dialling = !connection->is_joined && record->result == NULL;
  if (is_dialling) record_dialled(connection, 0);
  tell(record, true);
  list_remove(&record->queued);
  free(record);
  connection->record = NULL;
}

/* It has not become a connection. */
void record_refused(struct worker *worker, struct listener *listener, int fd, const union address *client,
                    enum cell why) {
  if (!takes_failure(worker)) return;
  struct connection refused = {.worker = worker, .listener = listener, .client_address = *client};
  refused.client.fd = fd;
  refused.accepted_ns = worker->now_ns;
  begin(&refused);
  if (refused.record == NULL) return;
  refused.record->result = result_of(why);
  record_closed(&refused);
}

/* Returns when the next is due. All wait equally long, so the first is the next. */
int64_t record_tell_open(struct worker *worker) {
  while (!list_is_empty(&worker->records)) {
    struct record *record = CONTAINER(worker->records.next, struct record, queued);
    if (record->due_ns > worker->now_ns) return record->due_ns;
    tell(record, false);
    list_remove(&record->queued);
    wait_again(record);
  }
  return INT64_MAX;
}
