/*
 * The programs of the ebpf mode. The kernel runs them when a socket of this node connects, sends, receives or asks for its
 * peer. A Service's address is exchanged for an endpoint's before any packet exists, and back when the program looks.
 *
 *   connections.h   connect, getpeername      datagrams.h   sendto, recvfrom
 *   choose.h        which endpoint            layout.h      the tables, which the daemon fills
 *
 * A program here can leave a call alone, and then the packet path serves it as if there were no programs. So whatever
 * is unclear is left alone.
 */
#include "connections.h"
#include "datagrams.h"

/* No helper that is used here asks for the GPL. */
SECTION("license") const char _license[] = "Apache-2.0";

/* ---- connect ------------------------------------------------------------------------------------------------ */

INLINE enum verdict connect4(struct bpf_sock_addr *context, bool can_refuse) {
  struct place wanted = without_any(read_place4(context));
  struct address source = bound_address4(context->sk);
  struct choice choice;
  enum verdict verdict = connect_to_service(context, &wanted, &source, can_refuse, &choice);
  if (verdict == TRANSLATE) write_place4(context, &choice.place);
  return verdict;
}

INLINE enum verdict connect6(struct bpf_sock_addr *context, bool can_refuse) {
  struct place wanted = without_any(read_place6(context));
  struct address source = bound_address6(context->sk);
  struct choice choice;
  enum verdict verdict = connect_to_service(context, &wanted, &source, can_refuse, &choice);
  if (verdict == TRANSLATE) write_place6(context, &choice.place);
  return verdict;
}

SECTION("cgroup/connect4") int fl_connect4(struct bpf_sock_addr *context) {
  return answer(context, connect4(context, true));
}

SECTION("cgroup/connect6") int fl_connect6(struct bpf_sock_addr *context) {
  return answer(context, connect6(context, true));
}

/*
 * For kernels without bpf_set_retval: what has no endpoint is left to the packet path, which refuses it. The compiler sees
 * that the helper is never called, and a test checks that it does.
 */

SECTION("cgroup/connect4-old") int fl_connect4_old(struct bpf_sock_addr *context) {
  return answer(context, connect4(context, false));
}

SECTION("cgroup/connect6-old") int fl_connect6_old(struct bpf_sock_addr *context) {
  return answer(context, connect6(context, false));
}

/* ---- getpeername -------------------------------------------------------------------------------------------- */

SECTION("cgroup/getpeername4") int fl_getpeername4(struct bpf_sock_addr *context) {
  struct place peer = read_place4(context), service;
  if (asked_for(context, &peer, &service)) write_place4(context, &service);
  return ALLOW;
}

SECTION("cgroup/getpeername6") int fl_getpeername6(struct bpf_sock_addr *context) {
  struct place peer = read_place6(context), service;
  if (asked_for(context, &peer, &service)) write_place6(context, &service);
  return ALLOW;
}

/* ---- sendto ------------------------------------------------------------------------------------------------- */

SECTION("cgroup/sendmsg4") int fl_sendmsg4(struct bpf_sock_addr *context) {
  struct place wanted = without_any(read_place4(context));
  struct place peer = peer4(context->sk);
  struct address source = message_source4(context);
  struct choice choice;
  if (send_to_service(context, &wanted, &peer, &source, &choice) == TRANSLATE) write_place4(context, &choice.place);
  return ALLOW;
}

SECTION("cgroup/sendmsg6") int fl_sendmsg6(struct bpf_sock_addr *context) {
  struct place wanted = without_any(read_place6(context));
  struct place peer = peer6(context->sk);
  struct address source = message_source6(context);
  struct choice choice;
  if (send_to_service(context, &wanted, &peer, &source, &choice) == TRANSLATE) write_place6(context, &choice.place);
  return ALLOW;
}

/* ---- recvfrom ----------------------------------------------------------------------------------------------- */

/* A socket that was disconnected keeps its memory until it connects again, but has no peer. */
INLINE bool answered_by(struct bpf_sock_addr *context, const struct place *peer, struct place *service) {
  if (context->sk->state == ESTABLISHED && asked_for(context, peer, service)) return true;
  return sent_to(context, peer, service);
}

SECTION("cgroup/recvmsg4") int fl_recvmsg4(struct bpf_sock_addr *context) {
  struct place peer = read_place4(context), service;
  if (answered_by(context, &peer, &service)) write_place4(context, &service);
  return ALLOW;
}

SECTION("cgroup/recvmsg6") int fl_recvmsg6(struct bpf_sock_addr *context) {
  struct place peer = read_place6(context), service;
  if (answered_by(context, &peer, &service)) write_place6(context, &service);
  return ALLOW;
}

/* ---- stale sockets ------------------------------------------------------------------------------------------ */

/*
 * Runs over the memory of all connected sockets, in all network namespaces, and reports those whose endpoint has ended.
 * What there is no room for is counted only: then the daemon asks for one part after the other.
 */
SECTION("iter/bpf_sk_storage_map") int fl_stale(struct socket_storage_visit *visit) {
  struct flow *flow = visit->value;
  struct config *settings = read_config();
  if (!flow || !settings || flow->service_port == 0) return 0;
  if (!(flow->service & SERVICE_UDP) && !(settings->flags & REPORT_STALE_TCP)) return 0;
  if (is_alive(flow->endpoint, flow->generation)) return 0;
  u32 first = 0;
  struct stale_search *search = bpf_map_lookup_elem(&stale, &first);
  if (!search || (flow->cookie & search->mask) != search->bits) return 0;
  u32 place = ++search->found;
  struct stale_report *report = bpf_map_lookup_elem(&stale, &place);
  if (!report) return 0;
  report->cookie = flow->cookie;
  report->netns = flow->netns;
  report->endpoint_address = flow->endpoint_address;
  report->endpoint_port = flow->endpoint_port;
  report->service_address = flow->service_address;
  report->service_port = flow->service_port;
  report->service = flow->service;
  return 0;
}
