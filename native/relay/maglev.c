/* The hash and the table of src/core/balance: the same numbers, on every node and in every engine. */
#include "relay.h"

#include <stdlib.h>
#include <string.h>

uint32_t hash32(const char *text, uint32_t seed) {
  uint32_t hash = 0x811c9dc5 ^ seed;
  for (; *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * 0x01000193;
  hash = (hash ^ (hash >> 16)) * 0x85ebca6b;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35;
  return hash ^ (hash >> 16);
}

#define FREE UINT16_MAX

struct taker {
  uint32_t next, skip;
  uint64_t credit;
};

uint16_t *maglev_create(struct endpoint *const *endpoints, unsigned count) {
  uint16_t *table = must_have(malloc(MAGLEV_SLOTS * sizeof *table));
  memset(table, 0xff, MAGLEV_SLOTS * sizeof *table);
  struct taker *takers = must_have(calloc(count + 1, sizeof *takers));
  unsigned heaviest = 0;
  for (unsigned index = 0; index < count; index++) {
    const struct endpoint *endpoint = endpoints[index];
    takers[index].next = hash32(endpoint->name, 1) % MAGLEV_SLOTS;
    takers[index].skip = hash32(endpoint->name, 2) % (MAGLEV_SLOTS - 1) + 1;
    if (endpoint->weight > heaviest) heaviest = endpoint->weight;
  }
  unsigned left = heaviest == 0 ? 0 : MAGLEV_SLOTS;
  while (left > 0)
    for (unsigned index = 0; index < count && left > 0; index++) {
      struct taker *taker = &takers[index];
      /* In each round the heaviest takes one slot, and the others one in as many rounds as their weight says. */
      taker->credit += endpoints[index]->weight;
      if (taker->credit < heaviest) continue;
      taker->credit -= heaviest;
      while (table[taker->next] != FREE) taker->next = (taker->next + taker->skip) % MAGLEV_SLOTS;
      table[taker->next] = (uint16_t)index;
      left--;
    }
  free(takers);
  return table;
}
