/* The endpoints behind one or more listeners: the one a client used before, or whose turn it is. */
#include "relay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* An endpoint that refused is tried last for 5 seconds per failure in a row, at most a minute; never not at all. */
#define AVOID_NS_PER_FAILURE 5000000000
#define MOST_FAILURES 12

struct pool *pool_create(void) {
  struct pool *pool = must_have(calloc(1, sizeof *pool));
  pthread_mutex_init(&pool->lock, NULL);
  atomic_init(&pool->references, 1);
  pool->full = MAX_CONNECTIONS; /* Who waits may come from another pool, before anybody has asked this one. */
  list_init(&pool->departed);
  if (getrandom(&pool->random, sizeof pool->random, 0) < 0) pool->random = (uintptr_t)pool;
  pool->random |= 1;
  return pool;
}

/* After the last nobody counts in its slot any more. */
void endpoint_release(struct endpoint *endpoint) {
  if (atomic_fetch_sub(&endpoint->references, 1) != 1) return;
  tell_answer("left %u %u", endpoint->slot, endpoint->generation);
  gate_remove(endpoint);
  free(endpoint);
}

void pool_release(struct pool *pool) {
  if (atomic_fetch_sub(&pool->references, 1) != 1) return;
  for (unsigned index = 0; index < pool->count; index++) endpoint_release(pool->endpoints[index]);
  while (!list_is_empty(&pool->departed)) {
    struct endpoint *endpoint = CONTAINER(pool->departed.next, struct endpoint, departed);
    list_remove(&endpoint->departed);
    endpoint_release(endpoint);
  }
  affinity_destroy(pool->affinity);
  gate_release(pool->gate);
  pthread_mutex_destroy(&pool->lock);
  free(pool->endpoints);
  free(pool->sorted);
  free(pool->by_name);
  free(pool->maglev);
  free(pool);
}

static int by_address(const void *a, const void *b) {
  return address_compare(&(*(struct endpoint *const *)a)->address, &(*(struct endpoint *const *)b)->address);
}

static int is_at(const void *address, const void *endpoint) {
  return address_compare(address, &(*(struct endpoint *const *)endpoint)->address);
}

static struct endpoint *find(const struct pool *pool, const union address *address) {
  if (pool->count == 0) return NULL;
  struct endpoint **found = bsearch(address, pool->sorted, pool->count, sizeof *pool->sorted, is_at);
  return found == NULL ? NULL : *found;
}

static struct endpoint *endpoint_create(const struct target *target) {
  struct endpoint *endpoint = must_have(calloc(1, sizeof *endpoint));
  endpoint->address = target->address;
  memcpy(endpoint->name, target->name, sizeof endpoint->name);
  endpoint->slot = target->slot;
  atomic_init(&endpoint->references, 1);
  list_init(&endpoint->departed);
  return endpoint;
}

/* Endpoints in the order of their addresses. */
struct shelf {
  struct endpoint **endpoints;
  unsigned count;
};

static struct shelf departed_of(const struct pool *pool) {
  struct shelf shelf = {NULL, 0};
  for (struct link *link = pool->departed.next; link != &pool->departed; link = link->next) shelf.count++;
  shelf.endpoints = must_have(calloc(shelf.count + 1, sizeof *shelf.endpoints));
  unsigned index = 0;
  for (struct link *link = pool->departed.next; link != &pool->departed; link = link->next)
    shelf.endpoints[index++] = CONTAINER(link, struct endpoint, departed);
  qsort(shelf.endpoints, shelf.count, sizeof *shelf.endpoints, by_address);
  return shelf;
}

/* One that left and is back is the same, with its connections. */
static struct endpoint *take_departed(const struct shelf *shelf, const union address *address) {
  struct endpoint **found = bsearch(address, shelf->endpoints, shelf->count, sizeof *shelf->endpoints, is_at);
  if (found == NULL) return NULL;
  list_remove(&(*found)->departed);
  return *found;
}

static void forget_departed(struct pool *pool) {
  for (struct link *link = pool->departed.next, *next; link != &pool->departed; link = next) {
    next = link->next;
    struct endpoint *endpoint = CONTAINER(link, struct endpoint, departed);
    if (atomic_load(&endpoint->references) > 1) continue;
    list_remove(link);
    endpoint_release(endpoint);
  }
}

static void depart(struct pool *pool, struct endpoint *endpoint) {
  endpoint->failures = 0;
  endpoint->avoid_until_ns = 0;
  endpoint->credit = 0; /* In another proportion when it is back. */
  list_append(&pool->departed, &endpoint->departed);
}

/* Nodes that learn of a change together must not all begin with the same endpoint. */
static void shuffle(struct pool *pool) {
  for (unsigned last = pool->count; last > 1; last--) {
    unsigned other = (unsigned)(pool_random(pool) % last);
    struct endpoint *moved = pool->endpoints[last - 1];
    pool->endpoints[last - 1] = pool->endpoints[other];
    pool->endpoints[other] = moved;
  }
  pool->turn = 0;
}

static int by_target(const void *a, const void *b) {
  return address_compare(&((const struct target *)a)->address, &((const struct target *)b)->address);
}

/* An address that is written in two ways has one turn. */
static void put_in_order(struct pool_spec *spec) {
  if (spec->count == 0) return;
  qsort(spec->targets, spec->count, sizeof *spec->targets, by_target);
  unsigned kept = 1;
  for (unsigned index = 1; index < spec->count; index++)
    if (by_target(&spec->targets[kept - 1], &spec->targets[index]) != 0) spec->targets[kept++] = spec->targets[index];
  spec->count = kept;
}

/* Then the turns go on. */
static bool has_same_endpoints(const struct pool *pool, const struct pool_spec *spec) {
  if (pool->count != spec->count) return false;
  for (unsigned index = 0; index < spec->count; index++)
    if (address_compare(&pool->sorted[index]->address, &spec->targets[index].address) != 0) return false;
  return true;
}

static bool replace_endpoints(struct pool *pool, const struct pool_spec *spec) {
  struct shelf departed = departed_of(pool);
  struct endpoint **next = must_have(calloc(spec->count + 1, sizeof *next));
  for (unsigned index = 0; index < pool->count; index++) atomic_store(&pool->endpoints[index]->is_gone, true);
  for (unsigned index = 0; index < spec->count; index++) {
    const union address *address = &spec->targets[index].address;
    struct endpoint *known = find(pool, address);
    if (known == NULL) {
      known = take_departed(&departed, address);
      if (known == NULL) known = endpoint_create(&spec->targets[index]);
      known->generation = spec->generation;
    }
    atomic_store(&known->is_gone, false);
    next[index] = known;
  }
  free(departed.endpoints);
  bool has_left = false;
  for (unsigned index = 0; index < pool->count; index++)
    if (atomic_load(&pool->endpoints[index]->is_gone)) {
      depart(pool, pool->endpoints[index]);
      has_left = true;
    }
  if (has_left && pool->affinity != NULL) affinity_forget_gone(pool->affinity);
  forget_departed(pool);
  free(pool->endpoints);
  free(pool->sorted);
  pool->sorted = next; /* The targets are in order. */
  pool->count = spec->count;
  pool->endpoints = must_have(calloc(spec->count + 1, sizeof *next));
  memcpy(pool->endpoints, next, spec->count * sizeof *next);
  shuffle(pool);
  return has_left;
}

static void update_affinity(struct pool *pool, int64_t timeout_ns) {
  if (timeout_ns == 0) {
    affinity_destroy(pool->affinity);
    pool->affinity = NULL;
  } else if (pool->affinity == NULL) {
    pool->affinity = affinity_create(timeout_ns);
  } else {
    affinity_set_timeout(pool->affinity, timeout_ns);
  }
}

static void leave_gate(struct pool *pool) {
  for (unsigned index = 0; index < pool->count; index++) gate_remove(pool->endpoints[index]);
  for (struct link *link = pool->departed.next; link != &pool->departed; link = link->next)
    gate_remove(CONTAINER(link, struct endpoint, departed));
}

/* Takes over a reference. */
static void update_gate(struct pool *pool, struct gate *gate) {
  if (gate != pool->gate) leave_gate(pool);
  gate_release(pool->gate);
  pool->gate = gate;
  if (gate == NULL) return;
  for (unsigned index = 0; index < pool->count; index++) gate_add(gate, pool->endpoints[index]);
  for (struct link *link = pool->departed.next; link != &pool->departed; link = link->next)
    gate_add(gate, CONTAINER(link, struct endpoint, departed));
}

bool pool_update(struct pool *pool, struct pool_spec *spec) {
  put_in_order(spec);
  pthread_mutex_lock(&pool->lock);
  pool->balancing = spec->balancing;
  pool->proxy_protocol = spec->proxy_protocol;
  pool->closes_when_empty = spec->closes_when_empty;
  atomic_store(&pool->most_age_ns, spec->most_age_ns);
  update_affinity(pool, spec->affinity_ns);
  bool has_left = !has_same_endpoints(pool, spec) && replace_endpoints(pool, spec);
  for (unsigned index = 0; index < spec->count; index++) {
    atomic_store(&pool->sorted[index]->is_here, spec->targets[index].is_here);
    pool->sorted[index]->weight = spec->targets[index].weight;
  }
  update_gate(pool, spec->gate);
  spread_changed(pool);
  pthread_mutex_unlock(&pool->lock);
  return has_left;
}

static struct endpoint *choose(struct pool *pool, const union address *client, int64_t now_ns, bool *is_sticky) {
  struct endpoint *sticky = pool->affinity == NULL ? NULL : affinity_find(pool->affinity, client, now_ns);
  *is_sticky = sticky != NULL;
  if (sticky != NULL && pool->gate != NULL) *is_sticky = gate_why_endpoint_full(pool->gate, sticky, now_ns) == HAS_ROOM;
  return *is_sticky ? sticky : spread_next(pool, client, now_ns);
}

/* With the lock of the gate. None of the endpoints can be had: the first one tells why. */
static enum cell why_none(struct pool *pool, int64_t now_ns) {
  for (unsigned index = 0; index < pool->count; index++)
    if (gate_why_endpoint_full(pool->gate, pool->endpoints[index], now_ns) == MAX_DIALS) return MAX_DIALS;
  return pool->count == 0 ? HAS_ROOM : MAX_CONNECTIONS;
}

static struct endpoint *choose_by_gate(struct pool *pool, const union address *client, bool has_waited, int64_t now_ns,
                                       struct choice *choice) {
  struct endpoint *endpoint = NULL;
  pthread_mutex_lock(&pool->gate->lock);
  enum cell full = pool->count == 0 ? HAS_ROOM : gate_why_full(pool->gate, now_ns);
  if (full == HAS_ROOM && !has_waited && atomic_load(&pool->waiting) > 0) full = pool->full;
  if (full == HAS_ROOM) {
    endpoint = choose(pool, client, now_ns, &choice->is_sticky);
    if (endpoint != NULL)
      gate_enter(pool->gate, endpoint, now_ns);
    else
      full = why_none(pool, now_ns);
  }
  choice->full = full;
  if (full != HAS_ROOM) pool->full = full;
  pthread_mutex_unlock(&pool->gate->lock);
  return endpoint;
}

struct choice pool_choose(struct pool *pool, const union address *client, bool has_waited, int64_t now_ns) {
  pthread_mutex_lock(&pool->lock);
  struct choice choice = {.endpoints = pool->count,
                          .proxy_protocol = pool->proxy_protocol,
                          .closes_when_empty = pool->closes_when_empty,
                          .full = HAS_ROOM};
  struct endpoint *endpoint = pool->gate == NULL ? choose(pool, client, now_ns, &choice.is_sticky)
                                                 : choose_by_gate(pool, client, has_waited, now_ns, &choice);
  if (endpoint != NULL) {
    atomic_fetch_add(&endpoint->references, 1);
    endpoint->open++;
  }
  if (endpoint != NULL && pool->affinity != NULL) affinity_remember(pool->affinity, client, endpoint, now_ns);
  choice.endpoint = endpoint;
  pthread_mutex_unlock(&pool->lock);
  return choice;
}

bool pool_failed(struct pool *pool, struct endpoint *endpoint, const union address *client, int64_t now_ns) {
  bool is_new = false;
  pthread_mutex_lock(&pool->lock);
  if (pool->affinity != NULL) affinity_forget(pool->affinity, client, endpoint);
  if (!atomic_load(&endpoint->is_gone)) {
    is_new = endpoint->failures == 0;
    if (endpoint->failures < MOST_FAILURES) endpoint->failures++;
    endpoint->avoid_until_ns = now_ns + endpoint->failures * AVOID_NS_PER_FAILURE;
  }
  pthread_mutex_unlock(&pool->lock);
  return is_new;
}

void pool_succeeded(struct pool *pool, struct endpoint *endpoint) {
  pthread_mutex_lock(&pool->lock);
  endpoint->failures = 0;
  endpoint->avoid_until_ns = 0;
  pthread_mutex_unlock(&pool->lock);
}

bool pool_has(struct pool *pool, const struct endpoint *endpoint) {
  pthread_mutex_lock(&pool->lock);
  bool has = find(pool, &endpoint->address) != NULL;
  pthread_mutex_unlock(&pool->lock);
  return has;
}

bool pool_has_only(struct pool *pool, const struct endpoint *endpoint) {
  pthread_mutex_lock(&pool->lock);
  bool is_only = pool->count <= 1 && find(pool, &endpoint->address) != NULL;
  pthread_mutex_unlock(&pool->lock);
  return is_only;
}

void pool_leave(struct pool *pool, struct endpoint *endpoint) {
  pthread_mutex_lock(&pool->lock);
  endpoint->open--;
  if (endpoint->meter != NULL) gate_leave(endpoint);
  bool is_last = atomic_load(&endpoint->references) == 2 && atomic_load(&endpoint->is_gone);
  if (is_last) {
    list_remove(&endpoint->departed);
    endpoint_release(endpoint);
  }
  endpoint_release(endpoint);
  pthread_mutex_unlock(&pool->lock);
}
