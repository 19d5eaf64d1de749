/* Counters and the use of descriptors, in memory that the TypeScript side reads without asking. */
#include "relay.h"

#include <sys/mman.h>

/* Where the bounds of buckets are: how many, and each of them; first those of connections, then those of dials. */
#define BOUNDS_START 64
#define MOST_BOUNDS 16

static unsigned char *memory;
static double *listener_cells, *endpoint_cells, *engine_cells;
static unsigned slot_count, endpoint_slot_count;
static struct {
  unsigned count;
  double seconds[MOST_BOUNDS];
} bounds[2];

/* Copied, so that nobody else decides how far a search goes. */
static void read_bounds(void) {
  const double *next = (const double *)(void *)(memory + BOUNDS_START);
  for (unsigned kind = 0; kind < 2; kind++) {
    double count = *next++;
    bounds[kind].count = count >= 0 && count <= MOST_BOUNDS ? (unsigned)count : 0;
    for (unsigned index = 0; index < bounds[kind].count; index++) bounds[kind].seconds[index] = *next++;
  }
}

bool shared_map(int fd, unsigned slots, unsigned endpoint_slots) {
  slot_count = slots;
  endpoint_slot_count = endpoint_slots;
  size_t of_listeners = (size_t)slots * settings.workers * CELLS;
  size_t of_endpoints = (size_t)endpoint_slots * settings.workers * CELLS;
  size_t cells = of_listeners + of_endpoints + (size_t)settings.workers * ENGINE_CELLS;
  memory = mmap(NULL, SHARED_HEADER + cells * sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return false;
  listener_cells = (double *)(void *)(memory + SHARED_HEADER);
  endpoint_cells = listener_cells + of_listeners;
  engine_cells = endpoint_cells + of_endpoints;
  read_bounds();
  return true;
}

double *shared_cells(unsigned slot, unsigned worker) {
  return listener_cells + ((size_t)(slot % slot_count) * settings.workers + worker) * CELLS;
}

double *shared_endpoint_cells(unsigned slot, unsigned worker) {
  return endpoint_cells + ((size_t)(slot % endpoint_slot_count) * settings.workers + worker) * CELLS;
}

double *shared_engine_cells(unsigned worker) { return engine_cells + (size_t)worker * ENGINE_CELLS; }

void count_duration(unsigned worker, enum timed timed, int64_t duration_ns) {
  double *buckets = shared_engine_cells(worker) + BUCKETS_START + timed * BUCKET_CELLS;
  double seconds = (double)duration_ns / 1e9;
  unsigned kind = timed == TIMED_CONNECTION ? 0 : 1, bucket = 0;
  while (bucket < bounds[kind].count && seconds > bounds[kind].seconds[bucket]) bucket++;
  buckets[bucket] += 1;
  buckets[BUCKET_CELLS - 1] += seconds;
}

static atomic_int *used(void) { return (atomic_int *)(void *)memory; }

void descriptors_take(int count) { atomic_fetch_add(used(), count); }

void descriptors_give_back(int count) { atomic_fetch_sub(used(), count); }

void transparent_count(int change) { atomic_fetch_add(used() + 1, change); }

bool descriptors_try(int count) {
  if (atomic_fetch_add(used(), count) + count <= settings.descriptor_budget) return true;
  descriptors_give_back(count);
  return false;
}
