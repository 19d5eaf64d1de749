/*
 * What the programs need to know of the kernel. It is written down here, so that they compile without kernel headers and
 * without libbpf, and come out equal on every machine.
 */
#ifndef FAIRLEAD_ABI_H
#define FAIRLEAD_ABI_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)
#define offsetof(type, member) __builtin_offsetof(type, member)

#define SECTION(name) __attribute__((section(name), used))
/* Calls between programs would need relocations that the loader does not know. */
#define INLINE static inline __attribute__((always_inline))

/* ---- what a hook is given ----------------------------------------------------------------------------------- */

/* The socket, as the kernel lets programs see it. */
struct bpf_sock {
  u32 bound_dev_if;
  u32 family;
  u32 type;
  u32 protocol;
  u32 mark;
  u32 priority;
  u32 src_ip4;
  u32 src_ip6[4];
  u32 src_port;
  u16 dst_port;
  u16 : 16;
  u32 dst_ip4;
  u32 dst_ip6[4];
  u32 state;
};

/* The address of a call. Addresses and ports are in network order; the port is in the low 16 bits. */
struct bpf_sock_addr {
  u32 user_family;
  u32 user_ip4;
  u32 user_ip6[4];
  u32 user_port;
  u32 family;
  u32 type;
  u32 protocol;
  u32 msg_src_ip4;
  u32 msg_src_ip6[4];
  u32 : 32;
  struct bpf_sock *sk;
};

_Static_assert(offsetof(struct bpf_sock, src_ip4) == 24, "bpf_sock.src_ip4");
_Static_assert(offsetof(struct bpf_sock, dst_port) == 48, "bpf_sock.dst_port");
_Static_assert(offsetof(struct bpf_sock, state) == 72, "bpf_sock.state");
_Static_assert(offsetof(struct bpf_sock_addr, user_port) == 24, "bpf_sock_addr.user_port");
_Static_assert(offsetof(struct bpf_sock_addr, protocol) == 36, "bpf_sock_addr.protocol");
_Static_assert(offsetof(struct bpf_sock_addr, msg_src_ip6) == 44, "bpf_sock_addr.msg_src_ip6");
_Static_assert(offsetof(struct bpf_sock_addr, sk) == 64, "bpf_sock_addr.sk");
_Static_assert(sizeof(struct bpf_sock_addr) == 72, "bpf_sock_addr");

/* An iterator over the values of a socket storage. After the last value it runs once more, without one. */
struct socket_storage_visit {
  void *meta;
  void *map;
  void *sk;
  void *value;
};

#define TCP 6
#define UDP 17
/* Of bpf_sock.state. A connected UDP socket has it, too. */
#define ESTABLISHED 1
#define ECONNREFUSED 111

/* What connect and sendmsg hooks return. Forbidding without bpf_set_retval would be EPERM to the program. */
#define ALLOW 1
#define FORBID 0

/* ---- maps --------------------------------------------------------------------------------------------------- */

/* The loader makes the maps itself. This tells it, and whoever reads the object, what the programs expect. */
struct map_definition {
  u32 type;
  u32 key_size;
  u32 value_size;
  u32 max_entries;
  u32 flags;
};

#define HASH 1
#define ARRAY 2
#define SOCKET_STORAGE 24
#define NO_PREALLOC 1
#define MMAPABLE 0x400

/* ---- helpers, by the kernel's numbers ----------------------------------------------------------------------- */

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u32 (*const bpf_get_prandom_u32)(void) = (void *)7;
static u64 (*const bpf_get_socket_cookie)(void *context) = (void *)46;
/* With CREATE_MISSING: NULL if the socket has no memory left. */
static void *(*const bpf_sk_storage_get)(void *map, void *sk, void *initial, u64 flags) = (void *)107;
static long (*const bpf_sk_storage_delete)(void *map, void *sk) = (void *)108;
static u64 (*const bpf_get_netns_cookie)(void *context) = (void *)122;
/* CLOCK_MONOTONIC, as of the last tick: exact enough here, and cheap. */
static u64 (*const bpf_ktime_get_coarse_ns)(void) = (void *)160;
/* What the program's call fails with if the hook forbids it. Linux 5.18. */
static long (*const bpf_set_retval)(int error) = (void *)187;

#define CREATE_MISSING 1

/* ---- memory that others change meanwhile -------------------------------------------------------------------- */

/* One load: all bits are from before a change, or all from after it. */
#define LOAD(place) (*(const volatile __typeof__(*(place)) *)(place))
#define COUNT(place) ((void)__sync_fetch_and_add((place), 1))

#endif
