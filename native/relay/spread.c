/*
 * Which endpoint of a pool is next, by algorithm and weight, as src/dataplane/relay/node/spread.ts does it: what depends on
 * the client alone must come out the same there.
 */
#include "relay.h"

#include <stdlib.h>
#include <string.h>

/* Seeds of what is drawn for a client; 1 and 2 are those of the Maglev table. */
enum { FIRST_DRAW = 3, SECOND_DRAW = 4 };

struct asking {
  struct pool *pool;
  const union address *client;
  int64_t now_ns;
  bool takes_avoided;
};

static bool may_take(const struct asking *asking, struct endpoint *endpoint) {
  if (!asking->takes_avoided && endpoint->avoid_until_ns > asking->now_ns) return false;
  struct gate *gate = asking->pool->gate;
  return gate == NULL || gate_why_endpoint_full(gate, endpoint, asking->now_ns) == HAS_ROOM;
}

/* xorshift64*: fair enough for turns. */
uint64_t pool_random(struct pool *pool) {
  pool->random ^= pool->random >> 12;
  pool->random ^= pool->random << 25;
  pool->random ^= pool->random >> 27;
  return (pool->random * 2685821657736338717u) >> 11;
}

/* What one is behind stays the same part of a connection. Else it would wait, or be preferred, for very long. */
static void keep_credits(struct pool *pool, uint64_t before) {
  for (unsigned index = 0; index < pool->count; index++) {
    int64_t *credit = &pool->endpoints[index]->credit;
    *credit = before == 0 ? 0 : *credit * (int64_t)pool->total_weight / (int64_t)before;
  }
}

void spread_changed(struct pool *pool) {
  uint64_t before = pool->total_weight;
  pool->total_weight = 0;
  pool->is_even = true;
  for (unsigned index = 0; index < pool->count; index++) {
    pool->total_weight += pool->endpoints[index]->weight;
    if (pool->endpoints[index]->weight != pool->endpoints[0]->weight) pool->is_even = false;
  }
  keep_credits(pool, before);
  free(pool->by_name);
  free(pool->maglev);
  pool->by_name = NULL;
  pool->maglev = NULL;
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(struct endpoint *const *)a)->name, (*(struct endpoint *const *)b)->name);
}

/* As every node has them; made when the first client needs it. */
static struct endpoint **sorted(struct pool *pool) {
  if (pool->by_name != NULL) return pool->by_name;
  pool->by_name = must_have(calloc(pool->count, sizeof *pool->by_name));
  memcpy(pool->by_name, pool->endpoints, pool->count * sizeof *pool->by_name);
  qsort(pool->by_name, pool->count, sizeof *pool->by_name, by_name);
  return pool->by_name;
}

/* ---- in turn ------------------------------------------------------------------------------------------------- */

static struct endpoint *take_turn(const struct asking *asking) {
  struct pool *pool = asking->pool;
  for (unsigned step = 0; step < pool->count; step++) {
    unsigned index = (pool->turn + step) % pool->count;
    if (!may_take(asking, pool->endpoints[index])) continue;
    pool->turn = (index + 1) % pool->count;
    return pool->endpoints[index];
  }
  return NULL;
}

/* Below zero: the left one is less busy, for its weight. */
static int64_t compare_load(const struct endpoint *left, const struct endpoint *right) {
  return (int64_t)left->open * right->weight - (int64_t)right->open * left->weight;
}

static const struct endpoint *least_busy(const struct asking *asking) {
  const struct endpoint *least = NULL;
  for (unsigned index = 0; index < asking->pool->count; index++) {
    struct endpoint *endpoint = asking->pool->endpoints[index];
    if (may_take(asking, endpoint) && (least == NULL || compare_load(endpoint, least) < 0)) least = endpoint;
  }
  return least;
}

/* Smooth weighted round robin, of all or of those that are as busy as one: each gains its weight, the chosen pays for all. */
static struct endpoint *furthest_behind(const struct asking *asking, const struct endpoint *as_busy_as) {
  struct endpoint *next = NULL;
  int64_t total = 0;
  for (unsigned index = 0; index < asking->pool->count; index++) {
    struct endpoint *endpoint = asking->pool->endpoints[index];
    if (!may_take(asking, endpoint) || (as_busy_as != NULL && compare_load(endpoint, as_busy_as) != 0)) continue;
    endpoint->credit += endpoint->weight;
    total += endpoint->weight;
    if (next == NULL || endpoint->credit > next->credit) next = endpoint;
  }
  if (next != NULL) next->credit -= total;
  return next;
}

/* ---- drawn ---------------------------------------------------------------------------------------------------- */

/* The part of the whole that a number stands for. */
static uint64_t part(uint32_t number, uint64_t whole) { return (number * whole) >> 32; }

static uint32_t draw(const struct asking *asking, uint32_t seed) {
  if (asking->pool->balancing == RANDOM) return (uint32_t)(pool_random(asking->pool) >> 21);
  char ip[ADDRESS_TEXT];
  return hash32(address_ip_text(asking->client, ip), seed);
}

static struct endpoint *at(struct endpoint **endpoints, unsigned count, uint64_t weight) {
  uint64_t passed = 0;
  for (unsigned index = 0; index < count; index++)
    if ((passed += endpoints[index]->weight) > weight) return endpoints[index];
  return NULL;
}

static struct endpoint *drawn_of_others(const struct asking *asking, struct endpoint **all) {
  uint64_t total = 0, passed = 0;
  for (unsigned index = 0; index < asking->pool->count; index++)
    if (may_take(asking, all[index])) total += all[index]->weight;
  uint64_t weight = part(draw(asking, SECOND_DRAW), total);
  for (unsigned index = 0; index < asking->pool->count; index++)
    if (may_take(asking, all[index]) && (passed += all[index]->weight) > weight) return all[index];
  return NULL;
}

/* Where the drawn one may not be taken, a second draw decides among the others: its clients are shared by all of them. */
static struct endpoint *drawn(const struct asking *asking) {
  struct pool *pool = asking->pool;
  struct endpoint **all = sorted(pool);
  uint32_t number = draw(asking, FIRST_DRAW);
  struct endpoint *first = pool->is_even ? all[part(number, pool->count)]
                                         : at(all, pool->count, part(number, pool->total_weight));
  return first != NULL && may_take(asking, first) ? first : drawn_of_others(asking, all);
}

static struct endpoint *in_slot(const struct asking *asking) {
  struct pool *pool = asking->pool;
  struct endpoint **all = sorted(pool);
  if (pool->maglev == NULL) pool->maglev = maglev_create(all, pool->count);
  char client[ADDRESS_TEXT];
  uint64_t hash = hash32(address_text(asking->client, client), FIRST_DRAW);
  for (unsigned step = 0; step < MAGLEV_SLOTS; step++) {
    struct endpoint *endpoint = all[pool->maglev[(hash + step) % MAGLEV_SLOTS]];
    if (may_take(asking, endpoint)) return endpoint;
  }
  return NULL;
}

static struct endpoint *next_of(const struct asking *asking) {
  switch (asking->pool->balancing) {
    case ROUND_ROBIN: return asking->pool->is_even ? take_turn(asking) : furthest_behind(asking, NULL);
    case LEAST_CONNECTIONS: return furthest_behind(asking, least_busy(asking));
    case RANDOM:
    case SOURCE_HASH: return drawn(asking);
    case MAGLEV: return in_slot(asking);
  }
  return NULL;
}

/* When all of them failed lately, all are tried. NULL where none has room. */
struct endpoint *spread_next(struct pool *pool, const union address *client, int64_t now_ns) {
  if (pool->count == 0) return NULL;
  struct asking asking = {.pool = pool, .client = client, .now_ns = now_ns};
  struct endpoint *next = next_of(&asking);
  if (next != NULL) return next;
  asking.takes_avoided = true;
  return next_of(&asking);
}
