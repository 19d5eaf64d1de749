/*
 * Ends connections that are too old, so that new endpoints get their share. Nothing here knows what a connection carries, so the
 * moment is chosen by silence, as src/dataplane/relay/connection-age.ts tells. Only connections of a pool with an age are here:
 * each worker keeps its own in a heap, the next to be looked at first.
 */
#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#define STAGES 8
#define LONGEST_QUIET_NS 1000000000
#define UNANSWERED_QUIET_NS 5000000000

/* ---- the heap: from 1, and 0 is none ---------------------------------------------------------------------------- */

static void put(struct worker *worker, unsigned place, struct connection *connection) {
  worker->ages[place] = connection;
  connection->age.place = place;
}

static bool is_sooner(const struct connection *a, const struct connection *b) { return a->age.look_ns < b->age.look_ns; }

static void rise(struct worker *worker, unsigned place, struct connection *connection) {
  for (; place > 1 && is_sooner(connection, worker->ages[place / 2]); place /= 2) put(worker, place, worker->ages[place / 2]);
  put(worker, place, connection);
}

static void sink(struct worker *worker, unsigned place, struct connection *connection) {
  for (unsigned child; (child = 2 * place) <= worker->age_count; place = child) {
    if (child < worker->age_count && is_sooner(worker->ages[child + 1], worker->ages[child])) child++;
    if (!is_sooner(worker->ages[child], connection)) break;
    put(worker, place, worker->ages[child]);
  }
  put(worker, place, connection);
}

void age_forget(struct connection *connection) {
  struct worker *worker = connection->worker;
  unsigned place = connection->age.place;
  if (place == 0) return;
  connection->age.place = 0;
  struct connection *last = worker->ages[worker->age_count--];
  if (last == connection) return;
  if (place > 1 && is_sooner(last, worker->ages[place / 2]))
    rise(worker, place, last);
  else
    sink(worker, place, last);
}

static void look_at(struct connection *connection, int64_t look_ns) {
  struct worker *worker = connection->worker;
  age_forget(connection);
  if (worker->age_count + 2 > worker->age_room) {
    worker->age_room = worker->age_room == 0 ? 64 : 2 * worker->age_room;
    worker->ages = must_have(realloc(worker->ages, worker->age_room * sizeof *worker->ages));
  }
  connection->age.look_ns = look_ns;
  rise(worker, ++worker->age_count, connection);
}

/* ---- ages ------------------------------------------------------------------------------------------------------- */

/* xorshift64*, from 0 to below 1. */
static double random_part(struct worker *worker) {
  worker->random ^= worker->random >> 12;
  worker->random ^= worker->random << 25;
  worker->random ^= worker->random >> 27;
  return (double)((worker->random * 2685821657736338717u) >> 11) / 9007199254740992.0;
}

static void start(struct connection *connection, int64_t from_ns) {
  double length = (double)connection->age.most_ns * (0.9 + 0.2 * random_part(connection->worker));
  connection->age.due_ns = from_ns + (int64_t)length;
  /* Older than that before anybody asked: such connections must not all end at once. */
  if (connection->age.due_ns < connection->worker->now_ns)
    connection->age.due_ns =
        connection->worker->now_ns + (int64_t)((double)connection->age.most_ns * random_part(connection->worker));
  look_at(connection, connection->age.due_ns);
}

/* The listener may have another pool than when the connection began. */
void age_follow(struct connection *connection) {
  struct pool *pool = listener_pool(connection->listener);
  int64_t most_ns = atomic_load(&pool->most_age_ns);
  pool_release(pool);
  if (most_ns == connection->age.most_ns || connection->is_leaving) return;
  connection->age.most_ns = most_ns;
  if (most_ns == 0) return age_forget(connection);
  start(connection, connection->started_ns);
}

/* What came last from the kernel may not have been told yet. */
static bool is_silent(const struct side *side) {
  char byte;
  return !side->is_readable && recv(side->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static bool is_idle(const struct flow *flow) {
  return !flow->has_ended && !flow->is_shut && flow->rest == NULL && flow->in_pipe == 0;
}

static bool can_end(const struct connection *connection) {
  return is_idle(&connection->up) && is_idle(&connection->down) && is_silent(&connection->client) &&
         is_silent(&connection->backend);
}

/*
 * Closed towards the client, which then closes its side, and that is passed on. A request that it sends meanwhile is not: the
 * client could not get an answer, and must be able to tell that nobody worked for it.
 */
static void leave(struct connection *connection) {
  connection->is_leaving = true;
  shutdown(connection->client.fd, SHUT_WR);
  connection->down.is_shut = true;
  connection->up.is_bulk = false;
  record_flow_ended(connection, &connection->down);
  connection_queue(connection, LEAVE_TIMER);
}

static void cut(struct connection *connection) {
  connection->is_leaving = true;
  record_broken(connection, "aged", 0);
  connection_close(connection, true);
}

static bool has_nowhere_to_go(struct connection *connection) {
  struct pool *pool = listener_pool(connection->listener);
  bool has_only = pool_has_only(pool, connection->endpoint);
  pool_release(pool);
  return has_only;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void look(struct connection *connection) {
  int64_t now_ns = connection->worker->now_ns, grace_ns = connection->age.most_ns;
  int64_t overdue_ns = now_ns - connection->age.due_ns, quiet_ns = now_ns - connection->moved_ns;
  age_forget(connection);
  if (overdue_ns < 0) return look_at(connection, connection->age.due_ns);
  if (has_nowhere_to_go(connection)) return start(connection, now_ns);
  if (overdue_ns >= grace_ns)
    return quiet_ns >= LONGEST_QUIET_NS && can_end(connection) ? leave(connection) : cut(connection);
  int64_t stage = STAGES * overdue_ns / grace_ns, answered_quiet_ns = LONGEST_QUIET_NS >> stage;
  bool is_quiet = connection->is_answered ? quiet_ns >= answered_quiet_ns
                                          : 2 * overdue_ns >= grace_ns && quiet_ns >= UNANSWERED_QUIET_NS;
  if (is_quiet && can_end(connection)) return leave(connection);
  bool may_be_soon = connection->is_answered && !is_quiet;
  int64_t soonest_ns = (may_be_soon ? connection->moved_ns : now_ns) + answered_quiet_ns;
  look_at(connection, least(soonest_ns, connection->age.due_ns + (stage + 1) * grace_ns / STAGES));
}

/* Returns when the next is due. */
int64_t age_run(struct worker *worker) {
  while (worker->age_count > 0 && worker->ages[1]->age.look_ns <= worker->now_ns) look(worker->ages[1]);
  return worker->age_count > 0 ? worker->ages[1]->age.look_ns : INT64_MAX;
}
