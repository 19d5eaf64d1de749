/*
 * Connections that wait for room under a limit of their Service: in the order in which they came, so many, and for so long. Nobody
 * is told when there is room; whoever has some that wait looks now and then.
 */
#include "relay.h"

#define LOOK_NS 5000000
#define WAIT_NS 5000000000
/* In one pool. */
#define MOST_WAITING 1024
/* Pools that are known to be full in one round; of more than these each connection asks. */
#define KNOWN_FULL 16

static void stop_waiting(struct connection *connection) {
  if (list_is_empty(&connection->waiting)) return;
  list_remove(&connection->waiting);
  atomic_fetch_sub(&connection->pool->waiting, 1);
}

bool is_waiting(const struct connection *connection) { return !list_is_empty(&connection->waiting); }

void wait_end(struct connection *connection) { stop_waiting(connection); }

bool wait_begin(struct connection *connection, enum cell why) {
  connection->full = why;
  if (is_waiting(connection)) return true;
  if (atomic_fetch_add(&connection->pool->waiting, 1) >= MOST_WAITING) {
    atomic_fetch_sub(&connection->pool->waiting, 1);
    return false;
  }
  if (connection->wait_until_ns == 0) {
    connection->wait_until_ns = connection->worker->now_ns + WAIT_NS;
    connection_cells(connection)[WAITED] += 1;
  }
  list_append(&connection->worker->waiting, &connection->waiting);
  return true;
}

/* The listener may have another pool by now. */
static void follow_pool(struct connection *connection) {
  struct pool *pool = listener_pool(connection->listener);
  if (pool == connection->pool) return pool_release(pool);
  atomic_fetch_sub(&connection->pool->waiting, 1);
  pool_release(connection->pool);
  connection->pool = pool;
  atomic_fetch_add(&pool->waiting, 1);
}

struct known {
  const struct pool *pool;
  enum cell why;
};

/* HAS_ROOM where nobody has asked in this round. */
static enum cell why_full(const struct known *known, unsigned count, const struct pool *pool) {
  for (unsigned index = 0; index < count; index++)
    if (known[index].pool == pool) return known[index].why;
  return HAS_ROOM;
}

/* Returns when to look again. */
int64_t wait_run(struct worker *worker) {
  struct known known[KNOWN_FULL];
  unsigned count = 0;
  for (struct link *link = worker->waiting.next, *next; link != &worker->waiting; link = next) {
    next = link->next;
    struct connection *connection = CONTAINER(link, struct connection, waiting);
    follow_pool(connection);
    /* Whoever is behind one who finds no room finds none either. */
    enum cell why = why_full(known, count, connection->pool);
    if (why == HAS_ROOM)
      dial_next(connection);
    else
      connection->full = why;
    if (connection->is_dead || !is_waiting(connection)) continue;
    if (why == HAS_ROOM && count < KNOWN_FULL) known[count++] = (struct known){connection->pool, connection->full};
    if (worker->now_ns >= connection->wait_until_ns) dial_refused(connection, connection->full);
  }
  return list_is_empty(&worker->waiting) ? INT64_MAX : worker->now_ns + LOOK_NS;
}
