/*
 * The system calls that the engine may still make once it runs: those below, and no other. In particular it opens no
 * file, starts no program, makes no memory executable, and has no sockets but TCP and the one that asks for routes.
 *
 * Anything else does not happen, and ends the process with a line that names the call. To answer with an error would
 * hide a mistake, or somebody who tries; an engine that has ended is started again, and the log says why.
 */
#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A sanitizer makes calls of its own, at any time. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER
#endif

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#if defined(HAS_SANITIZER) || !defined(ARCHITECTURE)

int calls_restrict(void) {
#ifdef HAS_SANITIZER
  return 0;
#else
  return ENOSYS; /* Nobody has tried this architecture. */
#endif
}

#else

#ifndef SECCOMP_FILTER_FLAG_SPEC_ALLOW
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW (1UL << 2)
#endif
/* Numbers of another table of the same architecture (x32) have this bit. */
#define OTHER_TABLE 0x40000000

/* In the order of how often they are made. */
static const int always[] = {
    SYS_recvfrom, SYS_sendto, SYS_splice, SYS_epoll_pwait,
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
#endif
    SYS_sched_yield, SYS_futex, SYS_read, SYS_write, SYS_close, SYS_accept4, SYS_epoll_ctl, SYS_setsockopt,
    SYS_getsockopt, SYS_getsockname, SYS_getpeername, SYS_connect, SYS_shutdown, SYS_bind, SYS_pipe2,
    SYS_clock_gettime, SYS_nanosleep, SYS_clock_nanosleep, SYS_restart_syscall, SYS_getrandom,
    /* C libraries: memory, standard input and output, signals, and the end of a process */
    SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise, SYS_sched_getaffinity, SYS_readv, SYS_writev, SYS_rt_sigprocmask,
    SYS_rt_sigreturn, SYS_getpid, SYS_gettid, SYS_exit, SYS_exit_group,
    /* qsort() of glibc before 2.37 asks how much memory there is, once it sorts more than a kilobyte. */
    SYS_sysinfo};

struct program {
  struct sock_filter steps[256];
  unsigned short size;
};

static void add(struct program *program, unsigned short code, uint32_t value, unsigned char if_so, unsigned char if_not) {
  if (program->size == sizeof program->steps / sizeof *program->steps) abort();
  program->steps[program->size++] = (struct sock_filter){code, if_so, if_not, value};
}

static void load(struct program *program, size_t offset) {
  add(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Both architectures have the lower half first; none of what is looked at has another. */
static void load_argument(struct program *program, unsigned index) {
  load(program, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t));
}

static void end_with(struct program *program, uint32_t action) { add(program, BPF_RET | BPF_K, action, 0, 0); }

/* The next `count` steps are taken only if what is loaded is the value. */
static void if_equal(struct program *program, uint32_t value, unsigned char count) {
  add(program, BPF_JMP | BPF_JEQ | BPF_K, value, 0, count);
}

static void allow_if_equal(struct program *program, uint32_t value) {
  if_equal(program, value, 1);
  end_with(program, SECCOMP_RET_ALLOW);
}

/* The call with one of these values as its argument; the filter ends there, so the number need not be loaded again. */
static void allow_with(struct program *program, int call, unsigned argument, const uint32_t values[], unsigned count) {
  if_equal(program, (uint32_t)call, (unsigned char)(2 + 2 * count));
  load_argument(program, argument);
  for (unsigned index = 0; index < count; index++) allow_if_equal(program, values[index]);
  end_with(program, SECCOMP_RET_TRAP);
}

static void allow_unless_executable(struct program *program, int call) {
  if_equal(program, (uint32_t)call, 4);
  load_argument(program, 2);
  add(program, BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1);
  end_with(program, SECCOMP_RET_TRAP);
  end_with(program, SECCOMP_RET_ALLOW);
}

static void allow_route_questions(struct program *program) {
  if_equal(program, AF_NETLINK, 4);
  load_argument(program, 2);
  allow_if_equal(program, NETLINK_ROUTE);
  end_with(program, SECCOMP_RET_TRAP);
}

static void allow_tcp(struct program *program, uint32_t family) {
  if_equal(program, family, 5);
  load_argument(program, 1);
  add(program, BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0); /* without SOCK_NONBLOCK and the like */
  allow_if_equal(program, SOCK_STREAM);
  end_with(program, SECCOMP_RET_TRAP);
}

/* TCP over IPv4 and IPv6; netlink, but of its many kinds only the one about routes. */
static void allow_sockets(struct program *program) {
  struct program about_sockets = {.size = 0};
  load_argument(&about_sockets, 0);
  allow_tcp(&about_sockets, AF_INET);
  allow_tcp(&about_sockets, AF_INET6);
  allow_route_questions(&about_sockets);
  end_with(&about_sockets, SECCOMP_RET_TRAP);
  if_equal(program, SYS_socket, (unsigned char)about_sockets.size);
  for (unsigned index = 0; index < about_sockets.size; index++) {
    struct sock_filter step = about_sockets.steps[index];
    add(program, step.code, step.k, step.jt, step.jf);
  }
}

static void write_filter(struct program *program) {
  static const uint32_t descriptor_commands[] = {F_SETPIPE_SZ, F_DUPFD_CLOEXEC};
  static const uint32_t given[] = {SOCKETS_FD};
  const uint32_t self[] = {(uint32_t)getpid()};
  load(program, offsetof(struct seccomp_data, arch));
  add(program, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
  end_with(program, SECCOMP_RET_KILL_PROCESS);
  load(program, offsetof(struct seccomp_data, nr));
  add(program, BPF_JMP | BPF_JGE | BPF_K, OTHER_TABLE, 0, 1);
  end_with(program, SECCOMP_RET_KILL_PROCESS);
  for (size_t index = 0; index < sizeof always / sizeof *always; index++)
    allow_if_equal(program, (uint32_t)always[index]);
  allow_sockets(program);
  allow_with(program, SYS_fcntl, 1, descriptor_commands, 2);
  allow_with(program, SYS_recvmsg, 0, given, 1);
  allow_with(program, SYS_tgkill, 0, self, 1); /* abort() */
  allow_unless_executable(program, SYS_mmap);
  allow_unless_executable(program, SYS_mprotect);
  end_with(program, SECCOMP_RET_TRAP);
}

/* Nothing but what is safe in a signal handler. */
static void report_call(int signal_number, siginfo_t *about, void *context) {
  (void)signal_number;
  (void)context;
  char text[] = "the native relay stops: it made system call      , which it has no use for\n";
  char *digit = strstr(text, "      ,") + 5;
  for (unsigned call = (unsigned)about->si_syscall; call > 0 && *digit == ' '; call /= 10)
    *digit-- = (char)('0' + call % 10);
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(3);
  _exit(2);
}

/* All threads are there: nobody needs to start one any more. */
int calls_restrict(void) {
  struct sigaction on_call = {.sa_sigaction = report_call, .sa_flags = SA_SIGINFO};
  if (sigaction(SIGSYS, &on_call, NULL) != 0) return errno;
  struct program program = {.size = 0};
  write_filter(&program);
  struct sock_fprog filter = {program.size, program.steps};
  /* Older kernels slow a filtered process down against code that it runs for strangers; there is none here. */
  unsigned long flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  long refused = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
  if (refused < 0 && errno == EINVAL)
    refused = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
  return refused < 0 ? errno : refused > 0 ? ESRCH : 0;
}

#endif
