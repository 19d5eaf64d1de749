/**
 * Begins a command: what follows runs in a container that was given nothing of the node. It sees its own cgroup, and an
 * empty folder where the BPF file system of the node would be.
 */
export const withoutMounts: readonly string[] = [
  'unshare',
  '--mount',
  '--cgroup',
  'sh',
  '-ec',
  'mount -t cgroup2 none /sys/fs/cgroup; mount -t tmpfs none /sys/fs/bpf; exec "$@"',
  'sh',
]
