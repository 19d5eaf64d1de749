/* Counters and the use of descriptors, in memory that the TypeScript side reads without asking. */
#include "relay.h"

#include <sys/mman.h>

static unsigned char *memory;
static unsigned slot_count;

bool shared_map(int fd, unsigned slots) {
  slot_count = slots;
  size_t size = SHARED_HEADER + (size_t)slots * settings.workers * CELLS * sizeof(double);
  memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return memory != MAP_FAILED;
}

double *shared_cells(unsigned slot, unsigned worker) {
  size_t index = (size_t)(slot % slot_count) * settings.workers + worker;
  return (double *)(void *)(memory + SHARED_HEADER) + index * CELLS;
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
