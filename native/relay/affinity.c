/*
 * Which endpoint each client used last. The list is in the order of last use, so expired clients are always in front,
 * and forgetting them needs neither a timer nor a walk.
 */
#include "relay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Far above what a Service sees in one timeout; keeps a flood of spoofed clients from eating the memory. */
#define MOST_CLIENTS 100000
#define FIRST_BUCKETS 64

struct record {
  struct record *next_in_bucket;
  struct link by_use;
  struct endpoint *endpoint;
  int64_t used_ns;
  unsigned char size;
  unsigned char ip[16];
};

struct affinity {
  int64_t timeout_ns;
  struct link by_use;
  struct record **buckets;
  size_t bucket_count, count;
};

static uint64_t key[2];

bool affinity_choose_key(void) { return getrandom(key, sizeof key, 0) == sizeof key; }

struct affinity *affinity_create(int64_t timeout_ns) {
  struct affinity *affinity = must_have(calloc(1, sizeof *affinity));
  affinity->timeout_ns = timeout_ns;
  affinity->bucket_count = FIRST_BUCKETS;
  affinity->buckets = must_have(calloc(FIRST_BUCKETS, sizeof *affinity->buckets));
  list_init(&affinity->by_use);
  return affinity;
}

static size_t bucket_of(const struct affinity *affinity, const unsigned char *ip, size_t size) {
  return siphash(key, ip, size) & (affinity->bucket_count - 1);
}

static struct record **place_of(struct affinity *affinity, const union address *client) {
  size_t size;
  const unsigned char *ip = address_bytes(client, &size);
  struct record **place = &affinity->buckets[bucket_of(affinity, ip, size)];
  while (*place != NULL && ((*place)->size != size || memcmp((*place)->ip, ip, size) != 0))
    place = &(*place)->next_in_bucket;
  return place;
}

static void drop_at(struct affinity *affinity, struct record **place) {
  struct record *record = *place;
  *place = record->next_in_bucket;
  list_remove(&record->by_use);
  endpoint_release(record->endpoint);
  free(record);
  affinity->count--;
}

static void drop(struct affinity *affinity, struct record *record) {
  struct record **place = &affinity->buckets[bucket_of(affinity, record->ip, record->size)];
  while (*place != record) place = &(*place)->next_in_bucket;
  drop_at(affinity, place);
}

static void drop_expired(struct affinity *affinity, int64_t now_ns) {
  while (!list_is_empty(&affinity->by_use)) {
    struct record *oldest = CONTAINER(affinity->by_use.next, struct record, by_use);
    if (oldest->used_ns > now_ns - affinity->timeout_ns && affinity->count <= MOST_CLIENTS) return;
    drop(affinity, oldest);
  }
}

static void grow(struct affinity *affinity) {
  struct record **old = affinity->buckets;
  size_t old_count = affinity->bucket_count;
  affinity->bucket_count = old_count * 2;
  affinity->buckets = must_have(calloc(affinity->bucket_count, sizeof *affinity->buckets));
  for (size_t index = 0; index < old_count; index++)
    for (struct record *record = old[index], *next; record != NULL; record = next) {
      next = record->next_in_bucket;
      struct record **bucket = &affinity->buckets[bucket_of(affinity, record->ip, record->size)];
      record->next_in_bucket = *bucket;
      *bucket = record;
    }
  free(old);
}

struct endpoint *affinity_find(struct affinity *affinity, const union address *client, int64_t now_ns) {
  drop_expired(affinity, now_ns);
  struct record *record = *place_of(affinity, client);
  return record == NULL ? NULL : record->endpoint;
}

void affinity_remember(struct affinity *affinity, const union address *client, struct endpoint *endpoint,
                       int64_t now_ns) {
  atomic_fetch_add(&endpoint->references, 1);
  struct record **place = place_of(affinity, client);
  if (*place != NULL) drop_at(affinity, place);
  if (affinity->count >= affinity->bucket_count) grow(affinity);
  struct record *record = must_have(calloc(1, sizeof *record));
  size_t size;
  const unsigned char *ip = address_bytes(client, &size);
  record->size = (unsigned char)size;
  memcpy(record->ip, ip, size);
  record->endpoint = endpoint;
  record->used_ns = now_ns;
  struct record **bucket = &affinity->buckets[bucket_of(affinity, ip, size)];
  record->next_in_bucket = *bucket;
  *bucket = record;
  list_append(&affinity->by_use, &record->by_use);
  affinity->count++;
  drop_expired(affinity, now_ns);
}

void affinity_forget(struct affinity *affinity, const union address *client, const struct endpoint *endpoint) {
  struct record **place = place_of(affinity, client);
  if (*place != NULL && (*place)->endpoint == endpoint) drop_at(affinity, place);
}

static void drop_some(struct affinity *affinity, bool only_gone) {
  for (struct link *link = affinity->by_use.next, *next; link != &affinity->by_use; link = next) {
    next = link->next;
    struct record *record = CONTAINER(link, struct record, by_use);
    if (!only_gone || atomic_load(&record->endpoint->is_gone)) drop(affinity, record);
  }
}

void affinity_forget_gone(struct affinity *affinity) { drop_some(affinity, true); }

/* The other records keep their time: a longer timeout counts from a client's last connection, too. */
void affinity_set_timeout(struct affinity *affinity, int64_t timeout_ns) { affinity->timeout_ns = timeout_ns; }

void affinity_destroy(struct affinity *affinity) {
  if (affinity == NULL) return;
  drop_some(affinity, false);
  free(affinity->buckets);
  free(affinity);
}
