/*
 * Which Service a call asks for, and which endpoint it gets. The daemon changes the tables meanwhile; no lock is taken:
 *
 *   frontends[address, port]  ->  services[index].lists[internal or external]  ->  slots[base + n]  ->  endpoints[id]
 *
 * A list word is stored at once, a list that is in use is never written again, and a slot names the generation of the
 * endpoint it means. Whoever follows an old word meets a list that is intact, or endpoints that have ended, and looks
 * again. What cannot be decided here is left alone: the packet path does it.
 */
#ifndef FAIRLEAD_CHOOSE_H
#define FAIRLEAD_CHOOSE_H

#include "addresses.h"

enum verdict { PASS, REFUSE, TRANSLATE };

#define TRIES 3
#define NANOSECONDS 1000000000ull

/* An endpoint, and what is needed to remember it. */
struct choice {
  struct place place;
  u32 endpoint;
  u32 generation;
};

/* A number that another key hardly has: `check` in layout.ts. */
INLINE u32 check(const struct frontend_key *key) {
  const u32 *words = (const u32 *)key;
  u32 hash = 0x9e3779b9;
#pragma unroll
  for (u32 i = 0; i < sizeof(*key) / sizeof(u32); i++) {
    hash = (hash ^ words[i]) * 0x85ebca6b;
    hash ^= hash >> 15;
  }
  return hash;
}

INLINE struct config *read_config(void) {
  u32 first = 0;
  return bpf_map_lookup_elem(&config, &first);
}

INLINE bool is_host(struct bpf_sock_addr *context, const struct config *settings) {
  return bpf_get_netns_cookie(context) == LOAD(&settings->host_netns);
}

/* A pod's loopback is its own: node ports are there for the host alone. Other addresses must be this node's. */
INLINE bool serves_node_ports(struct bpf_sock_addr *context, const struct address *address) {
  if (!is_loopback(address)) return bpf_map_lookup_elem(&node_addresses, address) != NULL;
  struct config *settings = read_config();
  return settings && (LOAD(&settings->flags) & LOOPBACK_NODE_PORTS) && is_host(context, settings);
}

/*
 * The service word, or 0: no Service has this address and port. Most calls of a node end here, after two lookups.
 *
 * The kernel may use the memory of a deleted element again while this program still reads it; then the value belongs to
 * another key, and its check differs.
 */
INLINE u32 find_service(struct bpf_sock_addr *context, const struct place *wanted, u8 protocol) {
  struct frontend_key key = {wanted->address, wanted->port, protocol, SCOPE_ADDRESS};
  u64 *found = bpf_map_lookup_elem(&frontends, &key);
  if (!found) {
    struct address any = {{0, 0, is_mapped(&wanted->address) ? MAPPED_PREFIX : 0, 0}};
    key.address = any;
    key.scope = SCOPE_NODE_PORT;
    found = bpf_map_lookup_elem(&frontends, &key);
    if (!found || !serves_node_ports(context, &wanted->address)) return 0;
  }
  u64 word = LOAD(found);
  return (u32)(word >> 32) == check(&key) ? (u32)word : 0;
}

/* Whether the daemon lives, and wants this kind of call to be translated. `use` is its flag. */
INLINE bool is_wanted(struct bpf_sock_addr *context, const struct config *settings, u32 use, u64 now) {
  u32 flags = LOAD(&settings->flags);
  if (LOAD(&settings->lease_until) < now || !(flags & use)) return false;
  bool hosts_alone = flags & (use == UDP_CONNECT ? HOST_ONLY | UDP_CONNECT_HOST_ONLY : HOST_ONLY);
  return !hosts_alone || is_host(context, settings);
}

INLINE bool is_alive(u32 id, u32 generation) {
  struct endpoint *endpoint = bpf_map_lookup_elem(&endpoints, &id);
  return endpoint && LOAD(&endpoint->generation) == generation;
}

/* Copies the endpoint, if it is still the one that was meant and new clients of the list may have it. */
INLINE bool take(u32 id, u32 generation, u32 service, struct choice *choice) {
  struct endpoint *endpoint = bpf_map_lookup_elem(&endpoints, &id);
  if (!endpoint) return false;
  /* Port, lists and generation in one word. */
  u64 state = LOAD((u64 *)&endpoint->port);
  u32 list = 1u << (service >> SERVICE_EXTERNAL_BIT);
  if (generation == 0 || (u32)(state >> 32) != generation || !((u32)(state >> 16) & list)) return false;
  if (LOAD(&endpoint->service) != (service & SERVICE_INDEX)) return false;
  choice->place.address = endpoint->address;
  choice->place.port = (u16)state;
  choice->endpoint = id;
  choice->generation = generation;
  return LOAD(&endpoint->generation) == generation;
}

/* Chooses from the list. `word` is what was read of it already. */
INLINE bool pick(struct service *target, struct service_stats *stats, u32 service, u64 word, struct choice *choice) {
  u64 *list = &target->lists[service >> SERVICE_EXTERNAL_BIT];
  bool in_turn = LOAD(&target->flags) & ROUND_ROBIN;
  u32 number = in_turn ? (u32)__sync_fetch_and_add(&stats->turn, 1) : bpf_get_prandom_u32();
#pragma unroll
  for (int attempt = 0; attempt < TRIES; attempt++) {
    if (LIST_COUNT(word) == 0) return false;
    u32 place = LIST_BASE(word) + number % LIST_COUNT(word);
    u64 *slot = bpf_map_lookup_elem(&slots, &place);
    if (!slot) return false;
    u64 meant = LOAD(slot);
    if (take((u32)meant, (u32)(meant >> 32), service, choice)) return true;
    COUNT(&stats->retries);
    word = LOAD(list);
  }
  return false;
}

/* Whether the node was here a while ago, and can have the endpoint that it had. */
INLINE bool recall(struct affinity *memory, u32 seconds, u32 service, u64 now, struct choice *choice) {
  /* Another processor may have written a later time than `now`: subtracting would make it very old. */
  if (now >= LOAD(&memory->last_use) + seconds * NANOSECONDS) return false;
  u64 had = LOAD((u64 *)&memory->endpoint);
  if (!take((u32)had, (u32)(had >> 32), service, choice)) return false;
  memory->last_use = now;
  return true;
}

/*
 * What a new client of this Service gets. A choice is not counted yet: it can still come to nothing.
 *
 * With affinity the packet path serves, because a client must have one memory: a connection that was left to the packets,
 * for whatever reason, is remembered there. On loopback there is no packet path, and the host is the only client.
 */
INLINE enum verdict choose(const struct place *wanted, u32 service, u64 now, bool can_refuse, struct choice *choice) {
  u32 index = service & SERVICE_INDEX;
  struct service *target = bpf_map_lookup_elem(&services, &index);
  struct service_stats *stats = bpf_map_lookup_elem(&service_stats, &index);
  struct affinity *memory = bpf_map_lookup_elem(&affinity, &index);
  if (!target || !stats || !memory) return PASS;
  u32 seconds = LOAD(&target->affinity_seconds);
  if (seconds != 0 && !is_loopback(&wanted->address)) return PASS;
  u64 word = LOAD(&target->lists[service >> SERVICE_EXTERNAL_BIT]);
  if (LIST_COUNT(word) == 0 && LIST_BASE(word) == REFUSED && can_refuse) {
    COUNT(&stats->refused);
    return REFUSE;
  }
  if (seconds != 0 && recall(memory, seconds, service, now, choice)) return TRANSLATE;
  if (!pick(target, stats, service, word, choice)) {
    COUNT(&stats->passed);
    return PASS;
  }
  if (seconds != 0) {
    *(volatile u64 *)&memory->endpoint = (u64)choice->generation << 32 | choice->endpoint;
    memory->last_use = now;
  }
  return TRANSLATE;
}

INLINE void count_translated(u32 service, const struct choice *choice) {
  u32 index = service & SERVICE_INDEX;
  struct service_stats *stats = bpf_map_lookup_elem(&service_stats, &index);
  if (stats) COUNT(&stats->connections);
  struct endpoint_stats *endpoint = bpf_map_lookup_elem(&endpoint_stats, &choice->endpoint);
  if (endpoint) COUNT(&endpoint->picked);
}

/* There was a choice, but no way to make it so. */
INLINE enum verdict pass_after_all(u32 service) {
  u32 index = service & SERVICE_INDEX;
  struct service_stats *stats = bpf_map_lookup_elem(&service_stats, &index);
  if (stats) COUNT(&stats->passed);
  return PASS;
}

INLINE void remember(struct flow *flow, const struct place *wanted, u32 service, const struct choice *choice) {
  flow->service_address = wanted->address;
  flow->endpoint_address = choice->place.address;
  flow->service_port = wanted->port;
  flow->endpoint_port = choice->place.port;
  flow->service = service | SERVICE_LAYOUT;
  flow->endpoint = choice->endpoint;
  flow->generation = choice->generation;
}

#endif
