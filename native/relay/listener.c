/* An address that is listened on, by all workers together. */
#include "relay.h"

#include <stdlib.h>

void listener_release(struct listener *listener) {
  if (atomic_fetch_sub(&listener->references, 1) != 1) return;
  /* Its counters have their last value. */
  if (listener->refusal == 0)
    tell_answer("gone %u", listener->slot);
  else
    tell_answer("failed %u %d", listener->closing_call, listener->refusal);
  pool_release(listener->pool);
  pthread_mutex_destroy(&listener->lock);
  free(listener->ranges);
  free(listener);
}

struct pool *listener_pool(struct listener *listener) {
  pthread_mutex_lock(&listener->lock);
  struct pool *pool = listener->pool;
  atomic_fetch_add(&pool->references, 1);
  pthread_mutex_unlock(&listener->lock);
  return pool;
}

struct keeping listener_keeping(struct listener *listener) {
  pthread_mutex_lock(&listener->lock);
  struct keeping keeping = listener->keeping;
  pthread_mutex_unlock(&listener->lock);
  return keeping;
}

bool listener_allows(struct listener *listener, const union address *client) {
  pthread_mutex_lock(&listener->lock);
  bool is_allowed = listener->range_count == 0;
  for (unsigned index = 0; index < listener->range_count && !is_allowed; index++)
    is_allowed = range_contains(&listener->ranges[index], client);
  pthread_mutex_unlock(&listener->lock);
  return is_allowed;
}
