#!/bin/sh
# as-the-unit.sh CAPABILITIES TRACE PROGRAM [ARGUMENT…]: runs a program with what fairlead.service leaves it, in a network of its
# own, as far as that can be had without systemd. CAPABILITIES is a list such as +net_admin,+net_raw; TRACE gets the system calls.
# To be called as: unshare --net --mount --propagation private as-the-unit.sh …
set -e
capabilities=$1 trace=$2
shift 2
ip link set lo up
ip link add node0 type veth peer name node1
ip addr add 192.0.2.10/24 dev node0
ip link set node0 up

mount --bind "$(dirname "$trace")" /mnt
# ReadWritePaths, PrivateTmp and ProtectHome, then ProtectSystem=strict.
mount --rbind /run /run
mount -t tmpfs tmpfs /tmp
mount -t tmpfs -o ro tmpfs /home
mount -t tmpfs -o ro tmpfs /root
# ProtectControlGroups.
for folder in $(cut -d ' ' -f 5 /proc/self/mountinfo); do
  case $folder in /sys/fs/cgroup*) mount -o remount,bind,ro "$folder" ;; esac
done
# One for pins that ends with the program: systemd has mounted that of the node.
[ ! -d /sys/fs/bpf ] || mount -t bpf bpf /sys/fs/bpf
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mount --bind /proc/sys/net /proc/sys/net
mount -o remount,bind,rw /proc/sys/net
mount -o remount,bind,ro /
cd /
exec strace -f -qq -o "/mnt/$(basename "$trace")" \
  setpriv --bounding-set="-all,$capabilities" --inh-caps=-all --no-new-privs "$@"
