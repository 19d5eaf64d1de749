/*
 * Lets an endpoint see the client's own address: the socket towards it is bound to that address, although it is not one
 * of this machine. The answers are for the client, so they must come past here, and rules of the kernel must lead them
 * to the socket (src/backends/userspace/portals/answer-rules.ts).
 */
#define _GNU_SOURCE
#include "relay.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <unistd.h>

#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

struct question {
  struct nlmsghdr header;
  struct rtmsg route;
  struct rtattr attribute;
  unsigned char ip[16];
};

union answer {
  struct nlmsghdr header;
  unsigned char bytes[4096];
};

/* The kernel answers while it is asked, so nobody waits. */
static bool ask(const struct question *question, union answer *answer) {
  static _Thread_local int fd = -1;
  static _Thread_local unsigned asked;
  if (fd < 0) fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  struct question numbered = *question;
  numbered.header.nlmsg_seq = ++asked;
  if (fd < 0 || send(fd, &numbered, numbered.header.nlmsg_len, 0) < 0) return false;
  ssize_t size;
  do size = recv(fd, answer, sizeof *answer, 0);
  while (size > 0 && answer->header.nlmsg_seq != asked);
  return size > 0 && NLMSG_OK(&answer->header, (size_t)size) && answer->header.nlmsg_type == RTM_NEWROUTE;
}

/* The device by which packets for the address leave; 0: they stay here, or it cannot be told. */
static int device_towards(const union address *address) {
  sa_family_t family = address->any.sa_family;
  if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&address->v6.sin6_addr)) return 0;
  size_t size;
  const unsigned char *bytes = address_bytes(address, &size);
  struct question question = {0};
  question.header.nlmsg_len = (unsigned)(offsetof(struct question, ip) + size);
  question.header.nlmsg_type = RTM_GETROUTE;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.route.rtm_family = (unsigned char)family;
  question.route.rtm_dst_len = (unsigned char)(size * 8);
  question.attribute.rta_type = RTA_DST;
  question.attribute.rta_len = (unsigned short)RTA_LENGTH(size);
  memcpy(question.ip, bytes, size);
  union answer answer;
  if (!ask(&question, &answer)) return 0;
  const struct rtmsg *route = NLMSG_DATA(&answer.header);
  if (route->rtm_type != RTN_UNICAST) return 0;
  unsigned left = (unsigned)RTM_PAYLOAD(&answer.header);
  for (struct rtattr *field = RTM_RTA(route); RTA_OK(field, left); field = RTA_NEXT(field, left)) {
    int device;
    if (field->rta_type != RTA_OIF) continue;
    memcpy(&device, RTA_DATA(field), sizeof device);
    return device;
  }
  return 0;
}

/*
 * An endpoint behind the same device as the client answers to it directly: pods of one bridge, and a pod that is its own
 * client. The node itself needs no pose, and nobody can answer to its loopback address.
 */
static bool answers_come_past(const union address *client, const union address *endpoint) {
  int to_client = device_towards(client);
  int to_endpoint = to_client == 0 ? 0 : device_towards(endpoint);
  return to_endpoint != 0 && to_endpoint != to_client;
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

bool pose_begin(struct connection *connection) {
  const union address *client = &connection->client_address;
  if (!answers_come_past(client, &connection->endpoint->address)) return true;
  if (!bind_as(connection->backend.fd, client)) return false;
  connection->is_posing = true;
  transparent_count(1);
  return true;
}

void pose_end(struct connection *connection) {
  if (connection->is_posing) transparent_count(-1);
  connection->is_posing = false;
}
