/*
 * Gives up what the engine has no use for. It is started by a process that may well be root with every capability, and
 * then reads what strangers send.
 */
#define _GNU_SOURCE
#include "relay.h"

#include <dirent.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436 /* the same on all architectures */
#endif

/* Standard input, output and error, the shared memory, and the one that sockets come over. */
#define GIVEN_DESCRIPTORS (SOCKETS_FD + 1)

/* What our parent got from its own, and does not know about, is inherited unless somebody closes it. */
static void close_others(void) {
  if (syscall(SYS_close_range, GIVEN_DESCRIPTORS, ~0u, 0) == 0) return;
  DIR *open = opendir("/proc/self/fd"); /* before Linux 5.9 */
  if (open == NULL) return;
  for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
    int fd = atoi(entry->d_name);
    if (fd >= GIVEN_DESCRIPTORS && fd != dirfd(open)) close(fd);
  }
  closedir(open);
}

/*
 * Ports below 1024 need CAP_NET_BIND_SERVICE. To dial from a client's address needs CAP_NET_ADMIN or CAP_NET_RAW: the
 * latter, because the filter of system calls leaves no raw socket to make with it.
 */
static uint64_t needed(bool may_pose) {
  return (uint64_t)1 << CAP_NET_BIND_SERVICE | (may_pose ? (uint64_t)1 << CAP_NET_RAW : 0);
}

/* Those that a process of ours could have at most. Without CAP_SETPCAP it stays as it is, and no_new_privs must do. */
static void narrow_bounds(uint64_t kept) {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
    if ((kept >> capability & 1) == 0) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

static bool keep_capabilities(uint64_t kept) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, data) != 0) return false;
  for (unsigned half = 0; half < _LINUX_CAPABILITY_U32S_3; half++) {
    data[half].permitted &= (uint32_t)(kept >> (32 * half));
    data[half].effective = data[half].permitted;
    data[half].inheritable = 0;
  }
  return syscall(SYS_capset, &header, data) == 0;
}

/* Threads inherit all of it, so there must be none yet. */
bool privileges_give_up(bool may_pose) {
  close_others();
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* Before Linux 4.3 there are none. */
  narrow_bounds(needed(may_pose));
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && keep_capabilities(needed(may_pose));
}
