/*
 * Sockets that send datagrams without connecting. A socket remembers up to FLOWS Services: its datagrams to one of them
 * stay with one endpoint, and the endpoint's answers are shown as the Service's. The kernel holds the socket's lock
 * meanwhile, so one socket's memory has one writer.
 */
#ifndef FAIRLEAD_DATAGRAMS_H
#define FAIRLEAD_DATAGRAMS_H

#include "choose.h"

INLINE bool is_used(const struct flow *flow, u64 now, u64 idle) {
  return flow->service_port != 0 && now < flow->last_use + idle;
}

/* The flow of this socket to this Service, if its endpoint still serves. */
INLINE bool find_flow(struct flows *flows, const struct place *wanted, u32 service, u64 now, u64 idle,
                      struct choice *choice) {
#pragma unroll
  for (int i = 0; i < FLOWS; i++) {
    struct flow *flow = &flows->of[i];
    if (!is_at(wanted, &flow->service_address, flow->service_port)) continue;
    if (!is_used(flow, now, idle) || flow->service != (service | SERVICE_LAYOUT) || !is_alive(flow->endpoint, flow->generation))
      return false;
    flow->last_use = now;
    choice->place.address = flow->endpoint_address;
    choice->place.port = flow->endpoint_port;
    return true;
  }
  return false;
}

/*
 * Where to remember a new flow. None if all are in use; and none if the same endpoint answers this socket under another
 * Service's address already: its answers could not be told apart. Connection tracking can do both, by another port.
 */
INLINE struct flow *room_for(struct flows *flows, const struct place *wanted, const struct choice *choice, u64 now,
                             u64 idle) {
  struct flow *room = NULL;
  bool is_renewed = false;
#pragma unroll
  for (int i = 0; i < FLOWS; i++) {
    struct flow *flow = &flows->of[i];
    if (is_at(wanted, &flow->service_address, flow->service_port)) {
      room = flow;
      is_renewed = true;
      continue;
    }
    if (is_used(flow, now, idle)) {
      if (is_at(&choice->place, &flow->endpoint_address, flow->endpoint_port)) return NULL;
      continue;
    }
    /* A late answer to it would be shown as an answer to the new one, or the other way round. */
    if (is_at(&choice->place, &flow->endpoint_address, flow->endpoint_port)) flow->service_port = 0;
    if (!is_renewed) room = flow;
  }
  return room;
}

/* A socket that is connected to this endpoint for another Service: ambiguous, too. */
INLINE bool is_connected_otherwise(struct bpf_sock_addr *context, const struct place *wanted,
                                   const struct choice *choice) {
  if (context->sk->state != ESTABLISHED) return false;
  struct flow *flow = bpf_sk_storage_get(&connected, context->sk, NULL, 0);
  return flow && is_at(&choice->place, &flow->endpoint_address, flow->endpoint_port) &&
         !is_at(wanted, &flow->service_address, flow->service_port);
}

INLINE bool keep_flow(struct bpf_sock_addr *context, const struct place *wanted, u32 service,
                      const struct choice *choice, u64 now, u64 idle) {
  if (is_connected_otherwise(context, wanted, choice)) return false;
  struct flows *flows = bpf_sk_storage_get(&datagrams, context->sk, NULL, CREATE_MISSING);
  if (!flows) return false;
  struct flow *flow = room_for(flows, wanted, choice, now, idle);
  if (!flow) return false;
  remember(flow, wanted, service, choice);
  flow->last_use = now;
  return true;
}

/*
 * A socket that asks an endpoint itself, too: its answers are its own from now on, as if it were one more Service. Those of
 * the Service it serves come by connection tracking then, until the socket has not asked the endpoint for a while.
 */
INLINE void note_asked_itself(struct bpf_sock_addr *context, const struct place *endpoint) {
  struct flows *flows = bpf_sk_storage_get(&datagrams, context->sk, NULL, 0);
  /* What a connected socket sends may come with the endpoint's address, too. */
  if (!flows || context->sk->state == ESTABLISHED) return;
#pragma unroll
  for (int i = 0; i < FLOWS; i++) {
    struct flow *flow = &flows->of[i];
    if (flow->service_port == 0 || !is_at(endpoint, &flow->endpoint_address, flow->endpoint_port)) continue;
    flow->service_address = endpoint->address;
    flow->service_port = endpoint->port;
    flow->last_use = bpf_ktime_get_coarse_ns();
  }
}

/*
 * A connected socket hears nobody but its peer. If it names the Service that it is connected to, the datagram goes to the
 * endpoint that it got. The kernel itself names the peer when an IPv6 socket sends to an IPv4-mapped one: if that is the
 * Service, packets serve this socket. False: it sends to somebody else.
 */
INLINE bool sends_to_its_peer(struct bpf_sock_addr *context, const struct place *wanted, const struct place *peer,
                              struct place *endpoint) {
  if (context->sk->state != ESTABLISHED) return false;
  *endpoint = *peer;
  if (is_at(wanted, &peer->address, peer->port)) return true;
  struct flow *flow = bpf_sk_storage_get(&connected, context->sk, NULL, 0);
  return flow && is_at(wanted, &flow->service_address, flow->service_port) &&
         is_at(peer, &flow->endpoint_address, flow->endpoint_port);
}

INLINE enum verdict send_to_service(struct bpf_sock_addr *context, const struct place *wanted, const struct place *peer,
                                    const struct address *source, struct choice *choice) {
  if (FIELD_OF(context, protocol) != UDP) return PASS;
  u32 service = find_service(context, wanted, UDP);
  if (service == 0) {
    note_asked_itself(context, wanted);
    return PASS;
  }
  if (sends_to_its_peer(context, wanted, peer, &choice->place)) return TRANSLATE;
  struct config *settings = read_config();
  u64 now = bpf_ktime_get_coarse_ns();
  if (!settings || !is_wanted(context, settings, UDP_SEND, now) || is_loopback(source)) return PASS;
  u64 idle = LOAD(&settings->udp_idle);
  struct flows *flows = bpf_sk_storage_get(&datagrams, context->sk, NULL, 0);
  if (flows && find_flow(flows, wanted, service, now, idle, choice)) return TRANSLATE;
  /* A program does not expect that sending is refused. */
  if (choose(wanted, service, now, false, choice) != TRANSLATE) return PASS;
  if (!keep_flow(context, wanted, service, choice, now, idle)) return pass_after_all(service);
  count_translated(service, choice);
  return TRANSLATE;
}

/* Which Service an answer from `peer` belongs to. */
INLINE bool sent_to(struct bpf_sock_addr *context, const struct place *peer, struct place *service) {
  struct flows *flows = bpf_sk_storage_get(&datagrams, context->sk, NULL, 0);
  if (!flows) return false;
#pragma unroll
  for (int i = 0; i < FLOWS; i++) {
    struct flow *flow = &flows->of[i];
    if (flow->service_port == 0 || !is_at(peer, &flow->endpoint_address, flow->endpoint_port)) continue;
    service->address = flow->service_address;
    service->port = flow->service_port;
    return true;
  }
  return false;
}

#endif
