/* Addresses of calls, read and written for either family. */
#ifndef FAIRLEAD_ADDRESSES_H
#define FAIRLEAD_ADDRESSES_H

#include "layout.h"

/* Network order on a little-endian machine. */
#define MAPPED_PREFIX 0xffff0000
#define LOOPBACK4 0x0100007f
#define LOOPBACK6 0x01000000

/* An address and port as a program means it. */
struct place {
  struct address address;
  u16 port;
};

INLINE struct address mapped(u32 ip4) {
  struct address address = {{0, 0, MAPPED_PREFIX, ip4}};
  return address;
}

INLINE bool is_mapped(const struct address *address) {
  return address->words[0] == 0 && address->words[1] == 0 && address->words[2] == MAPPED_PREFIX;
}

INLINE bool is_loopback(const struct address *address) {
  const u32 *words = address->words;
  if (words[0] != 0 || words[1] != 0) return false;
  return words[2] == MAPPED_PREFIX ? (words[3] & 0xff) == 127 : words[2] == 0 && words[3] == LOOPBACK6;
}

INLINE bool same_address(const struct address *a, const struct address *b) {
  return a->words[0] == b->words[0] && a->words[1] == b->words[1] && a->words[2] == b->words[2] &&
         a->words[3] == b->words[3];
}

INLINE bool is_at(const struct place *place, const struct address *address, u16 port) {
  return place->port == port && same_address(&place->address, address);
}

/* The kernel checks each access to the context: it must be of 32 bits at an offset that the compiler knows. */
#define FIELD_OF(context, field) (*(volatile u32 *)&(context)->field)

INLINE struct place read_place4(struct bpf_sock_addr *context) {
  struct place place = {mapped(FIELD_OF(context, user_ip4)), FIELD_OF(context, user_port)};
  return place;
}

INLINE struct address read_address6(struct bpf_sock_addr *context) {
  struct address address = {{FIELD_OF(context, user_ip6[0]), FIELD_OF(context, user_ip6[1]),
                             FIELD_OF(context, user_ip6[2]), FIELD_OF(context, user_ip6[3])}};
  return address;
}

INLINE struct place read_place6(struct bpf_sock_addr *context) {
  struct place place = {read_address6(context), FIELD_OF(context, user_port)};
  return place;
}

INLINE void write_place4(struct bpf_sock_addr *context, const struct place *place) {
  FIELD_OF(context, user_ip4) = place->address.words[3];
  FIELD_OF(context, user_port) = place->port;
}

INLINE void write_place6(struct bpf_sock_addr *context, const struct place *place) {
  FIELD_OF(context, user_ip6[0]) = place->address.words[0];
  FIELD_OF(context, user_ip6[1]) = place->address.words[1];
  FIELD_OF(context, user_ip6[2]) = place->address.words[2];
  FIELD_OF(context, user_ip6[3]) = place->address.words[3];
  FIELD_OF(context, user_port) = place->port;
}

/* Whoever asks for 0.0.0.0 or :: reaches this machine, and has a loopback address as its peer. */
INLINE struct place without_any(struct place place) {
  u32 *words = place.address.words;
  if (words[0] == 0 && words[1] == 0 && words[3] == 0) {
    if (words[2] == MAPPED_PREFIX) words[3] = LOOPBACK4;
    if (words[2] == 0) words[3] = LOOPBACK6;
  }
  return place;
}

INLINE struct address bound_address4(struct bpf_sock *socket) {
  return mapped(socket->src_ip4);
}

INLINE struct address bound_address6(struct bpf_sock *socket) {
  struct address address = {{FIELD_OF(socket, src_ip6[0]), FIELD_OF(socket, src_ip6[1]), FIELD_OF(socket, src_ip6[2]),
                             FIELD_OF(socket, src_ip6[3])}};
  return address;
}

/* Whom a connected socket talks to. An IPv6 socket with an IPv4-mapped peer has both kinds of address. */
INLINE struct place peer4(struct bpf_sock *socket) {
  struct place place = {mapped(FIELD_OF(socket, dst_ip4)), LOAD(&socket->dst_port)};
  return place;
}

INLINE struct place peer6(struct bpf_sock *socket) {
  struct place place = {{{FIELD_OF(socket, dst_ip6[0]), FIELD_OF(socket, dst_ip6[1]), FIELD_OF(socket, dst_ip6[2]),
                          FIELD_OF(socket, dst_ip6[3])}},
                        LOAD(&socket->dst_port)};
  return place;
}

/* Of a datagram: the address that the socket is bound to, or that came with the datagram. */
INLINE struct address message_source4(struct bpf_sock_addr *context) {
  return mapped(FIELD_OF(context, msg_src_ip4));
}

INLINE struct address message_source6(struct bpf_sock_addr *context) {
  struct address address = {{FIELD_OF(context, msg_src_ip6[0]), FIELD_OF(context, msg_src_ip6[1]),
                             FIELD_OF(context, msg_src_ip6[2]), FIELD_OF(context, msg_src_ip6[3])}};
  return address;
}

#endif
