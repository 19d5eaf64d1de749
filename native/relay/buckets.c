/*
 * Finds things by what they are called, however many there are. Whoever names them (clients choose their addresses, users the
 * names of Services) does not know the key, and cannot choose such that all of them end in one bucket.
 */
#include "relay.h"

#include <stdlib.h>
#include <sys/random.h>

#define FIRST_BUCKETS 8

static uint64_t key[2];

bool buckets_choose_key(void) { return getrandom(key, sizeof key, 0) == sizeof key; }

uint64_t bucket_hash(const void *bytes, size_t size) { return siphash(key, bytes, size); }

static struct bucketed **bucket_of(const struct buckets *buckets, uint64_t hash) {
  return &buckets->first[hash & (buckets->size - 1)];
}

static void put(struct buckets *buckets, struct bucketed *one) {
  struct bucketed **bucket = bucket_of(buckets, one->hash);
  one->next = *bucket;
  *bucket = one;
}

static void grow(struct buckets *buckets) {
  struct bucketed **old = buckets->first;
  size_t old_size = buckets->size;
  buckets->size = old_size == 0 ? FIRST_BUCKETS : 2 * old_size;
  buckets->first = must_have(calloc(buckets->size, sizeof *buckets->first));
  for (size_t index = 0; index < old_size; index++)
    for (struct bucketed *one = old[index], *next; one != NULL; one = next) {
      next = one->next;
      put(buckets, one);
    }
  free(old);
}

static struct bucketed *first_with(struct bucketed *one, uint64_t hash) {
  while (one != NULL && one->hash != hash) one = one->next;
  return one;
}

struct bucketed *buckets_find(const struct buckets *buckets, uint64_t hash) {
  return buckets->count == 0 ? NULL : first_with(*bucket_of(buckets, hash), hash);
}

struct bucketed *buckets_find_next(const struct bucketed *one) { return first_with(one->next, one->hash); }

void buckets_add(struct buckets *buckets, struct bucketed *one, uint64_t hash) {
  if (buckets->count >= buckets->size) grow(buckets);
  one->hash = hash;
  put(buckets, one);
  buckets->count++;
}

void buckets_remove(struct buckets *buckets, struct bucketed *one) {
  struct bucketed **place = bucket_of(buckets, one->hash);
  while (*place != one) place = &(*place)->next;
  *place = one->next;
  buckets->count--;
}

void buckets_free(struct buckets *buckets) { free(buckets->first); }
