#!/bin/bash
# usage: with-systemd.sh PACKAGES COMMANDS
# systemd as the first process of namespaces of its own, on the files of this machine; what is written is in memory. It runs
# the commands as a service, prints what they print, ends with their exit code, and all is gone.
set -eu
here=$(mktemp -d /tmp/fairlead-systemd-XXXXXX)
if [ -d /sys/fs/cgroup/systemd ]; then group=/sys/fs/cgroup/systemd/${here##*/}; else group=/sys/fs/cgroup/${here##*/}; fi
mkdir "$group"
clean() {
  find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
  rm -rf "$here"
}
trap clean EXIT
printf '%s\n' "$2" >"$here/commands"

export here packages=$1
cat >"$here/boot" <<'END'
set -eu
echo $$ >"$group/cgroup.procs"
exec unshare --cgroup --propagation private bash -eu "$here/init"
END
cat >"$here/init" <<'END'
memory=$here/memory root=$here/memory/root
mkdir "$memory"
mount -t tmpfs tmpfs "$memory"
mkdir "$memory"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$memory/upper,workdir=$memory/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
if [ -d /sys/fs/cgroup/systemd ]; then
  mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
  mkdir "$root/sys/fs/cgroup/systemd"
  mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
else
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
fi
for folder in run tmp var/lib/fairlead; do mkdir -p "$root/$folder" && mount -t tmpfs tmpfs "$root/$folder"; done
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
  IFS=: read -r name major minor <<<"$device"
  mknod -m 666 "$root/dev/$name" c "$major" "$minor"
done
ln -s pts/ptmx "$root/dev/ptmx" && ln -s /proc/self/fd "$root/dev/fd" && mkdir "$root"/dev/{pts,shm}
mount -t devpts -o newinstance devpts "$root/dev/pts"
mkdir -p "$root"/{packages,outside,old}
mount --bind "$packages" "$root/packages"
mount --bind "$here" "$root/outside"

# Nothing of the machine's own services, and nothing that looks after devices.
rm -rf "$root"/etc/systemd/system/*.wants "$root"/etc/systemd/system/*.service
for unit in systemd-udevd.service systemd-udev-trigger.service systemd-udevd-control.socket systemd-udevd-kernel.socket \
  systemd-modules-load.service systemd-sysctl.service systemd-remount-fs.service systemd-logind.service; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
cat >"$root/etc/systemd/system/commands.service" <<'UNIT'
[Service]
Type=oneshot
ExecStart=-/bin/bash -c 'bash -eu /outside/commands </dev/null >/outside/output 2>&1; echo $? >/outside/exit-code'
ExecStartPost=-/bin/systemctl --force --force poweroff
UNIT
ip link set lo up
cd "$root"
pivot_root . old
umount -l /old
container=other exec /lib/systemd/systemd --system --unit=commands.service
END
export group
timeout --kill-after=1 --signal=KILL 100 \
  unshare --mount --pid --fork --kill-child --net --uts --ipc --propagation private bash "$here/boot" >"$here/console" 2>&1 || true
cat "$here/output" 2>/dev/null || cat "$here/console"
exit "$(cat "$here/exit-code" 2>/dev/null || echo 1)"
