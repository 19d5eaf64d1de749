/*
 * How many connections a Service port may have, and how many dials in a second: for all of its pools together, and for each of its
 * endpoints. Only pools with a limit have a gate. What is open is what the endpoints of the pools have open, so a limit that comes
 * late counts those that are there. As src/dataplane/relay/node/gate.ts does it.
 */
#define _GNU_SOURCE
#include "relay.h"

#include <stdlib.h>
#include <string.h>

/* At most so many dials in any second: those of the last slots count, and the window is as much as one slot too long. */
#define SLOT_NS (1000000000 / (RATE_SLOTS - 1))

static pthread_mutex_t gates_lock = PTHREAD_MUTEX_INITIALIZER;
static struct buckets gates; /* by name */

static struct gate *find_gate(const char *name, uint64_t hash) {
  for (struct bucketed *found = buckets_find(&gates, hash); found != NULL; found = buckets_find_next(found)) {
    struct gate *gate = CONTAINER(found, struct gate, by_name);
    if (strcmp(gate->name, name) == 0) return gate;
  }
  return NULL;
}

struct gate *gate_get(const char *name, const struct limits *limits) {
  uint64_t hash = bucket_hash(name, strlen(name));
  pthread_mutex_lock(&gates_lock);
  struct gate *gate = find_gate(name, hash);
  if (gate == NULL) {
    gate = must_have(calloc(1, sizeof *gate));
    gate->name = must_have(strdup(name));
    pthread_mutex_init(&gate->lock, NULL);
    buckets_add(&gates, &gate->by_name, hash);
  }
  gate->references++;
  pthread_mutex_lock(&gate->lock);
  gate->limits = *limits;
  pthread_mutex_unlock(&gate->lock);
  pthread_mutex_unlock(&gates_lock);
  return gate;
}

void gate_release(struct gate *gate) {
  if (gate == NULL) return;
  pthread_mutex_lock(&gates_lock);
  bool is_last = --gate->references == 0;
  if (is_last) buckets_remove(&gates, &gate->by_name);
  pthread_mutex_unlock(&gates_lock);
  if (!is_last) return;
  pthread_mutex_destroy(&gate->lock);
  buckets_free(&gate->meters);
  free(gate->name);
  free(gate);
}

/* ---- endpoints -------------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const union address *address) {
  size_t size;
  const unsigned char *ip = address_bytes(address, &size);
  unsigned port = address_port(address);
  unsigned char bytes[18] = {(unsigned char)(port >> 8), (unsigned char)port};
  memcpy(bytes + 2, ip, size);
  return bucket_hash(bytes, 2 + size);
}

static struct meter *find_meter(const struct gate *gate, const union address *address, uint64_t hash) {
  for (struct bucketed *found = buckets_find(&gate->meters, hash); found != NULL; found = buckets_find_next(found)) {
    struct meter *meter = CONTAINER(found, struct meter, by_address);
    if (address_compare(&meter->address, address) == 0) return meter;
  }
  return NULL;
}

void gate_add(struct gate *gate, struct endpoint *endpoint) {
  if (endpoint->meter != NULL) return;
  uint64_t hash = hash_of(&endpoint->address);
  pthread_mutex_lock(&gate->lock);
  struct meter *meter = find_meter(gate, &endpoint->address, hash);
  if (meter == NULL) {
    meter = must_have(calloc(1, sizeof *meter));
    meter->address = endpoint->address;
    meter->gate = gate;
    buckets_add(&gate->meters, &meter->by_address, hash);
  }
  meter->references++;
  meter->count.open += endpoint->open;
  gate->count.open += endpoint->open;
  endpoint->meter = meter;
  pthread_mutex_unlock(&gate->lock);
}

void gate_remove(struct endpoint *endpoint) {
  struct meter *meter = endpoint->meter;
  if (meter == NULL) return;
  struct gate *gate = meter->gate;
  pthread_mutex_lock(&gate->lock);
  meter->count.open -= endpoint->open;
  gate->count.open -= endpoint->open;
  endpoint->meter = NULL;
  bool is_last = --meter->references == 0;
  if (is_last) buckets_remove(&gate->meters, &meter->by_address);
  pthread_mutex_unlock(&gate->lock);
  if (is_last) free(meter);
}

/* ---- room, with the gate's lock ---------------------------------------------------------------------------------- */

static unsigned dials_of(struct metered *count, int64_t now_ns) {
  int64_t slot = now_ns / SLOT_NS;
  if (slot - count->slot >= RATE_SLOTS) memset(count->dials, 0, sizeof count->dials), count->slot = slot;
  while (count->slot < slot) count->dials[++count->slot % RATE_SLOTS] = 0;
  unsigned sum = 0;
  for (int index = 0; index < RATE_SLOTS; index++) sum += count->dials[index];
  return sum;
}

static enum cell why_full(struct metered *count, unsigned most_open, unsigned most_dials, int64_t now_ns) {
  if (most_open > 0 && count->open >= (int)most_open) return MAX_CONNECTIONS;
  if (most_dials > 0 && dials_of(count, now_ns) >= most_dials) return MAX_DIALS;
  return HAS_ROOM;
}

enum cell gate_why_full(struct gate *gate, int64_t now_ns) {
  return why_full(&gate->count, gate->limits.connections, gate->limits.dials, now_ns);
}

enum cell gate_why_endpoint_full(struct gate *gate, struct endpoint *endpoint, int64_t now_ns) {
  struct metered *count = &endpoint->meter->count;
  return why_full(count, gate->limits.endpoint_connections, gate->limits.endpoint_dials, now_ns);
}

void gate_enter(struct gate *gate, struct endpoint *endpoint, int64_t now_ns) {
  struct metered *counts[] = {&gate->count, &endpoint->meter->count};
  for (int index = 0; index < 2; index++) {
    dials_of(counts[index], now_ns);
    counts[index]->open++;
    counts[index]->dials[counts[index]->slot % RATE_SLOTS]++;
  }
}

/* Without it. */
void gate_leave(struct endpoint *endpoint) {
  struct gate *gate = endpoint->meter->gate;
  pthread_mutex_lock(&gate->lock);
  gate->count.open--;
  endpoint->meter->count.open--;
  pthread_mutex_unlock(&gate->lock);
}
