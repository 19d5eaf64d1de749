/* Sockets that connect, TCP and UDP: who they get, and what they are told about their peer. */
#ifndef FAIRLEAD_CONNECTIONS_H
#define FAIRLEAD_CONNECTIONS_H

#include "choose.h"

/*
 * Remembers what the socket asked for, for its peer's name and for its end. False if the socket has no memory left, or
 * if the endpoint has just ended: after that nobody would look for this socket.
 */
INLINE bool keep_connection(struct bpf_sock_addr *context, const struct place *wanted, u32 service,
                            const struct choice *choice) {
  struct flow *flow = bpf_sk_storage_get(&connected, context->sk, NULL, CREATE_MISSING);
  if (!flow) return false;
  remember(flow, wanted, service, choice);
  flow->netns = bpf_get_netns_cookie(context);
  flow->cookie = bpf_get_socket_cookie(context);
  if (!(service & SERVICE_UDP)) return true;
  struct endpoint_stats *stats = bpf_map_lookup_elem(&endpoint_stats, &choice->endpoint);
  if (!stats) return false;
  COUNT(&stats->udp_connects);
  return is_alive(choice->endpoint, choice->generation);
}

INLINE enum verdict connect_to_service(struct bpf_sock_addr *context, const struct place *wanted,
                                       const struct address *source, bool can_refuse, struct choice *choice) {
  u32 protocol = FIELD_OF(context, protocol);
  if (protocol != TCP && protocol != UDP) return PASS;
  u32 service = find_service(context, wanted, protocol);
  if (service == 0) return PASS;
  struct config *settings = read_config();
  u64 now = bpf_ktime_get_coarse_ns();
  if (!settings || !is_wanted(context, settings, protocol == TCP ? USE_TCP : UDP_CONNECT, now)) return PASS;
  /* From loopback there is no way to an endpoint: the kernel would say EINVAL. */
  if (is_loopback(source)) return PASS;
  /* A program does not expect that connecting a UDP socket is refused. */
  enum verdict verdict = choose(wanted, service, now, can_refuse && protocol == TCP, choice);
  if (verdict != TRANSLATE) return verdict;
  bool is_kept = protocol == UDP || !(LOAD(&settings->flags) & NO_PEER_NAMES);
  u32 remembered = protocol == UDP ? service | SERVICE_UDP : service;
  if (is_kept && !keep_connection(context, wanted, remembered, choice)) return pass_after_all(service);
  count_translated(service, choice);
  return TRANSLATE;
}

/*
 * What the hook answers. A socket that is not translated forgets its earlier connection: otherwise one that connects to
 * a Service first and then to the same endpoint directly would be shown the Service.
 */
INLINE int answer(struct bpf_sock_addr *context, enum verdict verdict) {
  if (verdict == TRANSLATE) return ALLOW;
  bpf_sk_storage_delete(&connected, context->sk);
  if (verdict == PASS) return ALLOW;
  bpf_set_retval(-ECONNREFUSED);
  return FORBID;
}

/* What the socket connected to, if `peer` is the endpoint that it got. */
INLINE bool asked_for(struct bpf_sock_addr *context, const struct place *peer, struct place *service) {
  struct flow *flow = bpf_sk_storage_get(&connected, context->sk, NULL, 0);
  if (!flow || flow->service_port == 0 || !is_at(peer, &flow->endpoint_address, flow->endpoint_port)) return false;
  service->address = flow->service_address;
  service->port = flow->service_port;
  return true;
}

#endif
