/** What the first process of a node does. It prepares the mounts, then takes in orphans until the node ends. */

/** Kept from the machine by a file in front of them: a kubelet writes these, and they hold for every namespace. */
const kubeletSettings = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
}

/** Folders whose changes stay with the node. */
const ownFolders = ['etc', 'var', 'opt']

/** containerd's snapshots are overlays, and an overlay cannot lie on an overlay. */
const plainFolders = ['var/lib/containerd', 'var/lib/kubelet', 'run']

export function nodeScript(name: string, folder: string): string {
  return [
    `# first process of ${name}`,
    'set -e',
    'PATH=$PATH:/usr/sbin:/sbin',
    `hostname ${name}`,
    // The devices in /sys are those of the network namespace that it was mounted in.
    `mkdir ${folder}/cgroup`,
    `mount --rbind /sys/fs/cgroup ${folder}/cgroup`,
    'mount -t sysfs sysfs /sys',
    `mount --rbind ${folder}/cgroup /sys/fs/cgroup`,
    // As systemd does it. Each mount is a file system of its own. Kernels without BPF have no such folder.
    '[ ! -d /sys/fs/bpf ] || mount -t bpf bpf /sys/fs/bpf',
    ...ownFolders.flatMap((own) => [
      `mkdir -p ${folder}/${own} ${folder}/${own}.work`,
      `mount -t overlay overlay -o lowerdir=/${own},upperdir=${folder}/${own},workdir=${folder}/${own}.work /${own}`,
    ]),
    ...plainFolders.flatMap((plain) => [
      `mkdir -p ${folder}/plain/${plain} /${plain}`,
      `mount --bind ${folder}/plain/${plain} /${plain}`,
    ]),
    'mkdir -p /etc/cni/net.d',
    // Nobody out there to ask: a name that the cluster does not know does not exist.
    'rm -f /etc/resolv.conf && echo "nameserver 127.0.0.1" > /etc/resolv.conf',
    ...Object.entries(kubeletSettings).flatMap(([setting, value]) => [
      `mkdir -p ${folder}/sysctl/$(dirname ${setting})`,
      `echo ${value} > ${folder}/sysctl/${setting}`,
      `mount --bind ${folder}/sysctl/${setting} /proc/sys/${setting}`,
    ]),
    // A kubelet mounts volumes that containers must see.
    'mount --make-rshared /',
    `echo yes > ${folder}/ready`,
    // The shell collects every child that ends, also those whose parents are gone.
    'while :; do sleep 3600 & wait; done',
  ].join('\n')
}
