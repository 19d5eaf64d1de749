#!/bin/bash
# The first process of the guest. The root file system is the host's, read-only; what the guest writes is in memory,
# except for /run/shared. The kernel gives us no PATH, and passes GUEST_* from its command line.
export PATH=/run/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/run LC_ALL=C
mount -t proc proc /proc && mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /run
mkdir -p /run/bin /run/shared /run/project /run/modules/lib/modules
# A clone in /tmp would go out of sight.
project=${0%/tests/ipvs/testing/*}
mount --bind "$project" /run/project
mount -t tmpfs tmpfs /tmp
case $project in /tmp/*) mkdir -p "$project" && mount --bind /run/project "$project" ;; esac
umount /run/project
mount -t "${GUEST_SHARED_MOUNT%%:*}" -o "${GUEST_SHARED_MOUNT#*:}" shared /run/shared

# Modules are not where this kernel looks for them, neither for us nor for itself.
ln -s "$GUEST_MODULES/$(uname -r)" "/run/modules/lib/modules/$(uname -r)"
printf '#!/bin/sh\nexec /usr/sbin/modprobe -d /run/modules "$@"\n' >/run/bin/modprobe
chmod +x /run/bin/modprobe
echo /run/bin/modprobe >/proc/sys/kernel/modprobe

# The kernel of user-mode-linux has no nf_tables for IP, so "iptables" means the legacy one.
for name in iptables ip6tables; do
  for tool in '' -save -restore; do ln -s "/usr/sbin/$name-legacy$tool" "/run/bin/$name$tool"; done
done

modprobe ipv6
hostname node1
ip link set lo up
echo "$GUEST_BEGIN"
# Through a pipe, so that programs do not take the console for a terminal.
bash /run/shared/command.sh </dev/null 2>&1 | cat
echo "${PIPESTATUS[0]}" >/run/shared/exit-code
echo "$GUEST_END"
sync
echo "$GUEST_OFF_KEY" >/proc/sysrq-trigger
sleep 10
