/*
 * Which endpoint each client used last. The list is in the order of last use, so expired clients are always in front,
 * and forgetting them needs neither a timer nor a walk.
 */
#include "relay.h"

#include <stdlib.h>
#include <string.h>

/* Far above what a Service sees in one timeout; keeps a flood of spoofed clients from eating the memory. */
#define MOST_CLIENTS 100000

struct record {
  struct bucketed by_client;
  struct link by_use;
  struct endpoint *endpoint;
  int64_t used_ns;
  unsigned char size;
  unsigned char ip[16];
};

struct affinity {
  int64_t timeout_ns;
  struct link by_use;
  struct buckets by_client;
};

struct affinity *affinity_create(int64_t timeout_ns) {
  struct affinity *affinity = must_have(calloc(1, sizeof *affinity));
  affinity->timeout_ns = timeout_ns;
  list_init(&affinity->by_use);
  return affinity;
}

static struct record *find(const struct affinity *affinity, const union address *client) {
  size_t size;
  const unsigned char *ip = address_bytes(client, &size);
  struct bucketed *found = buckets_find(&affinity->by_client, bucket_hash(ip, size));
  for (; found != NULL; found = buckets_find_next(found)) {
    struct record *record = CONTAINER(found, struct record, by_client);
    if (record->size == size && memcmp(record->ip, ip, size) == 0) return record;
  }
  return NULL;
}

static void drop(struct affinity *affinity, struct record *record) {
  buckets_remove(&affinity->by_client, &record->by_client);
  list_remove(&record->by_use);
  endpoint_release(record->endpoint);
  free(record);
}

static void drop_expired(struct affinity *affinity, int64_t now_ns) {
  while (!list_is_empty(&affinity->by_use)) {
    struct record *oldest = CONTAINER(affinity->by_use.next, struct record, by_use);
    if (oldest->used_ns > now_ns - affinity->timeout_ns && affinity->by_client.count <= MOST_CLIENTS) return;
    drop(affinity, oldest);
  }
}

struct endpoint *affinity_find(struct affinity *affinity, const union address *client, int64_t now_ns) {
  drop_expired(affinity, now_ns);
  struct record *record = find(affinity, client);
  return record == NULL ? NULL : record->endpoint;
}

void affinity_remember(struct affinity *affinity, const union address *client, struct endpoint *endpoint,
                       int64_t now_ns) {
  atomic_fetch_add(&endpoint->references, 1);
  struct record *known = find(affinity, client);
  if (known != NULL) drop(affinity, known);
  struct record *record = must_have(calloc(1, sizeof *record));
  size_t size;
  const unsigned char *ip = address_bytes(client, &size);
  record->size = (unsigned char)size;
  memcpy(record->ip, ip, size);
  record->endpoint = endpoint;
  record->used_ns = now_ns;
  buckets_add(&affinity->by_client, &record->by_client, bucket_hash(ip, size));
  list_append(&affinity->by_use, &record->by_use);
  drop_expired(affinity, now_ns);
}

void affinity_forget(struct affinity *affinity, const union address *client, const struct endpoint *endpoint) {
  struct record *record = find(affinity, client);
  if (record != NULL && record->endpoint == endpoint) drop(affinity, record);
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
  buckets_free(&affinity->by_client);
  free(affinity);
}
