/*
 * Lets an endpoint see the client's own address: the socket towards it is bound to that address, although it is not one
 * of this machine. The answers are for the client, so they must come past here, and rules of the kernel must lead them
 * to the socket (src/backends/userspace/portals/answer-rules.ts). Where they would not, the endpoint sees the node. That
 * is decided before the first packet: an endpoint that does not answer may be behind a firewall that turns the client
 * away, and must not be asked again in the name of the node.
 */
#define _GNU_SOURCE
#include "relay.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

struct route_question {
  struct nlmsghdr header;
  struct rtmsg route;
  struct rtattr attribute;
  unsigned char ip[16];
};

struct link_question {
  struct nlmsghdr header;
  struct ifinfomsg link;
};

union answer {
  struct nlmsghdr header;
  unsigned char bytes[8192];
};

/* The kernel answers while it is asked, so nobody waits. */
static bool ask(struct nlmsghdr *question, union answer *answer, unsigned short type) {
  static _Thread_local int fd = -1;
  static _Thread_local unsigned asked;
  if (fd < 0) fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  question->nlmsg_flags = NLM_F_REQUEST;
  question->nlmsg_seq = ++asked;
  if (fd < 0 || send(fd, question, question->nlmsg_len, 0) < 0) return false;
  ssize_t size;
  do size = recv(fd, answer, sizeof *answer, 0);
  while (size > 0 && answer->header.nlmsg_seq != asked);
  return size > 0 && NLMSG_OK(&answer->header, (size_t)size) && answer->header.nlmsg_type == type;
}

/* How packets for an address leave. Device 0: they stay here, or it cannot be told. */
struct way {
  int device;
  bool has_gateway;
};

static const struct way no_way;

/* An answer is good for a moment: clients and endpoints that are busy are not asked for with each connection. */
#define WAY_LASTS_NS 1000000000
#define KNOWN_WAYS 256

struct known_way {
  int64_t until_ns;
  size_t size;
  unsigned char ip[16];
  struct way way;
};

static struct known_way *place_of(const unsigned char *ip, size_t size) {
  static _Thread_local struct known_way known[KNOWN_WAYS];
  unsigned hash = (unsigned)size;
  for (size_t index = 0; index < size; index++) hash = hash * 31 + ip[index];
  return &known[hash % KNOWN_WAYS];
}

static struct way ask_for_way(sa_family_t family, const unsigned char *bytes, size_t size) {
  struct route_question question = {0};
  question.header.nlmsg_len = (unsigned)(offsetof(struct route_question, ip) + size);
  question.header.nlmsg_type = RTM_GETROUTE;
  question.route.rtm_family = (unsigned char)family;
  question.route.rtm_dst_len = (unsigned char)(size * 8);
  question.attribute.rta_type = RTA_DST;
  question.attribute.rta_len = (unsigned short)RTA_LENGTH(size);
  memcpy(question.ip, bytes, size);
  union answer answer;
  if (!ask(&question.header, &answer, RTM_NEWROUTE)) return no_way;
  const struct rtmsg *route = NLMSG_DATA(&answer.header);
  if (route->rtm_type != RTN_UNICAST) return no_way;
  struct way way = no_way;
  unsigned left = (unsigned)RTM_PAYLOAD(&answer.header);
  for (struct rtattr *field = RTM_RTA(route); RTA_OK(field, left); field = RTA_NEXT(field, left)) {
    if (field->rta_type == RTA_OIF) memcpy(&way.device, RTA_DATA(field), sizeof way.device);
    if (field->rta_type == RTA_GATEWAY || field->rta_type == RTA_VIA) way.has_gateway = true;
  }
  return way;
}

static struct way way_towards(const union address *address, int64_t now_ns) {
  sa_family_t family = address->any.sa_family;
  if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&address->v6.sin6_addr)) return no_way;
  size_t size;
  const unsigned char *ip = address_bytes(address, &size);
  struct known_way *known = place_of(ip, size);
  if (now_ns < known->until_ns && known->size == size && memcmp(known->ip, ip, size) == 0) return known->way;
  *known = (struct known_way){now_ns + WAY_LASTS_NS, size, {0}, ask_for_way(family, ip, size)};
  memcpy(known->ip, ip, size);
  return known->way;
}

/* Only as long as the name of a device may be; empty when there is none. */
static void read_name(int device, char name[IFNAMSIZ]) {
  struct link_question question = {0};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = RTM_GETLINK;
  question.link.ifi_index = device;
  union answer answer;
  name[0] = '\0';
  if (!ask(&question.header, &answer, RTM_NEWLINK)) return;
  unsigned left = (unsigned)IFLA_PAYLOAD(&answer.header);
  const struct ifinfomsg *link = NLMSG_DATA(&answer.header);
  for (struct rtattr *field = IFLA_RTA(link); RTA_OK(field, left); field = RTA_NEXT(field, left))
    if (field->rta_type == IFLA_IFNAME && RTA_PAYLOAD(field) <= IFNAMSIZ) memcpy(name, RTA_DATA(field), RTA_PAYLOAD(field));
}

/* A pod's packets come in by the device by which those for it leave. */
static bool is_pod(const struct keeping *keeping, const union address *client, struct way to_client) {
  char name[IFNAMSIZ];
  switch (keeping->telling) {
    case TOLD_BY_RANGE: return range_contains(&keeping->range, client);
    case TOLD_BY_DEVICE: return read_name(to_client.device, name), strcmp(name, keeping->device) == 0;
    case TOLD_BY_DEVICE_PREFIX:
      return read_name(to_client.device, name), strncmp(name, keeping->device, strlen(keeping->device)) == 0;
    case NOT_TOLD:
    default: return false;
  }
}

/*
 * An endpoint behind the same device as the client answers to it directly: pods of one bridge, and a pod that is its own
 * client. The node itself needs no pose, and nobody can answer to its loopback address. Endpoints of other nodes answer
 * past here only to what hangs on this node, which a client behind a gateway does not, even if it counts as a pod.
 */
static bool is_kept(const struct keeping *keeping, const struct connection *connection) {
  const union address *client = &connection->client_address;
  const struct endpoint *endpoint = connection->endpoint;
  int64_t now_ns = connection->worker->now_ns;
  bool is_here = atomic_load(&endpoint->is_here);
  bool is_for_all = keeping->of == KEEPS_EVERYBODY && is_here;
  if (keeping->of == KEEPS_NOBODY) return false;
  /* Without a question to the kernel, for the many who are outside. */
  if (!is_for_all && keeping->telling == TOLD_BY_RANGE && !range_contains(&keeping->range, client)) return false;
  struct way to_client = way_towards(client, now_ns);
  if (to_client.device == 0 || (!is_here && to_client.has_gateway)) return false;
  if (!is_for_all && !is_pod(keeping, client, to_client)) return false;
  struct way to_endpoint = way_towards(&endpoint->address, now_ns);
  return to_endpoint.device != 0 && to_endpoint.device != to_client.device;
}

/* With any port: two clients behind one address may have the same one. It is chosen when the endpoint is known. */
static bool bind_as(int fd, const union address *client) {
  bool is_v4 = client->any.sa_family == AF_INET;
  int on = 1;
  union address from = *client;
  if (is_v4)
    from.v4.sin_port = 0;
  else
    from.v6.sin6_port = 0;
  setsockopt(fd, SOL_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  int failed = is_v4 ? setsockopt(fd, SOL_IP, IP_TRANSPARENT, &on, sizeof on)
                     : setsockopt(fd, SOL_IPV6, IPV6_TRANSPARENT, &on, sizeof on);
  return failed == 0 && bind(fd, &from.any, address_size(&from)) == 0;
}

void pose_begin(struct connection *connection) {
  const union address *client = &connection->client_address;
  struct keeping keeping = listener_keeping(connection->listener);
  if (!is_kept(&keeping, connection)) return;
  /* A socket that the kernel does not bind so is as good as any other. */
  if (!bind_as(connection->backend.fd, client)) return;
  connection->is_posing = true;
  transparent_count(1);
}

void pose_end(struct connection *connection) {
  if (connection->is_posing) transparent_count(-1);
  connection->is_posing = false;
}
