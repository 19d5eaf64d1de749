/*
 * Calls that Node has no way to make: each prints the addresses that it was shown, one per line.
 *
 *   unusual-calls io_uring|sqpoll|many|errors ADDRESS PORT
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void must(int ok, const char *what) {
  if (ok) return;
  perror(what);
  exit(1);
}

/* Of either family. */
union place {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
};

static socklen_t size_of(const union place *place) {
  return place->any.sa_family == AF_INET ? sizeof place->v4 : sizeof place->v6;
}

static union place parse(const char *ip, int port) {
  union place place = {.v4 = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)}};
  if (inet_pton(AF_INET, ip, &place.v4.sin_addr) == 1) return place;
  place = (union place){.v6 = {.sin6_family = AF_INET6, .sin6_port = htons((unsigned short)port)}};
  must(inet_pton(AF_INET6, ip, &place.v6.sin6_addr) == 1, "inet_pton");
  return place;
}

static void show(const union place *place) {
  int is_v4 = place->any.sa_family == AF_INET;
  char text[INET6_ADDRSTRLEN];
  inet_ntop(place->any.sa_family, is_v4 ? (const void *)&place->v4.sin_addr : &place->v6.sin6_addr, text, sizeof text);
  printf(is_v4 ? "%s:%d\n" : "[%s]:%d\n", text, ntohs(is_v4 ? place->v4.sin_port : place->v6.sin6_port));
}

static void show_peer(int fd) {
  union place peer;
  socklen_t size = sizeof peer;
  must(getpeername(fd, &peer.any, &size) == 0, "getpeername");
  show(&peer);
}

/* Where something is in a ring that the kernel shares. */
#define AT(ring, offset) ((unsigned *)((char *)(ring) + (offset)))

/* Connects by a queue that the kernel reads, with `polled` in a thread of its own. */
static void connect_by_queue(const union place *to, int polled) {
  struct io_uring_params params = {.flags = polled ? IORING_SETUP_SQPOLL : 0, .sq_thread_idle = 1000};
  int queue = (int)syscall(SYS_io_uring_setup, 1, &params);
  must(queue >= 0, "io_uring_setup");
  size_t entries = params.sq_off.array + params.sq_entries * sizeof(unsigned);
  size_t results = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
  int rights = PROT_READ | PROT_WRITE;
  void *sent = mmap(NULL, entries, rights, MAP_SHARED, queue, IORING_OFF_SQ_RING);
  void *done = mmap(NULL, results, rights, MAP_SHARED, queue, IORING_OFF_CQ_RING);
  struct io_uring_sqe *entry = mmap(NULL, sizeof *entry, rights, MAP_SHARED, queue, IORING_OFF_SQES);
  must(sent != MAP_FAILED && done != MAP_FAILED && entry != MAP_FAILED, "mmap");

  int fd = socket(to->any.sa_family, SOCK_STREAM, 0);
  entry->opcode = IORING_OP_CONNECT;
  entry->fd = fd;
  entry->addr = (unsigned long)to;
  entry->off = size_of(to);
  *AT(sent, params.sq_off.array) = 0;
  __atomic_store_n(AT(sent, params.sq_off.tail), 1, __ATOMIC_RELEASE);
  unsigned flags = IORING_ENTER_GETEVENTS | (polled ? IORING_ENTER_SQ_WAKEUP : 0);
  must(syscall(SYS_io_uring_enter, queue, 1, 1, flags, NULL, 0) >= 0, "io_uring_enter");
  while (__atomic_load_n(AT(done, params.cq_off.tail), __ATOMIC_ACQUIRE) == 0)
    syscall(SYS_io_uring_enter, queue, 0, 1, flags, NULL, 0);
  struct io_uring_cqe *result = (struct io_uring_cqe *)((char *)done + params.cq_off.cqes);
  printf("%d\n", result->res);
  show_peer(fd);
}

static void exchange_many(union place *to) {
  enum { count = 3 };
  struct mmsghdr messages[count] = {0};
  struct iovec parts[count];
  union place sources[count];
  char bytes[count][2000] = {"one", "two", "three"};
  int fd = socket(to->any.sa_family, SOCK_DGRAM, 0);
  for (int i = 0; i < count; i++) {
    parts[i] = (struct iovec){bytes[i], 5};
    messages[i].msg_hdr = (struct msghdr){.msg_name = to, .msg_namelen = size_of(to), .msg_iov = &parts[i], .msg_iovlen = 1};
  }
  must(sendmmsg(fd, messages, count, 0) == count, "sendmmsg");
  for (int i = 0; i < count; i++) {
    parts[i].iov_len = sizeof bytes[i];
    messages[i].msg_hdr.msg_name = &sources[i];
    messages[i].msg_hdr.msg_namelen = sizeof sources[i];
  }
  must(recvmmsg(fd, messages, count, 0, NULL) == count, "recvmmsg");
  for (int i = 0; i < count; i++) show(&sources[i]);
}

/* The place that an error message of the network is about. */
static void show_error(const union place *to) {
  int is_v4 = to->any.sa_family == AF_INET, fd = socket(to->any.sa_family, SOCK_DGRAM, 0), yes = 1;
  union place about;
  char bytes[100], control[500];
  struct iovec part = {bytes, sizeof bytes};
  struct msghdr message = {&about, sizeof about, &part, 1, control, sizeof control, 0};
  int level = is_v4 ? IPPROTO_IP : IPPROTO_IPV6, option = is_v4 ? IP_RECVERR : IPV6_RECVERR;
  must(setsockopt(fd, level, option, &yes, sizeof yes) == 0, "RECVERR");
  must(sendto(fd, "hello", 5, 0, &to->any, size_of(to)) == 5, "sendto");
  struct pollfd waiting = {fd, 0, 0};
  must(poll(&waiting, 1, 60000) == 1, "poll");
  must(recvmsg(fd, &message, MSG_ERRQUEUE) >= 0, "recvmsg");
  show(&about);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  union place to = parse(argv[2], atoi(argv[3]));
  if (strcmp(argv[1], "io_uring") == 0) connect_by_queue(&to, 0);
  else if (strcmp(argv[1], "sqpoll") == 0) connect_by_queue(&to, 1);
  else if (strcmp(argv[1], "many") == 0) exchange_many(&to);
  else if (strcmp(argv[1], "errors") == 0) show_error(&to);
  else return 2;
  return 0;
}
