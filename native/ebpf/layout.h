/*
 * The tables that the daemon and the programs share: what lies where. `src/backends/ebpf/layout.ts` says the same, with
 * the same names, and a test compares both. Numbers are little-endian; addresses and ports are in network order, as
 * sockets have them.
 */
#ifndef FAIRLEAD_LAYOUT_H
#define FAIRLEAD_LAYOUT_H

#include "abi.h"

/* IPv4 is stored as IPv4-mapped IPv6 (::ffff:10.0.0.1): one table and one program text for both families. */
struct address {
  u32 words[4];
};

/* ---- frontends: what a program asks for --------------------------------------------------------------------- */

#define SCOPE_ADDRESS 0
/* A node port, at every address of this node. The address is "any" of the family. */
#define SCOPE_NODE_PORT 1

struct frontend_key {
  struct address address;
  u16 port;
  u8 protocol;
  u8 scope;
};

struct frontend {
  /* A service word: index of the service, and which of its lists. */
  u32 service;
  /* check() of the key. */
  u32 check;
};

/* Changes with every change of what lies where. At most 63. */
#define LAYOUT_VERSION 2u

#define SERVICE_INDEX 0x00ffffff
#define SERVICE_EXTERNAL_BIT 31
/* Only in the memory of sockets, which outlives these tables: whether it is UDP, and of which layout the index is. */
#define SERVICE_UDP (1u << 30)
#define SERVICE_LAYOUT (LAYOUT_VERSION << 24)

/* ---- services: who serves ----------------------------------------------------------------------------------- */

#define INTERNAL 0
#define EXTERNAL 1

struct service {
  /* List words: base (32 bits), count (16), and a number that changes with each write (16). */
  u64 lists[2];
  u32 affinity_seconds;
  u32 flags;
  u64 spare;
};

#define ROUND_ROBIN 1

#define LIST_BASE(word) ((u32)(word))
#define LIST_COUNT(word) ((u32)((word) >> 32) & 0xffff)
/* The base of an empty list that is refused. Any other empty list is left to the packet path. */
#define REFUSED 1

/*
 * A map of its own: a counter beside the list words would take their cache line from all other processors at every
 * connect.
 */
struct service_stats {
  u64 connections;
  /* Whose turn it is. */
  u64 turn;
  u64 refused;
  /* Left to the packet path, although it is in the table. */
  u32 passed;
  u32 retries;
};

/* ---- slots and endpoints ------------------------------------------------------------------------------------ */

/* A place in a list. Read as one word. */
struct slot {
  u32 endpoint;
  u32 generation;
};

/* Address, port and service stay the same as long as the generation does. */
struct endpoint {
  struct address address;
  u16 port;
  /* Bit 0: new clients of the internal list may choose it. Bit 1: of the external list. */
  u16 lists;
  /* 0: it has ended. */
  u32 generation;
  u32 service;
  u32 spare;
};

struct endpoint_stats {
  u64 picked;
  /* 0: no socket can be stale when the endpoint ends. */
  u64 udp_connects;
};

/* ---- affinity: which endpoint the host had, by service ------------------------------------------------------ */

/* Endpoint and generation are read as one word. */
struct affinity {
  u32 endpoint;
  u32 generation;
  u64 last_use;
};

/* ---- the memory of a socket --------------------------------------------------------------------------------- */

/* Where a socket thinks it talks to, and where it does. Without a service port it is empty. */
struct flow {
  struct address service_address;
  struct address endpoint_address;
  u16 service_port;
  u16 endpoint_port;
  u32 service;
  u32 endpoint;
  u32 generation;
  union {
    /* Of a datagram flow. */
    u64 last_use;
    /* Of a connected socket. */
    u64 netns;
  };
  /* Of a connected socket. */
  u64 cookie;
};

#define FLOWS 4

struct flows {
  struct flow of[FLOWS];
};

/* ---- config ------------------------------------------------------------------------------------------------- */

struct config {
  u64 host_netns;
  /* After this time the programs leave everything alone: the daemon is gone. */
  u64 lease_until;
  u64 udp_idle;
  u32 flags;
  u32 layout;
  u64 owner;
  u32 next_generation;
  u8 digest[20];
};

#define HOST_ONLY 1
#define UDP_SEND 2
#define UDP_CONNECT 4
#define LOOPBACK_NODE_PORTS 8
#define USE_TCP 16
#define UDP_CONNECT_HOST_ONLY 32
#define NO_PEER_NAMES 64
#define REPORT_STALE_TCP 128

/* ---- stale sockets ------------------------------------------------------------------------------------------ */

struct stale_report {
  u64 cookie;
  u64 netns;
  struct address endpoint_address;
  struct address service_address;
  u16 endpoint_port;
  u16 service_port;
  u32 service;
};

/*
 * Element 0 of the map: which sockets are asked for, and how many were found. There may be more than reports have room for, so
 * the daemon asks for those whose cookies end in the bits that it names.
 */
struct stale_search {
  u64 found;
  u64 mask;
  u64 bits;
  u8 spare[32];
};

/* ---- the numbers, checked here and told to the tests -------------------------------------------------------- */

#define LAYOUT(FIELD, SIZE, NUMBER)                                                                                    \
  FIELD(frontend_key, address, address, 0)                                                                             \
  FIELD(frontend_key, port, port, 16)                                                                                  \
  FIELD(frontend_key, protocol, protocol, 18)                                                                          \
  FIELD(frontend_key, scope, scope, 19)                                                                                \
  SIZE(frontend_key, 20)                                                                                               \
  FIELD(frontend, service, service, 0)                                                                                 \
  FIELD(frontend, check, check, 4)                                                                                     \
  SIZE(frontend, 8)                                                                                                    \
  FIELD(service, internal, lists[INTERNAL], 0)                                                                         \
  FIELD(service, external, lists[EXTERNAL], 8)                                                                         \
  FIELD(service, affinity_seconds, affinity_seconds, 16)                                                               \
  FIELD(service, flags, flags, 20)                                                                                     \
  SIZE(service, 32)                                                                                                    \
  FIELD(service_stats, connections, connections, 0)                                                                    \
  FIELD(service_stats, turn, turn, 8)                                                                                  \
  FIELD(service_stats, refused, refused, 16)                                                                           \
  FIELD(service_stats, passed, passed, 24)                                                                             \
  FIELD(service_stats, retries, retries, 28)                                                                           \
  SIZE(service_stats, 32)                                                                                              \
  FIELD(slot, endpoint, endpoint, 0)                                                                                   \
  FIELD(slot, generation, generation, 4)                                                                               \
  SIZE(slot, 8)                                                                                                        \
  FIELD(endpoint, address, address, 0)                                                                                 \
  FIELD(endpoint, port, port, 16)                                                                                      \
  FIELD(endpoint, lists, lists, 18)                                                                                    \
  FIELD(endpoint, generation, generation, 20)                                                                          \
  FIELD(endpoint, service, service, 24)                                                                                \
  SIZE(endpoint, 32)                                                                                                   \
  FIELD(endpoint_stats, picked, picked, 0)                                                                             \
  FIELD(endpoint_stats, udp_connects, udp_connects, 8)                                                                 \
  SIZE(endpoint_stats, 16)                                                                                             \
  FIELD(affinity, endpoint, endpoint, 0)                                                                               \
  FIELD(affinity, generation, generation, 4)                                                                           \
  FIELD(affinity, last_use, last_use, 8)                                                                               \
  SIZE(affinity, 16)                                                                                                   \
  FIELD(flow, service_address, service_address, 0)                                                                     \
  FIELD(flow, endpoint_address, endpoint_address, 16)                                                                  \
  FIELD(flow, service_port, service_port, 32)                                                                          \
  FIELD(flow, endpoint_port, endpoint_port, 34)                                                                        \
  FIELD(flow, service, service, 36)                                                                                    \
  FIELD(flow, endpoint, endpoint, 40)                                                                                  \
  FIELD(flow, generation, generation, 44)                                                                              \
  FIELD(flow, last_use, last_use, 48)                                                                                  \
  FIELD(flow, netns, netns, 48)                                                                                        \
  FIELD(flow, cookie, cookie, 56)                                                                                      \
  SIZE(flow, 64)                                                                                                       \
  FIELD(config, host_netns, host_netns, 0)                                                                             \
  FIELD(config, lease_until, lease_until, 8)                                                                           \
  FIELD(config, udp_idle, udp_idle, 16)                                                                                \
  FIELD(config, flags, flags, 24)                                                                                      \
  FIELD(config, layout, layout, 28)                                                                                    \
  FIELD(config, owner, owner, 32)                                                                                      \
  FIELD(config, next_generation, next_generation, 40)                                                                  \
  FIELD(config, digest, digest, 44)                                                                                    \
  SIZE(config, 64)                                                                                                     \
  FIELD(stale_report, cookie, cookie, 0)                                                                               \
  FIELD(stale_report, netns, netns, 8)                                                                                 \
  FIELD(stale_report, endpoint_address, endpoint_address, 16)                                                          \
  FIELD(stale_report, service_address, service_address, 32)                                                            \
  FIELD(stale_report, endpoint_port, endpoint_port, 48)                                                                \
  FIELD(stale_report, service_port, service_port, 50)                                                                  \
  FIELD(stale_report, service, service, 52)                                                                            \
  SIZE(stale_report, 56)                                                                                               \
  FIELD(stale_search, found, found, 0)                                                                                 \
  FIELD(stale_search, mask, mask, 8)                                                                                   \
  FIELD(stale_search, bits, bits, 16)                                                                                  \
  SIZE(stale_search, 56)                                                                                               \
  NUMBER(config_flags, host_only, HOST_ONLY)                                                                           \
  NUMBER(config_flags, udp_send, UDP_SEND)                                                                             \
  NUMBER(config_flags, udp_connect, UDP_CONNECT)                                                                       \
  NUMBER(config_flags, loopback_node_ports, LOOPBACK_NODE_PORTS)                                                       \
  NUMBER(config_flags, tcp, USE_TCP)                                                                                   \
  NUMBER(config_flags, udp_connect_host_only, UDP_CONNECT_HOST_ONLY)                                                   \
  NUMBER(config_flags, no_peer_names, NO_PEER_NAMES)                                                                   \
  NUMBER(config_flags, report_stale_tcp, REPORT_STALE_TCP)                                                             \
  NUMBER(layout, version, LAYOUT_VERSION)                                                                              \
  NUMBER(service_flags, round_robin, ROUND_ROBIN)                                                                      \
  NUMBER(list_bits, internal, 1 << INTERNAL)                                                                           \
  NUMBER(list_bits, external, 1 << EXTERNAL)

#define CHECK_FIELD(record, name, field, at) _Static_assert(offsetof(struct record, field) == at, #record "." #name);
#define CHECK_SIZE(record, size) _Static_assert(sizeof(struct record) == size, #record);
#define CHECK_NUMBER(group, name, value)
LAYOUT(CHECK_FIELD, CHECK_SIZE, CHECK_NUMBER)

struct told_number {
  char name[44];
  u32 number;
};
#define TELL_FIELD(record, name, field, at) {#record "." #name, offsetof(struct record, field)},
#define TELL_SIZE(record, size) {#record ".size", sizeof(struct record)},
#define TELL_NUMBER(group, name, value) {#group "." #name, value},
SECTION("layout") const struct told_number told_layout[] = {LAYOUT(TELL_FIELD, TELL_SIZE, TELL_NUMBER)};

/* ---- maps --------------------------------------------------------------------------------------------------- */

#define MAP(name, ...) SECTION("maps") struct map_definition name = {__VA_ARGS__}

MAP(frontends, HASH, sizeof(struct frontend_key), sizeof(struct frontend), 65536, 0);
/* The addresses of this node at which node ports are served. */
MAP(node_addresses, HASH, sizeof(struct address), sizeof(u32), 1024, 0);
MAP(services, ARRAY, sizeof(u32), sizeof(struct service), 32768, MMAPABLE);
MAP(service_stats, ARRAY, sizeof(u32), sizeof(struct service_stats), 32768, MMAPABLE);
MAP(slots, ARRAY, sizeof(u32), sizeof(struct slot), 262144, MMAPABLE);
MAP(endpoints, ARRAY, sizeof(u32), sizeof(struct endpoint), 131072, MMAPABLE);
MAP(endpoint_stats, ARRAY, sizeof(u32), sizeof(struct endpoint_stats), 131072, MMAPABLE);
MAP(affinity, ARRAY, sizeof(u32), sizeof(struct affinity), 32768, MMAPABLE);
MAP(config, ARRAY, sizeof(u32), sizeof(struct config), 1, MMAPABLE);
/* The state of a socket lives and dies with it: nothing is evicted, nothing leaks. */
MAP(connected, SOCKET_STORAGE, sizeof(u32), sizeof(struct flow), 0, NO_PREALLOC);
MAP(datagrams, SOCKET_STORAGE, sizeof(u32), sizeof(struct flows), 0, NO_PREALLOC);
MAP(stale, ARRAY, sizeof(u32), sizeof(struct stale_report), 4097, MMAPABLE);

#endif
